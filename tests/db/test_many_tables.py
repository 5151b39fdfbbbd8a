"""Queries over more tables than people write: what is planned, and what is refused."""

from collections.abc import Iterator

import pytest
from sqlglot import exp

from sqlsvm.ask.explain import explain
from sqlsvm.compile.moments import moments
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import QueryError
from sqlsvm.plan import planner
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.query.facts import Facts
from sqlsvm.query.read_query import read_query
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from tests.ground.trained import training

SIZE = 62
"""More tables than are joined at once."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with connect("duckdb:") as engine:
        engine.execute(
            Text("CREATE TABLE t AS SELECT i AS id, (7 * i + 3) % 20 AS k, i % 3 AS x, i % 2 AS y FROM range(20) r(i)")
        )
        yield engine


def star(size: int) -> str:
    columns = ", ".join(f"t{i}.x + {i} * t{i}.id % 5 AS x{i}" for i in range(1, size))
    return f"SELECT t0.y, {columns} FROM t t0 {' '.join(f'JOIN t t{i} ON t{i}.id = t0.k' for i in range(1, size))}"


@pytest.mark.slow
def test_many_tables_are_met_in_memory_as_in_the_database(engine: Engine) -> None:
    small, passes = (
        train(engine, "m", star(SIZE), Training.of(label="y", lam=0.1, tol=1e-6, in_memory=rows)) for rows in (None, 0)
    )
    assert small.objective == pytest.approx(passes.objective, rel=1e-5)


def test_a_message_to_one_of_many_tables_joins_none_of_the_others(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each key its own, the messages to m tables would be m (m - 1) joins."""
    monkeypatch.setattr(planner, "_is_measured_at_once", lambda *_: False)
    columns, on = (", ".join(f"t{i}.x AS x{i}" for i in range(1, 20)), "ON t{0}.id = (t0.k + {0}) % 20")
    text = f"SELECT t0.y, {columns} FROM t t0 {' '.join(f'JOIN t t{i} {on.format(i)}' for i in range(1, 20))}"
    plan, _ = planned(Facts(engine), read_query(engine, text, label="y"), ProblemOptions(label="y"))
    assert plan.copied == {plan.label_node}
    assert max(len(list(each.query.find_all(exp.Join))) for each in moments(plan)) <= 1
    small, passes = (
        train(engine, "m", text, Training.of(label="y", lam=0.1, tol=1e-6, in_memory=rows)) for rows in (None, 0)
    )
    assert small.objective == pytest.approx(passes.objective, rel=1e-5)


@pytest.mark.slow
def test_a_long_chain_is_refused(engine: Engine) -> None:
    joins = " ".join(f"JOIN t t{i} ON t{i}.id = t{i - 1}.k" for i in range(1, 251))
    with pytest.raises(QueryError, match="251 tables are joined in a chain"):
        explain(engine, f"SELECT t0.y, t250.x FROM t t0 {joins}", training(label="y"))
