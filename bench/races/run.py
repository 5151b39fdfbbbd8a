"""Races whole tasks side by side and writes what it found: python -m bench.races.run [--quick] [--only NAME]

Each competitor runs in a process of its own, turn by turn (A B A B), so that other work of the machine meets all
of them. Results are written after every race: what was measured before an interrupt, or before the time was over, is
there. A competitor that fails is a line of the table.
"""

import os
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.races import measure, results, tasks
from bench.races.competitors import COMPETITORS, Competitor, Order
from bench.races.plan import FULL, QUICK, Race, growth
from bench.races.results import Entry, RaceResult, Results
from sqlsvm.engine import connect
from sqlsvm.engine.embedded import Server
from sqlsvm.errors import SqlsvmError

HERE = Path(__file__).parents[1]
REFERENCE = "sqlsvm, DuckDB"
REFERENCE_TOLS = (1e-4, 1e-2)
REFERENCE_SECONDS = 40.0

UNSEEN = 10
"""For 100 rows of the label's table that are trained on, so many are held out, and judged by the AUC."""

NUMPY_TIMEOUT = 60.0
LEAST = 5.0
"""Seconds that a run is given even when the time of the whole benchmark is over."""

MOST_ROWS = {"postgres": 2e7, "duckdb": 2e8}
"""Rows of a join that are still gone through: an aggregate over more would outlast the whole benchmark."""

MOST_BYTES = 2e9
"""Of a join that is still held in memory; on the way there it is held three times."""

Say = Callable[[str], None]


class Runner:
    """Everything that the races of one run share."""

    def __init__(self, postgres: str, folder: Path, found: Results, ends: float, say: Say) -> None:
        self.urls = {"postgres": postgres, "duckdb": f"duckdb:{folder / 'bench.duckdb'}"}
        self.database = folder / "bench.duckdb"
        self.found, self.ends, self.say = found, ends, say
        with connect(postgres) as engine:
            self.server = measure.Server.of(engine)

    def race(self, race: Race, before: RaceResult | None = None) -> RaceResult:
        """From the start, or what is left of one that was begun before."""
        task = tasks.task(race.family, **race.sizes, **({} if race.series else {"unseen": UNSEEN}))
        made = before or RaceResult(race.name, task.says, task.lam, series=race.series, x=race.x)
        self.say(f"{race.name}: {task.says}")
        if time.monotonic() < self.ends:
            made.pace = measure.pace()
            try:
                with self._loaded(race, task):
                    _Heats(self, race, task, made).run()
            except Exception as error:  # after any error the other races are still worth running
                made.error = f"{type(error).__name__}: {error}"
                self.say(f"  {made.error}")
        elif not before:
            made.error = results.OUT_OF_TIME
        self.found.put(made)
        return made

    @contextmanager
    def _loaded(self, race: Race, task: tasks.Task) -> Iterator[None]:
        """The tables in the engines that somebody needs them in, for as long as the race lasts."""
        engines = {"duckdb", *(COMPETITORS[c].engine for c in race.competitors)}
        tables = task.tables()
        self.database.unlink(missing_ok=True)
        try:
            for engine in engines:
                with connect(self.urls[engine]) as connected:
                    tasks.load(connected, tables)
            yield
        finally:
            with connect(self.urls["postgres"]) as connected, suppress(SqlsvmError):
                tasks.unload(connected, tables)


class _Heats:
    """One race: the reference, the runs in turn, the judgement."""

    def __init__(self, runner: Runner, race: Race, task: tasks.Task, made: RaceResult) -> None:
        self.runner, self.race, self.task, self.made = runner, race, task, made
        self.models: dict[str, Any] = {}
        self.reference: Any = None
        self.target = 0.0
        self.numbers_only = True

    def run(self) -> None:
        self._measure()
        if not (self.made.entries and self.race.series):  # there all have their settings, and its model is not needed
            self._refer()
        if not self.made.entries:
            names = self.race.competitors
            self.made.entries = [Entry(name, error=self._impossible(COMPETITORS[name])) for name in names]
            self._turns(min(time.monotonic() + self.race.seconds, self.runner.ends))
            self._judge()
        else:
            self._turns(self.runner.ends)
        if self.race.look and not self.runner.found.looked(self.race.name) and time.monotonic() < self.runner.ends:
            self._look()

    def _turns(self, until: float) -> None:
        """Whole turns, so that all have run equally often; one is not begun that would probably be late."""
        for turn in range(self.made.turns, self.race.runs):
            if turn and time.monotonic() + self._turn_seconds() > until:
                return
            for entry in self.made.entries:
                if not entry.error and len(entry.seconds) <= turn:
                    self._run(entry)

    def _turn_seconds(self) -> float:
        """What a turn took before."""
        return sum(entry.seconds[-1] for entry in self.made.entries if entry.seconds and not entry.error)

    def _measure(self) -> None:
        """How large the join is, counted without making it."""
        url = self.runner.urls["duckdb"]
        answer = measure.run({**self._job("size"), "url": url}, self.race.timeout)
        if answer.said is None:
            raise SqlsvmError(f"the join could not be measured: {answer.error}")
        self.made.join_rows, self.numbers_only = answer.said["join_rows"], answer.said["numbers_only"]
        self.made.join_bytes = answer.said["join_bytes"]

    def _refer(self) -> None:
        """A finer run before the race: which objective is to be reached. Without one, peers show the best they have."""
        for tol in REFERENCE_TOLS:
            answer = self._ask(REFERENCE, REFERENCE_SECONDS, tol=tol)
            if answer.said is not None:
                outcome = answer.said["outcome"]
                self.reference, self.made.reference = outcome["model"], outcome["proof"]
                self.target = outcome["proof"]["objective_upper"] * (1 + results.REACHED)
                return
            self.runner.say(f"  reference to {tol:g}: {answer.error}")

    def _impossible(self, competitor: Competitor) -> str:
        rows, size = self.made.join_rows or 0.0, self.made.join_bytes or 0.0
        if competitor.name == "MADlib" and not os.environ.get("SQLSVM_MADLIB_DSN"):
            return "$SQLSVM_MADLIB_DSN names no server"
        if competitor.needs != "tables" and rows > MOST_ROWS[competitor.engine]:
            return f"not possible: {rows:.2g} rows, {size / 1e9:,.3g} GB"
        if competitor.needs == "matrix" and size > MOST_BYTES:
            return f"not possible: {size / 1e9:,.3g} GB in memory"
        if competitor.numbers_only and not self.numbers_only:
            return "not written for categories or NULLs"
        if competitor.needs != "tables" and self.runner.found.gave_up(self.race.series, self.race.x, competitor.name):
            return "failed before"
        return ""

    def _run(self, entry: Entry) -> None:
        given = {"setting": entry.setting, "reference": self.reference, "target": self.target}
        answer = self._ask(entry.competitor, self.race.timeout, **given)
        if answer.said is None:
            if entry.seconds and answer.error == results.OUT_OF_TIME:
                return
            entry.error = answer.error
            self.runner.say(f"  {entry.competitor:28} {entry.error}")
            return
        outcome = answer.said["outcome"]
        if not entry.seconds:
            self.models[entry.competitor] = outcome["model"]
            entry.proof, entry.history, entry.note = outcome["proof"], outcome["history"], outcome["note"]
            entry.setting = outcome["setting"]
        entry.seconds.append(answer.seconds)
        entry.client_bytes = _larger(entry.client_bytes, answer.client_bytes)
        if COMPETITORS[entry.competitor].engine == "postgres":
            entry.server_bytes = _larger(entry.server_bytes, answer.server_bytes)
        self.runner.say(f"  {entry.competitor:28} {entry.seconds[-1]:7.2f} s")

    def _judge(self) -> None:
        """F over the full join of every model; in a series what is proven of it is enough."""
        open_ = []
        for entry in self.made.entries:
            if self.models.get(entry.competitor) is None:
                continue
            if self.race.series and entry.proof:
                entry.objective = entry.proof["objective"], entry.proof["objective_upper"]
            else:
                open_.append(entry)
        if not open_:
            return
        cells = (self.made.join_bytes or 0.0) / 8
        models = [self.models[entry.competitor] for entry in open_]
        job = {**self._job("judge"), "url": self.runner.urls["duckdb"], "models": models, "cells": cells}
        answer = measure.run(job, 2 * self.race.timeout)
        if answer.said is None:
            self.made.error = f"the judge failed: {answer.error}"
            self.runner.say(f"  {self.made.error}")
            return
        for entry, interval, auc in zip(open_, answer.said["intervals"], answer.said["aucs"], strict=True):
            entry.objective, entry.auc = interval and tuple(interval), auc

    def _look(self) -> None:
        """Into one pass, in both engines."""
        for engine, url in self.runner.urls.items():
            job = {**self._job("look"), "url": url, "runs": self.race.look, "model": self.reference}
            answer = measure.run(job, self.race.timeout)
            if answer.said is None:
                self.runner.say(f"  one pass, {engine}: {answer.error}")
            else:
                self.runner.found.looks.append({"race": self.race.name, "engine": engine, **answer.said})

    def _ask(self, competitor: str, timeout: float, **more: Any) -> measure.Answer:
        asked = COMPETITORS[competitor]
        order = Order(self.task, self.runner.urls[asked.engine], **more)
        left = max(LEAST, self.runner.ends - time.monotonic())
        answer = asked.start(competitor, order, min(timeout, left), self.runner.server)
        if answer.timed_out and left < timeout:
            return replace(answer, error=results.OUT_OF_TIME)
        return answer

    def _job(self, role: str) -> dict[str, Any]:
        return {"role": role, "family": self.task.family, "sizes": dict(self.task.sizes)}


def _larger(one: float | None, other: float | None) -> float | None:
    return max((n for n in (one, other) if n is not None), default=None)


@contextmanager
def postgres() -> Iterator[str]:
    """The server with MADlib where one is named, so that all run on the same; else a throw-away one."""
    if dsn := os.environ.get("SQLSVM_MADLIB_DSN"):
        yield dsn
        return
    server = Server()
    try:
        yield server.dsn
    finally:
        server.stop()


def main() -> None:
    parser = ArgumentParser(description="Race sqlsvm against its peers.")
    parser.add_argument("--quick", action="store_true", help="small tasks")
    parser.add_argument("--only", metavar="TEXT", help="the races whose name or series has this in it, nothing else")
    parser.add_argument("--minutes", type=float, default=None, help="no race is begun after these (29, quick 2.3)")
    parser.add_argument("--more", action="store_true", help="go on where time was over, to five turns of all")
    parser.add_argument("--out", type=Path, default=None, help="where to write (bench/, with --quick build/bench/)")
    arguments = parser.parse_args()
    out = arguments.out or (HERE.parent / "build" / "bench" if arguments.quick or arguments.only else HERE)
    minutes = arguments.minutes or (2.3 if arguments.quick else 29.0)
    races = QUICK if arguments.quick else (*FULL, *growth())
    if arguments.only:
        races = tuple(r for r in races if arguments.only in r.name or arguments.only in r.series)
    rows = 0 if arguments.only else 500 if arguments.quick else 1000
    run(races, out, minutes, rows, Results.load(out / "results.json") if arguments.more else None)


def run(races: Sequence[Race], out: Path, minutes: float, passes_of_rows: int, before: Results | None = None) -> None:
    began = time.monotonic() - (60 * before.minutes if before else 0.0)
    ends = time.monotonic() + 60 * minutes
    out.mkdir(parents=True, exist_ok=True)
    with postgres() as dsn, TemporaryDirectory(prefix="sqlsvm-bench-") as folder:
        with connect(dsn) as engine:
            machine = results.machine(engine.version)
        found = before.again(machine) if before else Results(machine)
        runner = Runner(dsn, Path(folder), found, ends, lambda line: print(line, flush=True))
        for race in races:
            known = found.begun(race.series, race.name)
            if known is None or known.turns < race.runs:
                runner.race(race, known)
                _write(found, out, began)
    if passes_of_rows and not found.passes:
        found.passes = _asked({"role": "passes", "rows": passes_of_rows})
    if passes_of_rows and not found.descent:
        found.descent = _asked({"role": "descent"})
    _write(found, out, began)
    _draw(found, out)


def _asked(job: dict[str, Any]) -> list[dict[str, Any]]:
    """What a job without a database says; nothing where it fails."""
    answer = measure.run(job, NUMPY_TIMEOUT)
    if answer.said is None:
        print(f"{job['role']}: {answer.error}", flush=True)
        return []
    return list(answer.said[job["role"]])


def _draw(found: Results, out: Path) -> None:
    """Pictures are worth a line, not a failure, where matplotlib is not installed."""
    try:
        from bench.races.draw import draw
    except ModuleNotFoundError as error:
        print(f"no pictures: {error}", flush=True)
        return
    draw(found, out / "pictures")


def _write(found: Results, out: Path, began: float) -> None:
    from bench.races.report import report

    found.minutes = (time.monotonic() - began) / 60
    found.save(out / "results.json")
    (out / "RESULTS.md").write_text(report(found), encoding="utf-8")


if __name__ == "__main__":
    main()
