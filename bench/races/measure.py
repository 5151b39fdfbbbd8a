"""Running a command or a job in its own process, with an eye on the clock and on everybody's memory."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from sqlglot import parse_one

from sqlsvm.engine.base import Engine

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["OMP_WAIT_POLICY"] = "passive"
"""Peers are installed with their bytecode; a checkout has its own after the first run, where it may keep it. Threads of
LightGBM that wait would keep a core busy: where another process needs it, a second becomes twenty."""

PERIOD = 0.02  # seconds between two looks at the server's memory


@dataclass(frozen=True)
class Spread:
    """Some seconds, in short."""

    median: float
    least: float
    most: float
    runs: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Spread":
        return cls(median(seconds), min(seconds), max(seconds), len(seconds))


def pace() -> float:
    """How fast the machine is just now: the seconds that it takes to sort two million numbers, the middle of three."""
    numbers = np.random.default_rng(0).random(2_000_000)
    seconds = []
    for _ in range(3):
        began = perf_counter()
        np.sort(numbers)
        seconds.append(perf_counter() - began)
    return median(seconds)


@dataclass(frozen=True)
class Answer:
    """What a job said, or why it said nothing."""

    said: dict[str, Any] | None
    error: str = ""
    seconds: float = 0.0
    """From the command to the prompt."""
    client_bytes: float | None = None
    server_bytes: float | None = None
    timed_out: bool = False


class Server:
    """The processes of a PostgreSQL on this machine, seen from outside."""

    def __init__(self, postmaster: int | None) -> None:
        self.postmaster = postmaster

    @classmethod
    def of(cls, engine: Engine) -> "Server":
        """Known where the session's backend is a process here: its parent is the postmaster."""
        pid = int(engine.fetch(parse_one("SELECT pg_backend_pid() AS pid", read="postgres"))["pid"][0])
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().startswith("postgres"):
                return cls(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))
        return cls(None)

    def private_bytes(self) -> float:
        """RssAnon of all backends and workers: resident memory less what is shared, such as the buffer cache."""
        found = 0.0
        with suppress(OSError):
            children = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split()
            for child in children:
                with suppress(OSError):  # gone meanwhile
                    status = Path(f"/proc/{child}/status").read_text()
                    found += sum(1024.0 * float(li.split()[1]) for li in status.splitlines() if "RssAnon" in li)
        return found

    def cpu_seconds(self) -> float:
        """Of the server with all backends and workers, also of those that have ended."""
        if self.postmaster is None:
            raise ValueError("the server is not on this machine")
        children = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split()
        return cpu_of([self.postmaster], ended=True) + cpu_of(map(int, children))


@contextmanager
def watched(server: Server, client: int) -> Iterator[list[float]]:
    """The list gets two numbers at the end: the most that the server had at once, above what was there before, and the
    most that the client ever had."""
    peak: list[float] = []
    before, most, own, done = server.private_bytes(), 0.0, 0.0, threading.Event()

    def look() -> None:
        nonlocal most, own
        while not done.wait(PERIOD):
            most, own = max(most, server.private_bytes()), max(own, peak_memory(client))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
        peak += [max(0.0, most - before), own]


def peak_memory(process: int | str = "self") -> float:
    """Bytes, the kernel's own mark; getrusage would give that of the parent if larger."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next((1024.0 * float(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0.0)
    return 0.0


def cpu_of(processes: Iterable[int], *, ended: bool = False) -> float:
    """Seconds of CPU of processes, in Linux; also of their children that have ended, if asked for."""
    ticks = 0
    for process in processes:
        with suppress(OSError):  # gone meanwhile
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11 : 15 if ended else 13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def run(job: dict[str, Any], timeout: float, server: Server | None = None) -> Answer:
    """In a worker."""
    return timed([sys.executable, "-m", "bench.races.worker"], json.dumps(job), timeout, server)


def timed(command: Sequence[str], text: str, timeout: float, server: Server | None = None) -> Answer:
    """One that fails, or takes too long, is an answer too. What it says is the JSON in its last line, if it is one."""
    began = perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True
    )
    with watched(server or Server(None), process.pid) as peak:
        try:
            out, err = process.communicate(text, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Answer(None, f"more than {timeout:.0f} s", timed_out=True)
        seconds = perf_counter() - began
    if process.returncode:
        said, error = None, _last_line(err) or f"exit code {process.returncode}"
    else:
        said, error = json.loads(out.splitlines()[-1]) if text else {}, ""
    server_bytes, client_bytes = peak
    return Answer(said, error, seconds, client_bytes or None, server_bytes if server and server.postmaster else None)


def _last_line(text: str) -> str:
    """Of a traceback: what happened. Hints that follow an error are left out."""
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "HINT", "DETAIL"))]
    return lines[-1][:200] if lines else ""
