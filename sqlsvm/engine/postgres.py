"""PostgreSQL through psycopg 3."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from secrets import token_hex
from typing import Any, Literal, cast

import numpy as np
import psycopg
from numpy import ma
from psycopg import pq
from psycopg.adapt import Dumper
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine import inlined, pg_names, wire
from sqlsvm.engine.base import (
    Column,
    E,
    Parameters,
    Q,
    Rows,
    Sent,
    StatementError,
    Text,
    Texts,
    Values,
    as_rows,
    as_values,
)
from sqlsvm.engine.inlined import Inlined
from sqlsvm.engine.pg_catalog import PgCatalog, spelling
from sqlsvm.engine.pg_connection import connected, refused, safe_url, shared
from sqlsvm.engine.pg_names import Names
from sqlsvm.errors import ConnectionLost, EngineError, OptionError


class Unlogged:
    """The tables that replace the temporary tables of one session."""

    def __init__(self, schema: str) -> None:
        self.schema = exp.to_identifier(schema, quoted=True)
        self._suffix = token_hex(4)
        self._tables: dict[str, exp.Table] = {}

    def placed(self, statement: exp.Expr) -> exp.Expr:
        """The statement with the schema's tables in place of temporary ones, those that it makes and those made
        before."""
        properties = statement.args.get("properties") if isinstance(statement, exp.Create) else None
        if properties and properties.find(exp.TemporaryProperty):
            name = statement.this.name
            self._tables[name] = exp.Table(this=exp.to_identifier(f"{name}_{self._suffix}"), db=self.schema.copy())
            statement = statement.copy()
            statement.set("properties", exp.Properties(expressions=[exp.UnloggedProperty()]))
        return statement.transform(self._moved) if self._tables else statement

    def _moved(self, node: exp.Expr) -> exp.Expr:
        """In FROM the table keeps its old name as an alias, as columns may be qualified with it."""
        is_ours = isinstance(node, exp.Table) and not (node.db or node.this.args.get("quoted"))
        if not is_ours or node.name not in self._tables:
            return node
        found, ours = node.copy(), self._tables[node.name]
        found.set("this", ours.this.copy())
        found.set("db", ours.args["db"].copy())
        if isinstance(node.parent, exp.From | exp.Join) and not node.args.get("alias"):
            found.set("alias", exp.TableAlias(this=exp.to_identifier(node.name)))
        return found


_IDENTIFIER_BYTES = 63
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_SESSION = (
    # Compiling pays for statements of ten seconds: it takes as long as the sub-queries are many, and arrays are made by
    # sub-queries. To inline in many sums takes longer than it saves.
    "SET jit_above_cost = 3000000",
    "SET jit_optimize_above_cost = 3000000",
    "SET jit_inline_above_cost = -1",
    # A scan that starts where another one is has no fixed order of rows, and a seed would not fix the sample.
    "SET synchronize_seqscans = off",
    # For working tables only: 3,000 sampled rows are enough for a plan, and 30,000 cost a fifth of a pass.
    "SET default_statistics_target = 10",
    "SET standard_conforming_strings = on",
    # The text of a value is a category, and must not differ between sessions. The order of day and month stays.
    "SET extra_float_digits = 1",
    "SET DateStyle = ISO",
    "SET IntervalStyle = postgres",
)
_LOCAL = tuple(setting.replace("SET", "SET LOCAL", 1) for setting in (pg_names.PIN, *_SESSION))
_ENCODING = "SET LOCAL client_encoding = UTF8"
_ZONE = "SELECT pg_catalog.current_setting('TimeZone')"
_IN_ZONE = "SELECT pg_catalog.set_config('TimeZone', $1, $2)"
_READS = "SELECT pg_catalog.current_setting('transaction_read_only')"
_SETTINGS = """\
SELECT name, pg_catalog.current_setting(name) FROM unnest($1::text[]) WITH ORDINALITY AS given (name, n) ORDER BY n"""
_PUT_BACK = """\
SELECT pg_catalog.set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS before (name, value)"""


class _NumbersDumper(Dumper):
    """A numpy array of numbers -> float8[]."""

    format = pq.Format.BINARY
    oid = wire.FLOAT8_ARRAY

    def dump(self, obj: Values) -> bytes:
        return wire.float8_array(obj)


class Postgres(PgCatalog):
    """One session with a PostgreSQL server."""

    dialect = "postgres"

    def __init__(self, dsn: str, *, url: str | None = None) -> None:
        self._use(connected(dsn), url)
        try:
            self._set_up()
        except BaseException:
            self._connection.close()
            raise

    def _use(self, connection: psycopg.Connection[Any], url: str | None = None) -> None:
        super().__init__()
        self._connection = connection
        self._connection.adapters.register_dumper(np.ndarray, _NumbersDumper)
        self.url = url or safe_url(self._connection.info)
        self._places: Unlogged | Inlined | None = None
        self._rehearsing = False
        self._pooled = False
        self._zone: tuple[str, ...] = ()

    def _set_up(self) -> None:
        ((path,),) = self._ask(pg_names.PATH)
        self.look_in(path)
        self._pooled = self._ask("SELECT pg_catalog.pg_backend_pid()") != [(self._connection.info.backend_pid,)]
        if not self._pooled:
            with self._driver_errors():  # one message, as each takes the time of a way to the server and back
                self._connection.execute("; ".join((pg_names.PIN, *_SESSION)).encode()).close()

    @property
    def version(self) -> str:
        number = self._connection.info.parameter_status("server_version") or "of unknown version"
        return f"PostgreSQL {number.split()[0]}"

    def look_in(self, path: Sequence[str]) -> None:
        """The names of the user are looked up in these schemas, instead of those of the session's search_path."""
        self._names = Names(self._ask, self.describe, self.fold, path)

    def bound(self, query: Q, *, again: bool = False) -> Q:
        names = Names(self._ask, self.describe, self.fold, (), temporary=False) if again else self._names
        return names.bound(query)

    @property
    def zone(self) -> str | None:
        return str(self._ask(_ZONE)[0][0])

    @property
    def settings(self) -> dict[str, str]:
        return {name: value for _, name, _, value in map(str.split, _SESSION)}

    def _move_to(self, zone: str) -> None:
        self._zone = (f"SET LOCAL TimeZone = {exp.Literal.string(zone).sql(self.dialect)}",)
        is_idle = self._connection.info.transaction_status == pq.TransactionStatus.IDLE
        if not (self._pooled and is_idle):
            self._ask(_IN_ZONE, [zone, self._pooled])

    def placed(self, made: E) -> E:
        return self._names.placed(made)

    def fold(self, name: str, quoted: bool) -> str:
        name = name if quoted else super().fold(name, quoted)
        return name.encode()[:_IDENTIFIER_BYTES].decode(errors="ignore")

    def text(self, statement: Sent) -> Text:
        if isinstance(statement, Text):
            return statement
        return super().text(sql.with_offsets(self._places.placed(statement) if self._places else statement))

    def to_keep(self, name: str, query: exp.Query, *, readers: int | None = None) -> Texts:
        """Autovacuum does not analyse temporary tables."""
        return (*super().to_keep(name, query, readers=readers), self.text(sql.analyse(name)))

    def keep(self, name: str, query: exp.Query | Texts, parameters: Parameters = ()) -> None:
        if isinstance(self._places, Inlined) and not isinstance(query, tuple):
            self._places.keep(name, query, parameters)
        else:
            super().keep(name, query, parameters)

    def forget(self, name: str) -> None:
        if isinstance(self._places, Inlined):
            self._places.forget(name)
        else:
            super().forget(name)

    @property
    def inlines(self) -> bool:  # type: ignore[override]
        return isinstance(self._places, Inlined)

    def execute(self, statement: Sent, parameters: Parameters = ()) -> None:
        self._send(self.text(statement), parameters).close()

    def fetch(self, statement: Sent, parameters: Parameters = ()) -> Rows:
        result = self._result(self._send(self.text(statement), parameters))
        names = _names(result)
        return as_rows(names, (self._column(result, place) for place in range(len(names))))

    def fetch_all(self, asked: Iterable[tuple[exp.Query, Parameters]]) -> list[Rows]:
        if not self.inlines:
            return super().fetch_all(asked)
        return [rows for batch in inlined.batches(asked) for rows in self._fetch_together(batch)]

    def whole(self, asked: Iterable[tuple[exp.Query, Parameters]]) -> exp.Query:
        assert isinstance(self._places, Inlined)
        return self._places.whole(asked)

    def _fetch_together(self, queries: Sequence[exp.Query]) -> Iterator[Rows]:
        if len(queries) == 1:
            yield self.fetch(queries[0])
            return
        result = self._result(self._send(self.text(inlined.together(queries))))
        places = iter(range(result.nfields))
        for query in queries:
            arrays = [wire.array(result.get_value(0, next(places)) or b"") for _ in query.named_selects]
            yield as_rows(query.named_selects, (self._values(cells, oid) for oid, cells in arrays))

    def blocks(self, query: exp.Query, parameters: Parameters = ()) -> Iterator[Rows]:
        """COPY is several times as fast as reading cells. It takes no parameters."""
        every, rows = inlined.valued(query, parameters) if parameters else query, None
        for rows in self.copy_out(every):
            yield {
                name: ma.filled(values.astype(float), np.nan) if ma.isMaskedArray(values) else values
                for name, values in rows.items()
            }
        if rows is None:
            yield self.fetch(every)

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        result = self._shape(query)
        fields = range(result.nfields)
        types = self._types([result.ftype(i) for i in fields], [result.fmod(i) for i in fields])
        names = _names(result)
        return tuple(Column(name, type, kind, spelling(type)) for name, (type, kind) in zip(names, types, strict=True))

    def row_hash(self, alias: str) -> exp.Expression:
        """Hashed twice: the hash of a record is 31 times the hash of one column plus that of the next. The sum of such
        hashes over the rows hardly depends on which values are in one row."""
        return _hash_of(exp.column(alias))

    def hashed(self, values: Sequence[exp.Expression]) -> exp.Expression:
        return _hash_of(exp.Tuple(expressions=list(values)))

    def copy_in(self, table: exp.Table, columns: Mapping[str, Values]) -> None:
        if not columns or not len(next(iter(columns.values()))):
            return
        names = [exp.to_identifier(name, quoted=True) for name in columns]
        result = self._shape(exp.select(*(exp.Column(this=name) for name in names)).from_(table.copy()))
        oids = [result.ftype(place) for place in range(len(names))]
        columns = {
            name: wire.fitted(name, values, oid) for (name, values), oid in zip(columns.items(), oids, strict=True)
        }
        target = exp.Schema(this=table.copy(), expressions=names)
        binary = wire.DTYPES.keys() >= set(oids) and all(values.dtype != object for values in columns.values())
        with self._driver_errors(), self._copy(target, "binary" if binary else "text") as copy:
            if binary:
                copy.write(wire.copy_rows(columns, oids))
                return
            for row in zip(*(values.tolist() for values in columns.values()), strict=True):
                copy.write_row(row)

    def copy_out(self, query: exp.Query) -> Iterator[Rows]:
        result = self._shape(query)
        names = _names(result)
        dtypes = [wire.COPIED[result.ftype(place)] for place in range(len(names))]
        with self._driver_errors():
            for columns in wire.read_copy(self._messages(query), dtypes):
                yield as_rows(names, columns)

    def csv(self, path: str) -> exp.Select:
        raise OptionError("the server cannot read a CSV file of this machine", hint="score files in DuckDB: duckdb:")

    def texts(self, query: exp.Query) -> Generator[tuple[str | None, ...]]:
        with self._driver_errors(), self._copy(query.subquery(), "text", "STDOUT") as copy:
            yield from copy.rows()

    @contextmanager
    def snapshot(self, reads: Iterable[exp.Table] = ()) -> Iterator[None]:
        read = list(dict.fromkeys(self._name(table) for table in reads if table.db))
        tables = self._lockable(read)
        if not self._rehearsing:
            self._check_idle()
        begin, undo, end = _savepoint("sqlsvm") if self._rehearsing else (self._begin, "ROLLBACK", "COMMIT")
        with self.bracket(begin, undo, end):
            self._lock(read, tables, undo, *([] if self._rehearsing else [begin]))
            with self._held_still(read):
                yield
            if self._connection.info.transaction_status == pq.TransactionStatus.INERROR:
                raise EngineError("the transaction was rolled back", detail="a statement in it had failed before")

    def _lock(self, read: Sequence[str], tables: Sequence[str], *undo: str) -> None:
        """TRUNCATE removes rows also from snapshots that are older. LOCK takes no snapshot, so the one that comes after
        it is younger. It wants the right to a whole table, which a view may lack where it reads a few columns. A plan
        locks the parts of a table too."""
        try:
            if tables:
                self._send(f"LOCK TABLE {', '.join(tables)} IN ACCESS SHARE MODE")
        except StatementError as error:
            if error.kind != "denied":
                raise
            for text in undo:
                self._send(text)
            tables = ()
        if others := [name for name in read if name not in tables]:
            self._send(f"EXPLAIN {' UNION ALL '.join(f'SELECT 1 FROM {name}' for name in others)}")

    def work_in(self, schema: str) -> None:
        self._check_work_schema(schema)
        self._places = Unlogged(schema)

    def work_without_tables(self) -> None:
        self._places = Inlined()

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        self._check_idle()
        self._send(self._begin)
        self._rehearsing = True
        try:
            yield
        finally:
            self._rehearsing = False
            self._send("ROLLBACK")

    def _check_idle(self) -> None:
        if self._connection.info.transaction_status != pq.TransactionStatus.IDLE:
            raise EngineError("a snapshot is already open in this session")

    def run_script(self, text: str) -> None:
        """Only the simple protocol, without parameters and binary results, takes several statements at once."""
        if self.on_statement:
            self.on_statement(text)
        with self._driver_errors(), self._settled(), self._answered():
            self._connection.execute(text.encode()).close()

    def cancel(self) -> None:
        with self._driver_errors():
            self._connection.cancel_safe(timeout=10)

    def close(self) -> None:
        self._connection.close()

    def _send(self, text: str, parameters: Parameters = ()) -> psycopg.Cursor[Any]:
        if self.on_statement:
            self.on_statement(text)
        with self._driver_errors():
            if text.startswith("BEGIN"):  # the simple protocol takes several statements at once
                with self._answered():
                    return self._connection.execute(text.encode())
            with self._settled(), self._answered():
                return self._connection.cursor(binary=True).execute(text.encode(), [_parameter(p) for p in parameters])

    @property
    def _begin(self) -> str:
        """Behind a pooler like PgBouncer each transaction may run in another session of the server, which other clients
        use too. So the settings are those of the transaction."""
        return "; ".join([_BEGIN, *_LOCAL, _ENCODING, *self._zone]) if self._pooled else _BEGIN

    def _settled(self) -> AbstractContextManager[None]:
        """Behind a pooler no statement runs without our settings: it gets a transaction if it has none."""
        if not self._pooled or self._connection.info.transaction_status != pq.TransactionStatus.IDLE:
            return nullcontext()
        return self._between(self._begin, "ROLLBACK", "COMMIT")

    @contextmanager
    def _between(self, begin: str, undo: str, end: str) -> Iterator[None]:
        """As `bracket`, for a statement that is being sent."""
        self._connection.execute(begin.encode())
        try:
            yield
        except BaseException:
            if not self._connection.closed:
                self._connection.execute(undo.encode())
            raise
        self._connection.execute(end.encode())

    def _ask(self, text: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        return self._send(text, parameters).fetchall()

    def _result(self, cursor: psycopg.Cursor[Any]) -> pq.abc.PGresult:
        if cursor.description is None or cursor.pgresult is None:
            raise EngineError("a statement that should have returned rows returned none")
        return cursor.pgresult

    def _shape(self, query: exp.Query) -> pq.abc.PGresult:
        """The columns that a query returns, without rows."""
        nothing = exp.select("*").from_(query.subquery("q")).limit(0, copy=False)
        return self._result(self._send(self.text(nothing)))

    def _column(self, result: pq.abc.PGresult, place: int) -> Values:
        return self._values([result.get_value(row, place) for row in range(result.ntuples)], result.ftype(place))

    def _values(self, cells: Sequence[bytes | None], oid: int) -> Values:
        if oid in wire.DTYPES:
            return wire.read_column(cells, oid)
        load = self._loader(oid)
        return as_values((None if cell is None else load(cell) for cell in cells), self._kind(oid))

    def _loader(self, oid: int) -> Callable[[bytes], object]:
        loader = self._connection.adapters.get_loader(oid, pq.Format.BINARY)
        if loader is None:
            return bytes.decode if self._kind(oid) == "categorical" else bytes
        load = loader(oid, self._connection).load
        return (lambda cell: str(load(cell))) if oid == wire.UUID else load

    @contextmanager
    def _copy(
        self, what: exp.Expr, format: Literal["binary", "text"], end: Literal["STDIN", "STDOUT"] = "STDIN"
    ) -> Iterator[psycopg.Copy]:
        choice = exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.var(format))
        files = [exp.to_identifier(end)]
        text = self.text(exp.Copy(this=what, kind=end == "STDIN", files=files, params=[choice]))
        if self.on_statement:
            self.on_statement(text)
        with self._settled(), self._connection.cursor().copy(text.encode()) as copy:
            yield copy

    def _messages(self, query: exp.Query) -> Iterator[list[wire.Message]]:
        """The rows of COPY ... TO STDOUT, as many at a time as have arrived. psycopg waits for a row; those that came
        with it are taken straight from libpq, which saves a microsecond a row."""
        pgconn = self._connection.pgconn
        with self._copy(query.subquery(), "binary", "STDOUT") as copy:
            while row := copy.read():
                rows, (size, more) = [row], pgconn.get_copy_data(1)
                while size > 0:
                    rows.append(more)
                    size, more = pgconn.get_copy_data(1)
                yield rows
                if size < 0:  # psycopg has not seen the end: fetch the result here
                    results = list(iter(pgconn.get_result, None))
                    if results[0].status != pq.ExecStatus.COMMAND_OK:
                        raise psycopg.errors.error_from_result(results[0])
                    return

    @contextmanager
    def _driver_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            if self._connection.closed or self._connection.broken:
                lost = f"the connection to {self.url} was lost"
                raise ConnectionLost(lost, detail=str(error).strip()) from error
            raise refused(error, self._connection.info) from error

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Ctrl-C may come between a statement and its answer. Then the next statement would be refused, also
        a ROLLBACK: so the answer is taken here."""
        try:
            yield
        except KeyboardInterrupt:
            if self._connection.info.transaction_status == pq.TransactionStatus.ACTIVE:
                self._connection.cancel_safe(timeout=10)
                while self._connection.pgconn.get_result():
                    pass
            raise


class Borrowed(Postgres):
    """The session of a connection of the caller. It stays open, with its settings; ours are those of transactions. In
    an open transaction of the caller all is within a savepoint, and at the end the settings are put back."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        with ExitStack() as opened:
            self._use(opened.enter_context(shared(connection)))
            ((path,),) = self._ask(pg_names.PATH)
            self.look_in(path)
            self._pooled, self._in_snapshot, self._reads = True, False, bool(connection.read_only)
            if self._connection.info.transaction_status == pq.TransactionStatus.INTRANS:
                opened.enter_context(self._within())
            if self._reads or self._ask(_READS) == [("on",)]:
                self.work_without_tables()
            self._end = opened.pop_all()

    @property
    def _begin(self) -> str:
        return f"{super()._begin}; SET TRANSACTION READ ONLY" if self._reads else super()._begin

    @contextmanager
    def _within(self) -> Iterator[None]:
        ((level,),) = self._ask("SELECT pg_catalog.current_setting('transaction_isolation')")
        if level not in ("repeatable read", "serializable"):
            said = f"the open transaction of this connection is {level}, so its statements do not see the same data"
            hint = "commit() or rollback() first, or begin it with isolation_level = IsolationLevel.REPEATABLE_READ"
            raise EngineError(said, hint=hint)
        before = self._ask(_SETTINGS, [["TimeZone", *(setting.split()[2] for setting in (*_LOCAL, _ENCODING))]])
        self._connection.execute("; ".join(["SAVEPOINT sqlsvm_given", *_LOCAL, _ENCODING]).encode())
        self._rehearsing = True
        yield
        if self._connection.closed:
            return
        if self._connection.info.transaction_status == pq.TransactionStatus.INERROR:
            self._connection.execute(b"ROLLBACK TO SAVEPOINT sqlsvm_given")
        else:
            self._ask(_PUT_BACK, [*map(list, zip(*before, strict=True))])
        self._connection.execute(b"RELEASE SAVEPOINT sqlsvm_given")

    @contextmanager
    def snapshot(self, reads: Iterable[exp.Table] = ()) -> Iterator[None]:
        self._in_snapshot = True
        try:
            with super().snapshot(reads):
                yield
        finally:
            self._in_snapshot = False

    def _settled(self) -> AbstractContextManager[None]:
        """In a transaction of the caller a statement before the snapshot may fail, as it may without one: it names what
        is not there."""
        if not self._rehearsing or self._in_snapshot:
            return super()._settled()
        return self._between(*_savepoint("sqlsvm_asked"))

    def close(self) -> None:
        self._end.close()


def _savepoint(name: str) -> tuple[str, str, str]:
    """What begins it, undoes what came after it, and ends it."""
    return f"SAVEPOINT {name}", f"ROLLBACK TO SAVEPOINT {name}", f"RELEASE SAVEPOINT {name}"


def _names(result: pq.abc.PGresult) -> list[str]:
    return [cast(bytes, result.fname(place)).decode() for place in range(result.nfields)]


def _parameter(value: object) -> object:
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
        return value.tolist()
    return value


def _hash_of(row: exp.Expression) -> exp.Expression:
    seed = exp.Literal.number(0)
    of_columns = exp.Anonymous(this="hash_record_extended", expressions=[row, seed])
    return exp.Anonymous(this="hashint8extended", expressions=[of_columns, seed.copy()])
