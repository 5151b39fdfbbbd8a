"""A training on Parquet files that are larger than the memory DuckDB may use, next to one scan of their columns.

python -m bench.races.larger star facts=100000000 | chain rows=10000000 keys=10000  [--memory 4GB] [--turns 1]

A scan adds up every column that the training reads. The files are made once, in build/bench/larger/.
"""

import argparse
import multiprocessing
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import duckdb
import numpy as np
from sqlglot import exp

from bench.races.measure import peak_memory
from bench.races.tasks import Table, Task, learnable, numbers, task, total
from sqlsvm import sql
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.run.train import train
from sqlsvm.run.training import Training

FOLDER = Path("build/bench/larger")
AT_ONCE = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=WRITERS)
    parser.add_argument("sizes", nargs="*", help="facts=100000000")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--statements", action="store_true", help="print the seconds of each statement")
    asked = parser.parse_args()
    made = task(asked.family, **{name: int(size) for name, size in (part.split("=") for part in asked.sizes)})
    made, folder = over_files(made)
    size = sum(f.stat().st_size for f in folder.rglob("*.parquet"))
    print(f"{made.says}; {size / 1e9:.2f} GB of files, memory_limit {asked.memory}")
    with connect(f"duckdb:?memory_limit={asked.memory}") as engine:
        show(engine, made, folder, asked.turns, asked.statements)


def show(engine: Engine, made: Task, folder: Path, turns: int, statements: bool) -> None:
    models: list[Model] = []
    forms: dict[str, Callable[[], object]] = {
        "scan": lambda: scan(engine, folder),
        "training": lambda: models.append(trained(engine, made)),
    }
    if statements:
        engine.on_statement = Watch()
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in forms}
    for _ in range(turns):
        for name, work in forms.items():
            began, cpu = perf_counter(), process_time()
            work()
            spent[name].append((perf_counter() - began, process_time() - cpu))
    for name, found in spent.items():
        print(f"{name}: {median(w for w, _ in found):.1f} s, {median(c for _, c in found):.1f} s of CPU")
    for place, kind in enumerate(("time", "CPU")):
        ratio = median(t[place] / s[place] for s, t in zip(*spent.values(), strict=True))
        print(f"training / scan: {ratio:.1f} of {kind}")
    model = models[-1]
    print(f"F {model.objective:.6f}, gap {model.gap:.2g}, {len(model.history)} passes, {model.join_rows:.3g} join rows")
    print({name: round(seconds, 1) for name, seconds in model.phases.items()})
    print(f"peak of the process {peak_memory() / 1e9:.2f} GB")


class Watch:
    """Seconds from each statement to the next."""

    def __init__(self) -> None:
        self.last, self.began, self.cpu = "", perf_counter(), process_time()

    def __call__(self, text: str) -> None:
        now, cpu = perf_counter(), process_time()
        if now - self.began > 0.5:
            print(f"{now - self.began:7.2f} s {cpu - self.cpu:7.2f} s of CPU  {self.last[:300]}", flush=True)
        self.last, self.began, self.cpu = text, now, cpu


def trained(engine: Engine, made: Task) -> Model:
    return train(engine, "m", made.text, Training.of(label=made.label, lam=made.lam))


def scan(engine: Engine, folder: Path) -> None:
    for table in (path for path in folder.iterdir() if path.is_dir()):
        source = exp.Table(this=exp.to_identifier(str(table.resolve() / "*.parquet"), quoted=True))
        names = [c.name for c in engine.describe(exp.select("*").from_(source))]
        engine.fetch(sql.select([(sql.total(sql.double(exp.column(n, quoted=True))), n) for n in names], source.copy()))


# -- files -------------------------------------------------------------------------------------------------------------


def over_files(made: Task) -> tuple[Task, Path]:
    """The same task over Parquet files, which another process makes, once."""
    folder = FOLDER / "_".join([made.family, *(f"{name}{size}" for name, size in made.sizes.items())])
    if not (folder / "_SUCCESS").exists():
        maker = multiprocessing.get_context("spawn").Process(target=write, args=(made.family, made.sizes, folder))
        maker.start()
        maker.join()
        if maker.exitcode:
            raise SystemExit("the files could not be made")
    path = rf"\1 '{folder.resolve()}/\2/*.parquet' AS \2"
    return replace(made, text=re.sub(r"(FROM|JOIN) (\w+)", path, made.text)), folder


def write(family: str, sizes: dict[str, int], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    WRITERS[family](folder, **sizes)
    (folder / "_SUCCESS").touch()


def _star(folder: Path, facts: int = 100_000_000, rows: int = 10_000, dims: int = 2, width: int = 7) -> None:
    """The tables of tasks.star, which would draw all facts at once."""
    rng = np.random.default_rng(1)
    others = {d: numbers(rng, f"d{d}_", rows, width) for d in range(1, dims + 1)}
    for d, columns in others.items():
        _written(folder / f"dim{d}", [{"id": np.arange(rows), **columns}])
    scores = {d: total(columns) for d, columns in others.items()}

    def some(count: int) -> Table:
        keys = {d: rng.integers(0, rows, count) for d in others}
        own = numbers(rng, "f", count, width)
        score = total(own) + np.sum([scores[d][keys[d]] for d in others], axis=0)
        return {**{f"k{d}": key for d, key in keys.items()}, "y": learnable(rng, score), **own}

    _written(folder / "fact", (some(min(AT_ONCE, facts - begin)) for begin in range(0, facts, AT_ONCE)))


def _whole(family: str, folder: Path, **sizes: int) -> None:
    for name, columns in task(family, **sizes).tables().items():
        _written(folder / name, [columns])


def _written(folder: Path, parts: Iterable[Table]) -> None:
    folder.mkdir()
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for number, part in enumerate(parts):
            connection.register("part", part)
            connection.sql("FROM part").write_parquet(str(folder / f"{number:04}.parquet"))


WRITERS: dict[str, Callable[..., None]] = {
    "star": _star,
    **{family: partial(_whole, family) for family in ("chain", "snowflake")},
}


if __name__ == "__main__":
    main()
