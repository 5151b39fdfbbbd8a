"""What the errors of Spark mean. Nothing of Java is repeated."""

import re

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from sqlsvm.engine.base import Refusal, StatementError
from sqlsvm.errors import EngineError

ERRORS = (PySparkException, Py4JError, ConnectionError)

_STATES: tuple[tuple[str, Refusal], ...] = (
    ("42P01|42704|42K03", "no such name"),
    ("42P07|42P06|42710|42K04", "exists"),
    ("42501", "denied"),
    ("22", "value"),
)
_SAID = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] (.+?)(?: SQLSTATE: (\w{5})|\n\n|\n\tat |\Z)", re.DOTALL)
_CAUSE = re.compile(r"Caused by: (.+)")
_JAVA = re.compile(r"(?:[\w$]+\.)+\w*(?:Exception|Error): ")
_LOST = re.compile("connection refused|UNAVAILABLE|Connection reset|SparkContext was shut down|SESSION_CLOSED", re.I)
_GONE = re.compile(r"FILE_NOT_EXIST|FileNotFoundException|PARQUET_.*NOT_FOUND|CANNOT_READ_FILE")
_FULL = re.compile("No space left on device|Disk quota exceeded")
_ADVICE = re.compile(r" (?:Use|To tolerate|If necessary|If you did not|To return) .*|\nSearch path.*", re.DOTALL)


def refused(error: BaseException, url: str) -> EngineError:
    """A statement that Spark did not run."""
    text = str(error)  # with the causes
    if isinstance(error, Py4JNetworkError | ConnectionError) or _LOST.search(text):
        return EngineError(f"the session with {url} was lost", detail=_first(text))
    if _FULL.search(text):
        hint = "free some space, or choose another folder with --work-folder"
        return StatementError("there is no space left for working tables", hint=hint)
    if _GONE.search(text):
        hint = "start again: Spark reads files as they were when it began, and cannot if they are replaced meanwhile"
        return StatementError("a file of a table is gone since this began", detail=_file(text), hint=hint)
    said = list(_SAID.finditer(text))
    if not said:
        return StatementError(cause(error))
    last = said[-1]  # the innermost cause
    state = next((m[3] for m in reversed(said) if m[3]), None) or _state(error)
    kind = next((kind for pattern, kind in _STATES if re.match(pattern, state)), None)
    return StatementError(_plain(last[2]), kind=kind)


def cause(error: BaseException) -> str:
    """The innermost."""
    text = str(error)
    return _first((_CAUSE.findall(text) or re.findall(r"^: (.+)", text, re.MULTILINE) or [text])[-1])


def _state(error: BaseException) -> str:
    return (error.getSqlState() or "") if isinstance(error, PySparkException) else ""


def _plain(text: str) -> str:
    """Without the advice to set a configuration, which we set ourselves."""
    return _ADVICE.sub("", _JAVA.sub("", text)).strip().rstrip(".").replace("\n", " ")


def _file(text: str) -> str | None:
    found = re.search(r"file:?[/\w.-]*/[\w./=-]+|\w+://[\w./=:-]+", text)
    return found[0] if found else None


def _first(text: str) -> str:
    return _JAVA.sub("", text.strip().split("\n")[0])[:300] or "Spark does not say why"
