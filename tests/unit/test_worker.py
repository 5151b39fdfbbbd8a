"""The thread that works for the main one, and Ctrl-C at any moment."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from sqlsvm.engine.worker import Worker
from tests.waiting import MINUTE, eventually

ROOT = Path(__file__).parents[2]


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()
    assert made.closed


def test_it_answers_or_fails_as_the_work_does(worker: Worker) -> None:
    assert worker.run(lambda: 42, lambda: None) == 42
    with pytest.raises(ZeroDivisionError):
        worker.run(lambda: 1 // 0, lambda: None)
    assert not worker.closed


def test_it_is_told_to_stop_until_it_has(worker: Worker) -> None:
    """And a second Ctrl-C does not wait for that."""
    told: list[str] = []

    def stop() -> None:
        told.append("stop")
        if len(told) == 2:
            raise KeyboardInterrupt

    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGALRM)
        eventually(lambda: len(told) == 2)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            worker.run(interrupted, stop)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(told) == 2
    assert worker.run(lambda: "next", lambda: None) == "next"


def test_ctrl_c_at_any_moment_leaves_it_working(worker: Worker) -> None:
    """Futures of the standard library hang here after some dozens of interrupts."""
    inside, chance = False, Random(1)

    def strike(*_: object) -> None:
        if inside:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
    struck = 0
    try:
        for _ in range(400):
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 2e-3), chance.choice([5e-5, 1e-4, 2e-4]))
            try:
                inside = True
                worker.run(lambda: time.sleep(1e-3), lambda: None)
                inside = False
            except KeyboardInterrupt:
                inside = False
                struck += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert struck > 200
    answers: list[int] = []
    asking = Thread(target=lambda: answers.append(worker.run(lambda: 42, lambda: None)), daemon=True)
    asking.start()
    asking.join(MINUTE)
    assert answers == [42]


STARVED = """
import os, resource, signal, sys, time
from sqlsvm.engine import worker

worker.PATIENCE = 0.5

def use():
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + more, -1))
    made = []
    for _ in range(9):
        made.append(worker.Worker())
        assert made[-1].run(lambda: len(bytearray(100_000)), lambda: None) == 100_000

for page in range(0, 120, 2):
    more = (8 << 20) + page * 4096
    child = os.fork()
    if not child:
        try:
            use()
        except MemoryError:
            os._exit(0)
        os._exit(1)
    for _ in range(1200):
        if (ended := os.waitpid(child, os.WNOHANG)) != (0, 0):
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
    assert ended == (child, 0), (page, ended)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how large a process is")
def test_no_memory_for_a_thread_is_an_error_and_not_a_wait() -> None:
    """In some of these cases a thread of the standard library waits for ever: the new one has no memory to begin."""
    done = subprocess.run(
        [sys.executable, "-c", STARVED], cwd=ROOT, capture_output=True, text=True, timeout=10 * MINUTE
    )
    assert done.returncode == 0, done.stderr


SILENT = """
import resource
from sqlsvm.errors import is_out_of_memory

assert not is_out_of_memory(SystemError("error return without exception set"))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, -1))
assert is_out_of_memory(SystemError("error return without exception set"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how large a process is")
def test_a_library_that_fails_without_a_reason_may_have_had_no_memory() -> None:
    done = subprocess.run([sys.executable, "-c", SILENT], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
