"""What the errors of a PostgreSQL server mean, and what the user can type."""

import re

import psycopg

from sqlsvm.engine.base import Refusal, StatementError

_TOO_WIDE = ("54000", "54011")
"""A row that is larger than a page, or has too many columns."""
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
        return "this session may only read: add --no-temp or --offload, keep models with --model-file, predict to CSV"
    if sqlstate in _TOO_WIDE:
        return "working tables hold about 900 numbers in a row: add --no-temp, which makes none, or --offload"
    if "conflict with recovery" in message:
        return "this standby waits so long for a reader: raise max_standby_streaming_delay, or set hot_standby_feedback"
    if sqlstate == _DENIED and "temporary tables" in message:
        return f"add --no-temp, or its owner types: GRANT TEMPORARY ON DATABASE {info.dbname} TO {info.user}"
    if sqlstate == _DENIED and (found := _ON.match(message)):
        return f"its owner can GRANT what is missing ON {found[1]} TO {info.user}"
    return None


def _path_hint(said: psycopg.errors.Diagnostic) -> str | None:
    """For a function of the user that does not find what it needs."""
    inside = _FUNCTION.match(said.context or "")
    if not inside or said.sqlstate not in _UNDEFINED:
        return None
    return f"sqlsvm looks names up in pg_catalog alone: ALTER FUNCTION {inside[1]} SET search_path = pg_catalog, ..."
