"""What sqlsvm asks of a database, and nothing more.

An engine executes sqlglot ASTs; nothing above this package ever sees a driver. What one engine lacks is
expressed in that engine's own file: the compiler has no `if dialect`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sqlglot import ErrorLevel, UnsupportedError, exp

from sqlsvm import sql
from sqlsvm.errors import EngineError

Kind = Literal["numeric", "boolean", "categorical", "other"]
Values = NDArray[Any]
"""A column of any type."""
Rows = dict[str, Values]
Parameters = Sequence[object]
Spelling = Literal["exact", "padded", "caseless"]
"""Which texts are equal: only the same ones; those that differ in blanks at the end too, which fill up a character(n);
or those that differ in case too, as with citext."""


@dataclass(frozen=True)
class Column:
    """A column as the database itself describes it: `type` in the engine's words, `kind` in ours."""

    name: str
    type: str
    kind: Kind
    spelling: Spelling = "exact"
    blur: str | None = None
    """`Engine.blur`, where somebody has asked."""

    @property
    def collation(self) -> str | None:
        """What blurs it, unless its type does."""
        return None if self.blur == self.type else self.blur


Refusal = Literal["denied", "no such name", "exists", "taken", "depended on", "lost race", "value"]
"""Why a database refuses a statement, as far as callers act on it: a table or a schema `exists` already, or something
else has `taken` its name; a session `lost [a] race` and can try again; a `value` in some row cannot be computed."""


class StatementError(EngineError):
    """The database refused a statement."""

    def __init__(
        self, message: str, *, detail: str | None = None, hint: str | None = None, kind: Refusal | None = None
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.kind = kind


@dataclass(frozen=True)
class Abilities:
    """What an engine can do, and how it behaves."""

    in_process: bool = False
    """Is the data in this process already?"""
    columnar: bool = False
    """Does a join carry columns along at next to no cost?"""
    foreign_keys: bool = True
    """Can a table that exists be given a foreign key?"""
    subscripts: frozenset[str] = frozenset()
    """Types of keys by which a place in an array is found faster than a row in a hash table."""
    inexact: frozenset[str] = frozenset()
    """Types of numbers that are rounded to some binary digits."""
    portable: Mapping[str, exp.DType] = field(default_factory=dict)
    """Types whose values `copy_out` gives as numbers that are equal where the values are, and the types of these."""


class Text(str):
    """A statement that an engine has rendered before: what runs in every pass is rendered once."""


Sent = exp.Expr | Text
Texts = tuple[Text, ...]


class Engine(ABC):
    """One session with one database. Statements are ASTs; parameters are the `$1`, `$2` ... in them."""

    dialect: str
    """sqlglot's name of the dialect: postgres, duckdb."""

    url: str
    """Where this is, without a password: safe to print and to store."""

    abilities: Abilities

    on_statement: Callable[[str], None] | None = None
    """Called with the text of every statement just before it is sent."""

    suffix: str = ""
    """Ends the names of working tables, where some table of the user's might be called like one."""

    turn: AbstractContextManager[object] = nullcontext()
    """Held by a transaction that writes what other sessions write too."""

    @property
    @abstractmethod
    def version(self) -> str:
        """For instance `PostgreSQL 15.18` or `DuckDB 2.0.0`."""

    def fold(self, name: str, quoted: bool) -> str:
        """The name that an identifier of the query means: two identifiers are one when their folds are equal."""
        return "".join(c.lower() if c.isascii() else c for c in name)

    # -- statements ----------------------------------------------------------------------------------------------------

    def text(self, statement: Sent) -> Text:
        """The statement as this engine wants to read it."""
        if isinstance(statement, Text):
            return statement
        if self.suffix:
            statement = statement.transform(lambda node: sql.suffixed(node, self.suffix))
        try:
            return Text(statement.sql(dialect=self.dialect, unsupported_level=ErrorLevel.RAISE))
        except UnsupportedError as error:
            raise EngineError(f"{self.dialect} cannot express a statement", detail=str(error)) from error

    @abstractmethod
    def execute(self, statement: Sent, parameters: Parameters = ()) -> None:
        """Run a statement that returns nothing."""

    @abstractmethod
    def fetch(self, statement: Sent, parameters: Parameters = ()) -> Rows:
        """Run a query; its columns by name, in order. NULL is nan in a float column; an integer or boolean column
        with NULLs comes as float; any other column comes as objects with None."""

    def to_keep(self, name: str, query: exp.Query) -> Texts:
        """The statements that `keep` sends: the first takes the parameters."""
        return (self.text(sql.temporary(name, query)),)

    def keep(self, name: str, query: exp.Query | Texts, parameters: Parameters = ()) -> None:
        """Make a working table of a query, and gather its statistics as the engine needs them. The texts of `to_keep`
        are sent as they are."""
        make, *others = query if isinstance(query, tuple) else self.to_keep(name, query)
        self.execute(make, parameters)
        for text in others:
            self.execute(text)

    def forget(self, name: str) -> None:
        """Drop a working table."""
        self.execute(sql.drop(name))

    def blocks(self, query: exp.Query, parameters: Parameters = ()) -> Iterator[Rows]:
        """What `fetch` gives, for a query of many numbers, a block at a time."""
        yield self.fetch(query, parameters)

    @abstractmethod
    def copy_in(self, table: exp.Table, columns: Mapping[str, Values]) -> None:
        """Append rows, column by column, by the engine's fastest way in. A masked cell is NULL."""

    @abstractmethod
    def copy_out(self, query: exp.Query) -> Iterator[Rows]:
        """The rows of a query of numbers, booleans and times, a block at a time, by the engine's fastest way out.

        Types stay as they are, a NULL is masked, and a time is what the server holds: days or microseconds since 2000.
        """

    @abstractmethod
    def texts(self, query: exp.Query) -> Generator[tuple[str | None, ...]]:
        """The rows of a query whose outputs are all text, as they come: none is kept, here or in the database. Nothing
        else may be asked until the last one is read, or this is closed."""

    @abstractmethod
    def csv(self, path: str) -> exp.Select:
        """The rows of a CSV file, every column as text."""

    # -- the catalog ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        """Names and types of the columns that a query would return, without reading a row."""

    @abstractmethod
    def table_names(self) -> tuple[str, ...]:
        """Names that a query of this session could read from, for suggestions."""

    @abstractmethod
    def volatile_functions(self, names: Sequence[str]) -> tuple[str, ...]:
        """Which of these functions could write, or give another value at every call."""

    @abstractmethod
    def view_texts(self, tables: Sequence[exp.Table]) -> tuple[str, ...]:
        """The queries of those of these that are views, and of the views that they read."""

    @abstractmethod
    def unique_keys(self, table: exp.Table) -> tuple[frozenset[str], ...]:
        """The sets of columns that a constraint or an index declares unique, NULLs aside."""

    def thins(self, table: exp.Table) -> bool:
        """Does TABLESAMPLE BERNOULLI keep each row of this with the same probability, whatever becomes of the others,
        and the same rows for the same seed?"""
        return False

    @abstractmethod
    def blur(self, column: Column, of: exp.Query) -> str | None:
        """The type or the collation by which texts of this column are equal that others would tell apart, if any."""

    def composite(self, column: Column) -> bool:
        """Is a value of this NULL to IS NULL where its parts are, and equal to another such value all the same?"""
        return False

    @abstractmethod
    def compared_as(self, types: Sequence[str]) -> str | None:
        """The type as which keys of these types are compared, where that may round some of them; else None."""

    # -- fingerprints --------------------------------------------------------------------------------------------------

    def digest(self, rows: exp.Query) -> str:
        """A short text that is the same for the same rows in whatever order, and another for others: their number, and
        the sum of their hashes. It means something in this version of this engine only."""
        hashes = exp.Sum(this=self.row_hash("r"))
        outputs = [exp.alias_(exp.Count(this=exp.Star()), "n"), exp.alias_(exp.cast(hashes, "text"), "hashes")]
        found = self.fetch(exp.select(*outputs).from_(rows.subquery("r")))
        return f"{found['n'][0]:.0f} {found['hashes'][0]}"

    @abstractmethod
    def row_hash(self, alias: str) -> exp.Expression:
        """An integer for each row of an item of FROM, from all its columns."""

    # -- the session ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Everything inside sees the same data; what it created is gone after it, unless committed by intent."""

    @contextmanager
    def bracket(self, begin: str, undo: str, end: str) -> Iterator[None]:
        """Send `begin`, then `end`, or `undo` if something goes wrong in between."""
        try:
            self.execute(Text(begin))
            yield
        except BaseException:
            with suppress(EngineError):  # the first error is the one to report
                self.execute(Text(undo))
            raise
        self.execute(Text(end))

    @abstractmethod
    def work_in(self, schema: str) -> None:
        """Keep the temporary tables that are made from now on in this schema; an error where that cannot be."""

    @abstractmethod
    def cancel(self) -> None:
        """Stop the running statement; may be called from another thread or a signal handler."""

    @abstractmethod
    def close(self) -> None:
        """Leave the database. Closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Programmable(Engine):
    """An engine whose server can hold the SQL functions and run stored programs."""

    @abstractmethod
    def run_script(self, text: str) -> None:
        """Send fixed SQL as it is: any number of statements, which no parser of ours has to understand."""

    @abstractmethod
    def rehearsal(self) -> AbstractContextManager[None]:
        """Everything that happens inside is undone at the end; snapshots inside are parts of this one."""


def as_values(cells: Iterable[object], kind: Kind) -> Values:
    """Python objects -> one column, under the convention of `Engine.fetch`."""
    if kind not in ("numeric", "boolean"):
        return np.fromiter(cells, dtype=object)
    cells = list(cells)
    if None in cells or not cells:
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
    values = np.array(cells)
    return values.astype(float) if values.dtype.kind == "O" else values


def widened(values: Values) -> Values:
    """Numbers in the byte order of this machine, and as wide as Python's own."""
    wide = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[values.dtype.kind]
    return values.astype(float if values.dtype == np.uint64 else wide)


def as_rows(names: Sequence[str], columns: Iterable[Values]) -> Rows:
    """Columns under their names. Two columns of one name would silently become one, so they are refused."""
    rows = dict(zip(names, columns, strict=True))
    if len(rows) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EngineError(f'a query returns more than one column named "{twice}"', hint="give each its own alias")
    return rows
