"""How long it takes to plan a training over many tables, or over many columns, and to make its first pass.

python -m bench.experiments.many [chain] [star] ... [--sizes 150 2000] [--url duckdb:] [--only-plan]
Every table has 20 rows, so nearly all seconds are those of the planner, of the database and of sqlsvm.
"""

import gc
from argparse import ArgumentParser
from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np

from bench.races.tasks import Tables, load, unload
from sqlsvm.ask.explain import explain
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import SqlsvmError
from sqlsvm.run.train import train
from sqlsvm.run.training import Training

ROWS = 20
A_TABLE = 1000
"""PostgreSQL has room for 1,600 columns in a table."""
OPTIONS = {"label": "y", "lam": 1e-2}


def tree(parent: Callable[[int], int], size: int) -> tuple[Tables, str]:
    """Tables of one number each, of which each but the first is found by a key of its parent."""
    tables: Tables = {f"t{i}": {"id": np.arange(ROWS), "x": x} for i, x in enumerate(numbers(size))}
    tables["t0"]["y"] = np.where(np.arange(ROWS) % 2, 1, -1)
    joins = []
    for i in range(1, size):
        tables[f"t{parent(i)}"][f"k{i}"] = (np.arange(ROWS) * 7 + i) % ROWS
        joins.append(f"JOIN t{i} ON t{i}.id = t{parent(i)}.k{i}")
    return tables, select([f"t{i}.x AS x{i}" for i in range(size)], joins)


def star(size: int) -> tuple[Tables, str]:
    """A fact table with as many keys as fit, and others with more of them."""
    return tree(lambda i: 0 if i <= A_TABLE else (i - 1) // A_TABLE, size)


def hub(size: int) -> tuple[Tables, str]:
    """Tables that all have the same key."""
    tables: Tables = {f"t{i}": {"id": np.arange(ROWS), "x": x} for i, x in enumerate(numbers(size))}
    tables["t0"]["y"] = np.where(np.arange(ROWS) % 2, 1, -1)
    joins = [f"JOIN t{i} ON t{i}.id = t0.id" for i in range(1, size)]
    return tables, select([f"t{i}.x AS x{i}" for i in range(size)], joins)


def wide(size: int) -> tuple[Tables, str]:
    """So many numbers, in tables that have the same key."""
    x = numbers(size)
    tables: Tables = {}
    for at in range(0, size, A_TABLE):
        columns = {f"x{j}": x[j] for j in range(at, min(at + A_TABLE, size))}
        tables[f"t{at // A_TABLE}"] = {"id": np.arange(ROWS), **columns}
    tables["t0"]["y"] = np.where(np.arange(ROWS) % 2, 1, -1)
    joins = [f"JOIN t{i} ON t{i}.id = t0.id" for i in range(1, len(tables))]
    return tables, select([f"x{j}" for j in range(size)], joins)


def numbers(size: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(size, ROWS))


def select(columns: list[str], joins: list[str]) -> str:
    return f"SELECT t0.y, {', '.join(columns)} FROM t0 {' '.join(joins)}"


SHAPES: dict[str, tuple[Callable[[int], tuple[Tables, str]], tuple[int, ...]]] = {
    "chain": (lambda size: tree(lambda i: i - 1, size), (150,)),
    "star": (star, (150, 2000)),
    "snowflake": (lambda size: tree(lambda i: (i - 1) // 8, size), (150, 2000)),
    "hub": (hub, (150, 2000)),
    "wide": (wide, (2000, 20_000)),
}


def seconds(done: Callable[[], object]) -> str:
    """By the clock, and of CPU in this process: that of a server is not in it."""
    began, used, said = perf_counter(), process_time(), ""
    try:
        done()
    except SqlsvmError as error:
        said = f": {error.message}"
    return f"{perf_counter() - began:.1f} s ({process_time() - used:.1f} of CPU){said}"


def line(engine: Engine, shape: str, size: int, *, only_plan: bool) -> str:
    tables, text = SHAPES[shape][0](size)
    load(engine, tables)
    training = Training.of(**OPTIONS, max_passes=1)
    planned = seconds(lambda: explain(engine, text, training))
    trained = "" if only_plan else f", one pass {seconds(lambda: train(engine, 'many', text, training))}"
    unload(engine, tables)
    return f"{shape:10} {size:6,}  plan {planned}{trained}"


def main() -> None:
    parser = ArgumentParser(description="The time to plan a training over many tables or columns.")
    parser.add_argument("shapes", nargs="*", default=list(SHAPES), metavar="SHAPE")
    parser.add_argument("--sizes", nargs="*", type=int)
    parser.add_argument("--url", default="duckdb:")
    parser.add_argument("--only-plan", action="store_true")
    asked = parser.parse_args()
    gc.set_threshold(200_000)  # as the command line does
    with connect(asked.url) as engine:
        print(engine.version)
        for shape in asked.shapes:
            for size in asked.sizes or SHAPES[shape][1]:
                print(line(engine, shape, size, only_plan=asked.only_plan), flush=True)


if __name__ == "__main__":
    main()
