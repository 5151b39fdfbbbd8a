"""Ctrl-C and SIGTERM in the middle of a statement: no server, no directory and no running query is left."""

import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.cli.command import started
from tests.waiting import MINUTE, eventually

SLOW = """
    SELECT s.y, s.x FROM (
        SELECT a.i % 2 AS y, a.i + b.i AS x
        FROM GENERATE_SERIES(1, 1000000) AS a(i), GENERATE_SERIES(1, 1000000) AS b(i)
    ) AS s"""
RUNNING = """
    SELECT COUNT(*) FROM pg_stat_activity
    WHERE query ILIKE '%generate_series(1, 1000000)%' AND state = 'active' AND pid <> PG_BACKEND_PID()"""
WORKING_TABLES = "SELECT COUNT(*) FROM pg_class WHERE relname LIKE 'sqlsvm%'"


def inspecting(dsn: str) -> subprocess.Popen[str]:
    return started("inspect", "--dsn", dsn, "--label", "y", "--query", SLOW)


def number(dsn: str, query: str) -> int:
    with psycopg.connect(dsn) as connection:
        (found,) = connection.execute(query.encode()).fetchone() or (0,)
        return int(found)


def processes() -> list[tuple[int, int, str]]:
    """pid, parent and command line of everything."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args=", "ww"], capture_output=True, text=True, check=True).stdout
    parts = (line.split(None, 2) for line in listed.splitlines())
    return [(int(pid), int(parent), args) for pid, parent, args in parts]


def socket_of(child: subprocess.Popen[str]) -> Path | None:
    """The directory of the server that a process has started, once there is a socket in it."""
    found = processes()
    supervisors = [pid for pid, parent, _ in found if parent == child.pid]
    for _, parent, args in found:
        if parent in supervisors and "unix_socket_directories=" in args:
            scratch = Path(args.split("unix_socket_directories=")[1].split()[0])
            return scratch if (scratch / ".s.PGSQL.5432").exists() else None
    assert child.poll() is None, child.communicate()
    return None


def is_running(dsn: str) -> bool:
    try:
        return number(dsn, RUNNING) > 0
    except psycopg.OperationalError:  # still starting
        return False


def without_steps(err: str) -> list[str]:
    """Without what was slow and so was named, and without the empty line that click begins with."""
    return [line for line in err.splitlines() if line and not line.endswith(" ...")]


@pytest.mark.slow
@pytest.mark.thin(2)
@pytest.mark.parametrize(("end", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_embedded_server_goes_with_us(end: signal.Signals, code: int) -> None:
    with inspecting("embedded:") as child:
        try:
            scratch = eventually(lambda: socket_of(child))
            assert scratch is not None
            eventually(lambda: is_running(f"host={scratch} user=postgres dbname=postgres"))
            child.send_signal(end)
            out, err = child.communicate(timeout=MINUTE)
        finally:
            child.kill()
    assert (child.returncode, out, without_steps(err)) == (code, "", ["interrupted"])
    assert not scratch.exists()
    assert [args for _, _, args in processes() if str(scratch) in args] == []


@pytest.mark.slow
@pytest.mark.parametrize(("end", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_server_of_others_is_left_as_it_was(postgres_dsn: str, end: signal.Signals, code: int) -> None:
    with inspecting(postgres_dsn) as child:
        try:
            eventually(lambda: is_running(postgres_dsn))
            child.send_signal(end)
            out, err = child.communicate(timeout=MINUTE)
        finally:
            child.kill()
    assert (child.returncode, out, without_steps(err)) == (code, "", ["interrupted"])
    assert not is_running(postgres_dsn)
    assert number(postgres_dsn, WORKING_TABLES) == 0
