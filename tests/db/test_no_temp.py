"""Without working tables every statement computes what it reads, and all numbers stay the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.engine.postgres import Postgres
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.estimator import RelationalSVC
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.opening import labelled
from sqlsvm.run.training import Training
from tests.evaluating import evaluate_model
from tests.ground.joins import JOINS
from tests.ground.offloaded import Found, found
from tests.ground.schemas import random_world
from tests.ground.trained import training


@contextmanager
def bare(engine: Engine) -> Iterator[None]:
    """The session makes no tables meanwhile."""
    assert isinstance(engine, Postgres)
    engine.place(no_temp=True)
    sent: list[str] = []
    engine.on_statement, before = sent.append, engine.on_statement
    try:
        yield
    finally:
        engine._places, engine.on_statement = None, before
    assert [text for text in sent if text.startswith("CREATE TEMP")] == []


def outcome(engine: Engine, seed: int) -> str:
    world = random_world(np.random.default_rng(seed), max_relations=5)
    assert world.label
    with world.created(engine) as live:
        text, options = live.query("postgres"), ProblemOptions(world.label.name, nulls="mean", scale="none")
        here = said(engine, text, options)
        with bare(engine):
            there = said(engine, text, options)
        if isinstance(here, Found) and isinstance(there, Found):
            assert there.same_as(here), (seed, here, there)
            return "same"
        assert here == there, (seed, here, there)
        return "refused"


def said(engine: Engine, text: str, options: ProblemOptions) -> Found | str:
    try:
        return found(engine, labelled(engine, text, options), options)
    except SqlsvmError as error:
        return error.message


def test_worlds(shared_postgres: Engine) -> None:
    assert [outcome(shared_postgres, seed) for seed in range(4)].count("same") >= 2


@pytest.mark.slow
def test_more_worlds(shared_postgres: Engine) -> None:
    assert [outcome(shared_postgres, seed) for seed in range(100, 130)].count("same") >= 10


@pytest.mark.parametrize("kind", ["star", pytest.param("chain", marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", [{"counting": "grid"}, {"holdout": 0.3}, {"folds": 2}], ids=str)
def test_a_training(postgres: Engine, kind: str, options: dict[str, Any]) -> None:
    """Also where the query reads a working table itself, of the rows that are held out."""
    join, wished = JOINS[kind](np.random.default_rng(2)), training(nulls="mean", lam=1e-3, **options)
    with join.created(postgres):
        here = trained_and_measured(postgres, join.query, wished)
        with bare(postgres):
            there = trained_and_measured(postgres, join.query, wished)
        assert there == pytest.approx(here, rel=1e-9)


def trained_and_measured(engine: Engine, text: str, wished: Training) -> list[float]:
    (model,) = trained(engine, text, {"m": wished})
    measured = evaluate_model(engine, model)
    assert isinstance(measured, Evaluation)
    assert measured.auc
    return [model.lower_bound, model.objective_upper, model.passes, measured.accuracy.value, measured.auc.value]


def test_it_is_a_parameter_of_the_estimator(postgres: Engine, statements: list[str]) -> None:
    """For all that it does with the database."""
    join = JOINS["star"](np.random.default_rng(2))
    with join.created(postgres):
        statements.clear()
        svc = RelationalSVC(1e-2, no_temp=True).fit(postgres, join.query, label="y")
        measured = svc.evaluate()
        assert isinstance(measured, Evaluation)
        assert measured.accuracy.value > 0.5
        assert [text for text in statements if "TEMPORARY" in text] == []


def test_a_table_that_is_made_again_keeps_what_others_read(postgres: Engine) -> None:
    """As it is with tables, which have their rows. Names of columns may have the table before them."""
    postgres.place(no_temp=True)
    postgres.keep("sqlsvm_a", parse_one("SELECT 1 AS x", read="postgres", into=exp.Select))
    postgres.keep("sqlsvm_b", parse_one("SELECT sqlsvm_a.x + 10 AS x FROM sqlsvm_a", read="postgres", into=exp.Select))
    postgres.forget("sqlsvm_a")
    again = parse_one("SELECT CAST($1 AS DOUBLE PRECISION) AS x", read="postgres", into=exp.Select)
    postgres.keep("sqlsvm_a", again, [0.1 + 0.2])
    query = parse_one(
        "SELECT a.x AS a, b.x AS b FROM sqlsvm_a AS a CROSS JOIN sqlsvm_b AS b", read="postgres", into=exp.Select
    )
    rows = postgres.fetch(query)
    assert (rows["a"][0], rows["b"][0]) == (0.1 + 0.2, 11)


def test_several_answers_come_as_each_would_alone(postgres: Engine) -> None:
    """Whatever their types are, with NULLs, and without rows."""
    postgres.place(no_temp=True)
    texts = [
        "SELECT x, x / 2.0 AS half, CAST(x AS TEXT) AS t FROM GENERATE_SERIES(1, 3) AS s(x)",
        "SELECT NULLIF(x, 2) AS x, x > 1 AS b FROM GENERATE_SERIES(1, 3) AS s(x)",
        "SELECT CAST(x AS DOUBLE PRECISION) AS x, 'a' AS t FROM GENERATE_SERIES(1, 0) AS s(x)",
    ]
    queries = [parse_one(text, read="postgres", into=exp.Select) for text in texts]
    together, alone = (
        postgres.fetch_all([(query, []) for query in queries]),
        [postgres.fetch(query) for query in queries],
    )
    assert repr(together) == repr(alone)


def test_only_postgresql_has_it(duckdb: Engine, postgres: Engine) -> None:
    with pytest.raises(OptionError, match="only PostgreSQL"):
        duckdb.place(no_temp=True)
    with pytest.raises(OptionError, match="choose one of them"):
        postgres.place(no_temp=True, work_schema="public")
