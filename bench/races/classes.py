"""One training of many classes next to many of two: python -m bench.races.classes [--url duckdb:] [--rows N]

A star with three dimensions and 20 numbers; the label of a fact has ten values. Both ways take turns."""

import argparse
from statistics import median
from time import perf_counter

import numpy as np

from bench.races.tasks import load
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.run.train import train
from sqlsvm.run.training import Training

CLASSES, DIMENSIONS, KEYS, TURNS, LAM = 10, 3, 5000, 3, 1e-3
COLUMNS = 5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url", default="duckdb:")
    options.add_argument("--rows", type=int, default=1_000_000)
    asked = options.parse_args()
    with connect(asked.url) as engine:
        make(engine, asked.rows)
        together, alone = [], []
        for _ in range(TURNS):
            together.append(seconds(engine, "f.y"))
            alone.append(sum(seconds(engine, f"f.y = 'class {k}' AS y") for k in range(CLASSES)))
        print(f"{engine.version}: {CLASSES} classes, {asked.rows:,} rows, {COLUMNS * (DIMENSIONS + 1)} numbers")
        print(f"together {min(together):.2f} s, alone {min(alone):.2f} s")
        ratios = f"{min(together) / min(alone):.2f} of the best, {median(together) / median(alone):.2f} of the median"
        print(f"together takes {ratios} of {TURNS} turns")


def seconds(engine: Engine, label: str) -> float:
    columns = [f"f.x{j}" for j in range(COLUMNS)]
    columns += [f"d{n}.z{j} AS d{n}z{j}" for n in range(DIMENSIONS) for j in range(COLUMNS)]
    joins = " ".join(f"JOIN d{n} ON d{n}.k = f.k{n}" for n in range(DIMENSIONS))
    began = perf_counter()
    model = train(engine, "m", f"SELECT {label}, {', '.join(columns)} FROM f {joins}", Training.of(label="y", lam=LAM))
    assert model.converged
    return perf_counter() - began


def make(engine: Engine, rows: int) -> None:
    """Every class has a direction of its own in the numbers, and as many rows as another."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, KEYS, (DIMENSIONS, rows))
    x, z = rng.normal(size=(rows, COLUMNS)), rng.normal(size=(DIMENSIONS, KEYS, COLUMNS))
    every = np.hstack([x, *(z[n][keys[n]] for n in range(DIMENSIONS))])
    best = (every @ rng.normal(size=(every.shape[1], CLASSES)) + 2 * rng.gumbel(size=(rows, CLASSES))).argmax(axis=1)
    fact = {"y": np.array([f"class {k}" for k in best], dtype=object)}
    fact |= {f"k{n}": keys[n] for n in range(DIMENSIONS)} | {f"x{j}": x[:, j] for j in range(COLUMNS)}
    tables = {"f": fact}
    for n in range(DIMENSIONS):
        tables[f"d{n}"] = {"k": np.arange(KEYS)} | {f"z{j}": z[n][:, j] for j in range(COLUMNS)}
    load(engine, tables)


if __name__ == "__main__":
    main()
