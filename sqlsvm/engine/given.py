"""What a caller has -> an engine: a URL, a connection, frames. Here each kind is one function.

A kind is known by the module of the type, so no library is imported that the caller has not imported."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from sqlglot import exp

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import ConnectionLost, OptionError


class Session(Protocol):
    """A connection of DuckDB or psycopg; each of these types is known by what it alone has."""

    @property
    def cursor(self) -> object: ...


class Pool(Protocol):
    """An engine of SQLAlchemy."""

    @property
    def raw_connection(self) -> object: ...


class Connected(Protocol):
    """A connection of SQLAlchemy."""

    @property
    def connection(self) -> object: ...


class Url(Protocol):
    """A URL of SQLAlchemy."""

    @property
    def render_as_string(self) -> object: ...


class Backed(Protocol):
    """An expression of ibis."""

    @property
    def get_backend(self) -> object: ...


class Backend(Protocol):
    """A backend of ibis."""

    @property
    def con(self) -> object: ...


class Spark(Protocol):
    """A session of Spark."""

    @property
    def sparkContext(self) -> object: ...


class Selected(Protocol):
    """A select or a text of SQLAlchemy."""

    @property
    def compile(self) -> object: ...


class Relation(Protocol):
    """A relation of DuckDB."""

    @property
    def sql_query(self) -> object: ...


Database: TypeAlias = (
    str | PathLike[str] | Mapping[str, object] | Engine | Session | Pool | Connected | Url | Backed | Backend | Spark
)
"""A URL, or anything that `opened` lists."""
Query: TypeAlias = str | PathLike[str] | Selected | Relation | Backed  # SQL, a file of it, or what `query_of` knows
_ACCEPTED = (
    "a URL such as duckdb:shop.duckdb; the path of a file of DuckDB; a connection of duckdb or psycopg; an engine, a "
    "connection or a URL of SQLAlchemy; a table or an expression of ibis; a session of Spark; or frames of pandas, "
    'polars or pyarrow by name: {"orders": orders}'
)

_DRIVER = re.compile(r"^postgres(ql)?\+\w+://")  # with these SQLAlchemy begins a URL


def opened(given: Database) -> AbstractContextManager[Engine]:
    """An engine for as long as it is needed. What the caller has opened stays open, with nothing of ours in it."""
    if isinstance(given, Engine):
        return nullcontext(given)
    if isinstance(given, str):
        return connect(_DRIVER.sub("postgresql://", given))
    if isinstance(given, PathLike):
        return _file(Path(given))
    if isinstance(given, Mapping):
        return _frames(given)
    for module in (_module(kind) for kind in type(given).__mro__):
        if module in _KINDS:
            return _KINDS[module](given)
    hint = 'name it: {"orders": orders}' if hasattr(given, "columns") else f"give {_ACCEPTED}"
    raise OptionError(f"{_named(given)} is not a database", hint=hint)


def opens_anew(given: object) -> bool:
    """Can it be opened again, if its server is restarted? A connection of the caller cannot."""
    return isinstance(given, str) or hasattr(given, "raw_connection") or hasattr(given, "render_as_string")


def is_query(given: object) -> bool:
    """Is it an expression of ibis, and not only a backend of it?"""
    return _module(type(given)) == "ibis" and hasattr(given, "op")


def with_label(given: object, query: Any, label: str | None) -> tuple[Query | None, str | None]:
    """An expression of ibis is a query and a database in one, so one text after it is the label."""
    return (None, query) if is_query(given) and label is None and isinstance(query, str) else (query, label)


def query_of(given: object, query: Any) -> str:
    """The SQL of what a caller has as a query."""
    if query is None:
        if not is_query(given):
            raise OptionError("there is no query", hint="give its SQL; only an expression of ibis has its own")
        query = given
    if isinstance(query, str):
        return query
    if isinstance(query, PathLike):
        return _text(Path(query))
    for module in (_module(kind) for kind in type(query).__mro__):
        if module in _QUERIES:
            return _QUERIES[module](query)
    hint = "give SQL, the path of a file of it, a select of SQLAlchemy, a relation of DuckDB or an expression of ibis"
    raise OptionError(f"{_named(query)} is not a query", hint=hint)


def _text(file: Path) -> str:
    try:
        return file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read the query in {file}", detail=str(error)) from error


def _of_ibis(expression: Any) -> str:
    from ibis import to_sql
    from ibis.expr.operations import InMemoryTable

    if not is_query(expression):
        raise OptionError(f"{_named(expression)} is not a query", hint="give an expression")
    if expression.op().find(InMemoryTable):
        expression.limit(0).to_pyarrow()  # then its database has what is in memory, for as long as this is held
    return str(to_sql(expression))


def _of_duckdb(relation: Any) -> str:
    if not hasattr(relation, "sql_query"):
        raise OptionError(f"{_named(relation)} is not a query", hint="give SQL, or a relation")
    return str(relation.sql_query())


def _of_sqlalchemy(statement: Any) -> str:
    """Its values are written into it. The dialect is the nearest to all that we know."""
    if not hasattr(statement, "compile"):
        raise OptionError(f"{_named(statement)} is not a query", hint="give a select, or a text")
    from sqlalchemy.dialects import postgresql

    dialect = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]
    return str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


_QUERIES: Mapping[str, Callable[[Any], str]] = {
    "duckdb": _of_duckdb,
    "_duckdb": _of_duckdb,
    "ibis": _of_ibis,
    "sqlalchemy": _of_sqlalchemy,
}


def _file(path: Path) -> AbstractContextManager[Engine]:
    if path.suffix.lower() in (".duckdb", ".ddb", ".db"):
        return connect(f"duckdb:{fspath(path.expanduser())}")
    hint = f"""for a file of rows give "duckdb:", and name it in the query: FROM '{path}'"""
    raise OptionError(f"{path} is not a file of DuckDB", hint=hint)


def _ibis(given: Any) -> AbstractContextManager[Engine]:
    """The connection of its backend."""
    backend = given.get_backend() if is_query(given) else given
    return opened(backend.con)


def _module(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _named(thing: object) -> str:
    return f"an object of the type {type(thing).__module__}.{type(thing).__qualname__}"


def _duckdb(connection: Any) -> Engine:
    from sqlsvm.engine.duckdb import Borrowed

    if not hasattr(connection, "register"):
        raise OptionError(f"{_named(connection)} is not a database", hint="give the connection, and its SQL as query")
    return Borrowed(connection)


def _psycopg(connection: Any) -> Engine:
    from sqlsvm.engine.postgres import Borrowed

    return Borrowed(connection)


@contextmanager
def _sqlalchemy(given: Any) -> Iterator[Engine]:
    """The connection of an engine is used if it is one that we know. For another driver of PostgreSQL a session of our
    own is opened at its URL."""
    url = getattr(given, "url", given)
    if hasattr(given, "raw_connection") and given.driver in ("psycopg", "duckdb_engine"):
        with closing(given.raw_connection()) as pooled, opened(pooled.driver_connection) as engine:
            try:
                yield engine
            except ConnectionLost:
                pooled.invalidate()  # so that its pool gives it to no one
                raise
    elif hasattr(given, "connection"):
        with opened(given.connection.driver_connection) as engine:
            yield engine
    elif hasattr(url, "render_as_string"):
        with connect(_plain(url)) as engine:
            yield engine
    else:
        raise OptionError(f"{_named(given)} is not a database", hint="give an engine, a connection or a URL")


def _plain(url: Any) -> str:
    """A URL of SQLAlchemy without the name of a driver."""
    dialect = url.get_backend_name()
    if dialect == "duckdb":
        return f"duckdb:{url.database or ''}"
    if dialect != "postgresql":
        raise OptionError(f"sqlsvm does not know the databases of {dialect}", hint=f"give {_ACCEPTED}")
    return str(url.set(drivername=dialect).render_as_string(hide_password=False))


def _wrapped(wrapper: Any) -> AbstractContextManager[Engine]:
    """The connection in that of the DuckDB dialect of SQLAlchemy, which keeps it in a private attribute."""
    return opened(next(held for held in vars(wrapper).values() if _module(type(held)) in ("duckdb", "_duckdb")))


@contextmanager
def _frames(frames: Mapping[Any, Any]) -> Iterator[Engine]:
    """DuckDB reads them where they are."""
    from sqlsvm.engine.duckdb import DuckDB

    with DuckDB(private=True) as engine:
        for name, frame in frames.items():
            if not isinstance(name, str):
                raise OptionError(f"the name of a frame is a text, not {name!r}", hint='write {"orders": orders}')
            engine.show(name, _readable(name, frame))
        yield engine


def digests(given: object) -> Mapping[str, str]:
    """Of the rows of frames, which their owner may change at any time."""
    if not isinstance(given, Mapping):
        return {}
    with _frames(given) as engine:
        return {name: engine.digest(exp.select("*").from_(exp.table_(name, quoted=True))) for name in given}


def _readable(name: str, frame: Any) -> Any:
    """What DuckDB does not read itself, narwhals may know."""
    if isinstance(frame, Mapping):
        return {column: np.asarray(values) for column, values in frame.items()}
    module = _module(type(frame))
    if module in ("pandas", "polars", "pyarrow") or (
        module not in ("duckdb", "_duckdb") and hasattr(frame, "__arrow_c_stream__")
    ):
        return frame
    try:
        import narwhals

        return narwhals.from_native(frame).lazy().collect("pyarrow").to_native()
    except (ImportError, TypeError) as error:
        hint = "give frames of pandas, polars or pyarrow, or columns by name"
        raise OptionError(f"{name} is {_named(frame)}, which is not a frame", hint=hint) from error


_KINDS: Mapping[str, Callable[[Any], AbstractContextManager[Engine]]] = {
    "duckdb": _duckdb,
    "_duckdb": _duckdb,
    "duckdb_engine": _wrapped,
    "ibis": _ibis,
    "psycopg": _psycopg,
    "sqlalchemy": _sqlalchemy,
    "pyspark": connect,
}
