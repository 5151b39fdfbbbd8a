"""DuckDB, in memory or in a file. The only file that imports duckdb."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from glob import iglob
from itertools import starmap
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import parse_qsl
from weakref import WeakKeyDictionary, WeakSet

import duckdb
import numpy as np
from numpy import ma
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlsvm import sql
from sqlsvm.engine.base import (
    Abilities,
    Called,
    Column,
    Engine,
    ForeignKey,
    Kind,
    Parameters,
    Refusal,
    Rows,
    Sent,
    StatementError,
    Text,
    Values,
    as_rows,
    as_values,
    declared_keys,
    widened,
)
from sqlsvm.engine.duckdb_sql import ROW, files_named, spelled, tables_in, twice_hashed
from sqlsvm.engine.rates import COLUMNAR
from sqlsvm.engine.worker import Worker
from sqlsvm.errors import EngineError, OptionError, hide
from sqlsvm.files import is_stream, replacing
from sqlsvm.scratch import private_folder

T = TypeVar("T")

# Without the first two DuckDB would download a missing extension in the middle of a query. Without the third a
# name that is no table would mean a variable of Python, of any caller. pandas_analyze_sample: the type of a column of
# Python objects comes from all of them, not from the first thousand.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "pandas_analyze_sample": str(2**31),
}

_AT_A_TIME = 10_000

# Only one process can open a file, and its sessions take turns: after a conflict DuckDB 1.4 may still report rows as
# duplicates that were rolled back.
_TURN = Lock()

# DuckDB has no error codes: only the message tells the kind.
_REFUSALS: tuple[tuple[str, Refusal], ...] = (
    ("(Conversion|Invalid Input|Out of Range) Error", "value"),
    ("Catalog Error.* already exists", "exists"),
    ("(Catalog|Binder) Error.* does not exist|IO Error: No files found", "no such name"),
)

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_NUMBERS = (*_INTEGERS, "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_TIMES: dict[str, Kind] = {
    "DATE": "date",
    "TIME": "time",
    "TIME_NS": "time",
    "INTERVAL": "interval",
    _ZONED: "timestamptz",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"), "timestamp"),
}
_TEXTS = ("VARCHAR", "ENUM", "JSON")
_WITH_NUMPY = (*_NUMBERS, "BOOLEAN", "VARCHAR")

# For each collation two texts that are equal under it. Collations of languages treat these texts as NFC does.
_BLURS = {"NOCASE": ("a", "A"), "NOACCENT": ("e", "\u00e9"), "NFC": ("e\u0301", "\u00e9")}

# What may add up numbers, in any order of its rows, or choose other rows.
_MAY_ADD = exp.AggFunc, exp.Window, exp.Group, exp.Limit, exp.TableSample, exp.Anonymous

_TABLE_NAMES = """\
SELECT CASE WHEN table_schema = current_schema() THEN table_name ELSE table_schema || '.' || table_name END
FROM information_schema.tables ORDER BY 1"""

# The table functions that a query may call: they only read, what the query names, or make rows. All others that DuckDB
# has are refused, also those of a later version: some write files, or run a text as SQL.
READING = {
    "read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto", "read_json_objects",
    "read_json_objects_auto", "read_ndjson", "read_ndjson_auto", "read_ndjson_objects", "json_each", "json_tree",
    "generate_series", "range", "repeat", "repeat_row", "unnest", "histogram",
}  # fmt: skip
_LISTED = sorted(READING)

_FUNCTIONS = """\
SELECT lower(function_name), stability = 'VOLATILE' OR has_side_effects, macro_definition,
    function_type IN ('table', 'table_macro', 'pragma') AND internal
FROM duckdb_functions()
WHERE stability = 'VOLATILE' OR has_side_effects OR (macro_definition IS NOT NULL AND NOT internal)
    OR (function_type IN ('table', 'table_macro', 'pragma') AND internal)"""

_CALLED = re.compile(r"(\w+)\"?\s*\(")

_OF_A_QUERY = ("python_enable_replacements", "pandas_analyze_sample")
_PLANNING = "disabled_optimizers"
_ZONE = "TimeZone"
# projection_placement of DuckDB 2.0 takes time that grows with the fourth power of the columns where an outer join is
# above several joins: minutes for 300. What is off already stays off, and what its user has locked stays as it is.
_OFF = f"""\
SELECT string_agg(name, ',') FROM (
    SELECT name FROM duckdb_optimizers() WHERE name = 'projection_placement'
    UNION SELECT unnest(string_split(current_setting('{_PLANNING}'), ','))) AS found(name)
WHERE name <> '' AND NOT current_setting('lock_configuration') HAVING COUNT(*) > 0"""
_ACCESS = ("autoload_known_extensions", "enable_external_access", "lock_configuration")
_BEFORE = "SELECT name, value FROM duckdb_settings() WHERE list_contains($1, name)"
_PATH = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"

_BORROWED = WeakSet[duckdb.DuckDBPyConnection]()
_BORROWING = Lock()

_STORAGE = "DESCRIBE SELECT * FROM pragma_storage_info($1)"

_VIEWS = "SELECT lower(view_name), sql, temporary FROM duckdb_views() WHERE NOT internal"

# The text of a registered frame, which is a view of this session alone. The function reads memory of this process.
_FRAME = re.compile(r"(CREATE TEMP VIEW .+ AS SELECT \* FROM )(?:pandas|python_arrow)_scan\(\) AS (\w+;)", re.DOTALL)

_UNIQUE_KEYS = """\
SELECT lower(schema_name), lower(current_schema()), lower(table_name), [lower(name) FOR name IN constraint_column_names]
FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE')"""

_TABLES = """\
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_catalog IN (current_database(), 'temp') ORDER BY ALL"""

_FOREIGN_KEYS = """\
SELECT schema_name, table_name, constraint_column_names, schema_name, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' AND database_name = current_database() ORDER BY ALL"""


class DuckDB(Engine):
    """One session with a DuckDB of this process."""

    dialect = "duckdb"
    abilities = Abilities(
        in_process=True,
        foreign_keys=False,
        integers=frozenset(_INTEGERS),
        inexact=frozenset(("FLOAT", "DOUBLE")),
        single="FLOAT",
        frequent=True,
    )
    rates = COLUMNAR
    turn = _TURN

    def __init__(self, path: str = "", *, private: bool = False) -> None:
        """Only this session uses a private database, and drops what it makes. The path may have settings after it."""
        path, asked, query = path.partition("?")
        hide((settings := dict(parse_qsl(query))).items())
        if asked and not settings:
            raise OptionError("a setting in the URL is not NAME=VALUE", hint="duckdb:?memory_limit=4GB&threads=2")
        self._forget_spill: Callable[[], object] | None = None
        in_memory = path in ("", ":memory:")
        self._use(self._connect_in_memory(settings) if in_memory else _connect(path, **settings), path)
        self._private = private

    def _use(self, connection: duckdb.DuckDBPyConnection, path: str) -> None:
        self.url = f"duckdb:{path}"
        self._connection = connection
        self._worker = Worker()
        self._private = False
        self._in_snapshot = False
        self._stored = set[str]()
        self._parsed: WeakKeyDictionary[Text, duckdb.Statement] = WeakKeyDictionary()
        for (off,) in connection.execute(_OFF).fetchall():
            self._set({_PLANNING: off})

    @property
    def version(self) -> str:
        return f"DuckDB {duckdb.__version__}"

    def text(self, statement: Sent) -> Text:
        """Empty for ANALYZE, as DuckDB maintains statistics itself, and for comments on schemas, which it lacks."""
        silent = isinstance(statement, exp.Analyze) or (
            isinstance(statement, exp.Comment) and statement.args["kind"] == "SCHEMA"
        )
        return Text() if silent else super().text(statement if isinstance(statement, Text) else spelled(statement))

    def execute(self, statement: Sent, parameters: Parameters = ()) -> None:
        if text := self.text(statement):
            self._run(lambda: self._send(text, parameters))

    def fetch(self, statement: Sent, parameters: Parameters = ()) -> Rows:
        return self._run(lambda: _rows(self._send(self.text(statement), parameters)))

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        answer = self._ask(Text(f"DESCRIBE {self.text(query)}"))
        return tuple(Column(name, type, _kind(type)) for name, type, *_ in answer)

    def table_names(self) -> tuple[str, ...]:
        return tuple(name for (name,) in self._ask(_TABLE_NAMES))

    def tables(self) -> tuple[exp.Table, ...]:
        return tuple(starmap(sql.in_schema, self._ask(_TABLES)))

    def foreign_keys(self) -> tuple[ForeignKey, ...]:
        return declared_keys(self._ask(_FOREIGN_KEYS))

    def volatile_functions(self, called: Sequence[Called]) -> tuple[str, ...]:
        """With those that make a table and are not listed as reading only."""
        volatile, calls = set[str](), defaultdict[str, list[str]](list)
        for name, is_volatile, macro, makes_table in self._ask(_FUNCTIONS):
            if is_volatile or (makes_table and name not in READING):
                volatile.add(name)
            if not makes_table:
                calls[name] += _CALLED.findall(macro or "")
        reached, unread = set[str](), [(name, name) for name in {name for _, name in called}]
        while unread:
            name, by = unread.pop()
            if name.lower() in volatile:
                reached.add(by)
            unread += [(inner, by) for inner in calls.pop(name.lower(), ())]
        return tuple(sorted(reached))

    def remedy(self, volatile: str) -> str:
        return f"store what it returns in a table; of the functions that make tables, these run: {', '.join(_LISTED)}"

    def view_texts(self, tables: Sequence[exp.Table]) -> tuple[str, ...]:
        """DuckDB does not say what a view reads: this adds every view, of any schema, whose name is in a text."""
        if all(map(self._is_stored, tables)):
            return ()
        views = defaultdict[str, list[str]](list)
        for name, text, temporary in self._ask(_VIEWS):
            frame = _FRAME.fullmatch(text) if temporary else None
            views[name].append("".join(frame.groups()) if frame else text)
        found: list[str] = []
        unread = [table.name.lower() for table in tables]
        while unread:
            texts = views.pop(unread.pop(), ())
            found += texts
            unread += [name for name in views if any(name in text.lower() for text in texts)]
        return tuple(found)

    def _is_stored(self, table: exp.Table) -> bool:
        """Is it a table of a DuckDB file, and no view? Of all others DuckDB says that they have no storage. To list the
        views would make those of DuckDB itself, which takes the first time 7 ms. An error would abort a transaction, so
        inside one this is what was known before."""
        name = exp.table_(table.this, table.args.get("db"), table.args.get("catalog")).sql(self.dialect)
        if not self._in_snapshot:
            self._stored.discard(name)
            with suppress(StatementError):
                if self._ask(_STORAGE, [name]):
                    self._stored.add(name)
        return name in self._stored

    def thins(self, table: exp.Table) -> bool:
        """By the numbers of rows, which only a stored table has."""
        if not self._is_stored(table):
            return False
        return all(column.name.lower() != ROW for column in self.describe(exp.select("*").from_(table.copy())))

    def keeps_order(self, source: exp.Expr) -> bool:
        """Threads put the groups and the joined rows of a query in any order."""
        return isinstance(source, exp.Table) and not self.view_texts([source])

    def keeps_values(self, source: exp.Expr) -> bool:
        """Threads add in any order, so sums are rounded in different ways. What a macro does is not known."""
        tables = [table for table in source.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
        try:
            trees = [source, *(parse_one(text, read=self.dialect) for text in self.view_texts(tables))]
        except SqlglotError:
            return False
        return not any(tree.find(*_MAY_ADD) for tree in trees)

    def unique_keys(self, tables: Sequence[exp.Table]) -> list[list[frozenset[str]]]:
        found = defaultdict[tuple[str, str], list[frozenset[str]]](list)
        for schema, here, name, columns in self._ask(_UNIQUE_KEYS):
            found[schema, name].append(frozenset(columns))
            if schema == here:
                found["", name].append(frozenset(columns))
        return [found[table.db.lower(), table.name.lower()] for table in tables]

    def blur(self, column: Column, of: exp.Query) -> str | None:
        """No catalog table has the collation of a column, so this compares texts under it."""
        if column.type != "VARCHAR":
            return None
        value = of.copy().limit(0).subquery()
        sides = {name: (exp.Literal.string(one), exp.Literal.string(other)) for name, (one, other) in _BLURS.items()}
        equal = [(sql.equal(sql.coalesce(value.copy(), one), other), name) for name, (one, other) in sides.items()]
        found = [name for name, answer in self.fetch(sql.select(equal)).items() if answer[0]]
        return f"COLLATE {'.'.join(found)}" if found else None

    def compared_as(self, types: Sequence[str]) -> str | None:
        """In a comparison with a FLOAT a whole number becomes a FLOAT. A text becomes the other type: '01' is 1. In the
        hour in which clocks change, two times without a zone are one time with a zone."""
        least = next((t for t in ("FLOAT", "DOUBLE") if t in types), None)
        if any(_base(t) in _TEXTS for t in types):
            return least or next((t for t in types if _base(t) not in _TEXTS), None)
        if _ZONED in types and any(t != _ZONED and t.startswith("TIMESTAMP") for t in types):
            return _ZONED
        return least if any(_base(t) in _NUMBERS and t not in self.abilities.inexact for t in types) else None

    def confine(self, queries: Iterable[str], files: Iterable[str] = ()) -> None:
        """What the user has set goes first: no access at all stays that, and a session that may load extensions or is
        one of a server (md:) is left as it is, as it reads from a network."""
        before = dict(self._ask(_BEFORE, [list(_ACCESS)]))
        remote = re.match(r"duckdb:\w+:", self.url)
        if remote or "true" in (before["autoload_known_extensions"], before["lock_configuration"]):
            return
        if before["enable_external_access"] == "true":
            tables = [table for text in queries for table in tables_in(text)]
            views = self.view_texts([table for table in tables if isinstance(table.this, exp.Identifier)])
            within = [table for text in views for table in tables_in(text)]
            paths, folders = _reached({*files, *files_named([*tables, *within])})
            self._set({"allowed_paths": paths, "allowed_directories": folders, "enable_external_access": False})
        self._set({"lock_configuration": True})

    @property
    def zone(self) -> str | None:
        return next((zone for _, zone in self._ask(_BEFORE, [[_ZONE]])), None)

    def _move_to(self, zone: str) -> None:
        self._set({_ZONE: zone})

    def row_hash(self, alias: str) -> exp.Expression:
        return exp.Anonymous(this="hash", expressions=[exp.column(alias)])

    def hashed(self, values: Sequence[exp.Expression]) -> exp.Expression:
        return twice_hashed(values)

    def copy_in(self, table: exp.Table, columns: Mapping[str, Values]) -> None:
        if not columns or not len(next(iter(columns.values()))):
            return
        source: dict[str, Values] = {}
        picked: list[exp.Expr] = []
        for place, values in enumerate(columns.values()):
            parts, value = _copied(place, values)
            source |= parts
            picked.append(value)
        target = exp.Schema(this=table.copy(), expressions=[exp.to_identifier(name, quoted=True) for name in columns])
        insert = exp.Insert(this=target, expression=exp.select(*picked).from_("sqlsvm_copy_in"))
        self._connection.register("sqlsvm_copy_in", source)
        try:
            self.execute(insert)
        finally:
            self._connection.unregister("sqlsvm_copy_in")

    def copy_out(self, query: exp.Query) -> Iterator[Rows]:
        yield self._run(lambda: _as_they_are(self._send(self.text(query))))

    def texts(self, query: exp.Query) -> Generator[tuple[str | None, ...]]:
        cursor = self._run(lambda: self._send(self.text(query)))
        while rows := self._run(lambda: cursor.fetchmany(_AT_A_TIME)):
            yield from rows

    def csv(self, path: str) -> exp.Select:
        """Texts as they are in the file: the category "01" does not become the number 1."""
        text = sql.equal("all_varchar", exp.true())
        file = exp.ReadCSV(this=exp.Literal.string(path), expressions=[text])
        return exp.select("*").from_(exp.Table(this=file))

    def write_parquet(self, query: exp.Query, path: str, *, overwrite: bool = False) -> None:
        place = Path(path)
        if place.exists() and not is_stream(place) and not overwrite:
            raise StatementError(f"{path} exists already", kind="exists")
        with replacing(place) as out:
            options = {"FORMAT": exp.var("PARQUET"), "USE_TMP_FILE": exp.false()}
            params = [exp.CopyParameter(this=exp.var(name), expression=value) for name, value in options.items()]
            files = [exp.Literal.string(out.name)]
            self.execute(exp.Copy(this=query.subquery(), kind=False, files=files, params=params))

    @contextmanager
    def snapshot(self, reads: Iterable[exp.Table] = ()) -> Iterator[None]:
        if self._in_snapshot:
            raise EngineError("a snapshot is already open in this session")
        self._in_snapshot = True
        try:
            # A transaction keeps the memory of every table that is dropped in it: some hundred megabytes of a training.
            # A private session does without one.
            with nullcontext() if self._private else self.bracket("BEGIN TRANSACTION", "ROLLBACK", "COMMIT"):
                yield
        finally:
            self._in_snapshot = False

    def show(self, name: str, frame: object) -> None:
        """Make a frame of Python a view of this name, without a copy."""
        self._run(lambda: self._connection.register(name, frame))

    def work_in(self, schema: str) -> None:
        raise OptionError("only PostgreSQL has a use for a work schema", hint="leave ⟦work_schema⟧ out")

    def cancel(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._worker.close()
        self._connection.close()
        if self._forget_spill:
            self._forget_spill()

    def _connect_in_memory(self, settings: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
        """What does not fit into memory goes to the folder for temporary files, not to the user's folder. There it is
        in a folder that only this user can read: DuckDB would make one that every user can read."""
        spill, self._forget_spill = private_folder(of=self)
        return _connect(":memory:", **{"temp_directory": spill, **settings})

    def _set(self, settings: Mapping[str, object]) -> None:
        for name, value in settings.items():
            self.execute(exp.Set(expressions=[exp.SetItem(this=sql.equal(exp.column(name), exp.convert(value)))]))

    def _ask(self, text: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        return self._run(lambda: self._send(text, parameters).fetchall())

    def _send(self, text: str, parameters: Parameters = ()) -> duckdb.DuckDBPyConnection:
        if self.on_statement:
            self.on_statement(text)
        statement = self._statement(text) if isinstance(text, Text) else text
        return self._connection.execute(statement, [_parameter(p) for p in parameters])

    def _statement(self, text: Text) -> duckdb.Statement:
        """Parsed once while the text is in use: this saves 4 of the 30 milliseconds of a pass."""
        statement = self._parsed.get(text)
        if statement is None:
            (statement,) = self._connection.extract_statements(text)
            self._parsed[text] = statement
        return statement

    def _run(self, work: Callable[[], T]) -> T:
        """Run in another thread: while DuckDB works in the main thread, Python does not handle Ctrl-C."""
        if self._worker.closed:
            raise EngineError(f"the session with {self.url} is closed")
        try:
            return self._worker.run(work, self._connection.interrupt)
        except duckdb.Error as error:
            raise _translated(error) from error


class Borrowed(DuckDB):
    """A connection of the caller, with what is registered in it. It stays open, and an open transaction stays open.
    Only DuckDB itself rolls that back, after an error."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        try:
            ((path,),) = connection.execute(_PATH).fetchall()
            self._before = dict(connection.execute(_BEFORE, [[*_OF_A_QUERY, _PLANNING, _ZONE]]).fetchall())
            self._within = len({connection.execute("SELECT txid_current()").fetchall()[0] for _ in range(2)}) == 1
        except duckdb.Error as error:
            raise EngineError("this connection cannot be used", detail=str(error)) from error
        with _BORROWING:
            if connection in _BORROWED:
                hint = "give each thread its own: connection.cursor()"
                raise EngineError("another thread uses this connection", hint=hint)
            _BORROWED.add(connection)
        self._use(connection, path or "")
        self._set({name: _CONFIG[name] for name in _OF_A_QUERY})

    def _is_stored(self, table: exp.Table) -> bool:
        """An error would end the caller's transaction."""
        return not self._within and super()._is_stored(table)

    @contextmanager
    def snapshot(self, reads: Iterable[exp.Table] = ()) -> Iterator[None]:
        """A transaction of DuckDB is a snapshot already."""
        with nullcontext() if self._within else super().snapshot():
            yield

    def close(self) -> None:
        if self._worker.closed:
            return
        with suppress(EngineError):  # if the transaction has failed
            self._set(self._before)
        self._worker.close()
        _BORROWED.discard(self._connection)


def _reached(files: Iterable[str]) -> tuple[list[str], list[str]]:
    """The files, and the folders in which patterns look. DuckDB resolves links, so it is told where they end."""
    paths, folders = set[str](), set[str]()
    for file in map(os.path.expanduser, files):
        paths.add(os.path.realpath(file))
        if pattern := re.search(r"[*?[]", file):
            folders.add(os.path.realpath(os.path.dirname(file[: pattern.start()]) or ".") + os.sep)
            paths.update(map(os.path.realpath, iglob(file, recursive=True)))
    return sorted(paths), sorted(folders)


def _connect(path: str, **settings: str) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(path, config=_CONFIG | settings)
    except duckdb.Error as error:
        hint = "check the path: a missing file is created, a missing folder is not"
        if "not recognized" in str(error):
            hint = "the settings of DuckDB are in its table function duckdb_settings()"
        elif "lock" in str(error):
            hint = "another process has the file open, and DuckDB allows only one: close it, or use a copy of the file"
        raise EngineError(f"cannot open the DuckDB file {path}", detail=str(error), hint=hint) from error


def _translated(error: duckdb.Error) -> StatementError:
    """DuckDB's message is one text: the error, perhaps `Did you mean ...`, and the position in the statement."""
    message, *more = str(error).split("\n")
    hint = next((line for line in more if line.startswith(("Did you mean", "Candidate"))), None)
    kind = next((kind for pattern, kind in _REFUSALS if re.match(pattern, message)), None)
    return StatementError(message, hint=hint, kind=kind)


def _rows(cursor: duckdb.DuckDBPyConnection) -> Rows:
    names = [name for name, *_ in cursor.description or ()]
    types = [str(type) for _, type, *_ in cursor.description or ()]
    if all(_base(type) in _WITH_NUMPY for type in types):
        return as_rows(names, (_from_numpy(values) for values in cursor.fetchnumpy().values()))
    rows = cursor.fetchall()
    cells = zip(*rows, strict=True) if rows else iter([()] * len(names))
    return as_rows(names, (_from_python(column, type) for column, type in zip(cells, types, strict=True)))


def _as_they_are(cursor: duckdb.DuckDBPyConnection) -> Rows:
    names = [name for name, *_ in cursor.description or ()]
    return as_rows(names, cursor.fetchnumpy().values())


def _from_numpy(values: Any) -> Values:
    missing, values = ma.getmaskarray(values), ma.getdata(values)
    if values.dtype == object:
        return _none_where(missing, values)
    if missing.any():
        return np.where(missing, np.nan, values.astype(float))
    return widened(values)


def _from_python(cells: tuple[object, ...], type: str) -> Values:
    if type == "UUID":
        cells = tuple(None if cell is None else str(cell) for cell in cells)
    return as_values(cells, _kind(type))


def _base(type: str) -> str:
    """DECIMAL for DECIMAL(10,2), but LIST for DECIMAL(10,2)[]."""
    return "LIST" if type.endswith("]") else type.partition("(")[0]


def _kind(type: str) -> Kind:
    base = _base(type)
    if base in _NUMBERS:
        return "numeric"
    if base == "BOOLEAN":
        return "boolean"
    return "categorical" if base in ("VARCHAR", "UUID", "ENUM", '"NULL"') else _TIMES.get(base, "other")


def _parameter(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.astype(float).tolist() if value.dtype.kind in "biuf" else value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _copied(place: int, values: Values) -> tuple[dict[str, Values], exp.Expr]:
    """The arrays that carry one column into DuckDB, and the expression over them that gives the column back. DuckDB
    reads nan in an array as NULL, so a second array says where nan is meant. A masked cell is NULL."""
    value: exp.Expr = exp.column(f"v{place}")
    parts: dict[str, Values] = {}
    if ma.is_masked(values):
        parts[f"m{place}"] = ma.getmaskarray(values)
        value = exp.case().when(exp.column(f"m{place}"), exp.null()).else_(value)
    values = ma.getdata(values)
    nan = np.asarray(values != values, dtype=bool) if values.dtype.kind in "fO" else np.zeros(0, dtype=bool)
    if nan.any():
        parts[f"n{place}"] = nan
        literal = exp.cast(exp.Literal.string("NaN"), "DOUBLE")
        value = exp.case().when(exp.column(f"n{place}"), literal).else_(value)
        values = _none_where(nan, values) if values.dtype == object else values
    return parts | {f"v{place}": values}, value


def _none_where(missing: Values, values: Values) -> Values:
    values = values.copy()
    values[missing] = None
    return values
