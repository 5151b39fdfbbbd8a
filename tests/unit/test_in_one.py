"""Statements that need fewer tables."""

from sqlglot import parse_one

from sqlsvm.compile.statement import Statement, in_one


def made(*pairs: tuple[str | None, str]) -> list[tuple[str | None, str]]:
    statements = [Statement(f"step {n}", parse_one(text), table) for n, (table, text) in enumerate(pairs)]  # type: ignore[arg-type]
    return [(s.table, s.query.sql()) for s in in_one(statements)]


def test_a_table_that_is_read_once_becomes_a_part() -> None:
    found = made(("a", "SELECT 1 AS x"), ("b", "SELECT x FROM a"), (None, "SELECT b.x FROM t JOIN b ON b.x = t.x"))
    inner = "(SELECT x FROM (SELECT 1 AS x) AS a)"
    assert found == [(None, f"SELECT b.x FROM t JOIN {inner} AS b ON b.x = t.x")]


def test_it_keeps_the_name_under_which_it_is_read() -> None:
    assert made(("a", "SELECT 1 AS x"), (None, "SELECT o.x FROM a AS o")) == [
        (None, "SELECT o.x FROM (SELECT 1 AS x) AS o")
    ]


def test_a_table_that_is_read_twice_stays() -> None:
    """Also by parts of one statement: its rows may be numbered."""
    pairs = (("a", "SELECT 1 AS x"), ("b", "SELECT x FROM a"), (None, "SELECT * FROM a JOIN b ON TRUE"))
    assert made(*pairs) == [("a", "SELECT 1 AS x"), (None, "SELECT * FROM a JOIN (SELECT x FROM a) AS b ON TRUE")]


def test_a_table_that_is_not_read_is_left_out() -> None:
    assert made(("a", "SELECT 1 AS x"), ("b", "SELECT x FROM a"), (None, "SELECT 2 AS y")) == [(None, "SELECT 2 AS y")]
