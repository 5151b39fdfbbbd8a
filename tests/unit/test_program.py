"""When a table of a program has been read for the last time."""

from sqlglot import exp, parse_one

from sqlsvm.compile.statement import Statement
from sqlsvm.run.workspace import spent


def statement(text: str, table: str | None = None) -> Statement:
    query = parse_one(text)
    assert isinstance(query, exp.Query)
    return Statement(text, query, table)


def test_a_table_goes_with_its_last_reader() -> None:
    program = (
        statement("SELECT 1 AS x", "a"),
        statement("SELECT x FROM a", "b"),
        statement("SELECT x FROM (SELECT x FROM a JOIN users USING (x)) AS d JOIN b USING (x)"),
        statement("SELECT x FROM b"),
    )
    assert spent(program) == [[], [], ["a"], ["b"]]


def test_a_table_that_nobody_reads_goes_at_once() -> None:
    assert spent((statement("SELECT 1 AS x", "a"), statement("SELECT x FROM made_before"))) == [["a"], []]
