"""What a caller has -> an engine: a URL, a connection, frames. Here each kind is one function.

A kind is known by the module of the type, so no library is imported that the caller has not imported."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, TypeAlias

import numpy as np

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import ConnectionLost, OptionError

Database: TypeAlias = Any
"""A URL, or anything that `opened` lists."""

_ACCEPTED = (
    "a URL such as duckdb:shop.duckdb; a connection of duckdb or psycopg; an engine, a connection or a URL of "
    "SQLAlchemy; a table or an expression of ibis; a session of Spark; or frames of pandas, polars or pyarrow by name: "
    '{"orders": orders}'
)

_DRIVER = re.compile(r"^postgres(ql)?\+\w+://")
"""With these SQLAlchemy begins a URL."""


def opened(given: Database) -> AbstractContextManager[Engine]:
    """An engine for as long as it is needed. What the caller has opened stays open, with nothing of ours in it."""
    if isinstance(given, Engine):
        return _as_it_is(given)
    if isinstance(given, str):
        return connect(_DRIVER.sub("postgresql://", given))
    if isinstance(given, Mapping):
        return _frames(given)
    for module in (_module(kind) for kind in type(given).__mro__):
        if module in _KINDS:
            return _KINDS[module](given)
    hint = 'name it: {"orders": orders}' if hasattr(given, "columns") else f"give {_ACCEPTED}"
    raise OptionError(f"{_named(given)} is not a database", hint=hint)


def opens_anew(given: Database) -> bool:
    """Can it be opened again, if its server is restarted? A connection of the caller cannot."""
    return isinstance(given, str) or hasattr(given, "raw_connection") or hasattr(given, "render_as_string")


def is_query(given: Database) -> bool:
    """Is it an expression of ibis, and not only a backend of it?"""
    return _module(type(given)) == "ibis" and hasattr(given, "op")


def query_of(given: Database, query: str | None) -> str:
    """An expression of ibis is a query and a database in one."""
    if query is not None:
        return query
    if not is_query(given):
        raise OptionError("there is no query", hint="give its SQL; only an expression of ibis has its own")
    from ibis import to_sql

    return str(to_sql(given))


def _ibis(given: Any) -> AbstractContextManager[Engine]:
    """The connection of its backend."""
    backend = given.get_backend() if is_query(given) else given
    return opened(backend.con)


def _module(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _named(thing: object) -> str:
    return f"an object of the type {type(thing).__module__}.{type(thing).__qualname__}"


@contextmanager
def _as_it_is(engine: Engine) -> Iterator[Engine]:
    yield engine


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
