"""Running a job in its own process, with an eye on the clock and on everybody's memory."""

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
from time import perf_counter, time
from typing import Any

import numpy as np
from sqlglot import parse_one

from sqlsvm.engine.base import Engine

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Peers are installed with their bytecode; a checkout has its own after the first run, where it may keep it."""

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


def start(modules: Sequence[str]) -> float:
    """Seconds from the command until a new Python has imported these."""
    code = f"import {', '.join(modules)}, time; print(time.time())"
    began = time()
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return float(done.stdout) - began


@dataclass(frozen=True)
class Answer:
    """What a job said, or why it said nothing."""

    said: dict[str, Any] | None
    error: str = ""
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
    def watched(self) -> Iterator[list[float]]:
        """The list gets one number at the end: the most that was there at once, above what was there before."""
        peak: list[float] = []
        if self.postmaster is None:
            yield peak
            return
        before, most, done = self.private_bytes(), 0.0, threading.Event()

        def look() -> None:
            nonlocal most
            while not done.wait(PERIOD):
                most = max(most, self.private_bytes())

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield peak
        finally:
            done.set()
            thread.join()
            peak.append(max(0.0, most - before))


def cpu_of(processes: Iterable[int], *, ended: bool = False) -> float:
    """Seconds of CPU of processes, in Linux; also of their children that have ended, if asked for."""
    ticks = 0
    for process in processes:
        with suppress(OSError):  # gone meanwhile
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11 : 15 if ended else 13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def run(job: dict[str, Any], timeout: float, server: Server | None = None) -> Answer:
    """A job that fails, or takes too long, is an answer too."""
    command = [sys.executable, "-m", "bench.races.worker"]
    with (server or Server(None)).watched() as peak:
        try:
            done = subprocess.run(
                command,
                input=json.dumps(job),
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(None, f"more than {timeout:.0f} s", timed_out=True)
    if done.returncode:
        return Answer(None, _last_line(done.stderr) or f"exit code {done.returncode}")
    return Answer(json.loads(done.stdout.splitlines()[-1]), server_bytes=peak[0] if peak else None)


def _last_line(text: str) -> str:
    """Of a traceback: what happened. Hints that follow an error are left out."""
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "HINT", "DETAIL"))]
    return lines[-1][:200] if lines else ""
