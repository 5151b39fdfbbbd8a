"""Does a key that has most rows of the join cost more than others? python -m bench.experiments.heavy [URL]

A pass over a chain of tables with keys that are spread evenly, and over the same tables where one key has a share of
the rows on both sides of each edge. The time of each is the least of some turns. A pass over the rows without that key
is the least that treating it apart would take.
"""

import sys
from time import perf_counter

import numpy as np

from bench.races.tasks import Tables, load, parsed, task, unload
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem

SHARES = (0.0, 0.1, 0.5, 0.9)
TURNS = 3


def main(url: str = "duckdb:") -> None:
    with connect(url) as engine:
        for tables in (2, 3):
            made = task("chain", tables=tables).tables()
            for share in SHARES:
                found = skewed(made, share)
                rows, seconds = measured(engine, tables, found)
                said = f"{tables} tables, one key with {share:.0%} of the rows: {rows:.2g} join rows, {seconds:.2f} s"
                apart = measured(engine, tables, without_key(found))[1] if share else seconds
                print(f"{said}; without it {apart:.2f} s", flush=True)


def skewed(tables: Tables, share: float) -> Tables:
    rng = np.random.default_rng(5)
    found: Tables = {}
    for name, columns in tables.items():
        heavy = rng.random(len(next(iter(columns.values())))) < share
        found[name] = {c: np.where(heavy, 0, v) if c.startswith("k") else v for c, v in columns.items()}
    return found


def without_key(tables: Tables) -> Tables:
    found: Tables = {}
    for name, columns in tables.items():
        kept = np.all([values != 0 for c, values in columns.items() if c.startswith("k")], axis=0)
        found[name] = {c: values[kept] for c, values in columns.items()}
    return found


def measured(engine: Engine, tables: int, made: Tables) -> tuple[float, float]:
    load(engine, made)
    try:
        text = parsed(task("chain", tables=tables), engine).sql(engine.dialect)
        with open_problem(engine, text, ProblemOptions("y")) as problem:
            oracle = JoinOracle(problem)
            beta = np.random.default_rng(6).normal(size=oracle.dimension) / 5.0
            seconds = []
            for _ in range(TURNS):
                began = perf_counter()
                oracle.pass_(beta, None if oracle.exact else 32)
                seconds.append(perf_counter() - began)
            return problem.moments.n, min(seconds)
    finally:
        unload(engine, made)


if __name__ == "__main__":
    main(*sys.argv[1:2])
