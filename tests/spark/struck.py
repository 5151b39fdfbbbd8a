"""Trainings on a cluster to which something happens: `struck.py URL QUERY WORK SHUFFLED HIDDEN WORKER`.

Without a HIDDEN folder, WORK is not filled up, because it is no disk of its own.
Says what became of each, as a line of JSON. One process makes them all: to start Java takes longer than a training.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import SqlsvmError
from sqlsvm.run.train import train
from sqlsvm.run.training import Training

TRAINING = Training.of(label="y", lam=0.01, tol=1e-5, in_memory=0, offload=False)
LATE = 0.7
"""So much of the statements come before the moment: passes are made then."""


class Struck:
    def __init__(self, engine: Engine, query: str) -> None:
        self.engine, self.query, self.sent, self.moment = engine, query, 0, -1
        self.strike: Callable[[], None] = lambda: None
        self.again = False
        engine.on_statement = self._send

    def _send(self, _text: str) -> None:
        self.sent += 1
        if self.sent == self.moment or (self.again and self.sent > self.moment > 0):
            self.strike()

    def train(
        self, name: str, strike: Callable[[], None] | None = None, moment: int = -1, *, again: bool = False
    ) -> None:
        """`again`: strike at each later statement too."""
        self.sent, self.moment, self.strike, self.again = 0, moment, strike or self.strike, again
        try:
            model = train(self.engine, "m", self.query, TRAINING)
            numbers = {n: getattr(model, n) for n in ("objective", "lower_bound", "objective_upper", "converged")}
            print(json.dumps({"name": name, "passes": len(model.history), **numbers}), flush=True)
        except SqlsvmError as error:
            print(json.dumps({"name": name, "error": error.message, "hint": error.hint}), flush=True)


def executors(worker: int) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words, parent = (place / "cmdline").read_text(), (place / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in words and int(parent) == worker:
            found.append(int(place.name))
    return found


def kill(worker: int) -> None:
    """While the statement runs that is sent next."""

    def later() -> None:
        time.sleep(0.2)
        os.kill(executors(worker)[0], signal.SIGKILL)

    Thread(target=later).start()


def lose(folder: Path, lost: list[Path]) -> None:
    """The files of a shuffle, as soon as they are written."""
    before = set(folder.rglob("shuffle_*"))

    def later() -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until and len(lost) < 2:
            for file in set(folder.rglob("shuffle_*.data")) - before:
                file.unlink(missing_ok=True)
                lost.append(file)
            time.sleep(0.002)

    Thread(target=later).start()


def fill(disk: Path) -> None:
    with (disk / "filler").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return


def main(url: str, query: str, work: str, shuffled: str, hidden: str, worker: str) -> None:
    lost: list[Path] = []
    with connect(url) as engine:
        engine.work_in_folder(work)
        struck = Struck(engine, query)
        struck.train("undisturbed")
        moment = int(LATE * struck.sent)
        struck.train("an executor is killed", lambda: kill(int(worker)), moment)
        struck.train("a shuffle file is lost", lambda: lose(Path(shuffled), lost), moment)
        print(json.dumps({"name": "lost", "files": len(lost)}), flush=True)
        struck.train("afterwards")
        if not hidden:
            return
        struck.train("the work folder is full", lambda: fill(Path(work)), moment, again=True)
        (Path(work) / "filler").unlink()
        session = engine._session  # type: ignore[attr-defined]
        with connect(session) as other:
            other.work_in_folder(hidden)
            Struck(other, query).train("the work folder is hidden")


if __name__ == "__main__":
    main(*sys.argv[1:])
