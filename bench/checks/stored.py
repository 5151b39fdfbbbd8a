"""Passes of trainings in psql next to those of the driver, for every loss, penalty and constraint.

    python -m bench.checks.stored [--flights [--again]] [--seeds 2] [--shape heap] [--loss hinge] [--kind l1]
        [--lam 1e-3]

The joins are those of the tests, with the labels that they have or with numbers; or the flights. psql has a program
that was compiled on the same rows, and never reads a join whole, so the driver does not either. The bounds that one
proves hold for the models of the other. Passes may be twice those of the driver up to 200 weights, three times beyond.
This counts the passes of the compilation, which it makes where residuals come in a heap. With --again a tenth of the
flights are others then, and psql trains once more: three passes may do this.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from examples.nycflights13.load import HERE, load
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.model.model import Model
from sqlsvm.psql.install import install
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.ground.joins import JOINS, Join

CLASSES = "hinge", "squared_hinge", "smooth_hinge", "modified_huber", "logistic"
NUMBERS = "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber"
KINDS = "none", "l1", "free", "nonnegative", "decreasing", "box"
LAMBDAS = 1e-2, 1e-3, 1e-4
FIRST = {"star": "qty", "chain": "u", "heap": "x", "left join": "x", "categories": "x", "cyclic": "x"}
"""The number that says most of the label."""


def options_of(kind: str, first: str) -> dict[str, Any]:
    """Constraints that are tight."""
    found: dict[str, dict[str, Any]] = {
        "l1": {"l1": 1e-2},
        "free": {"intercept": "free"},
        "nonnegative": {"constrain": ("nonnegative",)},
        "decreasing": {"constrain": (f"decreasing:{first}",)},
        "box": {"constrain": (f"box:{first}:-1:0.125",)},
    }
    return found.get(kind, {})


@dataclass(frozen=True)
class Case:
    name: str
    query: str
    training: Training

    def told(self, engine: Engine) -> tuple[Model, Model, int]:
        """The models of psql and the driver, and the passes of the compilation."""
        program = stored_program(engine, self.query, self.training)
        save_program(engine, "stored", program)
        model = in_psql(engine)
        asked = replace(self.training, in_memory=0)
        driven = train(engine, "driven", self.query, asked)
        return model, driven, program.start["passes"]


def in_psql(engine: Engine) -> Model:
    engine.fetch(Text("SELECT passes FROM sqlsvm.train('stored')"))
    return open_store(engine).load("stored")


@contextmanager
def other_flights(engine: Engine) -> Iterator[None]:
    """A tenth of them are gone, and another tenth has come once more."""
    number = "abs(hashtext(f::text)) % 10"
    engine.execute(Text("CREATE TABLE public.kept AS TABLE public.flights"))
    engine.execute(Text(f"DELETE FROM public.flights AS f WHERE {number} = 0"))
    engine.execute(Text(f"INSERT INTO public.flights SELECT * FROM public.flights AS f WHERE {number} = 1"))
    yield
    engine.execute(Text("TRUNCATE public.flights"))
    engine.execute(Text("INSERT INTO public.flights TABLE public.kept"))
    engine.execute(Text("DROP TABLE public.kept"))


def with_numbers(join: Join, rng: np.random.Generator) -> Join:
    """Another label: a number that the columns of its table say something of. Some lie in a heap."""
    (table,) = [name for name, rows in join.rows.items() if "y" in rows]
    rows = join.rows[table]
    y = 2.0 * rows["y"].astype(float) + sum(
        values.astype(float) for name, values in rows.items() if values.dtype.kind == "f"
    )
    y = np.where(rng.random(len(y)) < 0.3, 1.0, y + rng.normal(size=len(y)))
    script = join.script.replace("y BOOLEAN", "y FLOAT8").replace("y INT", "y FLOAT8")
    return Join(script, join.rows | {table: rows | {"y": y}}, join.query, join.categorical)


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--flights", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    for name in ("shape", "loss", "kind"):
        parser.add_argument(f"--{name}", action="append")
    parser.add_argument("--lam", action="append", type=float)
    parser.add_argument("--url", default="embedded:")
    given = parser.parse_args()
    worst = beyond = done = 0.0
    with connect(given.url) as engine:
        engine.execute(Text("DROP SCHEMA IF EXISTS sqlsvm CASCADE"))
        install(engine)
        for case in flights(engine, given) if given.flights else small(engine, given):
            began = time.perf_counter()
            model, driven, compiled = case.told(engine)
            assert model.lower_bound <= driven.objective_upper, case
            assert driven.lower_bound <= model.objective_upper, case
            most = 2 if len(model.weights) <= 200 else 3
            ratio = (compiled + model.passes) / driven.passes
            fine = ratio <= most and model.converged
            done, beyond, worst = done + 1, beyond + (not fine), max(worst, ratio / most)
            made = f"{compiled:3} + {model.passes:3} passes, driver {driven.passes:3}"
            said = f"{case.name:50} {made}  {len(model.weights):4} weights"
            print(
                said,
                f"{time.perf_counter() - began:6.1f} s",
                "" if fine else f"BEYOND, gap {model.gap:.1e}",
                flush=True,
            )
            if given.again and given.flights:
                with other_flights(engine):
                    print(f"{'  with other flights':50} {in_psql(engine).passes:9} passes", flush=True)
    print(f"{done:.0f} trainings, {beyond:.0f} beyond; at most {worst:.2f} of what is allowed")


def small(engine: Engine, given: Namespace) -> Iterator[Case]:
    for seed in range(3, 3 + given.seeds):
        for shape in given.shape or JOINS:
            for loss in given.loss or (*CLASSES, *NUMBERS):
                rng = np.random.default_rng(seed)
                join = JOINS[shape](rng)
                join = with_numbers(join, rng) if loss in NUMBERS else join
                with join.created(engine):
                    for kind in given.kind or KINDS:
                        for lam in given.lam or LAMBDAS:
                            options = options_of(kind, FIRST[shape])
                            options |= {"loss": loss, "lam": lam, "categorical": join.categorical, "sample": 1000}
                            asked = Training.of(label="y", nulls="mean", **options)
                            yield Case(f"{shape} {seed} {loss} {kind} {lam:g}", join.query, asked)


def flights(engine: Engine, given: Namespace) -> Iterator[Case]:
    if "flights" not in engine.table_names():
        load(engine)
    late, delay = ((HERE / name).read_text(encoding="utf-8") for name in ("query.sql", "delay.sql"))
    for loss in given.loss or (*CLASSES, *NUMBERS):
        of_numbers = loss in NUMBERS
        for kind in given.kind or ("none",):
            for lam in given.lam or (*LAMBDAS[1:], *((1e-5,) if loss == "hinge" else ())):
                options = options_of(kind, "distance") | {"loss": loss, "lam": lam}
                asked = Training.of(label="delay" if of_numbers else "late", nulls="mean", **options)
                yield Case(f"flights {loss} {kind} {lam:g}", delay if of_numbers else late, asked)


if __name__ == "__main__":
    main()
