"""Run compiled statements in order on one engine, and leave nothing behind."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from itertools import count, islice
from time import perf_counter
from typing import TypeVar

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Asked, Statement
from sqlsvm.compile.statement import statement as numbered
from sqlsvm.engine.base import Engine, Rows, Texts
from sqlsvm.errors import DataError, EngineError
from sqlsvm.plan.plan import PART
from sqlsvm.query.facts import Facts
from sqlsvm.run.clock import Clock

T = TypeVar("T")
Answers = Mapping[str, Rows]  # of the statements that keep no table, by name


def of_parts(answers: Answers, parts: Iterable[int], column: str = PART) -> Answers:
    """Those of these parts, where the rows say which part they are of."""

    def kept(rows: Rows) -> Rows:
        these = np.isin(rows[column].astype(float), list(parts))
        return {name: values[these] for name, values in rows.items()}

    return {name: kept(rows) if column in rows else rows for name, rows in answers.items()}


class Program:
    """Statements that run together many times. They are rendered once, and each of their tables is dropped after the
    last statement that reads it."""

    def __init__(self, engine: Engine, statements: Iterable[Statement]) -> None:
        self.statements, self._engine = tuple(statements), engine
        self._views = {table for table, readers in self.readers.items() if not engine.stores(readers)}

    @cached_property
    def texts(self) -> tuple[Texts, ...]:
        return tuple(rendered(self._engine, s, self.readers.get(s.table or "")) for s in self.statements)

    @cached_property
    def readers(self) -> Mapping[str, int]:
        """How often the statements read each of their tables."""
        read = Counter(table.name for s in self.statements for table in s.query.find_all(exp.Table))
        return {s.table: read[s.table] for s in self.statements if s.table}

    @cached_property
    def lifetimes(self) -> Mapping[str, tuple[int, int]]:
        """For each table the place of the statement that makes it, and of the last one that reads it. A table that is
        only a view reads its own tables when it is read."""
        read = [{table.name for table in s.query.find_all(exp.Table)} for s in self.statements]
        made = {s.table: place for place, s in enumerate(self.statements) if s.table}
        last = dict(made)
        for place, tables in enumerate(read):
            last |= dict.fromkeys(tables & made.keys(), place)
        for statement, tables in reversed(list(zip(self.statements, read, strict=True))):
            if (own := statement.table) in self._views:
                last |= {table: max(last[table], last[own]) for table in tables & made.keys()}
        return {table: (place, last[table]) for table, place in made.items()}

    @cached_property
    def spent(self) -> tuple[tuple[str, ...], ...]:
        """The tables to drop after each statement."""
        places = range(len(self.statements))
        return tuple(tuple(table for table, (_, last) in self.lifetimes.items() if last == place) for place in places)


def rendered(engine: Engine, statement: Statement, readers: int | None = None) -> Texts:
    """The texts that are sent for a statement; for an answer several, if it is too wide for one."""
    if statement.table is None:
        return tuple(map(engine.text, sql.narrow(statement.query)))
    return engine.to_keep(statement.table, statement.query, readers=readers)


def merged(parts: Iterable[Rows]) -> Rows:
    return {name: values for rows in parts for name, values in rows.items()}


Questions = list[tuple[exp.Query, list[object]]]  # queries with the values of their parameters


def keep_all(engine: Engine, statements: Sequence[Statement], parameters: Mapping[str, object]) -> Questions:
    """For an engine that inlines: make the tables, and return what is left to ask."""
    asked: Questions = []
    for statement in statements:
        values = [parameters[p] for p in statement.parameters]
        if statement.table is None:
            asked += [(part, values) for part in sql.narrow(statement.query)]
        else:
            engine.keep(statement.table, statement.query, values)
    return asked


def at_once(engine: Engine, statements: Sequence[Statement], asked: Questions) -> Statement:
    """What such an engine sends for them, while it has their tables."""
    name = statements[0].name if len(statements) == 1 else f"{len(statements)} steps in one statement"
    return numbered(name, engine.whole(asked))


class Workspace:
    """The working tables of one run. It drops all that it made, also after an error."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self.engine, self.clock, self.facts = engine, clock or Clock(), Facts(engine)
        self.on_done: Callable[[Statement, float, float], None] | None = None
        """Called after each statement with the number of rows that it kept or returned, and its seconds."""
        self._tables: dict[str, int] = {}
        """Each with its number, in the order in which they were made."""
        self._made = count()
        self._named = False

    def run(self, statements: Iterable[Statement], parameters: Mapping[str, object] | None = None) -> dict[str, Rows]:
        """Execute in order. Returns the answers of those that keep no table, by name."""
        if self.engine.inlines:
            return self._together(statements, parameters or {})
        answers: dict[str, Rows] = {}
        known = dict(parameters or {})
        for statement in statements:
            if statement.table:
                self._claim_names()
            answers |= self._answers(statement, rendered(self.engine, statement), known)
        return answers

    def ask(self, asked: Asked[T], parameters: Mapping[str, object] | None = None) -> T:
        with nullcontext() if asked.keeps else self.scratch():
            return asked.read(merged(self.run(asked.statements, parameters).values()))

    def run_and_drop(self, program: Program, parameters: Mapping[str, object]) -> dict[str, Rows]:
        """The same for a program, whose answers may prove something. No table is left."""
        if self.engine.inlines:
            with self.scratch():
                found = self._together(program.statements, parameters)
            self.engine.check_read()
            return found
        answers: dict[str, Rows] = {}
        known = dict(parameters)
        if any(s.table for s in program.statements):
            self._claim_names()
        for statement, texts, spent in zip(program.statements, program.texts, program.spent, strict=True):
            answers |= self._answers(statement, texts, known)
            self.drop(spent)
        self.engine.check_read()
        return answers

    def _together(self, statements: Iterable[Statement], parameters: Mapping[str, object]) -> dict[str, Rows]:
        """The answers, all from one statement. The tables are parts of it."""
        run, started = list(statements), perf_counter()
        self._claim_names()
        asked = keep_all(self.engine, run, parameters)
        self._tables.update((s.table, next(self._made)) for s in run if s.table)
        answers = self.engine.fetch_all(asked)
        if self.on_done and asked:
            rows = sum(len(next(iter(answer.values()))) for answer in answers)
            self.on_done(at_once(self.engine, run, asked), rows, perf_counter() - started)
        found = iter(answers)
        parts = {s.name: len(sql.narrow(s.query)) for s in run if not s.table}
        return {name: merged(islice(found, number)) for name, number in parts.items()}

    def _claim_names(self) -> None:
        """Before the first working table is made. A temporary table hides any other of its name from the query and from
        its views and functions. If there are tables with names of working tables, give those other names."""
        if self._named:
            return
        known, ends = self.engine.table_names(), (f"_{n}" for n in count())
        taken = [name for table in known if (name := table.lower().split(".")[-1]).startswith(sql.WORKING)]
        self.engine.suffix = next(e for e in ends if not any(name.endswith(e) for name in taken)) if taken else ""
        self._named = True

    def blocks(self, statement: Statement, parameters: Mapping[str, object]) -> Iterator[Rows]:
        """The answer of a statement, a block at a time."""
        rows, started = 0, perf_counter()
        for block in self.engine.blocks(statement.query, [parameters[p] for p in statement.parameters]):
            rows += len(next(iter(block.values())))
            yield block
        if self.on_done:
            self.on_done(statement, rows, perf_counter() - started)

    def read(self, statement: Statement, parameters: Mapping[str, object]) -> Rows:
        """The whole answer of a statement that has many rows."""
        blocks = list(self.blocks(statement, parameters))
        if len(blocks) == 1:
            return blocks[0]
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

    def _answers(self, statement: Statement, texts: Texts, parameters: dict[str, object]) -> dict[str, Rows]:
        """The answer by its name; a statement that keeps a table has none. What it gives becomes a parameter."""
        values, started = [parameters[p] for p in statement.parameters], perf_counter()
        answer = self._send(statement, texts, values)
        seconds = perf_counter() - started
        if self.on_done:
            self.on_done(statement, self._rows(statement, answer), seconds)
        if answer is not None and statement.gives:
            parameters |= {name: values[0] for name, values in answer.items()}
        return {} if answer is None else {statement.name: answer}

    def _send(self, statement: Statement, texts: Texts, values: list[object]) -> Rows | None:
        if statement.table is None:
            return merged(self.engine.fetch(text, values) for text in texts)
        self.engine.keep(statement.table, texts, values)
        self._tables[statement.table] = next(self._made)
        return None

    def _rows(self, statement: Statement, answer: Rows | None) -> float:
        if answer is None:
            answer = self.engine.fetch(sql.select([(sql.count(), "n")], sql.table(statement.table or "")))
            return float(answer["n"][0])
        return float(len(next(iter(answer.values()))))

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Tables made inside are dropped at the end; also after an error about the rows, after which others may be
        read. After any other error, the rollback of the workspace removes them."""
        before = dict(self._tables)
        try:
            yield
        except DataError:
            self._drop_since(before)
            raise
        self._drop_since(before)

    def _drop_since(self, before: Mapping[str, int]) -> None:
        """Also those that were made again."""
        self.drop([table for table, number in self._tables.items() if before.get(table) != number])

    @property
    def tables(self) -> tuple[str, ...]:
        """The working tables that there are."""
        return tuple(self._tables)

    def drop(self, tables: Iterable[str] | None = None) -> None:
        for table in list(self._tables if tables is None else tables):
            self.engine.forget(table)
            del self._tables[table]


@contextmanager
def workspace(engine: Engine, clock: Clock | None = None, reads: Iterable[exp.Table] = ()) -> Iterator[Workspace]:
    """One snapshot of the data for all statements inside, which read these tables. At its end the working tables are
    dropped."""
    with engine.snapshot(reads):
        made = Workspace(engine, clock)
        try:
            yield made
        except BaseException:
            with suppress(EngineError):  # if a failed transaction refuses the DROP, the rollback removes them
                made.drop()
            raise
        else:
            made.drop()
        finally:
            engine.suffix = ""
