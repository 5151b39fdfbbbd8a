"""What is chosen by default: is it the same for other orders of rows, engines and seeds, and what does it cost?

    python -m bench.experiments.choices [same] [cost]

`same`: each task is trained twenty times: the rows in another order, with another seed, in DuckDB and in a PostgreSQL
that is started for it. A choice agrees if it is the most frequent one, or if its model has a measure on a fifth of the
rows that was kept out that differs by less than .001 from that of the most frequent one.
`cost`: the CPU seconds of a choice and of GridSearchCV of seven penalties by five parts, LogisticRegression or Ridge,
on the same rows and with a core each; and those of the choice while two other processes are busy: threads that wait for
each other cost CPU.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import duckdb
import numpy as np

from bench.experiments.questions import rmse, tuned
from bench.races.tasks import load, unload
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.engine.given import opened
from sqlsvm.model.memory import scores
from sqlsvm.options import UNNAMED
from sqlsvm.rules import named
from sqlsvm.run.train import settled_on, train
from sqlsvm.run.training import Training
from sqlsvm.solve.calibration import area

RUNS, ALIKE = 20, 1e-3


def table(kind: str, rows: int, numbers: int, levels: int) -> dict[str, Any]:
    """A label of two classes or a number, by some of the numbers and by a category."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, numbers))
    score = 0.5 * x @ (rng.normal(size=numbers) * (np.arange(numbers) < max(2, numbers // 3)))
    found = {f"x{n}": x[:, n] for n in range(numbers)}
    if levels:
        level = np.minimum(rng.geometric(3.0 / levels, rows), levels)
        score = score + 0.5 * rng.normal(size=levels + 1)[level]
        found["level"] = np.array([f"level {n}" for n in range(levels + 1)], dtype=object)[level]
    noisy = score + rng.logistic(size=rows)
    return {**found, "y": noisy > 0.0 if kind == "classes" else noisy}


TASKS = {
    "10,000 x 10": ("classes", 10_000, 10, 0),
    "2,000 x 40": ("classes", 2_000, 40, 0),
    "10,000 x 10, a number": ("number", 10_000, 10, 0),
    "11,000 x 50 and 900 levels": ("classes", 11_000, 50, 900),
    "19,000 x 5 and 5,000 levels": ("classes", 19_000, 5, 5_000),
}


def query(columns: dict[str, Any]) -> str:
    return f"SELECT t.y, {', '.join(f't.{name}' for name in columns if name != 'y')} FROM t"


def default(**more: Any) -> Training:
    return Training.of(**named({"label": "y", **dict.fromkeys(UNNAMED)}), **more)


def measured(model: Any, columns: dict[str, Any], rows: Any) -> float:
    import pandas as pd

    later = pd.DataFrame({name: values[rows] for name, values in columns.items()})
    own, y = np.asarray(scores(model, later), dtype=float), columns["y"][rows]
    return rmse(y, own) if model.of_numbers else area(own, 1.0 - y, y * 1.0)


def same(name: str, engines: list[Engine]) -> str:
    columns = table(*TASKS[name])
    rows = len(columns["y"])
    seen, later = np.arange(rows // 5, rows), np.arange(rows // 5)
    found = list[tuple[tuple[str, float], float]]()
    for run in range(RUNS):
        engine = engines[run % len(engines)]
        order = np.random.default_rng(run).permutation(seen)
        load(engine, rows_of := {"t": {column: values[order] for column, values in columns.items()}})
        model = train(engine, "m", query(columns), default(seed=run))
        unload(engine, rows_of)
        found.append(((model.loss, model.lam), measured(model, columns, later)))
    often, times = Counter(choice for choice, _ in found).most_common(1)[0]
    usual = float(np.median([value for choice, value in found if choice == often]))
    alike = sum(choice == often or abs(value - usual) < ALIKE for choice, value in found)
    values = [value for _, value in found]
    return f"{often[0]} {often[1]:g} in {times}, alike {alike} of {RUNS}; {min(values):.4f} to {max(values):.4f}"


@contextmanager
def busy(others: int) -> Iterator[None]:
    each = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        yield
    finally:
        for other in each:
            other.kill()
            other.wait()


def cost(name: str) -> str:
    import pandas as pd
    from threadpoolctl import threadpool_limits

    columns = table(*TASKS[name])
    frame = pd.DataFrame(columns)
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT * FROM frame")
    spent = list[float]()
    with opened(con) as engine:
        settled_on(engine, query(columns), default())
        for others in (0, 2):
            with busy(others):
                began = process_time()
                settled_on(engine, query(columns), default())
                spent.append(process_time() - began)
    began = process_time()
    with threadpool_limits(1):
        tuned(frame, frame.iloc[:1], "y", of_numbers=TASKS[name][0] == "number")
    peer = process_time() - began
    return f"choice {spent[0]:.2f} s, next to two busy processes {spent[1]:.2f} s, GridSearchCV {peer:.2f} s"


def main() -> None:
    asked = sys.argv[1:] or ["same", "cost"]
    for name in TASKS if "cost" in asked else ():
        print(f"{name}: {cost(name)}", flush=True)
    if "same" in asked:
        with connect("duckdb:") as duck, connect("embedded:") as postgres:
            for name in TASKS:
                print(f"{name}: {same(name, [duck, postgres])}", flush=True)


if __name__ == "__main__":
    main()
