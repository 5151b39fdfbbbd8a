"""Pairs of options: each that the rules accept trains, in memory and by passes; none crashes, and none is forgotten."""

from typing import Any

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import SqlsvmError
from sqlsvm.run import small
from tests.ground.opened import build
from tests.ground.pairs import FILL, LATER, MAKE, asked_of, combined, covering
from tests.typed import typed

PARTS = 24


@pytest.fixture
def rows(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """200 rows, which are read unless `in_memory` is 0."""
    monkeypatch.setattr(small, "MUCH", 2)
    build(duckdb, MAKE)
    for statement in FILL.split(";"):
        typed(duckdb, statement)
    return duckdb


@pytest.mark.thin(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_pair_of_options_trains(rows: Engine, part: int) -> None:
    for told in [*covering()][part::PARTS]:
        asked = combined(told)
        assert asked is not None
        model = asked_of(rows, asked)
        assert 0.0 <= model.objective <= model.objective_upper, asked
        kept = {n: value for n, value in asked.items() if n in model.options and value != "auto" and n != "holdout"}
        assert {name: model.options[name] for name in kept} == kept


@pytest.mark.parametrize(("asked", "said"), LATER, ids=str)
def test_a_pair_that_the_data_refuse(rows: Engine, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(SqlsvmError, match=said):
        asked_of(rows, {"label": "y", **asked})
