"""Queries over more tables than people write: what is planned, and what is refused."""

from collections.abc import Iterator

import pytest

from sqlsvm.ask.explain import explain
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import QueryError
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


def test_many_tables_are_met_in_memory_as_in_the_database(engine: Engine) -> None:
    small, passes = (
        train(engine, "m", star(SIZE), Training.of(label="y", lam=0.1, tol=1e-6, in_memory=rows)) for rows in (None, 0)
    )
    assert small.objective == pytest.approx(passes.objective, rel=1e-5)


def test_a_long_chain_is_refused(engine: Engine) -> None:
    joins = " ".join(f"JOIN t t{i} ON t{i}.id = t{i - 1}.k" for i in range(1, 251))
    with pytest.raises(QueryError, match="251 tables are joined in a chain"):
        explain(engine, f"SELECT t0.y, t250.x FROM t t0 {joins}", training(label="y"))
