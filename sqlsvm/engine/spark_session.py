"""Sessions with Spark: how one begins, what is set in it, and how it ends.

Only what a session in this process and one of Spark Connect have in common is used, except to start Java.
"""

import logging
import os
import re
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from sqlsvm.engine.base import Refusal, StatementError
from sqlsvm.errors import EngineError, OptionError, hide, is_secret
from sqlsvm.scratch import private_folder

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
        hint = "free some space, or choose another folder with ⟦work_folder⟧"
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


_LOCAL = "local"
_HINT = "write spark:local[*], spark:spark://host:7077, spark:sc://host:15002, or spark: for the configured master"

_START = "is a Spark Connect server running there? sbin/start-connect-server.sh starts one"
_MASTER = "is a master running there? sbin/start-master.sh starts one"
_PORTS = {"sc": 15002, "spark": 7077}

_LOCAL_DIR, _LOCAL_DIRS = "spark.local.dir", "SPARK_LOCAL_DIRS"
_PLACED = ("yarn", "k8s://")  # these give each application folders of its own
_BEFORE_JAVA = tuple(
    f"spark.{n}" for n in ("driver.", "files", "jars", "kerberos.", "local.", "master", "submit.", "yarn.")
)
"""What Java has to know when it starts is an argument, which all users see. The rest is sent to it afterwards."""

_DEFAULTS = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR", "spark.app.name": "sqlsvm"}
_OF_ONE_MACHINE = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
_BROKEN_RULE = "org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAliases"
"""It makes invalid plans of two lists that meet."""
_EXCLUDED = "spark.sql.optimizer.excludedRules"
_PINNED = {
    # A cast that fails is an error, as in the other engines.
    "spark.sql.ansi.enabled": "true",
    # Without it a pass takes several times as long: most of our tables are small.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    _EXCLUDED: _BROKEN_RULE,
}


@dataclass(frozen=True)
class Place:
    """Where a session is: what follows `spark:` in a URL."""

    master: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> "Place":
        master, _, query = text.partition("?")
        settings = {}
        for part in filter(None, query.split("&")):
            name, equals, value = part.partition("=")
            if not equals or not name.startswith("spark."):
                raise OptionError("a setting in the URL is not spark.NAME=VALUE", hint="spark:?spark.driver.memory=4g")
            settings[unquote(name)] = unquote(value)
        hide([*settings.items(), *parse_qsl(master.replace(";", "&"))])
        if master and not master.startswith((_LOCAL, "spark://", "sc://", "yarn", "k8s://")):
            raise OptionError("this is no master of Spark", hint=_HINT)
        return cls(master, settings)

    @property
    def remote(self) -> bool:
        return self.master.startswith("sc://")

    @property
    def shown(self) -> str:
        """Without the settings and what follows the host: there may be a token."""
        return self.master.split("/;")[0].rstrip("/") if self.remote else self.master


@dataclass(frozen=True)
class Opened:
    session: SparkSession
    one_machine: bool  # do all its processes see the same folders?
    close: Callable[[], None]


def opened(place: Place) -> Opened:
    """A new session; for Spark in this process, next to those that there are."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _remote(place) if place.remote else _here(place)
    except ImportError as error:
        raise EngineError("Spark is not complete", detail=str(error), hint="pip install 'sqlsvm[spark]'") from error


def _remote(place: Place) -> Opened:
    _check_reached(place, _START)
    try:
        session = SparkSession.builder.remote(place.master).create()
        for name, value in place.settings.items():
            session.conf.set(name, value)
        session.version  # noqa: B018 - the server answers here first
    except (*ERRORS, RuntimeError, ValueError) as error:
        raise EngineError(f"cannot reach {place.shown}", detail=_told(error, place), hint=_START) from error
    return Opened(session, False, session.stop)


def _check_reached(place: Place, hint: str) -> None:
    """pyspark would try for minutes."""
    found = urlsplit(place.shown)
    try:
        port = found.port or _PORTS[found.scheme]
        socket.create_connection((found.hostname or "localhost", port), timeout=10).close()
    except (OSError, ValueError) as error:
        raise EngineError(f"cannot reach {place.shown}", detail=str(error), hint=hint) from error


def _here(place: Place) -> Opened:
    found = _of_this_process()
    if found is not None and not place.master:
        return given(found.newSession())
    if found is not None:
        hint = "use the session that there is: write spark:, or give the SparkSession in place of a URL"
        raise EngineError("this process has a session of Spark already", hint=hint)
    if place.master.startswith("spark://") and "," not in place.master:  # with a comma there are several masters
        _check_reached(place, _MASTER)
    local = _OF_ONE_MACHINE | _ours_alone() if place.master.startswith(_LOCAL) else {}
    wanted = _DEFAULTS | local | dict(place.settings)
    with tempfile.TemporaryFile("w+b") as log:
        try:
            session = _started(place, wanted, log)
        except (*ERRORS, RuntimeError, OSError) as error:
            raise _not_started(place, error, log) from error
    return Opened(session, _is_local(session), session.stop)


def _ours_alone() -> dict[str, str]:
    """Other users of this machine reach the ports of Spark, which asks them for this."""
    return {"spark.authenticate": "true", "spark.authenticate.secret": token_hex(32)}


def given(session: SparkSession) -> Opened:
    """A session of the user stays open. That of Spark Connect says nothing of the machines behind it."""
    return Opened(session, "connect" not in type(session).__module__ and _is_local(session), lambda: None)


def _of_this_process() -> SparkSession | None:
    """Also that of another thread: ours are made in a thread of their own, in which none is active."""
    with suppress(PySparkException):
        return SparkSession.active()
    return None


def _started(place: Place, settings: Mapping[str, str], log: Any) -> SparkSession:
    """Java writes its log to stderr, which is the user's: it gets a file of its own."""
    from pyspark import SparkConf, SparkContext, java_gateway

    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    if place.master:
        conf.setMaster(place.master)
    launch: Any = java_gateway.launch_gateway
    with _private_files(place, conf):
        if SparkContext._gateway is None:
            early = [s for s in conf.getAll() if s[0].startswith(_BEFORE_JAVA) and not is_secret(s[0])]
            known = SparkConf(loadDefaults=False).setAll(early)
            SparkContext._ensure_initialized(gateway=launch(known, {"stderr": log, "stdout": log}))
    return SparkSession.builder.config(conf=conf).getOrCreate()


@contextmanager
def _private_files(place: Place, conf: Any) -> Iterator[None]:
    """Every user can read the folders that Spark makes for its shuffle files, so it makes them in folders of ours. For
    Java the variable comes before the setting."""
    given = os.environ.get(_LOCAL_DIRS)
    if not place.master.startswith(_PLACED):
        conf.set(_LOCAL_DIR, _private(given or conf.get(_LOCAL_DIR) or tempfile.gettempdir()))
        os.environ.pop(_LOCAL_DIRS, None)
    try:
        yield
    finally:
        if given is not None:
            os.environ[_LOCAL_DIRS] = given


@cache
def _private(places: str) -> str:
    """They last as long as this process, because Java does."""
    return ",".join(private_folder(place)[0] for place in places.split(","))


def _not_started(place: Place, error: BaseException, log: Any) -> EngineError:
    log.seek(0)
    said = log.read().decode(errors="replace")
    if "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError):
        first = next((line for line in said.splitlines() if "JAVA" in line or "java" in line), None)
        hint = "install Java 17 or newer, or set JAVA_HOME to the folder that it is in; Spark Connect needs none here"
        return EngineError("Spark needs Java, and did not find it", detail=first, hint=hint)
    return EngineError(f"cannot start Spark with the master {place.master}", detail=_told(error, place), hint=_HINT)


def _told(error: BaseException, place: Place) -> str:
    return refused(error, place.shown).message if isinstance(error, ERRORS) else str(error).split("\n")[0]


def _is_local(session: SparkSession) -> bool:
    """local-cluster has its executors in processes of their own."""
    master = session.conf.get("spark.master", None) or ""
    return master.startswith(_LOCAL) and "cluster" not in master


class Pinned:
    """The settings of a session that statements rely on. `restore` puts back what the user had."""

    def __init__(self, session: SparkSession, chosen: Mapping[str, str]) -> None:
        self._conf = session.conf
        self._before: dict[str, str | None] = {}
        rules = self._conf.get(_EXCLUDED, None)
        self.settings = _PINNED | {_EXCLUDED: f"{rules},{_BROKEN_RULE}"} if rules else _PINNED
        with warnings.catch_warnings():  # Spark Connect says that a setting is old
            warnings.simplefilter("ignore")
            for name, value in self.settings.items():
                if name not in chosen:
                    self._before[name] = self._conf.get(name, None)
                    self._conf.set(name, value)

    def restore(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, value in self._before.items():
                if value is None:
                    self._conf.unset(name)
                else:
                    self._conf.set(name, value)


class Quiet:
    """pyspark logs each error with the stack of Java, as JSON on stderr. Ours say what happened."""

    def __init__(self) -> None:
        loggers = [PySparkLogger.getLogger(n) for n in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
        self._before: list[tuple[logging.Logger, bool]] = [(logger, logger.disabled) for logger in loggers]
        for logger in loggers:
            logger.disabled = True

    def restore(self) -> None:
        for logger, disabled in self._before:
            logger.disabled = disabled
