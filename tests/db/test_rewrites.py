"""No rule changes the rows of a query: random queries, rendered before and after each. `python -m tests.queries` runs
many more."""

from typing import Any

import pytest

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.errors import QueryError
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rows import render
from tests.ground import counting
from tests.ground.rewriting import check
from tests.ground.trained import training
from tests.typed import asked, run

FEW = 16


@pytest.mark.slow
def test_random_queries(shared_engine: Engine) -> None:
    """Each engine has its own."""
    first = FEW if shared_engine.dialect == "postgres" else 0
    found = []
    for seed in range(first, first + FEW):
        try:
            found.append(check(shared_engine, seed))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    assert found.count("checked") >= FEW // 4


def test_random_queries_are_counted(shared_engine: Engine) -> None:
    found = [counting.check(shared_engine, seed) for seed in range(520_000, 520_006)]
    assert found.count("equal") > 3


@pytest.mark.parametrize(
    ("star", "expected"),
    [
        ("f.* EXCLUDE (k)", "x y"),
        ("* EXCLUDE (k)", "x y b"),
        ("* EXCLUDE (f.k)", "x y k b"),
        ("f.* EXCLUDE (k) REPLACE (-x AS x)", "x y"),
        ("f.* REPLACE (f.x / d.b AS x)", "k x y"),
    ],
)
def test_stars(duckdb: Engine, star: str, expected: str) -> None:
    for made in ("CREATE TABLE f AS SELECT 1 AS k, 2.0 AS x, TRUE AS y", "CREATE TABLE d AS SELECT 1 AS k, 4.0 AS b"):
        run(duckdb, made)
    text = f"SELECT {star} FROM f JOIN d ON d.k = f.k"
    query = read_query(duckdb, text)
    assert [f.name for f in query.outputs] == expected.split()
    found, wanted = duckdb.fetch(render(query)), asked(duckdb, text)
    assert [found[name].tolist() for name in found] == [values.tolist() for values in wanted.values()]


def test_a_star_that_leaves_out_what_it_has_not(duckdb: Engine) -> None:
    run(duckdb, "CREATE TABLE f AS SELECT 1 AS key, 2 AS x")
    with pytest.raises(QueryError, match="unknown column keys") as refused:
        read_query(duckdb, "SELECT * EXCLUDE (keys) FROM f")
    assert "key" in (refused.value.hint or "")


def test_names_are_found_in_one_way(engine: Engine) -> None:
    """As spelled, else as the engine reads the unquoted name. A name may have a colon, also that of a sum."""
    columns = "g % 5 AS k, g % 7 AS x, g % 3 AS z, g % 2 = 0 AS y"
    run(engine, f"CREATE TABLE f AS SELECT {columns} FROM GENERATE_SERIES(1, 400) AS r(g)")
    run(engine, "CREATE TABLE d AS SELECT g AS k, g * g AS b FROM GENERATE_SERIES(0, 4) AS r(g)")
    text = 'SELECT f.y, f.x, f.z, f.x + d.b AS "p:q" FROM f JOIN d ON d.k = f.k'
    options: dict[str, Any] = {
        "constrain": ("increasing:X",),
        "map": ("spline:p:q:4",),
        "folds": 2,
        "split_by": "K",
        "max_passes": 2,
    }
    (model,) = trained(engine, text, {"m": training(**options)})
    assert {w.feature for w in model.weights} >= {"p:q_spline1", "x"}


def test_all_types_that_cannot_be_used_are_named(engine: Engine) -> None:
    run(engine, "CREATE TABLE f AS SELECT 1 AS x, ARRAY[1] AS d, CAST('12:00' AS TIME WITH TIME ZONE) AS t")
    with pytest.raises(QueryError, match=r"feature d is of type (integer|INTEGER)\[\]") as refused:
        read_query(engine, "SELECT x, d, t FROM f")
    assert "and feature t is of type " in (refused.value.detail or "")
