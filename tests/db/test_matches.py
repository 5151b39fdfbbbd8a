"""LATERAL and ASOF joins, and sub-queries with LIMIT 1, find the rows that the database finds for them."""

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.query.read_query import read_query
from sqlsvm.query.render import render
from sqlsvm.query.whole import RESULT
from tests.typed import asked, run

LAST = "SELECT v.x, v.day AS seen FROM v WHERE v.c = o.c"
FOUND = (
    f"JOIN LATERAL ({LAST} AND v.day < o.day ORDER BY v.day DESC, v.x, v.id LIMIT 1) AS l ON l.x > 2",
    f"LEFT JOIN LATERAL ({LAST} AND v.day >= o.day ORDER BY v.day, v.x DESC, v.id LIMIT 1) AS l ON TRUE",
    "CROSS JOIN LATERAL (SELECT x, day FROM v WHERE v.c = o.c ORDER BY v.x DESC, v.id LIMIT 1) AS l(x, seen)",
    f"LEFT JOIN LATERAL ({LAST} AND v.day <= o.day AND v.day > o.day - 3 ORDER BY day DESC, id LIMIT 1) AS l ON TRUE",
    f"LEFT JOIN LATERAL ({LAST} AND x > 1 AND v.day BETWEEN o.day AND 9 ORDER BY v.day, id LIMIT 1) AS l ON TRUE",
    "LEFT JOIN LATERAL (SELECT COUNT(*) AS x, AVG(v.x) AS seen FROM v WHERE v.c = o.c AND day < o.day) AS l ON TRUE",
    f", LATERAL ({LAST} AND v.day < o.day AND x > 1) AS l",
    f", LATERAL ({LAST}) AS l",
)
ASOF = (
    "ASOF JOIN u AS l ON l.c = o.c AND l.seen <= o.day",
    "ASOF LEFT JOIN u AS l ON l.c = o.c AND o.day < l.seen",
)
WHOLE = (
    f", LATERAL ({LAST} AND v.day < o.day ORDER BY v.day DESC, id LIMIT 2) AS l",
    f"JOIN w ON w.c = o.c, LATERAL ({LAST} AND v.day < w.day ORDER BY v.day DESC, id LIMIT 1) AS l",
    f"JOIN LATERAL ({LAST} AND v.day + o.day < 9 ORDER BY v.day DESC, id LIMIT 1) AS l ON TRUE",
)


@pytest.fixture
def shop(engine: Engine) -> Engine:
    """With NULLs and ties."""
    values = "NULLIF(g % 5, 0) AS c, NULLIF(g * 7 % 11, 2) AS day, NULLIF(g * 13 % 9, 1) AS x, g AS id"
    run(engine, f"CREATE TABLE v AS SELECT {values} FROM GENERATE_SERIES(1, 60) AS r(g)")
    run(engine, "CREATE TABLE u AS SELECT c, day AS seen, MAX(x) AS x FROM v GROUP BY c, day")
    run(engine, "CREATE TABLE w AS SELECT c, MAX(day) AS day FROM v GROUP BY c")
    values = "NULLIF(g * 3 % 7, 0) AS c, NULLIF(g * 5 % 11, 2) AS day"
    run(engine, f"CREATE TABLE o AS SELECT {values} FROM GENERATE_SERIES(1, 40) AS r(g)")
    return engine


def test_joins(shop: Engine) -> None:
    for join in FOUND + (ASOF if shop.dialect == "duckdb" else ()):
        assert RESULT not in _same(shop, f"SELECT o.day, l.x, seen FROM o {join}")
    for join in WHOLE:
        assert RESULT in _same(shop, f"SELECT o.day, l.x, seen FROM o {join}")


def test_stars(shop: Engine) -> None:
    """They do not list what only joins."""
    _same(shop, f"SELECT o.day, l.* FROM o {FOUND[0]}")
    _same(shop, f"SELECT * FROM o {FOUND[2]}")
    _same(shop, f"SELECT o.day, l.* FROM o {FOUND[5]}")


def test_values(shop: Engine) -> None:
    last = "FROM v WHERE v.c = o.c AND v.day < o.day ORDER BY v.day DESC, id LIMIT 1"
    _same(shop, f"SELECT day, (SELECT x {last}) AS x, (SELECT v.x + v.day {last}) AS y FROM o")
    _same(shop, "SELECT day, (SELECT x FROM v WHERE v.c = o.c ORDER BY v.day DESC, id LIMIT 1) AS x FROM o")


def _same(engine: Engine, text: str) -> list[str]:
    query = read_query(engine, text)
    names = [f.name for f in query.outputs]
    of = [
        sorted(_row(values[n][i] for n in names) for i in range(len(values[names[0]])))
        for values in (engine.fetch(render(query)), asked(engine, text))
    ]
    assert of[0], text
    for row, other in zip(*of, strict=True):
        assert row == pytest.approx(other, rel=1e-9), text
    return [relation.alias for relation in query.relations]


def _row(values: object) -> list[float]:
    return [-9e9 if v is None or v != v else float(v) for v in values]  # type: ignore[attr-defined]
