"""How often intervals of 95 % hold the value that they are about: python -m bench.coverage [DATABASES [SEED]]

Each database has rows with a label and a key drawn at random, next to the same visits: a key has many of them, and the
keys have a heavy tail. The value is that of a model over a great many rows of the label's relation. Naive intervals
take the rows of the join as independent. The joins are small enough to be made: the standard errors are computed from
their rows, by numpy. tests/db/test_intervals.py compares such errors with those of `evaluate`, and some databases of
this simulation are evaluated there.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from sqlglot import exp, parse_one

from sqlsvm.ask.evaluate import evaluate_plan
from sqlsvm.ask.intervals import with_intervals, with_intervals_of_numbers
from sqlsvm.ask.residuals import residuals_of
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.evaluation import NORMAL, Evaluation, Residuals
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.problem import open_problem

QUERY = "SELECT o.late, o.size, v.minutes FROM orders o JOIN visits v ON v.k = o.k"
OF_NUMBERS = QUERY.replace("o.late", "o.amount")
WEIGHTS = {"": 0.1, "size": 0.9, "minutes": 0.6}
ORDERS, KEYS, MANY = 400, 60, 200_000
Columns = dict[str, Values]
Hits = Counter[str]


def main(databases: str = "400", seed: str = "0") -> None:
    clustered, naive = cover(_computed, int(databases), int(seed))
    for name in clustered:
        shares = (100 * found[name] / int(databases) for found in (clustered, naive))
        print("{}: {:.1f} % covered, {:.1f} % by intervals that take rows as independent".format(name, *shares))


@dataclass(frozen=True)
class Measured:
    values: dict[str, float]
    errors: dict[str, float]
    rows: tuple[float, float]
    """Of the join, by label: negative, positive."""


def cover(measured: Callable[[Columns, Columns], Measured], databases: int, seed: int) -> tuple[Hits, Hits]:
    """How many of the intervals hold the value: the clustered ones, and the naive ones."""
    rng = np.random.default_rng(seed)
    visits = _visits(rng)
    truth = _computed(_orders(rng, MANY), visits).values
    clustered, naive = Hits(dict.fromkeys(truth, 0)), Hits(dict.fromkeys(truth, 0))
    for _ in range(databases):
        found = measured(_orders(rng, ORDERS), visits)
        for name, value in truth.items():
            off = abs(found.values[name] - value)
            clustered[name] += off <= NORMAL * found.errors[name]
            naive[name] += off <= NORMAL * _naive(found, name)
    return clustered, naive


def _visits(rng: np.random.Generator) -> Columns:
    """Of the key k about 1 / k of the most frequent one."""
    share = 1.0 / np.arange(1, KEYS + 1)
    k = rng.choice(KEYS, 900, p=share / share.sum())
    return {"k": k, "minutes": rng.normal(size=900) + rng.normal(size=KEYS)[k]}


def _orders(rng: np.random.Generator, rows: int) -> Columns:
    size = rng.normal(size=rows)
    amount = size + rng.normal(size=rows)
    return {"k": rng.integers(0, KEYS, rows), "size": size, "late": amount > 0.2, "amount": amount}


def _joined(orders: Columns, visits: Columns) -> tuple[Values, Values, Values, Values]:
    """The order, both labels and the score of each row of the join."""
    counts = np.bincount(visits["k"], minlength=KEYS)[orders["k"]]
    order = np.argsort(visits["k"], kind="stable")
    first = np.searchsorted(visits["k"][order], orders["k"])
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    minutes = visits["minutes"][order][np.repeat(first, counts) + place]
    size, late, amount = (np.repeat(orders[name], counts) for name in ("size", "late", "amount"))
    cluster = np.repeat(np.arange(len(counts)), counts)
    return cluster, late, amount, WEIGHTS[""] + WEIGHTS["size"] * size + WEIGHTS["minutes"] * minutes


def _computed(orders: Columns, visits: Columns) -> Measured:
    """From the rows of the join."""
    cluster, late, amount, score = _joined(orders, visits)
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
    errors = {name: _error(cluster, add) for name, add in adds.items()}
    values = {"accuracy": 1.0 - float(wrong.mean()), "loss": float(loss.mean()), "auc": auc}
    values |= {"mae": mae, "rmse": rmse, "r2": r2}
    return Measured(values, errors, (float((~late).sum()), float(late.sum())))


def _error(cluster: Values, adds: Values) -> float:
    sums, m = np.bincount(cluster, adds), len(np.unique(cluster))
    return float(np.sqrt((sums**2).sum() * m / (m - 1)))


def evaluated(engine: Engine) -> Callable[[Columns, Columns], Measured]:
    """By `evaluate`, without the join."""

    def measured(orders: Columns, visits: Columns) -> Measured:
        _load(engine, orders, visits)
        found, of_numbers = _evaluated(engine), _evaluated_numbers(engine)
        intervals = {**of_numbers.intervals, **found.intervals}
        values = {name: interval.value for name, interval in intervals.items()}
        errors = {name: interval.standard_error for name, interval in intervals.items()}
        return Measured(values, errors, (found.negatives, found.positives))

    return measured


def _load(engine: Engine, orders: Columns, visits: Columns) -> None:
    types = {"k": "INT", "late": "BOOLEAN"}
    for name, columns in (("orders", orders), ("visits", visits)):
        listed = ", ".join(f"{column} {types.get(column, 'DOUBLE PRECISION')}" for column in columns)
        for text in (f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({listed})"):
            engine.execute(engine.placed(parse_one(text, read=engine.dialect)))
        engine.copy_in(engine.placed(exp.to_table(name)), columns)


def _evaluated(engine: Engine) -> Evaluation:
    options = ProblemOptions(label="late", scale="none")
    with open_problem(engine, QUERY, options) as problem:
        theta = np.array([WEIGHTS[c.feature] for c in problem.plan.design.coordinates])
        return with_intervals(evaluate_plan(problem.work, problem.plan, theta), problem, theta, options)


def _evaluated_numbers(engine: Engine) -> Residuals:
    """The score is less the centre of the label."""
    options = ProblemOptions(label="amount", scale="none", loss="absolute")
    with open_problem(engine, OF_NUMBERS, options) as problem:
        theta = np.array([WEIGHTS[c.feature] for c in problem.plan.design.coordinates])
        theta[[not c.feature for c in problem.plan.design.coordinates]] -= problem.plan.design.target.centre
        return with_intervals_of_numbers(residuals_of(problem, theta), problem, theta, options)


def _naive(found: Measured, name: str) -> float:
    """The standard error if the rows of the join were independent. For the AUC that of Hanley and McNeil; the deviation
    of the loss is about 1. For a number as if its residuals were normal."""
    value, (m, n) = found.values[name], found.rows
    if name == "accuracy":
        return sqrt(value * (1.0 - value) / (n + m))
    if name == "loss":
        return 1.0 / sqrt(n + m)
    if name in ("mae", "rmse"):
        return value * sqrt((np.pi / 2.0 - 1.0 if name == "mae" else 0.5) / (n + m))
    if name == "r2":
        return 2.0 * sqrt(max(value, 0.0)) * (1.0 - value) / sqrt(n + m)
    first, second = value / (2.0 - value) - value**2, 2.0 * value**2 / (1.0 + value) - value**2
    return sqrt((value * (1.0 - value) + (n - 1.0) * first + (m - 1.0) * second) / (n * m))


if __name__ == "__main__":
    main(*sys.argv[1:3])
