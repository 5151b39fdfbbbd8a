"""A PostgreSQL of a test's own, which may be killed, started again, copied to a standby, and filled up."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sqlsvm.engine.embedded import find_installations
from tests.cli.test_interrupt import processes
from tests.servers import fast_directory, reachable_folder

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",
    "fsync": "off",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "logging_collector": "off",
}


def programs() -> Path:
    """Of the server that the tests run on."""
    return next(iter(find_installations().values()))


def plain_account() -> dict[str, Any]:
    """PostgreSQL does not run as root."""
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def own(path: Path) -> Path:
    """A folder of the account that the server runs as."""
    path.mkdir(mode=0o700)
    if account := plain_account():
        os.chown(path, account["user"], account["group"])
    return path


@dataclass
class Cluster:
    """The server in a folder."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        return f"host={self.folder} user=postgres dbname=postgres"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def make(self) -> None:
        own(self.folder)
        locale = ("-E", "UTF8", "--locale=C.UTF-8")
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", *locale)

    def run(self, program: str, *words: object) -> None:
        command = [str(programs() / program), *map(str, words)]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, **plain_account())
        assert done.returncode == 0, done.stderr

    def start(self, **settings: str) -> None:
        given = [w for n, v in {**SETTINGS, **settings}.items() for w in ("-c", f"{n}={v}")]
        socket = f"unix_socket_directories={self.folder}"
        command = [str(programs() / "postgres"), "-D", str(self.data), "-c", socket, *given]
        log = os.open(self.folder / "log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
        for _ in range(100):  # the processes of a server that was killed take a moment to end
            self.process = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **plain_account())
            if self._is_ready():
                break
        os.close(log)

    def _is_ready(self) -> bool:
        assert self.process
        for _ in range(600):
            if self.process.poll() is not None:
                time.sleep(0.05)
                return False
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.dsn).close()
                return True
            time.sleep(0.05)
        pytest.fail((self.folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """All of its processes: those that are busy would go on for a while without the first one."""
        assert self.process
        server = self.process.pid
        for pid in [server, *(pid for pid, parent, _ in processes() if parent == server)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)

    def configure(self, settings: Mapping[str, str | None]) -> None:
        """Settings that running sessions take over before their next statement."""
        changes = (f"RESET {name}" if v is None else f"SET {name} = '{v}'" for name, v in settings.items())
        self.ask(*(f"ALTER SYSTEM {change}" for change in changes), "SELECT pg_reload_conf()")

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last one."""
        with psycopg.connect(self.dsn, autocommit=True, options="-c statement_timeout=0") as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def cluster(**settings: str) -> Iterator[Cluster]:
    with reachable_folder() as folder:
        made = Cluster(folder / "c")
        made.make()
        try:
            made.start(**settings)
            yield made
        finally:
            made.stop()


@contextmanager
def standby(of: Cluster) -> Iterator[Cluster]:
    """A streaming replica: it may only be read."""
    if not (programs() / "pg_basebackup").exists():
        pytest.skip("this PostgreSQL comes without pg_basebackup")
    with reachable_folder() as folder:
        made = Cluster(own(folder / "c"))
        source = ("-h", of.folder, "-U", "postgres")
        made.run("pg_basebackup", "-D", made.data, *source, "-R", "-X", "stream", "-c", "fast", "--no-sync")
        try:
            made.start()
            yield made
        finally:
            made.stop()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A file system with little room. Only root can make one."""
    folder = Path(tempfile.mkdtemp(dir=fast_directory()))
    owner = ",".join(f"{n[0]}id={id}" for n, id in plain_account().items() if n != "extra_groups")
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700,{owner}", "tmpfs", str(folder)]
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()
