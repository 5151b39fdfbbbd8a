"""A URL or a connection string -> a connection of psycopg. No error repeats a password."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from sqlsvm.engine.base import Refusal, StatementError
from sqlsvm.errors import EngineError, OptionError

_TOO_WIDE = ("54000", "54011")  # a row that is larger than a page, or has too many columns
_READ_ONLY, _DENIED, _LOCKED = "25006", "42501", "55P03"
_REFUSALS: dict[str, Refusal] = {
    _DENIED: "denied",
    **dict.fromkeys(("42P01", "3F000"), "no such name"),
    **dict.fromkeys(("42P06", "42P07"), "exists"),
    **dict.fromkeys(("42710", "42723", "42P13"), "taken"),
    "2BP01": "depended on",
    # Serialisation failure, deadlock, and the errors of two sessions that create the same table at the same time.
    **dict.fromkeys(("40001", "40P01", "23505", "XX000"), "lost race"),
}
_UNDEFINED = ("42883", "42P01", "42704", "3F000")
_FUNCTION = re.compile(r"(?:SQL function|PL/pgSQL function) \"?([^\"\s]+?)\"?(?: |$)")
_BROKEN = re.compile("58|XX00[12]|F0")
_LIBRARY = re.compile("could not (access file|load library|find function .* in file)|incompatible library")
"""PostgreSQL gives these errors the SQLSTATE of an error of the system, which is often another one."""
_ON = re.compile(r"permission denied for (?:relation|table|view|materialized view|foreign table|(?=schema)) ?(.+)$")

_BROKEN_HINT = (
    "the fault is in the server or its installation, not in the query: its administrator can repair it, "
    "and its log says more"
)


def refused(error: psycopg.Error, info: psycopg.ConnectionInfo) -> StatementError:
    """A statement that the server did not run."""
    said, sqlstate = error.diag, error.sqlstate or ""
    message = said.message_primary or str(error).strip()
    if _BROKEN.match(sqlstate) or _LIBRARY.match(message):
        return StatementError(message, detail=said.message_detail, hint=_BROKEN_HINT)
    return StatementError(
        message,
        detail=said.message_detail,
        hint=_path_hint(said) or said.message_hint or _hint(sqlstate, message, info),
        kind="value" if sqlstate.startswith("22") else _REFUSALS.get(sqlstate),
    )


def _hint(sqlstate: str, message: str, info: psycopg.ConnectionInfo) -> str | None:
    if sqlstate == _LOCKED:
        return "another session has locked it: try again later, or SET lock_timeout to a longer time"
    if sqlstate == _READ_ONLY:
        return "it may only read: add ⟦no_temp True⟧ or ⟦offload True⟧, keep models with --model-file, predict to CSV"
    if sqlstate in _TOO_WIDE:
        return "working tables hold about 900 numbers in a row: add ⟦no_temp True⟧, which makes none, or ⟦offload True⟧"
    if "conflict with recovery" in message:
        return "this standby waits so long for a reader: raise max_standby_streaming_delay, or set hot_standby_feedback"
    if sqlstate == _DENIED and "temporary tables" in message:
        return f"add ⟦no_temp True⟧, or its owner types: GRANT TEMPORARY ON DATABASE {info.dbname} TO {info.user}"
    if sqlstate == _DENIED and (found := _ON.match(message)):
        return f"its owner can GRANT what is missing ON {found[1]} TO {info.user}"
    return None


def _path_hint(said: psycopg.errors.Diagnostic) -> str | None:
    """For a function of the user that does not find what it needs."""
    inside = _FUNCTION.match(said.context or "")
    if not inside or said.sqlstate not in _UNDEFINED:
        return None
    return f"sqlsvm looks names up in pg_catalog alone: ALTER FUNCTION {inside[1]} SET search_path = pg_catalog, ..."


_DSN_HINT = (
    "write postgresql://user:password@host:5432/database, and in it @ / : % as %40 %2F %3A %25; "
    "or host=... user=... password='...'; or put the password into $PGPASSWORD or ~/.pgpass"
)


def connected(dsn: str) -> psycopg.Connection[Any]:
    options: dict[str, Any] = {"connect_timeout": 10, **_options(dsn)}
    try:
        # prepare_threshold: plan a statement at each execution, for the present sizes of the tables.
        return psycopg.connect(
            **options | {"fallback_application_name": "sqlsvm", "client_encoding": "UTF8"},
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=psycopg.RawCursor,
        )
    except psycopg.Error as error:
        where = ", ".join(f"{k} {options[k]}" for k in ("host", "port", "dbname", "user") if k in options)
        said = str(error).strip()
        error._pgconn = None  # it holds the password, and some logs show the fields of exceptions
        raise EngineError(f"cannot connect to PostgreSQL ({where})", detail=said, hint=_connect_hint(said)) from error


@contextmanager
def shared(theirs: psycopg.Connection[Any]) -> Iterator[psycopg.Connection[Any]]:
    """A second object over the session of a connection: what is set in one is not set in the other. While it is used,
    other threads that use the connection wait."""
    if not isinstance(theirs, psycopg.Connection):
        raise OptionError("this is no connection of psycopg", hint="psycopg.connect(...) makes one")
    with theirs.lock:
        status, pgconn = theirs.info.transaction_status, theirs.pgconn
        if status not in (pq.TransactionStatus.IDLE, pq.TransactionStatus.INTRANS):
            hint = "rollback() ends a transaction that has failed; a connection that was closed is made anew"
            raise EngineError(f"this connection cannot be used: its state is {status.name}", hint=hint)
        handlers = pgconn.notice_handler, pgconn.notify_handler
        ours = psycopg.Connection[Any](pgconn)
        ours.cursor_factory, ours.prepare_threshold = psycopg.RawCursor, None
        if status == pq.TransactionStatus.IDLE:
            ours.autocommit = True
        try:
            yield ours
        finally:
            pgconn.notice_handler, pgconn.notify_handler = handlers
            del ours.pgconn  # else its end would look like a connection that was not closed


def _options(dsn: str) -> dict[str, Any]:
    """What a URL or a connection string says. libpq repeats parts of it in its errors, and may take a part of a
    password for the host, which it would then ask a name server for. So a doubtful one goes no further, and the error
    of libpq is not the cause of ours."""
    try:
        options = conninfo_to_dict(dsn)
        doubt = _doubt(dsn, options)
    except (psycopg.Error, UnicodeError) as error:  # %E7 alone is no UTF-8
        options, doubt = {}, "the database URL cannot be read"
        said = re.match(r"[\w\s-]*", str(error))  # without what it repeats, which is in quotes
    else:
        said = None
    if doubt:
        reason = said[0].strip() if said else ""
        raise EngineError(doubt, detail=reason if " " in reason else None, hint=_DSN_HINT)
    return options


def _doubt(dsn: str, options: Mapping[str, object]) -> str | None:
    """Why host, port, database or user may be a part of a password."""
    is_url = re.match(r"\w+://", dsn)
    server, _, database = dsn.partition("://")[2].partition("/")
    if is_url and (server.count("@") > 1 or "@" in database):
        return "it is not clear where the password ends in the database URL"
    doubtful = (re.search(r":.*@", str(options.get(name, ""))) for name in ("host", "dbname", "user"))
    if (not is_url and any(doubtful)) or (is_url and ":" in str(options.get("user", ""))):
        return "host, dbname or user holds a password"
    if not re.fullmatch(r"[\d,]*", str(options.get("port", ""))):
        return "the port in the database URL is not a number"
    if not re.fullmatch(r"@?[\w.,:/ %-]*", str(options.get("host", ""))):
        return "the host in the database URL is not a name"
    return None


def _connect_hint(said: str) -> str:
    if "password" in said or "authentication" in said:
        return "put the password into the URL, $PGPASSWORD or ~/.pgpass"
    if "role" in said and "does not exist" in said:
        return "check the user's name: `psql -c '\\du' postgres` lists users; `createuser NAME` creates one"
    if "does not exist" in said:
        return "check the names of database and user with `psql -l`; `createdb NAME` creates a database"
    return "is the server running, and are host and port right? `embedded:` starts a PostgreSQL of its own"


def safe_url(info: psycopg.ConnectionInfo) -> str:
    """The URL of a connection without the password. A socket directory cannot be the host of a URL."""
    user, database = quote(info.user, safe=""), quote(info.dbname, safe="")
    if info.host.startswith(("/", "@")):
        return f"postgresql://{user}@/{database}?{urlencode({'host': info.host, 'port': info.port}, safe='/')}"
    host = f"[{info.host}]" if ":" in info.host else info.host
    return f"postgresql://{user}@{host}:{info.port}/{database}"
