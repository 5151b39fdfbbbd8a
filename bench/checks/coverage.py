"""How often intervals of 95 % hold their value: python -m bench.checks.coverage [DATABASES [SEED [URL]]]

Each database has rows with a label and a key drawn at random, next to the same visits: a key has many of them, and the
keys have a heavy tail. The value is that of a model over a great many rows of the label's relation. Naive intervals
take the rows of the join as independent. The joins are small enough to be made: what clusters add up to is computed
from their rows, by numpy, and with a URL by `evaluate` in that database. tests/db/test_intervals.py compares the two.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from sqlglot import exp, parse_one

from sqlsvm.ask.confusion import Classed, confusion
from sqlsvm.ask.evaluate import residuals_of
from sqlsvm.ask.intervals import with_intervals, with_intervals_of_numbers
from sqlsvm.ask.scored import of_plan
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.scored import Scored, of_clusters, of_several_classes, of_two_classes, squares_by_class
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.opening import open_problem
from sqlsvm.solve.interval import LOG, LOGIT, NORMAL, UNEXPLAINED, Interval, Scale, Sizes, of_strata

QUERY = "SELECT o.late, o.size, v.minutes FROM orders o JOIN visits v ON v.k = o.k"
OF_NUMBERS, OF_CLASSES = (QUERY.replace("o.late", column) for column in ("o.amount", "o.grade"))
WEIGHTS = {"": 0.1, "size": 0.9, "minutes": 0.6}
GRADES = (0.0, 0.8, 1.6)
"""The amounts, in deviations, at which the next grade begins: the last one has 5 % of the orders."""
PULLS = (-1.0, 0.4, 1.3, 2.2)
"""The score of a grade is pull * score - pull^2 / 2: the grade with the nearest pull wins."""
KEYS, VISITS, MANY = 60, 900, 200_000
SCALES: Mapping[str, Scale] = {"accuracy": LOGIT, "auc": LOGIT, "loss": LOG, "mae": LOG, "rmse": LOG, "r2": UNEXPLAINED}
Columns = dict[str, Values]
Hits = Counter[str]


@dataclass(frozen=True)
class Setting:
    tail: float = 1.0
    """The key k has about a share of 1 / k^tail of the visits."""
    signal: float = 1.0
    """What the size of an order adds to its label, next to a deviation of 1."""
    orders: int = 400


SETTINGS = (
    Setting(),
    Setting(signal=0.2),
    Setting(signal=3.0),
    Setting(tail=0.0),
    Setting(tail=0.5),
    Setting(tail=1.5),
    Setting(orders=150),
    Setting(orders=1600),
)


def main(databases: str = "400", seed: str = "0", url: str = "") -> None:
    if url:
        with connect(url) as engine:
            _print(evaluated(engine), SETTINGS[0], int(databases), int(seed))
        return
    for setting in SETTINGS:
        _print(_computed, setting, int(databases), int(seed))


def _print(measured: "Measure", setting: Setting, databases: int, seed: int) -> None:
    clustered, naive = cover(measured, databases, seed, setting)
    print(f"tail {setting.tail}, signal {setting.signal}, {setting.orders} orders")
    for name in clustered:
        shares = (100 * found[name] / databases for found in (clustered, naive))
        print("  {}: {:.1f} % covered, {:.1f} % by intervals that take rows as independent".format(name, *shares))


@dataclass(frozen=True)
class Measured:
    intervals: Mapping[str, Interval]
    naive: Mapping[str, float]
    """The standard errors if the rows of the join were independent."""


Measure = Callable[[Columns, Columns], Measured]


def cover(measured: Measure, databases: int, seed: int, setting: Setting = SETTINGS[0]) -> tuple[Hits, Hits]:
    """How many of the intervals hold the value: the clustered ones, and the naive ones."""
    rng = np.random.default_rng(seed)
    visits = _visits(rng, setting)
    truth = {name: each.value for name, each in _computed(_orders(rng, MANY, setting), visits).intervals.items()}
    clustered, naive = Hits(dict.fromkeys(truth, 0)), Hits(dict.fromkeys(truth, 0))
    for _ in range(databases):
        found = measured(_orders(rng, setting.orders, setting), visits)
        for name, value in truth.items():
            interval = found.intervals[name]
            clustered[name] += interval.lower <= value <= interval.upper
            naive[name] += abs(interval.value - value) <= NORMAL * found.naive[name]
    return clustered, naive


def _visits(rng: np.random.Generator, setting: Setting) -> Columns:
    share = 1.0 / np.arange(1, KEYS + 1) ** setting.tail
    k = rng.choice(KEYS, VISITS, p=share / share.sum())
    return {"k": k, "minutes": rng.normal(size=VISITS) + rng.normal(size=KEYS)[k]}


def _orders(rng: np.random.Generator, rows: int, setting: Setting) -> Columns:
    size = rng.normal(size=rows)
    amount = setting.signal * size + rng.normal(size=rows)
    grade = np.searchsorted(GRADES, amount / sqrt(setting.signal**2 + 1.0))
    return {"k": rng.integers(0, KEYS, rows), "size": size, "late": amount > 0.2, "amount": amount, "grade": grade}


def _joined(orders: Columns, visits: Columns) -> tuple[Values, Values, Values, Values, Values]:
    """The order, the labels and the score of each row of the join."""
    counts = np.bincount(visits["k"], minlength=KEYS)[orders["k"]]
    order = np.argsort(visits["k"], kind="stable")
    first = np.searchsorted(visits["k"][order], orders["k"])
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    minutes = visits["minutes"][order][np.repeat(first, counts) + place]
    size, late, amount, grade = (np.repeat(orders[name], counts) for name in ("size", "late", "amount", "grade"))
    cluster = np.repeat(np.arange(len(counts)), counts)
    return cluster, late, amount, grade, WEIGHTS[""] + WEIGHTS["size"] * size + WEIGHTS["minutes"] * minutes


def _computed(orders: Columns, visits: Columns) -> Measured:
    """From the rows of the join."""
    cluster, late, amount, grade, score = _joined(orders, visits)
    wrong, loss = (score > 0) != late, np.maximum(0.0, 1.0 - np.where(late, score, -score))
    below, auc = np.zeros(len(score)), 0.0
    for label in (True, False):
        other = np.sort(score[late != label])
        share = np.searchsorted(other, score[late == label]) / len(other)
        below[late == label] = share if label else 1.0 - share
    auc = float(below[late].mean())
    weight = np.where(late, 1.0 / late.sum(), 1.0 / (~late).sum())
    adds = {"accuracy": (wrong - wrong.mean()) / len(score), "loss": (loss - loss.mean()) / len(score)}
    z = amount - score
    mae, square, spread = float(abs(z).mean()), float((z**2).mean()), (amount - amount.mean()) ** 2
    r2, rmse = 1.0 - square / float(spread.mean()), sqrt(square)
    adds |= {"mae": (abs(z) - mae) / len(z), "rmse": (z**2 - square) / (2.0 * rmse * len(z))}
    adds |= {"r2": (z**2 - (1.0 - r2) * spread) / spread.sum(), "auc": (below - auc) * weight}
    values = {"accuracy": 1.0 - float(wrong.mean()), "loss": float(loss.mean()), "auc": auc}
    values |= {"mae": mae, "rmse": rmse, "r2": r2}
    intervals = {name: _interval(name, value, cluster, adds[name], late) for name, value in values.items()}
    naive = {name: float(np.linalg.norm(each)) for name, each in adds.items()}
    rows = np.arange(len(score))
    of_grades, alone = (of_classes(grade, score, each).intervals for each in (cluster, rows))
    return Measured(
        intervals | {f"{name} of grades": each for name, each in of_grades.items()},
        naive | {f"{name} of grades": each.standard_error for name, each in alone.items()},
    )


def of_classes(grade: Values, score: Values, cluster: Values, rows: Values | None = None) -> Confusion:
    """`rows`: how many rows of the join each grade has, if these were drawn from them."""
    scores = np.array([pull * score - pull**2 / 2.0 for pull in PULLS])
    stand = np.ones(len(PULLS)) if rows is None else rows / np.maximum(np.bincount(grade, minlength=len(PULLS)), 1)
    scored = Scored(scores, grade + 1.0, stand[grade], cluster)
    found = of_several_classes(scored, tuple(range(len(PULLS))))
    sizes = {k + 1: sizes_of(cluster[grade == k]) for k in range(len(PULLS))}
    return of_clusters(found, sizes, squares_by_class(found, scored))


def _interval(name: str, value: float, cluster: Values, adds: Values, late: Values) -> Interval:
    """The ranks of an AUC are of rows of the other class, so the classes are two samples."""
    parts = (late, ~late) if name == "auc" else (np.full(len(late), fill_value=True),)
    sizes = [sizes_of(cluster[part]) for part in parts]
    own = [(np.bincount(cluster[part], adds[part]) ** 2).sum() for part in parts]
    variance, degrees = of_strata(own, sizes)
    return Interval.around(value, sqrt(variance), degrees, SCALES[name])


def sizes_of(cluster: Values, weights: Values | None = None) -> Sizes:
    n = np.bincount(cluster, weights).astype(float)
    return Sizes(*((n[n > 0] ** power).sum() for power in range(6)))


def evaluated(engine: Engine) -> Measure:
    """By `evaluate`, without the join."""

    def measured(orders: Columns, visits: Columns) -> Measured:
        _load(engine, orders, visits)
        found, of_numbers, of_grades = _evaluated(engine), _evaluated_numbers(engine), _evaluated_classes(engine)
        named = {f"{name} of grades": each for name, each in of_grades.intervals.items()}
        return Measured({**of_numbers.intervals, **found.intervals, **named}, _computed(orders, visits).naive)

    return measured


def _load(engine: Engine, orders: Columns, visits: Columns) -> None:
    types = {"k": "INT", "late": "BOOLEAN", "grade": "INT"}
    for name, columns in (("orders", orders), ("visits", visits)):
        listed = ", ".join(f"{column} {types.get(column, 'DOUBLE PRECISION')}" for column in columns)
        for text in (f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({listed})"):
            engine.execute(engine.placed(parse_one(text, read=engine.dialect)))
        engine.copy_in(engine.placed(exp.to_table(name)), columns)


def _evaluated(engine: Engine) -> Evaluation:
    options = ProblemOptions(label="late", scale="none")
    with open_problem(engine, QUERY, options) as problem:
        theta = np.array([WEIGHTS[c.feature] for c in problem.plan.design.coordinates])
        scored = of_plan(problem.work, problem.plan, theta)
        return with_intervals(of_two_classes(scored), scored, problem, theta, options)


def _evaluated_numbers(engine: Engine) -> Residuals:
    """The score is less the centre of the label."""
    options = ProblemOptions(label="amount", scale="none", loss="absolute")
    with open_problem(engine, OF_NUMBERS, options) as problem:
        theta = np.array([WEIGHTS[c.feature] for c in problem.plan.design.coordinates])
        theta[[not c.feature for c in problem.plan.design.coordinates]] -= problem.plan.design.target.centre
        return with_intervals_of_numbers(residuals_of(problem, theta), problem, theta, options)


def _evaluated_classes(engine: Engine) -> Confusion:
    options = ProblemOptions(label="grade", scale="none")
    with open_problem(engine, OF_CLASSES, options) as problem:
        coordinates = problem.plan.design.coordinates
        weights = np.array([WEIGHTS[c.feature] for c in coordinates])
        alone = np.array([float(not c.feature) for c in coordinates])
        thetas = [pull * weights - pull**2 / 2.0 * alone for pull in PULLS]
        return confusion(Classed(problem, thetas), held_out=True)


if __name__ == "__main__":
    main(*sys.argv[1:4])
