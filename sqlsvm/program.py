"""Running compiled statements: in order, on one engine, leaving nothing behind."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import EngineError


class Workspace:
    """The working tables of one run: what it made, it drops, whatever happens."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._tables: list[str] = []

    def run(self, statements: Iterable[Statement], parameters: Mapping[str, object] | None = None) -> dict[str, Rows]:
        """Execute in order; the answers of those that keep no table, by name."""
        answers = {}
        for statement in statements:
            values = [(parameters or {})[p] for p in statement.parameters]
            if statement.table is None:
                answers[statement.name] = self.engine.fetch(statement.query, values)
                continue
            make, *rest = statement.asts
            self.engine.execute(make, values)
            self._tables.append(statement.table)
            for ast in rest:
                self.engine.execute(ast)
        return answers

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


@contextmanager
def workspace(engine: Engine) -> Iterator[Workspace]:
    """One snapshot of the data for all statements inside; after it the working tables are gone."""
    with engine.snapshot():
        made = Workspace(engine)
        try:
            yield made
        except BaseException:
            with suppress(EngineError):  # the rollback removes them where a failed transaction refuses the DROP
                made.drop()
            raise
        made.drop()
