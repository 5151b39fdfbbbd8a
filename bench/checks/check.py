"""A guard against paying more without noticing: python -m bench.checks.check [--update]

Counts what does not depend on the machine, on small fixed instances: statements, the joins that they make, the rows
that each of them keeps, passes to a certified gap, and the Python functions that a tiny training calls. Compares with
baseline.json, and fails where a figure grew by more than its slack. Seconds are not looked at; bench.races has.
"""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from sqlglot import exp, parse_one

from bench.races.tasks import Task, load, task, unload
from sqlsvm.compile.statement import Statement
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.options import Counting
from sqlsvm.run.data import prepared
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import labelled
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import Workspace, workspace

BASELINE = Path(__file__).with_name("baseline.json")
ENGINES = {"DuckDB": "duckdb:", "PostgreSQL": "embedded:"}
INSTANCES = {
    "star": task("star", facts=5000, rows=200),
    "star of eight": task("star", facts=2000, rows=50, width=2, dims=8),
    "snowflake": task("snowflake", facts=3000),
    "chain of two": task("chain", rows=1000, keys=20, tables=2),
    "chain of four": task("chain", rows=400, keys=8, tables=4),
    "hub": task("hub", rows=200, keys=10, tables=4),
    "texts": task("texts", rows=1000),
    "posts": task("posts", posts=5000, users=100, badges=1000, days=50),
}
BUCKETS = 16
SAMPLE = 5000
PASSES, STATEMENTS, JOINS, ROWS, CALLS = "passes to 1e-3", "statements", "joins", "rows", "Python calls"
SMALL = {"texts"}
"""Joins that are read once. Most others would be too: but what they cost by passes is to be watched."""
TINY: dict[str, tuple[Task, Counting, int | None]] = {
    "tiny star": (task("star", facts=500, rows=50, width=2), "auto", None),
    "tiny star by passes": (task("star", facts=500, rows=50, width=2), "auto", 0),
    "tiny chain on the grid": (task("chain", rows=100, keys=10, tables=4), "grid", 0),
}
"""Trainings whose time is that of Python: how they count, and with how many rows a join is read once."""

Figures = Mapping[str, float]
"""What was counted, by "engine / instance / figure"."""


@dataclass(frozen=True)
class Change:
    figure: str
    before: float | None
    now: float | None

    @property
    def worse(self) -> bool:
        """A figure that is new, or gone, is no regression: what it is about is counted by the totals."""
        return self.before is not None and self.now is not None and self.now > allowed(self.figure, self.before)

    def __str__(self) -> str:
        before, now = ("none" if n is None else f"{n:,.0f}" for n in (self.before, self.now))
        return f"{'WORSE ' if self.worse else '      '} {self.figure}: {before} -> {now}"


def allowed(figure: str, before: float) -> float:
    """No statement and no join more; one pass more, for sums in another order may round differently; rows by a
    twentieth; calls by a tenth, because they depend a little on the versions of Python and of libraries."""
    if figure.endswith((STATEMENTS, JOINS)):
        return before
    if figure.endswith(CALLS):
        return 1.1 * before
    return before + 1 if figure.endswith(PASSES) else 1.05 * before + 2


def changes(baseline: Figures, found: Figures) -> list[Change]:
    """Everything that is not as it was, in the order in which it was counted."""
    names = [*found, *(name for name in baseline if name not in found)]
    both = (Change(name, baseline.get(name), found.get(name)) for name in names)
    return [change for change in both if change.before != change.now]


# -- counting ----------------------------------------------------------------------------------------------------------


def count() -> dict[str, float]:
    found: dict[str, float] = {}
    for name, url in ENGINES.items():
        with connect(url) as engine:
            if engine.dialect == "duckdb":
                engine.execute(parse_one("SET threads = 1", read="duckdb"))
            for instance, made in INSTANCES.items():
                figures = of_instance(engine, made, 0 if instance not in SMALL else None)
                found |= {f"{name} / {instance} / {figure}": value for figure, value in figures}
            found |= {f"{name} / {tiny} / {CALLS}": calls(engine, *made) for tiny, made in TINY.items()}
    return found


def calls(engine: Engine, made: Task, counting: Counting, in_memory: int | None) -> float:
    """Of a training like one before it: what is computed once in a process is known."""
    tables, count = made.tables(), Counter[str]()
    asked = Training(**vars(made.options) | {"counting": counting}, lam=made.lam, in_memory=in_memory)
    load(engine, tables)

    def trained() -> None:
        train(engine, "tiny", made.text, asked)

    def note(_frame: object, event: str, _about: object) -> None:
        count[event] += 1

    trained()
    sys.setprofile(note)
    try:
        trained()
    finally:
        sys.setprofile(None)
    unload(engine, tables)
    return float(count["call"])


def of_instance(engine: Engine, made: Task, in_memory: int | None) -> Iterator[tuple[str, float]]:
    tables = made.tables()
    load(engine, tables)
    try:
        query = labelled(engine, made.text, made.options)
        with workspace(engine) as work:
            problem, opened = _watched(work, lambda: prepared(work, query, made.options))
            oracle = JoinOracle(problem)
            _, sampled = _watched(work, lambda: oracle.sample(1000, 0))
            beta = np.random.default_rng(0).normal(size=oracle.dimension) / np.sqrt(oracle.dimension)
            _, passed = _watched(work, lambda: oracle.pass_(beta, BUCKETS))
        asked = Training(**vars(made.options), lam=made.lam, tol=1e-3, sample=SAMPLE, in_memory=in_memory)
        model = train(engine, "m", made.text, asked)
    finally:
        unload(engine, tables)
    for phase, kept in (("opening", opened), ("sample", sampled), ("pass", passed)):
        yield f"{phase} {STATEMENTS}", float(len(kept))
        yield f"{phase} {JOINS}", float(sum(len(list(s.query.find_all(exp.Join))) for s, _ in kept))
        yield f"{phase} {ROWS}", sum(rows for _, rows in kept)
    yield from ((f"pass: {name}", rows) for name, rows in _by_name(passed).items())
    yield PASSES, float(model.passes)


Kept = list[tuple[Statement, float]]
T = TypeVar("T")


def _watched(work: Workspace, what: Callable[[], T]) -> tuple[T, Kept]:
    """What it gives, and each statement that ran with the rows that it kept or answered."""
    kept: Kept = []

    def note(statement: Statement, rows: float, _seconds: float) -> None:
        kept.append((statement, rows))

    work.on_done = note
    try:
        return what(), kept
    finally:
        work.on_done = None


def _by_name(kept: Kept) -> dict[str, float]:
    found = Counter[str]()
    for statement, rows in kept:
        found[statement.name] += int(rows)
    return {name: float(rows) for name, rows in found.items()}


# -- the command -------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = ArgumentParser(description="Compare what training costs with the baseline.")
    parser.add_argument("--update", action="store_true", help="what is counted now becomes the baseline")
    arguments = parser.parse_args()
    found = count()
    if arguments.update:
        BASELINE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
        print(f"{len(found)} figures are the new baseline")
        return 0
    return report(json.loads(BASELINE.read_text(encoding="utf-8")), found)


def report(baseline: Figures, found: Figures) -> int:
    """The exit code: 1 where something costs more."""
    changed = changes(baseline, found)
    for change in changed:
        print(change)
    worse = sum(change.worse for change in changed)
    if worse:
        print(f"{worse} of {len(found)} figures are worse than bench/checks/baseline.json allows.")
        print("HINT: if that is meant, make it the baseline: make bench-check UPDATE=1")
        return 1
    if changed:
        print(f"{len(changed)} figures changed within the slack; make bench-check UPDATE=1 makes them the baseline.")
    else:
        print(f"All {len(found)} figures are as in bench/checks/baseline.json.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
