"""A training on Spark next to MLlib and DuckDB, which take turns in one process.

python -m bench.races.spark star facts=1000000 | star facts=10000000 | chain | chain signal=1  [--turns N] [--memory 6g]
--no-offload: else Spark copies few values to DuckDB, as users have it.
--cpu compares the CPU seconds of all processes, for a machine that does other work; --set spark.x=y sets what may help.

All read the same Parquet files. LinearSVC of MLlib has regParam = 2 lambda and its other settings as they are. It is
given the joined DataFrame. A pass is compared with the same sums over the bare join. Needs Java and `make spark`.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any
from urllib.parse import quote

import numpy as np
from sqlglot import exp

from bench.races.competitors import scaled
from bench.races.larger import WRITERS, over_files
from bench.races.measure import cpu_of
from bench.races.one_pass import Clock, flat_forms, in_turns, statements
from bench.races.tasks import Task, parsed, task
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from sqlsvm.run.training import Training

URL = "spark:local[2]?spark.driver.memory={}&spark.sql.shuffle.partitions=8"
FLAT_ROWS = 2e8
"""Rows of a join up to which the join itself is read."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=WRITERS)
    parser.add_argument("sizes", nargs="*", help="facts=1000000")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--without-mllib", action="store_true")
    parser.add_argument("--no-offload", dest="offload", action="store_false", default=None)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    asked = parser.parse_args()
    sizes = {name: int(size) for name, size in (part.split("=") for part in asked.sizes)}
    made, _ = over_files(task(asked.family, **sizes))
    url = "&".join([URL.format(asked.memory), *(quote(setting, safe="=") for setting in asked.set)])
    with connect(url) as spark, connect("duckdb:") as duckdb:
        print(f"{spark.version}, {duckdb.version}: {made.says}", flush=True)
        clock = cpu_seconds if asked.cpu else perf_counter
        show(spark, duckdb, made, asked.turns, clock, mllib=not asked.without_mllib, offload=asked.offload)


def show(
    spark: Engine, duckdb: Engine, made: Task, turns: int, clock: Clock, *, mllib: bool, offload: bool | None
) -> None:
    models: dict[str, Any] = {}
    forms: dict[str, Callable[[], object]] = {
        "Spark": lambda: models.update(spark=trained(spark, made, offload)),
        "DuckDB": lambda: models.update(duckdb=trained(duckdb, made)),
    }
    small = rows_of(duckdb, made) <= FLAT_ROWS
    if mllib and small:
        forms["MLlib"] = lambda: models.update(mllib=linear_svc(spark, made))
    print(turn(forms, turns, clock, first="Spark"), flush=True)
    own: Model = models["spark"]
    proven = f"proven to be at least {own.lower_bound:.6f}"
    print(f"  F = {own.objective:.6f} with {own.engine}, {models['duckdb'].objective:.6f} with DuckDB, {proven}")
    with open_problem(spark, made.text, made.options) as problem:
        oracle, beta = JoinOracle(problem), scaled(problem, given(own))
        if mllib and small:
            print(f"  F = {objective(oracle, made, scaled(problem, models['mllib'])):.6f} with MLlib")
        passes: dict[str, Callable[[], object]] = {"a pass": partial(oracle.pass_, beta, 32)}
        passes |= flat_forms(spark, made, beta) if small else {}
        print(turn(passes, turns + 2, clock, first="a pass"))
        for s in statements(oracle, beta):
            print(f"    {s['seconds']:6.2f} s {s['rows']:12,.0f} rows  {s['statement']}")


def cpu_seconds() -> float:
    """Of this process and of Java, which it has started; in Linux."""
    started = (own.read_text().split() for own in Path("/proc/self/task").glob("*/children"))
    return process_time() + sum(cpu_of(map(int, processes)) for processes in started)


def turn(forms: dict[str, Callable[[], object]], turns: int, clock: Clock, *, first: str) -> str:
    """The least seconds and the median of each, and what the first takes of each other."""
    seconds = in_turns(forms, turns, clock)
    least = {name: min(found) for name, found in seconds.items()}
    said = [f"{name} {least[name]:.2f} s (median {median(found):.2f})" for name, found in seconds.items()]
    ratios = [f"{least[first] / s:.2f} of {name}" for name, s in least.items() if name != first]
    return f"  {', '.join(said)}; {first}: {', '.join(ratios)}"


def trained(engine: Engine, made: Task, offload: bool | None = None) -> Model:
    return train(engine, "m", made.text, Training.of(label=made.label, lam=made.lam, offload=offload))


def given(model: Model) -> dict[str, Any]:
    return {"intercept": model.intercept, "weights": {w.feature: w.weight for w in model.weights}}


def rows_of(engine: Engine, made: Task) -> float:
    rows = parsed(made, engine).select(exp.alias_(exp.Count(this=exp.Star()), "n"), append=False)
    return float(engine.fetch(rows)["n"][0])


def objective(oracle: JoinOracle, made: Task, beta: Any) -> float:
    return float(oracle.pass_(beta, None).value_low + made.lam * np.dot(beta, beta))


def linear_svc(spark: Engine, made: Task) -> dict[str, Any]:
    """Scaled by MLlib itself, which keeps the rows in memory as it likes them."""
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.feature import VectorAssembler

    joined = spark._session.sql(spark.text(parsed(made, spark)))  # type: ignore[attr-defined]
    names = [name for name in joined.columns if name != made.label]
    rows = VectorAssembler(inputCols=names, outputCol="x").transform(joined)
    rows = rows.select(rows[made.label].cast("double").alias("y"), "x")
    found = LinearSVC(featuresCol="x", labelCol="y", regParam=2 * made.lam).fit(rows)
    print(f"  MLlib: {found.summary().totalIterations if found.hasSummary else '?'} iterations")
    weights = dict(zip(names, found.coefficients.tolist(), strict=True))
    return {"intercept": float(found.intercept), "weights": weights}


if __name__ == "__main__":
    main()
