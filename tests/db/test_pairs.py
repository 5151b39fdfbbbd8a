"""Pairs of options: each that rules accept trains, in memory, by passes and in psql. None crashes or is forgotten."""

from functools import cache
from typing import Any

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import SqlsvmError
from sqlsvm.model.model import Model
from sqlsvm.run import choosing
from sqlsvm.solve.choosing import STRENGTHS
from tests.ground.opened import build
from tests.ground.pairs import FILL, LATER, MAKE, SCALE, SCALES, Asked, asked_of, combined, covering, query_of, short
from tests.ground.sql_program import compiled
from tests.ground.sql_program import trained as trained_there
from tests.sized import sized
from tests.typed import typed

PARTS, PASSES, PSQL = 48, 96, 92


@cache
def sets(**known: Any) -> list[list[Asked]]:
    return [*covering(**known)]


@pytest.fixture(autouse=True)
def tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four strengths are as good as 13: none says how good the model is."""
    monkeypatch.setattr(choosing, "STRENGTHS", STRENGTHS[::4])
    monkeypatch.setattr(choosing, "L1", choosing.L1[::3])


@pytest.fixture
def rows(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """200 rows, which are read unless `in_memory` is 0."""
    sized(monkeypatch, read=2)
    return filled(duckdb)


def filled(engine: Engine, scale: float = 1.0) -> Engine:
    build(engine, MAKE)
    for statement in f"{FILL};{SCALE.format(scale=scale)}".split(";"):
        typed(engine, statement)
    return engine


def scale_of(asked: dict[str, Any], number: int) -> float:
    """Products of columns of 1e6 that are not scaled have no digits left next to the constant 1."""
    return 1.0 if asked.get("scale") == "none" else SCALES[number % len(SCALES)]


def assert_kept(model: Model, asked: dict[str, Any]) -> None:
    """Nothing that was asked for is forgotten."""
    assert 0.0 <= model.objective <= model.objective_upper, asked
    kept = {n: value for n, value in asked.items() if n in model.options and value != "auto" and n != "holdout"}
    assert {name: model.options[name] for name in kept} == kept


@pytest.mark.slow
@pytest.mark.thin(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_pair_of_options_trains(rows: Engine, part: int) -> None:
    for told in sets()[part::PARTS]:
        asked = combined(told)
        assert asked is not None
        assert_kept(asked_of(rows, asked), asked)


@pytest.mark.slow
@pytest.mark.thin(PASSES)
@pytest.mark.parametrize("part", range(PASSES))
def test_each_pair_trains_by_passes(duckdb: Engine, part: int) -> None:
    """On columns of three scales."""
    for number, told in enumerate(sets(in_memory=0)[part::PASSES], part):
        asked = combined([*told, {"in_memory": 0}])
        assert asked is not None
        assert_kept(asked_of(filled(duckdb, scale_of(asked, number)), asked), asked)


@pytest.mark.slow
@pytest.mark.thin(PSQL)
@pytest.mark.parametrize("part", range(PSQL))
def test_each_pair_trains_in_psql(installed: Engine, installed_dsn: str, part: int) -> None:
    """What psql does not train is refused by a rule, so it is in no pair."""
    for number, told in enumerate(sets(program=True)[part::PSQL], part):
        asked = combined(told, program=True)
        assert asked is not None
        filled(installed, scale_of(asked, number))
        compiled(installed, "m", query_of(asked), short(asked))
        assert_kept(trained_there(installed, installed_dsn, "m"), asked)


@pytest.mark.parametrize(("asked", "said"), LATER, ids=str)
def test_a_pair_that_the_data_refuse(rows: Engine, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(SqlsvmError, match=said):
        asked_of(rows, {"label": "y", **asked})
