"""One relational pass: what it takes compared with the flat aggregates of the same gradient, and where its time goes.

python -m bench.races.one_pass [star] [chain] [hub] [--url duckdb:] [--twice]
With --twice, also how the pass grows with twice the rows at the same fan-out.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

from bench.races.competitors import scaled
from bench.races.flat import FlatOracle
from bench.races.matrix import Given
from bench.races.tasks import Task, load, task, unload
from sqlsvm.compile.resolve import sums_name
from sqlsvm.compile.statement import Statement
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Values
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort
from sqlsvm.terminal import amount

BUCKETS = 32
NEAR = 1e-2
FLAT_ROWS = 2e7
"""Rows of a join up to which the flat aggregates are timed as well."""

AT_LEAST = 3.0
"""Seconds that passes and flat aggregates are done in turns."""

Seconds = dict[str, list[float]]
Clock = Callable[[], float]


@contextmanager
def asked_problem(description: str, tasks: Mapping[str, Task]) -> Iterator[tuple[str, Task, Data]]:
    """The task of the command line, by default the first, ready for passes."""
    parser = ArgumentParser(description=description)
    parser.add_argument("task", nargs="?", default=next(iter(tasks)), choices=tasks)
    parser.add_argument("--url", default="duckdb:")
    arguments = parser.parse_args()
    made = tasks[arguments.task]
    with connect(arguments.url) as engine:
        load(engine, made.tables())
        with open_problem(engine, made.text, made.options) as problem:
            yield arguments.task, made, problem


def look(engine: Engine, made: Task, runs: int, model: Given | None = None) -> dict[str, Any]:
    """{"forms": seconds of each way to the gradient, in turns, "statements": name, rows and seconds of each}.

    At the model, or else near the optimum: how many rows are active there decides what a pass takes."""
    with open_problem(engine, made.text, made.options) as problem:
        oracle = JoinOracle(problem)
        beta = scaled(problem, model) if model else dane.solve(oracle, L2(made.lam), Effort(tol=NEAR)).beta
        forms: dict[str, Callable[[], object]] = {"pass": partial(oracle.pass_, beta, BUCKETS)}
        if problem.moments.n <= FLAT_ROWS:
            forms |= flat_forms(engine, made, beta)
        seconds = in_turns(forms, runs)
        return {"forms": seconds, "statements": statements(oracle, beta), "join_rows": problem.moments.n}


def flat_forms(engine: Engine, made: Task, beta: Values) -> dict[str, Callable[[], object]]:
    flat = FlatOracle(engine, made)
    return {form: partial(flat.run, text, beta) for form, text in (("filtered", flat.filtered), ("cased", flat.cased))}


def in_turns(forms: dict[str, Callable[[], object]], runs: int, clock: Clock = perf_counter) -> Seconds:
    """A B A B: other work of the machine meets all of them. What takes milliseconds is done more often."""
    seconds: Seconds = {form: [] for form in forms}
    started = perf_counter()
    while any(len(s) < runs for s in seconds.values()) or perf_counter() - started < AT_LEAST:
        for form, run in forms.items():
            began = clock()
            run()
            seconds[form].append(clock() - began)
    return seconds


def statements(oracle: JoinOracle, beta: Values) -> list[dict[str, Any]]:
    """What each statement of one more pass took."""
    found: list[dict[str, Any]] = []
    tree = oracle.problem.plan.tree
    spoken = {sums_name(node): f"sums of {tree.name(node)}" for node in range(len(tree.nodes))}

    def note(statement: Statement, rows: float, seconds: float) -> None:
        name = spoken.get(statement.name, statement.name)
        found.append({"statement": name, "rows": rows, "seconds": seconds})

    oracle.problem.work.on_done = note
    oracle.pass_(beta, BUCKETS)
    oracle.problem.work.on_done = None
    return found


# -- by hand -----------------------------------------------------------------------------------------------------------

TWICE = {"star": {"facts": 2_000_000}, "chain": {"rows": 200_000, "keys": 2000}, "hub": {"rows": 20_000, "keys": 400}}


def main() -> None:
    parser = ArgumentParser(description="What one pass takes.")
    parser.add_argument("tasks", nargs="*", help="star, chain, hub; all of them by default")
    parser.add_argument("--url", default="duckdb:")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--twice", action="store_true")
    arguments = parser.parse_args()
    with connect(arguments.url) as engine:
        print(engine.version)
        for name in arguments.tasks or TWICE:
            once = show(engine, name, task(name), arguments.runs)
            if arguments.twice:
                twice = show(engine, f"{name}, twice", task(name, **TWICE[name]), arguments.runs)
                print(f"  twice the rows take {twice / once:.2f} x the time")


def show(engine: Engine, name: str, made: Task, runs: int) -> float:
    """Prints what was found; the median of the pass."""
    tables = made.tables()
    load(engine, tables)
    found = look(engine, made, runs)
    unload(engine, tables)
    medians: dict[str, float] = {form: median(seconds) for form, seconds in found["forms"].items()}
    shown = [f"{form} {m:.3f} s" + (f" ({medians['pass'] / m:.2f} x)" if form != "pass" else "")
             for form, m in medians.items()]  # fmt: skip
    print(f"{name}, {amount(found['join_rows'])} join rows: {', '.join(shown)}")
    whole = sum(s["seconds"] for s in found["statements"])
    for s in sorted(found["statements"], key=lambda s: -s["seconds"]):
        print(f"  {s['seconds'] / whole:5.0%} {s['seconds']:8.4f} s {s['rows']:12,.0f} rows  {s['statement']}")
    return float(medians["pass"])


if __name__ == "__main__":
    main()
