"""Does the choice of lambda on a sample agree with a choice by passes over the whole join?

    python -m bench.checks.agreement

Ten tasks, with the hinge. By passes: one training for each lambda of the grid, and each without each of five folds,
measured on the whole fold. The rule is the same for both: the strongest penalty that is not worse than the best by more
than one standard error of the differences. If the two differ, the folds say by how much the lambda of the sample is
worse. The error of that is of both: the folds and the parts of the sample each say how far such a difference is by
chance.
"""

from collections.abc import Iterator
from math import hypot
from time import perf_counter

from bench.races.tasks import load, task
from sqlsvm import RelationalSVC
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.solve.choosing import STRENGTHS, Tried, difference, simplest

GRID = STRENGTHS[::2]
"""One a decade, and that of the sample."""
TASKS: tuple[tuple[str, dict[str, int]], ...] = (
    ("star", {"facts": 8000, "rows": 500}),
    ("star", {"facts": 4000, "rows": 500, "dims": 3, "width": 8}),
    ("snowflake", {"facts": 8000}),
    ("chain", {"rows": 1000, "keys": 50, "tables": 2, "signal": 1}),
    ("chain", {"rows": 600, "keys": 50, "tables": 3, "signal": 1}),
    ("hub", {"rows": 600, "keys": 50, "tables": 2, "signal": 1}),
    ("hub", {"rows": 400, "keys": 50, "tables": 3, "signal": 1}),
    ("wide", {"rows": 2000, "width": 60}),
    ("categories", {"rows": 8000, "values": 400}),
    ("posts", {"posts": 3000, "users": 300, "badges": 2000, "days": 100}),
)


def by_sample(engine: Engine, text: str) -> tuple[Tried, dict[float, Tried], float]:
    began = perf_counter()
    model = RelationalSVC("auto", loss="hinge", in_memory=0, verbose=False).fit(engine, text, "y").model_
    assert model.chosen
    tried = {each.strength: Tried(each.loss, each.strength, each.parts) for each in model.chosen.tried}
    return tried[model.lam], tried, perf_counter() - began


def by_passes(engine: Engine, text: str, also: float) -> tuple[list[Tried], float]:
    began = perf_counter()
    grid = sorted({*GRID, also}, reverse=True)
    svc = RelationalSVC(folds=5, in_memory=0, max_passes=40, verbose=False)
    found = [each.model_ for each in svc.fit_path(engine, text, "y", lam=grid)]
    tried = [Tried("hinge", m.lam, m.validation["auc"].folds) for m in found]
    return tried, perf_counter() - began


def compared() -> Iterator[bool]:
    for family, sizes in TASKS:
        made = task(family, **sizes)
        with connect("duckdb:") as engine:
            load(engine, made.tables())
            sample, parts, quick = by_sample(engine, made.text)
            tried, slow = by_passes(engine, made.text, sample.strength)
        found = simplest(tried)
        own = next(each for each in tried if each.strength == sample.strength)
        loss, error = difference(found, own)
        error = hypot(error, difference(parts[found.strength], sample)[1])
        agrees = loss <= error
        said = "the same" if own is found else f"AUC less by {loss:.4f}, error {error:.4f}"
        print(
            f"{family:11} sample {sample.strength:<7g} passes {found.strength:<7g} {said:34} "
            f"{'agrees' if agrees else 'DIFFERS'}   {quick:.1f} s and {slow:.1f} s",
            flush=True,
        )
        yield agrees


def main() -> None:
    found = list(compared())
    print(f"{sum(found)} of {len(found)} agree")


if __name__ == "__main__":
    main()
