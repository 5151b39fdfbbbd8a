"""Running compiled statements: in order, on one engine, leaving nothing behind."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from time import perf_counter

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Engine, Rows, Text
from sqlsvm.errors import EngineError


class Workspace:
    """The working tables of one run: what it made, it drops, whatever happens."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.on_done: Callable[[Statement, float, float], None] | None = None
        """Told of each statement when it is done: how many rows it kept or answered, and in how many seconds."""
        self._tables: list[str] = []
        self._texts: dict[int, tuple[Statement, tuple[Text, ...]]] = {}
        self._spent: dict[int, tuple[Sequence[Statement], list[list[str]]]] = {}

    def _text(self, statement: Statement) -> tuple[Text, ...]:
        """What is sent for a statement: rendered once, because passes run the same statements again and again."""
        if id(statement) not in self._texts:  # the statement is kept with its text, so that its id stays its own
            self._texts[id(statement)] = statement, tuple(self.engine.text(ast) for ast in statement.asts)
        return self._texts[id(statement)][1]

    def run(self, statements: Iterable[Statement], parameters: Mapping[str, object] | None = None) -> dict[str, Rows]:
        """Execute in order; the answers of those that keep no table, by name."""
        answers = {}
        for statement in statements:
            values = [(parameters or {})[p] for p in statement.parameters]
            started = perf_counter()
            answer = self._send(statement, values)
            seconds = perf_counter() - started
            if answer is not None:
                answers[statement.name] = answer
            if self.on_done:
                self.on_done(statement, self._rows(statement, answer), seconds)
        return answers

    def run_and_drop(self, program: Sequence[Statement], parameters: Mapping[str, object]) -> dict[str, Rows]:
        """The same, of a program that is run again and again: each of its tables goes as soon as no statement to come
        reads it."""
        if id(program) not in self._spent:  # the program is kept, so that its id stays its own
            self._spent[id(program)] = program, spent(program)
        answers: dict[str, Rows] = {}
        for statement, tables in zip(program, self._spent[id(program)][1], strict=True):
            answers |= self.run((statement,), parameters)
            self.drop(tables)
        return answers

    def blocks(self, statement: Statement, parameters: Mapping[str, object]) -> Iterator[Rows]:
        """The answer of a statement, where that may be long."""
        rows, started = 0, perf_counter()
        for block in self.engine.blocks(statement.query, [parameters[p] for p in statement.parameters]):
            rows += len(next(iter(block.values())))
            yield block
        if self.on_done:
            self.on_done(statement, rows, perf_counter() - started)

    def _send(self, statement: Statement, values: list[object]) -> Rows | None:
        make, *rest = self._text(statement)
        if statement.table is None:
            return self.engine.fetch(make, values)
        self.engine.execute(make, values)
        self._tables.append(statement.table)
        for text in rest:
            self.engine.execute(text)
        return None

    def _rows(self, statement: Statement, answer: Rows | None) -> float:
        if answer is None:
            answer = self.engine.fetch(sql.select([(sql.count(), "n")], exp.to_table(statement.table or "")))
            return float(answer["n"][0])
        return float(len(next(iter(answer.values()))))

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """What is made inside is dropped at its end; after an error the rollback of the workspace does that."""
        before = len(self._tables)
        yield
        self.drop(self._tables[before:])

    def drop(self, tables: Iterable[str] | None = None) -> None:
        for table in list(self._tables if tables is None else tables):
            self.engine.execute(sql.drop(table))
            self._tables.remove(table)


def spent(program: Sequence[Statement]) -> list[list[str]]:
    """After each statement, the tables of the program that were read for the last time."""
    made = {s.table for s in program if s.table}
    last: dict[str, int] = {}
    for place, statement in enumerate(program):
        read = {table.name for table in statement.query.find_all(exp.Table)} & made
        last |= dict.fromkeys([*sorted(read), *([statement.table] if statement.table else [])], place)
    return [[table for table, at in last.items() if at == place] for place in range(len(program))]


@contextmanager
def workspace(engine: Engine) -> Iterator[Workspace]:
    """One snapshot of the data for all statements inside; after it the working tables are gone."""
    with engine.snapshot(), _own_names(engine):
        made = Workspace(engine)
        try:
            yield made
        except BaseException:
            with suppress(EngineError):  # the rollback removes them where a failed transaction refuses the DROP
                made.drop()
            raise
        made.drop()


@contextmanager
def _own_names(engine: Engine) -> Iterator[None]:
    """A temporary table is found before any other of its name, by the query and by views and functions that it uses. So
    where tables are called like working tables, these are called otherwise."""
    taken = [name for table in engine.table_names() if (name := table.lower().split(".")[-1]).startswith(sql.WORKING)]
    ends = (f"_{n}" for n in count())
    engine.suffix = next(end for end in ends if not any(name.endswith(end) for name in taken)) if taken else ""
    try:
        yield
    finally:
        engine.suffix = ""
