"""Does the planner take the cheapest pass? Forty stars and snowflakes, each of them passed over by every plan.

python -m bench.checks.shapes [--url embedded:] [--only 7 ...] [--turns 3] [--seed 1]
For each shape: what a pass takes by the plan that was chosen and by the best one, and next to aggregates over the join
that are written by hand (flat.py). The seconds are the least of several turns: of CPU with all processes, and by the
clock.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from time import perf_counter, process_time

import numpy as np

from bench.races.measure import Server
from bench.races.one_pass import NEAR, flat_forms
from bench.races.tasks import Tables, Task, learnable, load, numbers, total, unload
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.planner import node_rows, places
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import open_problem
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort

SHAPES = 40
FACTS, LEAST_ROWS, LARGEST_SHARE = (100_000, 3_000_000), 10, 0.3
MOST_DIMENSIONS, MOST_COLUMNS, MOST_OWN = 16, 8, 10
SLACK = 1.1
"""The chosen plan may take this much of the best one."""

FLAT = 0.8
"""What takes a larger share of a pass by hand is listed."""

BY_HAND = "by hand"
"""A scan of the join with WHERE: the better way of flat.py. The other one takes ten times as long in PostgreSQL."""

FAR, LONG = 2.5, 0.5
"""What takes so many times the best in the first turn, and so many seconds, is done once."""

ROWS_A_PLACE = (1, 4, 16)
"""Where at least so many facts share a place, scores are in arrays: some plans. Others join them all."""

LARGE = 200
"""Rows that a dimension must have for the label, or to be met in part: with few, all that is met might be the same."""

A_TURN = 0.2
"""Seconds. A pass that takes less is repeated in a turn: clocks of processes tick a hundred times a second."""


@dataclass(frozen=True)
class Dimension:
    name: str
    rows: int
    columns: int
    of: str = ""
    """The dimension that points to it; the facts, if it is empty."""
    met: float = 1.0
    """The share of its rows that facts point to."""
    found: float = 1.0
    """The share of the facts that find a row here."""


@dataclass(frozen=True)
class Shape:
    number: int
    facts: int
    own: int
    dimensions: tuple[Dimension, ...]
    label: str = "fact"

    def __str__(self) -> str:
        rows = sorted(d.rows for d in self.dimensions)
        features = self.own + sum(d.columns for d in self.dimensions)
        said = [f"{self.facts:,} facts", f"{len(rows)} of {rows[0]:,} to {rows[-1]:,} rows", f"{features} features"]
        said += ["two levels"] * any(d.of for d in self.dimensions)
        said += ["few rows met"] * any(d.met < 1 for d in self.dimensions)
        said += ["few partners"] * any(d.found < 1 for d in self.dimensions)
        return ", ".join([*said, *["label in a dimension"] * (self.label != "fact")])

    @property
    def task(self) -> Task:
        names = [f"{d.name}_{i}" for d in self.dimensions for i in range(d.columns)]
        names += [f"f{i}" for i in range(self.own)]
        joins = [f"JOIN {d.name} ON {d.name}.id = {d.of or 'fact'}.to_{d.name}" for d in self.dimensions]
        text = f"SELECT {self.label}.y, {', '.join(names)} FROM fact {' '.join(joins)}"
        return Task(text, self.tables, str(self))

    def tables(self) -> Tables:
        rng = np.random.default_rng([2, self.number])
        made: Tables = {"fact": numbers(rng, "f", self.facts, self.own)}
        scores = {"fact": np.zeros(self.facts) + total(made["fact"])}
        for d in self.dimensions:
            columns = numbers(rng, f"{d.name}_", d.rows, d.columns)
            made[d.name], scores[d.name] = {"id": np.arange(d.rows), **columns}, total(columns)
        for d in reversed(self.dimensions):  # the dimensions that it points to come after it
            holder = d.of or "fact"
            key = rng.integers(0, max(1, round(d.met * d.rows)), len(scores[holder]))
            scores[holder] = scores[holder] + scores[d.name][key]
            made[holder][f"to_{d.name}"] = np.where(rng.random(len(key)) < d.found, key, d.rows + key)
        made[self.label]["y"] = learnable(rng, scores[self.label])
        return made


def shapes(seed: int = 1) -> Iterator[Shape]:
    rng = np.random.default_rng(seed)
    for number in range(SHAPES):
        facts = _between(rng, *FACTS)
        most = round(LARGEST_SHARE * facts)
        names = [f"d{n}" for n in range(_between(rng, 1, MOST_DIMENSIONS))]
        columns = rng.integers(1, MOST_COLUMNS + 1, len(names)).tolist()
        made = [
            Dimension(name, _between(rng, LEAST_ROWS, most), width) for name, width in zip(names, columns, strict=True)
        ]
        if rng.random() < 0.3:  # two levels: the later ones hang from the first ones
            first = (len(made) + 1) // 2
            made[first:] = [_below(d, made[n % first]) for n, d in enumerate(made[first:])]
        large = [n for n, d in enumerate(made) if d.rows >= LARGE]
        if large and rng.random() < 0.3:
            made[large[0]] = replace(made[large[0]], met=0.05)
        if rng.random() < 0.15:
            made[0] = replace(made[0], found=0.2)
        label = made[large[-1]].name if large and rng.random() < 0.2 else "fact"
        yield Shape(number, facts, int(rng.integers(0, MOST_OWN + 1)), tuple(made), label)


def _between(rng: np.random.Generator, least: float, most: float) -> int:
    """As many small ones as large ones."""
    return round(float(np.exp(rng.uniform(np.log(least), np.log(most)))))


def _below(d: Dimension, above: Dimension) -> Dimension:
    return replace(d, of=above.name, rows=max(LEAST_ROWS, min(d.rows, above.rows // 4)))


# -- plans -------------------------------------------------------------------------------------------------------------


def plans(problem: Data) -> dict[str, Plan]:
    """Every plan of one bag that the planner has to choose from; the chosen one is first."""
    plan, catalog = problem.plan, problem.catalog
    active = replace(plan, at_once=False, placed={})
    every = [plan, replace(active, at_once=True), active]
    if catalog.engine.rates.array is not None:
        close = {child: at for child, at in places(active, catalog) if at.size <= catalog.engine.sizes.array}
        facts = node_rows(plan.tree, catalog, plan.label_node)
        for rows in ROWS_A_PLACE:
            placed = {n: at for n, at in close.items() if facts >= rows * at.size}
            every += [replace(active, placed=placed), replace(active, at_once=True, placed=placed)]
    return {_named(each): each for each in every}


def _named(plan: Plan) -> str:
    """The same name for the same plan."""
    way = "at once" if plan.at_once else "active rows"
    return f"{way}, {len(plan.placed)} arrays" if plan.placed else way


# -- measuring ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """Least seconds of a pass, of CPU and by the clock."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Found:
    shape: Shape
    chosen: str
    plans: Mapping[str, Spent]
    by_hand: Spent

    @property
    def best(self) -> str:
        return min(self.plans, key=lambda name: self.plans[name].cpu)

    @property
    def ratio(self) -> float:
        return self.plans[self.chosen].cpu / self.plans[self.best].cpu

    @property
    def by_clock(self) -> float:
        return self.plans[self.chosen].wall / min(spent.wall for spent in self.plans.values())

    @property
    def of_flat(self) -> float:
        return self.plans[self.chosen].cpu / self.by_hand.cpu

    def __str__(self) -> str:
        spent = [f"{name} {s.cpu:.3f} ({s.wall:.3f})" for name, s in {**self.plans, BY_HAND: self.by_hand}.items()]
        return (
            f"{self.shape.number:2} {self.shape}\n   {self.chosen}; best {self.best}: {self.ratio:.2f} of CPU, "
            f"{self.by_clock:.2f} by the clock; {self.of_flat:.2f} of the pass {BY_HAND}\n   {', '.join(spent)}"
        )


def look(engine: Engine, shape: Shape, turns: int) -> Found:
    made = shape.task
    tables = made.tables()
    load(engine, tables)
    del tables["fact"]  # it is large, and in the database now
    try:
        with open_problem(engine, made.text, made.options) as problem:
            found = passed(problem, made, turns)
        return Found(shape, *found)
    finally:
        unload(engine, {"fact": {}, **tables})


def passed(problem: Data, made: Task, turns: int) -> tuple[str, dict[str, Spent], Spent]:
    """The plan that was chosen, and what passes near the optimum take. All plans must find the same cut."""
    engine = problem.work.engine
    oracles = {name: JoinOracle(replace(problem, plan=plan)) for name, plan in plans(problem).items()}
    chosen = next(iter(oracles))
    beta = dane.solve(oracles[chosen], L2(made.lam), Effort(tol=NEAR)).beta
    cut = oracles[chosen].pass_(beta, None)

    def again(oracle: JoinOracle) -> None:
        np.testing.assert_allclose(oracle.pass_(beta, None).slope, cut.slope, rtol=1e-6, atol=1e-9)

    by_plan: dict[str, Callable[[], object]] = {name: partial(again, oracle) for name, oracle in oracles.items()}
    by_hand = flat_forms(engine, made, beta)["filtered"]
    spent = least({**by_plan, BY_HAND: by_hand}, turns, cpu_clock(engine))
    return chosen, {name: spent[name] for name in by_plan}, spent[BY_HAND]


def cpu_clock(engine: Engine) -> Callable[[], float]:
    """Of this process and of the server, if there is one."""
    if engine.abilities.in_process:
        return process_time
    server = Server.of(engine)
    return lambda: process_time() + server.cpu_seconds()


def least(forms: Mapping[str, Callable[[], object]], turns: int, cpu: Callable[[], float]) -> dict[str, Spent]:
    """A B A B: other work of the machine meets all of them. A first turn tells what is far from the best, which is not
    done again, and how often the others are done in a turn."""
    first = {name: _spent(run, 1, cpu) for name, run in forms.items()}
    most = max(LONG, FAR * min(s.wall for s in first.values()))
    near = {name: max(1, round(A_TURN / s.wall)) for name, s in first.items() if s.wall <= most}
    turned = [{name: _spent(forms[name], times, cpu) for name, times in near.items()} for _ in range(turns)]
    return first | {n: Spent(min(t[n].cpu for t in turned), min(t[n].wall for t in turned)) for n in near}


def _spent(run: Callable[[], object], times: int, cpu: Callable[[], float]) -> Spent:
    began, began_cpu = perf_counter(), cpu()
    for _ in range(times):
        run()
    return Spent((cpu() - began_cpu) / times, (perf_counter() - began) / times)


def summary(found: list[Found]) -> Iterator[str]:
    """The worst of each ratio, and the shapes that miss its limit."""
    ratios: dict[str, tuple[float, Callable[[Found], float]]] = {
        "chosen / best plan": (SLACK, lambda f: f.ratio),
        "the same by the clock": (SLACK, lambda f: f.by_clock),
        f"chosen / the pass {BY_HAND}": (FLAT, lambda f: f.of_flat),
    }
    for name, (limit, ratio) in ratios.items():
        each = [ratio(f) for f in found]
        beyond = [str(f.shape.number) for f in found if ratio(f) > limit]
        middle, worst = f"median {median(each):.2f}", f"worst {max(each):.2f}"
        yield f"{name}: {middle}, {worst}; {len(beyond)} above {limit}: {', '.join(beyond)}"


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--url", default="duckdb:")
    parser.add_argument("--only", type=int, nargs="*", default=range(SHAPES), metavar="SHAPE")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found: list[Found] = []
    with connect(arguments.url) as engine:
        print(engine.version, flush=True)
        for shape in shapes(arguments.seed):
            if shape.number in arguments.only:
                found.append(look(engine, shape, arguments.turns))
                print(found[-1], flush=True)
    print(*summary(found), sep="\n")


if __name__ == "__main__":
    main()
