"""Spark SQL, in this process, on a cluster, or through Spark Connect."""

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from math import inf
from secrets import token_hex
from typing import TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import (
    Abilities,
    Called,
    Column,
    Engine,
    Kind,
    Parameters,
    Rows,
    Sent,
    StatementError,
    Text,
    Texts,
    Values,
    as_rows,
    as_values,
    widened,
)
from sqlsvm.engine.rates import SPREAD
from sqlsvm.engine.spark_session import ERRORS, Opened, Pinned, Place, Quiet, cause, given, opened, refused
from sqlsvm.engine.spark_sql import call, spelled
from sqlsvm.engine.worker import Worker
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.scratch import private_folder

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES: dict[str, Kind] = {"date": "date", "timestamp_ntz": "timestamp", "timestamp": "timestamptz"}
_TEXTS = ("string", "varchar", "char")
_DAY, _EPOCH = 86_400_000_000, 946_684_800_000_000  # microseconds in a day, and from 1970 to 2000


def kind(type: str) -> Kind:
    base = type.partition("(")[0].partition(" ")[0]
    if base in _NUMBERS:
        return "numeric"
    if type == "boolean":
        return "boolean"
    return "categorical" if base in _TEXTS else _TIMES.get(type, "other")


def rows(table: pa.Table) -> Rows:
    return as_rows(table.column_names, (_column(column) for column in table.columns))


def _column(column: pa.ChunkedArray) -> Values:
    type = column.type
    if pa.types.is_decimal(type):
        column, type = column.cast(pa.float64(), safe=False), pa.float64()
    if pa.types.is_boolean(type) and column.null_count:
        return as_values(column.to_pylist(), "boolean")
    if pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_boolean(type):
        if not len(column):
            return np.zeros(0)
        return widened(column.to_numpy())
    return as_values(column.to_pylist(), "other")


def masked(table: pa.Table) -> Rows:
    """Types do not change, and a NULL is masked. A time is in days or microseconds since 2000."""
    return as_rows(table.column_names, (_masked(column.combine_chunks()) for column in table.columns))


def _masked(column: pa.Array) -> Values:
    if pa.types.is_date32(column.type):
        column, since = column.cast(pa.int32()), _EPOCH // _DAY
    elif pa.types.is_timestamp(column.type):
        column, since = column.cast(pa.int64()), _EPOCH
    else:
        since = 0
    missing = np.asarray(column.is_null())
    values = column.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy(zero_copy_only=False)
    return np.ma.MaskedArray(values - since if since else values, missing if missing.any() else np.ma.nomask)


def _array(values: Values) -> pa.Array:
    """A masked cell, and None, is NULL; nan is a number."""
    missing = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None
    values = np.ma.getdata(values)
    if values.dtype == object:
        return pa.array([None if cell is None else cell for cell in values.tolist()], from_pandas=False)
    return pa.array(values, mask=missing, from_pandas=False)


T = TypeVar("T")

_AT_A_TIME = 10_000
_FILE = re.compile(r"\.(csv|tsv|parquet|json|orc)(\.(gz|zst|bz2))?$", re.IGNORECASE)
_SIZE = re.compile(r"sizeInBytes=(\S+) (\w*)B")
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_VOLATILE = frozenset(
    (
        *("monotonically_increasing_id", "spark_partition_id", "shuffle", "uniform", "randstr"),
        *("now", "current_timestamp", "localtimestamp", "current_time", "current_date", "curdate"),
        *("input_file_name", "input_file_block_start", "input_file_block_length"),
        *("session_user", "current_user", "user", "current_database", "current_schema", "current_catalog"),
        *("java_method", "reflect", "try_reflect"),
    )
)
_WHOLE = ("tinyint", "smallint", "int", "bigint")

_PORTABLE = {
    "boolean": exp.DType.BOOLEAN,
    **dict.fromkeys((*_WHOLE, "date", "timestamp", "timestamp_ntz"), exp.DType.BIGINT),
}


class Kept(Text):
    """What `keep` does, as a statement to read. Spark takes parameters in a query alone."""

    query: Text
    stored: bool

    @classmethod
    def of(cls, name: str, query: Text, stored: bool) -> "Kept":
        made = cls(f"CREATE {'TABLE' if stored else 'TEMPORARY VIEW'} {name} AS {query}")
        made.query, made.stored = query, stored
        return made


class Spark(Engine):
    """One session with Spark.

    What several statements read is stored: as tables of a database of this session alone, whose folder all processes
    reach. What is read once is a view. All of it also has a name in the session, so that statements find it.
    """

    dialect = "spark"
    abilities = Abilities(
        spread=True,
        foreign_keys=False,
        changes_rows=False,
        inexact=frozenset(("float", "double")),
        single="float",
        frequent=True,
        portable=_PORTABLE,
    )
    rates = SPREAD

    def __init__(self, at: str | SparkSession) -> None:
        self._worker = Worker()
        self._tag = f"sqlsvm-{token_hex(4)}"
        self._database: str | None = None
        self._folder: str | None = None
        self._read: dict[str, str] = {}
        self._csvs: list[str] = []
        self._in_snapshot = False
        self._open = True
        self._quiet = Quiet()
        place = Place.of(at) if isinstance(at, str) else Place("", {})
        self.url = f"spark:{place.shown}"
        try:
            self._opened: Opened = self._start(lambda: opened(place)) if isinstance(at, str) else given(at)
            self._session = self._opened.session
            self._pinned = self._run(lambda: self._prepared(place))
        except BaseException:
            self._quiet.restore()
            raise

    def _prepared(self, place: Place) -> Pinned:
        self._session.addTag(self._tag)
        return Pinned(self._session, place.settings)

    @property
    def version(self) -> str:
        return f"Spark {self._run(lambda: self._session.version)}"

    def fold(self, name: str, quoted: bool) -> str:
        return name.lower()

    # -- statements ----------------------------------------------------------------------------------------------------

    def text(self, statement: Sent) -> Text:
        """Empty for ANALYZE: what is stored has its size in its files."""
        if isinstance(statement, Text):
            return statement
        if isinstance(statement, exp.Analyze | exp.Comment):
            return Text()
        return super().text(spelled(self._with_views(statement)))

    def preamble(self) -> Texts:
        """The settings, and the views of files."""
        settings = (Text(f"SET {name}={value}") for name, value in self._pinned.settings.items())
        tables = ((name, exp.to_table(key, dialect=self.dialect)) for key, name in self._read.items())
        return *settings, *(_view_of(name, table.name) for name, table in tables if _is_file(table))

    def execute(self, statement: Sent, parameters: Parameters = ()) -> None:
        if text := self.text(statement):
            self._run(lambda: self._frame(text, parameters))

    def fetch(self, statement: Sent, parameters: Parameters = ()) -> Rows:
        text = self.text(statement)
        return rows(self._run(lambda: self._frame(text, parameters).toArrow()))

    def stores(self, readers: int) -> bool:
        return readers > 1

    def to_keep(self, name: str, query: exp.Query, *, readers: int | None = None) -> Texts:
        stored = readers is None or self.stores(readers)
        if query.args.get("order") and not query.args.get("limit"):  # spread rows have no order, and to sort is a step
            query = query.copy()
            query.set("order", None)
        return (Kept.of(f"{name}{self.suffix}", self.text(query), stored),)

    def keep(self, name: str, query: exp.Query | Texts, parameters: Parameters = ()) -> None:
        (made,) = query if isinstance(query, tuple) else self.to_keep(name, query)
        assert isinstance(made, Kept)
        name = f"{name}{self.suffix}"

        def keep() -> None:
            frame = self._frame(made.query, parameters, made)
            if made.stored:
                place = f"{self._working_database()}.{name}"
                frame.write.format("parquet").mode("overwrite").saveAsTable(place)
                frame = self._session.table(place)
            frame.createOrReplaceTempView(name)

        self._run(keep)

    def forget(self, name: str) -> None:
        name = f"{name}{self.suffix}"

        def forget() -> None:
            self._session.catalog.dropTempView(name)
            if self._database:
                self._session.sql(f"DROP TABLE IF EXISTS {self._database}.{name}")

        self._run(forget)

    def create(self, made: exp.Create, *, overwrite: bool = False) -> None:
        """Spark has no transactions. A view is replaced in one step; a table is made under another name first."""
        made = made.copy()
        if made.kind == "VIEW":
            made.set("replace", overwrite)
            self.execute(made)
            return
        made.set("properties", exp.Properties(expressions=[exp.FileFormatProperty(this=exp.var("parquet"))]))
        target = made.this.copy()
        if not overwrite:
            self.execute(made)
            return
        made.this.set("this", exp.to_identifier(f"{target.name}_{token_hex(4)}", quoted=True))
        self.execute(made)
        self.execute(exp.Drop(tables=[target.copy()], kind="TABLE", exists=True))
        self.execute(Text(f"ALTER TABLE {made.this.sql(self.dialect)} RENAME TO {target.sql(self.dialect)}"))

    def copy_in(self, table: exp.Table, columns: Mapping[str, Values]) -> None:
        if not columns or not len(next(iter(columns.values()))):
            return
        rows = pa.table({f"c{place}": _array(values) for place, values in enumerate(columns.values())})
        given = f"{sql.WORKING}copy_in"
        target = exp.Schema(this=table.copy(), expressions=[exp.to_identifier(name, quoted=True) for name in columns])
        text = self.text(exp.Insert(this=target, expression=exp.select(*rows.column_names).from_(given)))

        def insert() -> None:
            self._session.createDataFrame(rows).createOrReplaceTempView(given)
            try:
                self._frame(text)
            finally:
                self._session.catalog.dropTempView(given)

        self._run(insert)

    def copy_out(self, query: exp.Query) -> Iterator[Rows]:
        text = self.text(query)
        yield masked(self._run(lambda: self._frame(text).toArrow()))

    def texts(self, query: exp.Query) -> Generator[tuple[str | None, ...]]:
        text = self.text(query)
        rows = self._run(lambda: self._frame(text).toLocalIterator())
        while block := self._run(lambda: list(islice(rows, _AT_A_TIME))):
            yield from (tuple(row) for row in block)

    def write_parquet(self, query: exp.Query, path: str, *, overwrite: bool = False) -> None:
        """A folder. Each task writes a file, and the rows do not pass through the driver."""
        text, mode = self.text(query), "overwrite" if overwrite else "errorifexists"
        frame = self._run(lambda: self._frame(text))
        if overwrite:
            self._check_replaced(frame, path)
        self._run(lambda: frame.write.mode(mode).parquet(path))

    def _check_replaced(self, frame: DataFrame, path: str) -> None:
        """Spark first removes all that is in the folder."""
        every = self._session.read.format("binaryFile").option("recursiveFileLookup", True)
        try:
            old = self._run(lambda: every.load(path).inputFiles())
        except StatementError as error:
            if error.kind == "no such name":
                return
            raise
        hint = "choose another folder"
        if other := next((file for file in old if not file.endswith(".parquet")), None):
            raise OptionError(f"{path} has files that are not Parquet, and would be removed", detail=other, hint=hint)
        if {*old} & {*self._run(frame.inputFiles)}:
            raise OptionError(f"the rows come from {path}, which would be removed before they are read", hint=hint)

    def csv(self, path: str) -> exp.Select:
        """Texts as they are in the file."""
        name = f"{sql.WORKING}csv_{token_hex(4)}"
        self._csvs.append(name)
        self._run(lambda: self._csv(path, typed=False).createOrReplaceTempView(name))
        return exp.select("*").from_(exp.Table(this=exp.to_identifier(name, quoted=True)))

    # -- the catalog ---------------------------------------------------------------------------------------------------

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        text = self.text(query)
        fields = self._run(lambda: self._frame(text).schema.fields)
        types = [str(field.dataType.simpleString()) for field in fields]
        return tuple(Column(f.name, type, kind(type)) for f, type in zip(fields, types, strict=True))

    def table_names(self) -> tuple[str, ...]:
        found = self._run(lambda: self._session.sql("SHOW TABLES").toArrow())
        return tuple(found["tableName"].to_pylist())

    def size(self, rows: exp.Query) -> float:
        (plan,) = self.fetch(Text(f"EXPLAIN COST {self.text(rows)}"))["plan"]
        found = _SIZE.search(plan)
        return float(found[1]) * 1024.0 ** _UNITS.index(found[2]) if found else inf

    def volatile_functions(self, called: Sequence[Called]) -> tuple[str, ...]:
        """Also the time: it differs from statement to statement."""
        return tuple(sorted({name for _, name in called if name.lower() in _VOLATILE}))

    def view_texts(self, tables: Sequence[exp.Table]) -> tuple[str, ...]:
        """With those of the views that they read. One that was made of a DataFrame has no text."""
        found: list[str] = []
        unread, seen = [_plain(t) for t in tables if not _is_file(t)], set[str]()
        while unread:
            table = unread.pop()
            name = table.sql(self.dialect)
            if name in seen:
                continue
            seen.add(name)
            if text := self._view_text(name):
                found.append(text)
                with suppress(Exception):
                    unread += [_plain(t) for t in _parsed(text).find_all(exp.Table)]
        return tuple(found)

    def _view_text(self, name: str) -> str | None:
        with suppress(EngineError):  # it is a CTE
            rows = self.fetch(Text(f"DESCRIBE TABLE EXTENDED {name}"))
            return next(
                (str(v) for k, v in zip(rows["col_name"], rows["data_type"], strict=True) if k == "View Text"), None
            )
        return None

    def unique_keys(self, tables: Sequence[exp.Table]) -> list[list[frozenset[str]]]:
        """Spark does not enforce the keys that are declared."""
        return [[] for _ in tables]

    def thins(self, table: exp.Table) -> bool:
        """RAND with a seed gives the rows of a file the same numbers each time."""
        return True

    def blur(self, column: Column, of: exp.Query) -> str | None:
        found = re.search(r" collate (\S+)", column.type)
        return f"COLLATE {found[1]}" if found else None

    def compared_as(self, types: Sequence[str]) -> str | None:
        """Spark compares a float with another number as doubles, and a text with anything else as that."""
        texts = [t for t in types if kind(t) == "categorical"]
        others = [t for t in types if t not in texts]
        if texts and others:
            return "bigint" if others[0] in _WHOLE else others[0]
        inexact = [t for t in types if t in self.abilities.inexact]
        if inexact and any(t not in self.abilities.inexact and t not in _WHOLE[:3] for t in others):
            return "double"
        if len({*types} & {"timestamp", "timestamp_ntz"}) == 2:
            return "timestamp"
        return None

    def row_hash(self, alias: str) -> exp.Expression:
        """Of the row as JSON, which has the names of the columns that are not NULL: XXHASH64 leaves NULL out. As a
        decimal, since sums overflow."""
        return exp.cast(
            self.hashed([exp.Column(this=exp.Star(), table=exp.to_identifier(alias))]),
            exp.DataType.build("decimal(38, 0)"),
        )

    def hashed(self, values: Sequence[exp.Expression]) -> exp.Expression:
        return call("XXHASH64", call("TO_JSON", call("STRUCT", *values)))

    # -- the session ---------------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self, reads: Iterable[exp.Table] = ()) -> Iterator[None]:
        """A table is looked up once: files that are added later are not read. If files are replaced, a statement
        fails."""
        if self._in_snapshot:
            raise EngineError("a snapshot is already open in this session")
        self._forget_views()
        self._in_snapshot = True
        try:
            yield
        finally:
            self._in_snapshot = False
            with suppress(EngineError):
                self._forget_views()

    def _forget_views(self) -> None:
        names, self._read = list(self._read.values()), {}
        self._run(lambda: [self._session.catalog.dropTempView(name) for name in names])

    def work_in(self, schema: str) -> None:
        raise OptionError("only PostgreSQL has a use for a work schema", hint="⟦work_folder⟧ is the one for Spark")

    def work_in_folder(self, folder: str) -> None:
        """Spark takes a folder without a leading / for one below its warehouse."""
        local = self._opened.one_machine and "://" not in folder
        self._folder = os.path.abspath(folder) if local else folder

    def cancel(self) -> None:
        with suppress(*ERRORS):
            self._session.interruptTag(self._tag)

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            self._run(self._end)
        finally:
            self._worker.close()
            self._quiet.restore()

    def _end(self) -> None:
        with suppress(*ERRORS):
            for name in (*self._read.values(), *self._csvs):
                self._session.catalog.dropTempView(name)
            if self._database:
                self._session.sql(f"DROP DATABASE IF EXISTS {self._database} CASCADE")
            self._session.removeTag(self._tag)
            self._pinned.restore()
        with suppress(*ERRORS):
            self._opened.close()
        if self._scratch:
            self._scratch()

    _scratch: Callable[[], object] | None = None

    def _working_database(self) -> str:
        """Made when it is first needed. The files of its tables go with the tables, in any file system."""
        if self._database is None:
            name, folder = f"{sql.WORKING}work_{token_hex(6)}", self._working_folder()
            place = exp.Literal.string(f"{folder.rstrip('/')}/{name}").sql(self.dialect)
            try:
                self._session.sql(f"CREATE DATABASE {name} LOCATION {place}")
                if self._scratch is None:
                    self._check_shared(name)
            except BaseException as error:
                with suppress(*ERRORS):
                    self._session.sql(f"DROP DATABASE IF EXISTS {name} CASCADE")
                if not isinstance(error, ERRORS):
                    raise
                hint = "choose another with ⟦work_folder⟧"
                raise EngineError(f"cannot use the work folder {folder}", detail=cause(error), hint=hint) from error
            self._database = name
        return self._database

    def _working_folder(self) -> str:
        if self._folder is None and self._opened.one_machine:
            self._folder, self._scratch = private_folder(of=self)
        if self._folder is None:
            hint = "⟦work_folder FOLDER⟧: it is used for working tables, and all executors must reach it"
            raise OptionError("Spark on a cluster needs a folder for working tables", hint=hint)
        return self._folder

    def _check_shared(self, database: str) -> None:
        """Rows that other processes write must be read again."""
        rows, place = 1000, f"{database}.shared"
        self._session.range(0, rows, 1, 16).write.format("parquet").saveAsTable(place)
        found = self._session.table(place).count()
        self._session.sql(f"DROP TABLE {place}")
        if found != rows:
            hint = "choose a folder of a file system that all executors share, such as hdfs:// or s3a://"
            raise OptionError(f"the executors do not see the work folder {self._folder}", hint=hint)

    # -- inside the worker ---------------------------------------------------------------------------------------------

    def _frame(self, text: str, parameters: Parameters = (), told: str | None = None) -> DataFrame:
        if self.on_statement:
            self.on_statement(told or text)
        given = {f"p{place}": _parameter(value) for place, value in enumerate(parameters, 1)}
        return self._session.sql(text, args=given) if given else self._session.sql(text)

    def _csv(self, path: str, *, typed: bool) -> DataFrame:
        return self._session.read.options(**_csv_options(path, typed=typed)).csv(path)

    def _with_views(self, statement: exp.Expr) -> exp.Expr:
        """Files under names of the session; inside a snapshot tables as well."""
        local = {cte.alias for cte in statement.find_all(exp.CTE)}
        found = [t for t in statement.find_all(exp.Table) if self._is_read(t, local)]
        if isinstance(statement, exp.Create) and statement.kind == "VIEW":
            return self._with_files(statement)
        if not found:
            return statement
        made = statement.copy()
        for table in [t for t in made.find_all(exp.Table) if self._is_read(t, local)]:
            instead = exp.to_identifier(self._view(table), quoted=True)
            alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
            table.replace(exp.Table(this=instead, alias=alias, sample=table.args.get("sample")))
        return made

    def _with_files(self, made: exp.Create) -> exp.Create:
        """A view of the catalog cannot read what has a name in this session alone."""
        made = made.copy()
        for table in [t for t in made.find_all(exp.Table) if _is_file(t) and not t.db]:
            form = _form(table.name)
            if form == "csv":
                hint = "write the predictions to a table, or keep the rows as parquet"
                raise OptionError("a view cannot read a CSV file", hint=hint)
            table.set("db", exp.to_identifier(form))
        return made

    def _is_read(self, table: exp.Table, local: set[str]) -> bool:
        name = table.this
        if not isinstance(name, exp.Identifier):
            return False
        ours = name.name.startswith(sql.WORKING) and (
            not name.quoted or name.name in (*self._read.values(), *self._csvs)
        )
        return not ours and (_is_file(table) or (self._in_snapshot and (bool(table.db) or name.name not in local)))

    def _view(self, table: exp.Table) -> str:
        """The name in this session that stands for a table or file as it is now."""
        bare = _plain(table)
        key = bare.sql(self.dialect)
        if key not in self._read:
            name = f"{sql.WORKING}read{len(self._read)}_{re.sub('[^a-z0-9]+', '_', table.name.lower())[:40].strip('_')}"
            self._run(lambda: self._frame_of(bare, key).createOrReplaceTempView(name))
            self._read[key] = name
        return self._read[key]

    def _frame_of(self, table: exp.Table, key: str) -> DataFrame:
        if not _is_file(table):
            return self._session.table(key)
        form = _form(table.name)
        return self._csv(table.name, typed=True) if form == "csv" else self._session.read.format(form).load(table.name)

    def _run(self, work: Callable[[], T]) -> T:
        """In another thread: there the session knows what to cancel, and here Python handles Ctrl-C."""
        if not self._open and work != self._end:
            raise EngineError(f"the session with {self.url} is closed")
        try:
            return self._worker.run(work, self.cancel)
        except ERRORS as error:
            raise refused(error, self.url) from error

    def _start(self, work: Callable[[], Opened]) -> Opened:
        """Java cannot be interrupted while it starts."""
        made: list[Opened] = []

        def start() -> Opened:
            made.append(work())
            return made[0]

        try:
            return self._worker.run(start, lambda: None)
        except KeyboardInterrupt:
            for each in made:
                each.close()
            raise


def _is_file(table: exp.Table) -> bool:
    return (
        not table.args.get("catalog")
        and table.db.lower() in ("", "parquet", "csv", "json", "orc")
        and bool(_FILE.search(table.name))
    )


def _csv_options(path: str, *, typed: bool) -> dict[str, str | bool]:
    separator = "\t" if ".tsv" in path.lower() else ","
    return {"header": True, "escape": '"', "sep": separator, "inferSchema": typed, "multiLine": not typed}


def _view_of(name: str, path: str) -> Text:
    """CREATE TEMPORARY VIEW name USING csv OPTIONS (path '...', header 'True', ...)"""
    form = _form(path)
    options = {"path": path, **(_csv_options(path, typed=True) if form == "csv" else {})}
    given = ", ".join(f"'{o}' {exp.Literal.string(str(value)).sql('spark')}" for o, value in options.items())
    return Text(f"CREATE TEMPORARY VIEW `{name}` USING {form} OPTIONS ({given})")


def _form(path: str) -> str:
    found = _FILE.search(path)
    assert found is not None
    return found[1].lower().replace("tsv", "csv")


def _plain(table: exp.Table) -> exp.Table:
    """The name of a table alone."""
    return exp.Table(**{part: table.args[part].copy() for part in ("this", "db", "catalog") if table.args.get(part)})


def _parsed(text: str) -> exp.Expr:
    from sqlglot import parse_one

    return parse_one(text, read="spark")


def _parameter(value: object) -> object:
    if isinstance(value, np.ndarray | list | tuple):
        return ",".join(map(_number, np.asarray(value).astype(float).tolist())) or None
    return value.item() if isinstance(value, np.generic) else value


def _number(value: float) -> str:
    return repr(value) if np.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
