"""Correlated sub-queries are answered by groups, by windows and by the tree of slots as the database answers them."""

import numpy as np
import pytest

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.model.predict import input_rows
from sqlsvm.query.ir import ANSWER
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rows import render
from sqlsvm.run.train import train
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked, run

pytestmark = pytest.mark.each

VALUES = (
    "COUNT(*)",
    "COALESCE(SUM(v.x), -1)",
    "AVG(x) - o.day",
    "MAX(v.x) - MIN(v.day)",
    "COUNT(*) FILTER (WHERE x > 4) * 2 + COUNT(v.x)",
    "SUM(v.x) / 2",
)
CONDITIONS = (
    "v.c = o.c",
    "v.c = o.c AND v.day < o.day",
    "v.c = o.c AND o.day >= v.day AND v.x > 2",
    "v.day > o.day",
    "v.c = o.c AND v.day >= o.day AND d = v.x",
    "v.c = o.c AND v.day < o.day AND v.day >= o.day - 3",
    "v.c = o.c AND v.day BETWEEN o.day - 2 AND o.day + 2",
    "v.c = o.c AND v.day BETWEEN o.day AND 6",
    "v.day > o.day AND v.day <= 2 * o.day - 5",
)


def world(engine: Engine, seed: int) -> None:
    """With NULLs, ties, and sometimes no row to ask about."""
    rng = np.random.default_rng(seed)

    def rows(columns: int, size: int, most: int) -> str:
        drawn = rng.integers(-1, most, (size, columns))
        return ", ".join(f"({', '.join('NULL' if n < 0 else str(n) for n in row)})" for row in drawn)

    run(engine, "CREATE TABLE o (c INT, day INT, d BIGINT)")
    run(engine, "CREATE TABLE v (c BIGINT, day INT, x INT)")
    run(engine, f"INSERT INTO o VALUES {rows(3, 40, int(rng.integers(2, 12)))}")
    if seed:
        run(engine, f"INSERT INTO v VALUES {rows(3, 60, int(rng.integers(2, 12)))}")


def _same(engine: Engine, text: str) -> None:
    query = read_query(engine, text)
    source = query.relations[0].source.sql(engine.dialect)
    assert ANSWER in source
    names = [f.name for f in query.outputs]
    found, wanted = engine.fetch(render(query)), asked(engine, text)
    of = [sorted(_row(values[n][i] for n in names) for i in range(len(values[names[0]]))) for values in (found, wanted)]
    for row, other in zip(*of, strict=True):
        assert row == pytest.approx(other, rel=1e-9), text


def _row(values: object) -> list[float]:
    return [-9e9 if v is None or v != v else float(v) for v in values]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(2))
def test_values(engine: Engine, seed: int) -> None:
    world(engine, seed)
    for condition in CONDITIONS:
        values = ", ".join(f"(SELECT {value} FROM v WHERE {condition}) AS x{i}" for i, value in enumerate(VALUES))
        _same(engine, f"SELECT day, {values} FROM o")


def test_conditions(engine: Engine) -> None:
    """EXISTS with an order, and values that are compared."""
    world(engine, 1)
    found = [f"EXISTS (SELECT 1 FROM v WHERE {condition} LIMIT 1)" for condition in CONDITIONS[1:]]
    _same(engine, f"SELECT c, day, {', '.join(f'{each} AS b{i}' for i, each in enumerate(found))} FROM o")
    for condition, negated in (found[0], "NOT "), (found[5], ""):
        _same(engine, f"SELECT c, day FROM o WHERE {negated}{condition}")
        _same(engine, f"SELECT c, day FROM o WHERE {negated}(SELECT COUNT(*) FROM v WHERE {CONDITIONS[1]}) > 2")


@pytest.mark.parametrize("seed", range(2))
def test_first_rows(engine: Engine, seed: int) -> None:
    """Rows that are equal in the order have equal values."""
    world(engine, seed)
    for condition in (CONDITIONS[0], CONDITIONS[1], *CONDITIONS[4:8]):
        for down in ("", " DESC"):
            first = f"FROM v WHERE {condition} ORDER BY v.day{down}, v.x DESC LIMIT 1"
            _same(engine, f"SELECT day, (SELECT v.x {first}) AS x, (SELECT x + v.day {first}) AS y FROM o")


def test_times_and_names(engine: Engine) -> None:
    """A band of time; a CTE; names that the inner relation hides."""
    series = "FROM GENERATE_SERIES(1, 60) AS r(g)"
    run(
        engine,
        f"CREATE TABLE o AS SELECT g AS k, DATE '2024-01-01' + CAST(g % 9 AS INT) AS ts, g % 2 = 0 AS y {series}",
    )
    day = "DATE '2024-01-01' + CAST(g % 7 AS INT)"
    run(engine, f"CREATE TABLE v AS SELECT g % 40 AS k, CAST({day} AS TIMESTAMP) AS ts {series}")
    band = "ts < o.ts AND v.ts >= o.ts - INTERVAL '3 days'"
    for inside in (f"v WHERE {band} AND v.k = o.k", f"v JOIN v AS u ON u.k = v.k WHERE v.{band} AND v.k = o.k"):
        _same(engine, f"SELECT o.k, (SELECT COUNT(*) FROM {inside}) AS n FROM o")
    cte = "WITH w AS (SELECT * FROM v WHERE k > 3)"
    _same(engine, f"{cte} SELECT k, (SELECT COUNT(*) FROM w WHERE w.k = o.k AND w.ts < o.ts) AS n FROM o")


def test_training(engine: Engine) -> None:
    world(engine, 2)
    value = "(SELECT AVG(v.x) FROM v WHERE v.c = o.c AND v.day < o.day)"
    text = f"SELECT COALESCE(o.day % 2 = 0, FALSE) AS y, o.d, {value} AS mean FROM o"
    run(engine, f"CREATE TABLE flat AS {text}")
    options = {"m": training(nulls="mean")}
    (model,), (flat,) = (trained(engine, each, options) for each in (text, "SELECT y, d, mean FROM flat"))
    assert model.objective == pytest.approx(flat.objective, rel=1e-4)


def test_a_select_without_from_is_answered_by_the_database(engine: Engine) -> None:
    build(engine, "CREATE TABLE a (y INT, x INT); INSERT INTO a SELECT i % 2, i FROM generate_series(1, 8) AS s(i)")
    text = "SELECT a.y, a.x, s.n FROM a CROSS JOIN (SELECT (SELECT COUNT(*) FROM a) AS n) AS s"
    assert not train(engine, "m", text, training(lam=0.1)).in_memory
    assert set(engine.fetch(input_rows(engine, text))["n"].tolist()) == {8}
