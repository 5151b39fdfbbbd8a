"""Stopping a statement that runs: cancel() from another thread, Ctrl-C in a process of its own."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlglot import exp, parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, StatementError
from tests.typed import asked
from tests.waiting import MINUTE, eventually

ROOT = Path(__file__).parents[2]
LONG = {
    "postgres": "SELECT PG_SLEEP(600) AS x",
    "duckdb": "SELECT SUM(SIN(a.range * b.range)) AS x FROM RANGE(10000000) AS a, RANGE(10000000) AS b",
}

CHILD = """
import sys, time
from sqlglot import parse_one
from sqlsvm.engine import connect

url, text = sys.argv[1:]
with connect(url) as engine:
    engine.on_statement = lambda text: print("sent", flush=True)
    try:
        with engine.snapshot():
            engine.fetch(parse_one(text, read=engine.dialect))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(engine.fetch(parse_one("SELECT 42 AS answer"))["answer"][0], flush=True)
"""


def long_query(engine: Engine) -> exp.Expr:
    return parse_one(LONG[engine.dialect], read=engine.dialect)


@contextmanager
def start(url: str, text: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CHILD, url, text]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_statements(child: subprocess.Popen[str], count: int) -> None:
    assert child.stdout is not None
    for _ in range(count):
        assert child.stdout.readline() == "sent\n"
    time.sleep(0.2)  # sent, but perhaps not yet at work


def running(watcher: Engine) -> int:
    text = """
        SELECT COUNT(*) AS n FROM pg_stat_activity
        WHERE query LIKE '%PG_SLEEP(600)%' AND state = 'active' AND pid <> PG_BACKEND_PID()
    """
    return int(watcher.fetch(parse_one(text, read="postgres"))["n"][0])


def test_cancel_stops_what_another_thread_runs(engine: Engine) -> None:
    ended = threading.Event()

    def cancel_until_it_ends() -> None:
        while not ended.wait(0.05):
            engine.cancel()

    canceller = threading.Thread(target=cancel_until_it_ends)
    canceller.start()
    with pytest.raises(StatementError):
        engine.fetch(long_query(engine))
    ended.set()
    canceller.join()
    assert asked(engine, parse_one("SELECT 1 AS a"))["a"].tolist() == [1]


def test_cancel_of_an_idle_session_is_harmless(engine: Engine) -> None:
    engine.cancel()
    assert asked(engine, parse_one("SELECT 1 AS a"))["a"].tolist() == [1]


def test_ctrl_c_stops_the_query_in_the_server(postgres_dsn: str) -> None:
    with start(postgres_dsn, LONG["postgres"]) as child, connect(postgres_dsn) as watcher:
        wait_for_statements(child, 2)
        assert eventually(lambda: running(watcher)) == 1
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=MINUTE)
        assert running(watcher) == 0
    assert out.split() == ["sent", "interrupted", "sent", "42"], err


def test_ctrl_c_stops_duckdb() -> None:
    with start("duckdb:", LONG["duckdb"]) as child:
        wait_for_statements(child, 2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=MINUTE)
    assert out.split() == ["sent", "interrupted", "sent", "42"], err


def test_a_file_that_another_process_has_open_is_explained(tmp_path: Path) -> None:
    url = f"duckdb:{tmp_path / 'x.duckdb'}"
    with start(url, LONG["duckdb"]) as child:
        wait_for_statements(child, 2)
        with pytest.raises(Exception, match="cannot open") as caught:
            connect(url)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=MINUTE)
    assert "another process" in str(caught.value)
