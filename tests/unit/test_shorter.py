"""The query of a model without the features that have no weight."""

import pytest
from sqlglot import parse_one

from sqlsvm.errors import OptionError
from sqlsvm.model.shorter import shorter_query
from sqlsvm.model.weights import Weight
from tests.ground.models import model


def shorter(query: str, *used: str, idle: tuple[str, ...] = ("gone",), dialect: str = "duckdb") -> str:
    weights = tuple(Weight(name, None, float(name in used), 0.0) for name in (*used, *idle))
    return on_a_line(shorter_query(model(query=query, dialect=dialect, label="y", weights=weights)))


def on_a_line(query: str) -> str:
    return parse_one(query, read="duckdb").sql("duckdb")


def test_features_without_a_weight() -> None:
    assert shorter("SELECT a.y, a.x, b.z AS gone FROM a JOIN b ON a.k = b.k WHERE b.z > 1", "x") == (
        "SELECT a.y, a.x FROM a JOIN b ON a.k = b.k WHERE b.z > 1"
    )
    assert shorter("SELECT y, CAST(gone AS INT), x + 1 FROM a", "x + 1") == "SELECT y, x + 1 FROM a"


def test_what_only_they_read() -> None:
    """And nothing that was not read before."""
    text = """
        WITH v AS (SELECT c, COUNT(*) AS n, SUM(m) AS s, MAX(day) AS at FROM (SELECT c, m, day FROM r) AS i GROUP BY c)
        SELECT o.y, v.n, v.s AS gone FROM o LEFT JOIN v ON v.c = o.c"""
    assert shorter(text, "n") == (
        'WITH v AS (SELECT c, COUNT(*) AS n, MAX(day) AS "at" FROM (SELECT c, day FROM r) AS i GROUP BY c) '
        "SELECT o.y, v.n FROM o LEFT JOIN v ON v.c = o.c"
    )


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT DISTINCT y, x, gone FROM a",
        "SELECT y, x, gone FROM a UNION SELECT y, x, gone FROM b",
        "SELECT y, x, COUNT(*) AS gone FROM a GROUP BY 1, 2",
        "SELECT y, x, COUNT(*) AS gone FROM a GROUP BY ALL",
        "SELECT y, gone * 2 AS x, z AS gone FROM a",
        "SELECT y, x, z AS gone FROM a ORDER BY gone LIMIT 3",
        "SELECT y, x, UNNEST(z) AS gone FROM a",
        "SELECT 1 AS y, 2 AS x, MAX(z) AS gone FROM a",
    ],
)
def test_outputs_that_say_which_rows_there_are(inner: str) -> None:
    """Then the rest is read from the query as it was, and a sub-query keeps it."""
    assert shorter(inner, "x") == on_a_line(f'SELECT "q"."y", "q"."x" FROM ({inner}) AS q')
    assert shorter(f"SELECT y, x, gone FROM ({inner}) AS i", "x") == on_a_line(f"SELECT y, x FROM ({inner}) AS i")


def test_a_star() -> None:
    found = shorter("SELECT * FROM a JOIN b ON a.k = b.k", "x", "Odd", idle=("gone", "k"))
    assert found == on_a_line('SELECT "q"."y", "q"."x", "q"."Odd" FROM (SELECT * FROM a JOIN b ON a.k = b.k) AS q')


def test_a_star_inside_reads_all() -> None:
    text = "SELECT y, x, gone FROM (SELECT * FROM (SELECT y, x, z AS gone FROM a) AS i) AS j"
    assert shorter(text, "x") == "SELECT y, x FROM (SELECT * FROM (SELECT y, x, z AS gone FROM a) AS i) AS j"


def test_nothing_is_left() -> None:
    with pytest.raises(OptionError, match="every weight of model late is 0"):
        shorter("SELECT y, gone FROM a")
