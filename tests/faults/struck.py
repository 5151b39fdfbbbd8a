"""A training that something happens to at one of its statements, and what must hold after it."""

import json
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import psycopg
from sqlglot import exp

from sqlsvm.engine import connect
from sqlsvm.errors import SqlsvmError
from sqlsvm.store import open_store
from tests.cli.command import ROOT, environment, sqlsvm
from tests.ground.joins import chain
from tests.typed import meant
from tests.waiting import eventually

JOIN = chain(np.random.default_rng(1), rows=400, fan_out=4)
NAME = "struck"
OPTIONS = ("--query", JOIN.query, "--label", "y", "--name", NAME, "--lambda", "1e-3", "--sample", "2000")
TRAIN = ("train", *OPTIONS, "--json")
SECONDS = 120
CHILD = Path(__file__).with_name("child.py")
LEFT = """
    SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'sqlsvm\\_%' AND relpersistence = 't')
         + (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sqlsvm')"""
KEPT = re.compile(r"note: (\d+) pass(?:es are| is) kept in .*; the same command with --resume (goes on|begins anew)")


@dataclass(frozen=True)
class Moment:
    """Just before a statement is sent, or so many seconds after it."""

    statement: int
    after: float | None = None


def moments(of: str, number: int, statements: int) -> Iterator[Moment]:
    """Random ones, the same in each run of the tests."""
    chance = random.Random(of)
    for _ in range(number):
        yield Moment(chance.randint(1, statements), chance.choice([None, chance.uniform(0, 0.01)]))


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def passes(self) -> int:
        return sum(line.startswith("pass ") for line in self.err.splitlines())

    @property
    def model(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass
class Running:
    """A process that trains, and stops at its moment."""

    process: subprocess.Popen[str]
    link: socket.socket | None
    """None if its moment comes after a pass, which it says on stderr."""
    moment: Moment
    said: str = ""
    ended: Ended | None = None

    def arrive(self) -> bool:
        """False if the training ended before its moment came."""
        if self.link is None:
            while self.moment.statement and f"pass {self.moment.statement} " not in self.said:
                if not (line := cast(IO[str], self.process.stderr).readline()):
                    break
                self.said += line
            time.sleep(self.moment.after or 0)
            return self.process.poll() is None
        self.link.settimeout(SECONDS)
        with suppress(ConnectionError):
            if self.link.recv(3) == b"now":
                if self.moment.after is not None:
                    self.go_on()
                    time.sleep(self.moment.after)
                return True
        return False

    def go_on(self) -> None:
        if self.link:
            with suppress(OSError):
                self.link.send(b"on")

    def end(self) -> Ended:
        if self.ended is None:
            self.go_on()
            out, err = self.process.communicate(timeout=SECONDS)
            self.ended = Ended(self.process.returncode, out, self.said + err)
        return self.ended


@contextmanager
def running(dsn: str, moment: Moment, before: Sequence[object] = (), more: Sequence[object] = ()) -> Iterator[Running]:
    """`before` stands before the command, `more` are options of the training."""
    ours, its = socket.socketpair()
    child = [sys.executable, "-W", "error", CHILD, its.fileno(), moment.statement]
    command = [str(word) for word in (*before, *child, *TRAIN, "--dsn", dsn, *more)]
    pipe = subprocess.PIPE
    with (
        ours,
        subprocess.Popen(
            command, env=environment(), cwd=ROOT, stdout=pipe, stderr=pipe, text=True, pass_fds=[its.fileno()]
        ) as process,
    ):
        its.close()
        try:
            yield Running(process, ours, moment)
        finally:
            process.kill()


Certificate = tuple[float, float, float, int]


def certificate(model: dict[str, Any]) -> Certificate:
    return model["lower_bound"], model["objective"], model["objective_upper"], model["passes"]


@dataclass
class Subject:
    """A database with the tables of the join, and the training that nothing happened to."""

    dsn: str
    statements: int = 0
    found: Certificate = (0.0, 0.0, 0.0, 0)
    sums: dict[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        with connect(self.dsn) as engine:
            JOIN.create(engine)
        self.found = certificate(self.train().model)
        with running(self.dsn, Moment(0)) as undisturbed:  # its schema is there, as for all that follow
            undisturbed.process.communicate(timeout=SECONDS)
            assert undisturbed.link
            self.statements = int(undisturbed.link.recv(99))
        self.forget()
        self.sums = self.checksums()

    def train(self, *more: object) -> Ended:
        done = sqlsvm(*TRAIN, "--dsn", self.dsn, *more)
        return Ended(done.returncode, done.stdout, done.stderr)

    def checksums(self) -> dict[str, str]:
        with connect(self.dsn) as engine:
            return {name: engine.digest(exp.select("*").from_(meant(engine, name))) for name in JOIN.rows}

    def forget(self) -> None:
        with connect(self.dsn) as engine, suppress(SqlsvmError):
            open_store(engine).drop(NAME)

    def is_clean(self) -> bool:
        """No working table, and no session of a training."""
        if not self.dsn.startswith("duckdb:"):
            with psycopg.connect(self.dsn) as connection:
                return connection.execute(LEFT).fetchone() == (0,)
        with connect(self.dsn) as engine:
            return not [name for name in engine.table_names() if name.startswith("sqlsvm_")]

    def check(self, ended: Ended, keeps: bool) -> str:
        """What must hold however a training ended; says how it goes on. `keeps`: are passes kept once there are any?"""
        assert "Traceback" not in ended.err, ended.err
        assert "internal error" not in ended.err, ended.err
        eventually(self.is_clean)
        assert self.checksums() == self.sums
        resumed, kept = self.train("--resume"), KEPT.search(ended.err)
        said = resumed.err.splitlines()  # on a busy machine it says first what it is doing
        first = next(line for line in said if line.startswith(("note: ", "error: ")))
        try:
            if kept and kept[2] == "goes on":
                assert first.startswith(f"note: resuming after {kept[1]} pass"), resumed.err
                assert certificate(resumed.model) == self.found
                return "resumed"
            if kept:
                assert self.agrees(certificate(resumed.model))
                return "begun at its weights"
            if first.startswith("note: nothing to resume: "):
                assert certificate(resumed.model) == self.found
                return "stored"
            assert first.startswith(f'note: no unfinished training of "{NAME}" is kept here'), resumed.err
            assert not (keeps and ended.passes), f"{ended.passes} passes were lost: {ended.err}"
            assert certificate(self.train().model) == self.found
            return "begun anew"
        finally:
            self.forget()

    def agrees(self, other: Certificate) -> bool:
        """Two proofs of one objective: no bound is above the value of a model."""
        return other[0] <= self.found[2] and self.found[0] <= other[2]
