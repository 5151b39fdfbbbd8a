"""When a table of a program has been read for the last time, and that a program is rendered once."""

from collections.abc import Iterator

import pytest
from sqlglot import exp, parse_one

from sqlsvm.compile.statement import Statement
from sqlsvm.engine import scratch
from sqlsvm.engine.base import Engine
from sqlsvm.run.workspace import Program, workspace


@pytest.fixture
def engine() -> Iterator[Engine]:
    with scratch() as engine:
        yield engine


def statement(text: str, table: str | None = None) -> Statement:
    query = parse_one(text)
    assert isinstance(query, exp.Query)
    return Statement(text, query, table)


def test_a_table_goes_with_its_last_reader(engine: Engine) -> None:
    program = Program(
        engine,
        (
            statement("SELECT 1 AS x", "a"),
            statement("SELECT x FROM a", "b"),
            statement("SELECT x FROM (SELECT x FROM a JOIN users USING (x)) AS d JOIN b USING (x)"),
            statement("SELECT x FROM b"),
        ),
    )
    assert program.lifetimes == {"a": (0, 2), "b": (1, 3)}
    assert program.spent == ((), (), ("a",), ("b",))


def test_a_table_that_nobody_reads_goes_at_once(engine: Engine) -> None:
    program = Program(engine, (statement("SELECT 1 AS x", "a"), statement("SELECT x FROM made_before")))
    assert program.spent == (("a",), ())


def test_a_program_leaves_no_table_and_is_rendered_once(engine: Engine) -> None:
    answer = statement("SELECT x + 1 AS y FROM a")
    sent: list[str] = []
    with workspace(engine) as work:
        program = Program(engine, (statement("SELECT 1 AS x", "a"), answer))
        engine.on_statement = sent.append
        for _ in range(2):
            assert work.run_and_drop(program, {})[answer.name]["y"].tolist() == [2]
            assert engine.table_names() == ()
    texts = [text for (text,) in program.texts]
    assert [text for text in sent if any(text is own for own in texts)] == 2 * texts
