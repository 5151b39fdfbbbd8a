"""What sqlsvm needs from a database.

An engine executes sqlglot ASTs. Only this package sees drivers. An engine's own file handles what that engine lacks:
the compiler has no `if dialect`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import ErrorLevel, UnsupportedError, exp

from sqlsvm import sql
from sqlsvm.engine.rates import Rates, Thresholds
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.options import DEFAULTS

Kind = Literal["numeric", "boolean", "categorical", "date", "timestamp", "timestamptz", "time", "interval", "other"]
Values = NDArray[Any]  # a column of any type
Rows = dict[str, Values]
Parameters = Sequence[object]
Called = tuple[str, str]  # schema and name of a function. The schema is empty for one of the system.
E = TypeVar("E", bound=exp.Expr)
Q = TypeVar("Q", bound=exp.Query)
MAKE_AT_MOST: int = DEFAULTS["make_at_most"]
Spelling = Literal["exact", "padded", "caseless"]
"""Which texts are equal. exact: only identical ones. padded: blanks at the end do not count, as in a character(n).
caseless: upper and lower case are the same, as in citext."""


@dataclass(frozen=True)
class Column:
    """A column as the database itself describes it: `type` in the engine's words, `kind` in ours."""

    name: str
    type: str
    kind: Kind
    spelling: Spelling = "exact"
    blur: str | None = None  # what `Engine.blur` says, if it was asked

    @property
    def collation(self) -> str | None:
        """The collation that blurs it, if it is not its type that does."""
        return None if self.blur == self.type else self.blur


Refusal = Literal["denied", "no such name", "exists", "taken", "depended on", "lost race", "value"]
"""Why a database refused a statement, for the reasons on which callers act. exists: the table or schema exists already.
taken: another object has that name. lost race: the session can try again. value: some row has a value that is an
error."""


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

    in_process: bool = False  # is the data in this process?
    spread: bool = False
    """Are rows spread over machines, so that a window without PARTITION BY has to bring them together?"""
    foreign_keys: bool = True  # can a foreign key be added to an existing table?
    changes_rows: bool = True  # can a row of a table be changed or deleted?
    invoker_views: bool = False
    """Can a view read with the rights of the role that reads it, and not with those of its owner?"""
    integers: frozenset[str] = frozenset()  # types of whole numbers that fit into 64 bits
    inexact: frozenset[str] = frozenset()  # types of numbers that are rounded to a number of binary digits
    single: str = "real"  # the type of numbers that are rounded to 24 binary digits
    shortest: bool = False
    """Does the driver return such a number as its shortest decimal, 0.9 and not 0.8999999761581421?"""
    frequent: bool = False  # is there an aggregate function that sketches the most frequent values?
    portable: Mapping[str, exp.DType] = field(default_factory=dict)
    """Types whose values `copy_out` gives as numbers, equal exactly where the values are; with the numbers' types."""


@dataclass(frozen=True)
class Stranger:
    """A role that this session does not trust, and that can run code through a schema."""

    role: str
    said: str  # what it owns there, or may do there
    remedy: str | None  # the statement that takes a right from it


@dataclass(frozen=True)
class ForeignKey:
    """Columns of a table that say which row of another one is meant: a constraint, or a guess."""

    table: exp.Table
    columns: tuple[str, ...]
    of: exp.Table
    keys: tuple[str, ...]
    guess: str | None = None  # why it is taken for one, if no constraint says so


class Text(str):
    """A statement that an engine has rendered: what runs in every pass is rendered once."""


class Bound(str):
    """The text of a query whose names have been looked up: what it calls without a schema is the system's, on any
    path."""


@dataclass(frozen=True)
class Meaning:
    """What a name of a query stands for: a relation, or all functions or operators of the name. The database itself is
    one of the names: in another one the numbers mean nothing."""

    kind: Literal["database", "relation", "function", "operator"]
    schema: str
    name: str
    oids: str
    owner: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.schema, self.name

    @property
    def said(self) -> str:
        return f'{self.kind} {self.oids} of the role "{self.owner}"' if self.oids else "nothing"


Sent = exp.Expr | Text
Texts = tuple[Text, ...]


class Session(Protocol):
    """A SparkSession, without pyspark."""

    @property
    def version(self) -> str: ...

    def sql(self, sqlQuery: str) -> Any: ...


class Engine(ABC):
    """One session with one database. Statements are ASTs; parameters are the `$1`, `$2` ... in them."""

    dialect: str  # sqlglot's name of the dialect: postgres, duckdb
    url: str  # the location, without a password: safe to print and to store
    abilities: Abilities

    rates: Rates
    sizes: Thresholds = Thresholds()

    on_statement: Callable[[str], None] | None = None  # called with the text of every statement just before it is sent
    inlines: bool = False
    """Is a working table only a part of the statements that read it? Then several answers are best asked together."""

    suffix: str = ""  # the end of the names of working tables, if a table of the user may have such a name
    make_at_most: int = MAKE_AT_MOST  # so many rows of a part of a query are made once, where no join tree has the part
    trusted: frozenset[str] = frozenset()
    """Roles that the user trusts by name: what they have stored may run with the rights of this session."""

    turn: AbstractContextManager[object] = nullcontext()
    """A transaction holds it while it writes what other sessions may write too."""

    @property
    @abstractmethod
    def version(self) -> str:
        """For instance `PostgreSQL 15.18` or `DuckDB 2.0.0`."""

    def fold(self, name: str, quoted: bool) -> str:
        """The name that an identifier of the query means: two identifiers are one when their folds are equal."""
        return name.lower() if name.isascii() else "".join(c.lower() if c.isascii() else c for c in name)

    # -- statements ----------------------------------------------------------------------------------------------------

    def text(self, statement: Sent) -> Text:
        """The statement as this engine wants to read it. sqlglot need not copy it first: no tree of ours is written in
        two dialects."""
        if isinstance(statement, Text):
            return statement
        if self.suffix:
            statement = statement.transform(lambda node: sql.suffixed(node, self.suffix))
        try:
            return Text(statement.sql(dialect=self.dialect, copy=False, unsupported_level=ErrorLevel.RAISE))
        except UnsupportedError as error:
            raise EngineError(f"{self.dialect} cannot express a statement", detail=str(error)) from error

    def preamble(self) -> Texts:
        """What has to run first in another session, so that texts of this one can run there."""
        return ()

    @abstractmethod
    def execute(self, statement: Sent, parameters: Parameters = ()) -> None:
        """Run a statement that returns nothing."""

    @abstractmethod
    def fetch(self, statement: Sent, parameters: Parameters = ()) -> Rows:
        """Run a query; its columns by name, in order. NULL is nan in a float column; an integer or boolean column
        with NULLs comes as float; any other column comes as objects with None."""

    def fetch_all(self, asked: Iterable[tuple[exp.Query, Parameters]]) -> list[Rows]:
        """The answers of several queries."""
        return [self.fetch(query, parameters) for query, parameters in asked]

    def whole(self, asked: Iterable[tuple[exp.Query, Parameters]]) -> exp.Query:
        """The one query that asks them, of an engine that inlines. A value may be an expression."""
        raise NotImplementedError

    def stores(self, readers: int) -> bool:
        """Are the rows of a working table stored that is read so many times? Else they are found when it is read."""
        return True

    def to_keep(self, name: str, query: exp.Query, *, readers: int | None = None) -> Texts:
        """The statements that `keep` sends: the first takes the parameters. `readers` is how often later statements
        read the table, if that is known: an engine need not store what is read once."""
        return (self.text(sql.temporary(name, query)),)

    def keep(self, name: str, query: exp.Query | Texts, parameters: Parameters = ()) -> None:
        """Make a working table of a query or of its `to_keep`, with statistics if the engine needs them."""
        make, *others = query if isinstance(query, tuple) else self.to_keep(name, query)
        self.execute(make, parameters)
        for text in others:
            self.execute(text)

    def forget(self, name: str) -> None:
        """Drop a working table."""
        self.execute(sql.drop(name))

    def create(self, made: exp.Create, *, overwrite: bool = False) -> None:
        """Make a table or view of a query. With `overwrite` it replaces one of that name, if nothing fails."""
        with self.snapshot(made.expression.find_all(exp.Table)):
            if overwrite:
                self.execute(exp.Drop(tables=[made.this.copy()], kind=made.kind, exists=True))
            self.execute(made)

    def blocks(self, query: exp.Query, parameters: Parameters = ()) -> Iterator[Rows]:
        """As `fetch`, for a query of many numbers, a block at a time."""
        yield self.fetch(query, parameters)

    @abstractmethod
    def copy_in(self, table: exp.Table, columns: Mapping[str, Values]) -> None:
        """Append rows in the fastest way of this engine. A masked cell is NULL."""

    @abstractmethod
    def copy_out(self, query: exp.Query) -> Iterator[Rows]:
        """The rows of a query of numbers, booleans and times, a block at a time, in the fastest way of this engine.
        Types do not change. A NULL is masked. A time is what the server stores: days or microseconds since 2000."""

    @abstractmethod
    def texts(self, query: exp.Query) -> Generator[tuple[str | None, ...]]:
        """The rows of a query whose outputs are all text. They are not stored, here or in the database. Read the last
        row or close this before the next statement."""

    def write_parquet(self, query: exp.Query, path: str, *, overwrite: bool = False) -> None:
        """Write the rows of a query to a new Parquet file; where many tasks write, to a folder of files."""
        hint = "--csv FILE writes CSV; DuckDB and Spark write Parquet"
        raise OptionError(f"{self.version} does not write Parquet", hint=hint)

    @abstractmethod
    def csv(self, path: str) -> exp.Select:
        """The rows of a CSV file, every column as text."""

    # -- names ---------------------------------------------------------------------------------------------------------

    def bound(self, query: Q, *, again: bool = False) -> Q:
        """The user's query with the schema of every name that a statement of ours would not find by itself. `again`: it
        is of a `Bound`."""
        return query

    def far(self, tables: Sequence[exp.Table]) -> frozenset[int]:
        """The places of those that read rows of another server, whose changes no snapshot here hides."""
        return frozenset()

    def naming(self, tables: Sequence[exp.Table], called: Sequence[Called]) -> exp.Query | None:
        """What tells the `Meaning`s of these names; None if they are no matter of this engine."""
        return None

    def placed(self, made: E) -> E:
        """New tables and views with a schema: the one where a CREATE of the user would make them."""
        return made

    def watching(self, called: Sequence[Called]) -> tuple[exp.Query, ...]:
        """What a program asks at its beginning and later, and what it asks with the first answer in $1, to learn
        whether what it reads is still the same."""
        return ()

    @property
    def zone(self) -> str | None:
        """The time zone of the session, on which hours and days of a time with a zone depend."""
        return None

    @property
    def settings(self) -> Mapping[str, str]:
        """Those with which it runs statements."""
        return {}

    def in_zone(self, zone: str | None) -> None:
        """From now on this is the time zone of the session, if it is known."""
        if zone and self.zone not in (None, zone):
            self._move_to(zone)

    def _move_to(self, zone: str) -> None:
        raise NotImplementedError

    # -- the catalog ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        """Names and types of the columns that a query would return, without reading a row."""

    @abstractmethod
    def table_names(self) -> tuple[str, ...]:
        """Names of tables that a query of this session can read, for suggestions."""

    def tables(self) -> tuple[exp.Table, ...]:
        """The tables and views that a query of this session can read, each with its schema."""
        raise OptionError(f"{self.version} does not list its tables", hint="use PostgreSQL or DuckDB for this")

    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        """Those that constraints declare."""
        return ()

    def size(self, rows: exp.Query) -> float:
        """About how many bytes these take, without reading one. Infinite where nothing is known."""
        return inf

    @abstractmethod
    def volatile_functions(self, called: Sequence[Called]) -> tuple[str, ...]:
        """Which of these functions can write, or can give another value at each call."""

    def remedy(self, volatile: str) -> str:
        """What to do with a function that is one of these."""
        return f"if it only reads, declare that: ALTER FUNCTION {volatile} ... STABLE"

    def unpinned_functions(self, called: Sequence[Called]) -> tuple[str, ...]:
        """Which of these functions could mean something else when a statement of ours calls them."""
        return ()

    @abstractmethod
    def view_texts(self, tables: Sequence[exp.Table]) -> tuple[str, ...]:
        """The queries of the views among these tables, and of the views that those read."""

    @abstractmethod
    def unique_keys(self, tables: Sequence[exp.Table]) -> list[list[frozenset[str]]]:
        """For each table the sets of columns that a constraint or an index declares unique. NULLs may repeat."""

    def never_null(self, table: exp.Table) -> frozenset[str]:
        """Columns of a table that are declared to be never NULL, as far as anyone asks this engine."""
        return frozenset()

    def thins(self, table: exp.Table) -> bool:
        """Does TABLESAMPLE BERNOULLI keep each row with the same probability, independent of others, and the same rows
        for the same seed?"""
        return False

    def keeps_order(self, source: exp.Expr) -> bool:
        """Are the rows of this read in the same order each time?"""
        return True

    def keeps_values(self, source: exp.Expr) -> bool:
        """Have they the same values each time, to the last digit?"""
        return True

    @abstractmethod
    def blur(self, column: Column, of: exp.Query) -> str | None:
        """A type or collation of the column, if different texts are equal under it."""

    def composite(self, column: Column) -> bool:
        """Is IS NULL true for a value of this whose parts are all NULL, although two such values are equal?"""
        return False

    def own_equality(self, column: Column) -> bool:
        """Is = for this type an operator outside the system, which statements of ours do not use?"""
        return False

    @abstractmethod
    def compared_as(self, types: Sequence[str]) -> str | None:
        """The type to which keys of these types are converted for a comparison, if that may round some of them."""

    # -- files ---------------------------------------------------------------------------------------------------------

    def confine(self, queries: Iterable[str], files: Iterable[str] = ()) -> None:  # noqa: B027
        """Until its end this session keeps its settings, and opens only its own files, these, and those that these
        queries and the views in them name."""

    # -- roles ---------------------------------------------------------------------------------------------------------

    def trusts(self, role: str | None) -> bool:
        """May what this role has stored run with the rights of this session? None is a role that is not known."""
        return True

    def strangers(self, schema: str) -> tuple[Stranger, ...]:
        """The other roles that can run code with the rights of this session when it uses a schema. An engine without
        roles has none."""
        return ()

    # -- fingerprints --------------------------------------------------------------------------------------------------

    def digest(self, rows: exp.Query) -> str:
        """A short text that tells sets of rows apart, in any order: their number and the sum of their hashes. Compare
        only texts from the same version of an engine."""
        hashes = sql.total(self.row_hash("r"))
        outputs = [exp.alias_(exp.Count(this=exp.Star()), "n"), exp.alias_(exp.cast(hashes, "text"), "hashes")]
        found = self.fetch(exp.select(*outputs).from_(rows.subquery("r")))
        return f"{found['n'][0]:.0f} {found['hashes'][0]}"

    @abstractmethod
    def row_hash(self, alias: str) -> exp.Expression:
        """An integer for each row of an item of FROM, computed from all its columns."""

    @abstractmethod
    def hashed(self, values: Sequence[exp.Expression]) -> exp.Expression:
        """The same from two values or more. Those that are equal have the same hash in one version of an engine."""

    # -- the session ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def snapshot(self, reads: Iterable[exp.Table] = ()) -> AbstractContextManager[None]:
        """A transaction: all statements inside see the same data. `reads` are the tables of the user that they read."""

    def check_read(self) -> None:
        """Raise MovedError if what the open snapshot reads has changed in a way that it does not hide."""
        return

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

    def place(
        self,
        work_schema: str | None = None,
        work_folder: str | None = None,
        no_temp: bool = False,
        make_at_most: int = MAKE_AT_MOST,
    ) -> None:
        """Where working tables are, by the options of these names."""
        self.make_at_most = make_at_most
        if work_schema and no_temp:
            hint = "choose one of them"
            raise OptionError("⟦work_schema⟧ makes working tables, and ⟦no_temp⟧ makes none", hint=hint)
        if work_schema:
            self.work_in(work_schema)
        if work_folder:
            self.work_in_folder(work_folder)
        if no_temp:
            self.work_without_tables()

    @abstractmethod
    def work_in(self, schema: str) -> None:
        """From now on make temporary tables in this schema; an error if that is not possible."""

    def work_without_tables(self) -> None:
        """From now on make no working tables."""
        raise OptionError("only PostgreSQL has a use for ⟦no_temp⟧", hint="leave it out")

    def work_in_folder(self, folder: str) -> None:
        """From now on make working tables in this folder."""
        raise OptionError("only Spark has a use for a work folder", hint="leave ⟦work_folder⟧ out")

    @abstractmethod
    def cancel(self) -> None:
        """Stop the running statement. Another thread or a signal handler may call this."""

    @abstractmethod
    def close(self) -> None:
        """End the session. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class Programmable(Engine):
    """An engine whose server can store the SQL functions and run stored programs."""

    @abstractmethod
    def run_script(self, text: str) -> None:
        """Send any number of statements as they are, without parsing them."""

    @abstractmethod
    def rehearsal(self) -> AbstractContextManager[None]:
        """A transaction that is rolled back at the end. Snapshots inside are parts of it."""


def declared_keys(found: Iterable[tuple[Any, ...]]) -> tuple[ForeignKey, ...]:
    """From schema, table and columns of both sides, as a catalog has them."""
    return tuple(
        ForeignKey(sql.in_schema(*row[:2]), tuple(row[2]), sql.in_schema(*row[3:5]), tuple(row[5])) for row in found
    )


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
    return values.astype(float if values.dtype == np.uint64 else wide, copy=False)


def as_rows(names: Sequence[str], columns: Iterable[Values]) -> Rows:
    """Columns by name. Two columns of the same name are refused: one of them would be lost."""
    rows = dict(zip(names, columns, strict=True))
    if len(rows) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EngineError(f'a query returns more than one column named "{twice}"', hint="give each its own alias")
    return rows
