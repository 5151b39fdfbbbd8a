"""How far the measures of a model with several classes may be off, as its rows are a sample (see `intervals`).

Each measure is a function of the matrix of classes and predictions. A row of the label's relation adds to it the sum,
over its rows of the join, of the slope of the measure by the cell that each is in. With one bag these sums are made in
the database. With more, rows of the join are drawn, and those that are of one row of the label's relation are added up.
Each of these sums is off by what was drawn, so their squares are larger by what the drawing makes the measure vary: the
error has both.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from math import sqrt
from operator import add

import numpy as np

from sqlsvm.ask.confusion import Scored, confusion, of_seen, scored_by, seen
from sqlsvm.ask.intervals import JOINED, sizes_by_code, worth
from sqlsvm.compile import confusion as compiled
from sqlsvm.compile.clusters import apart
from sqlsvm.model.confusion import MEASURES, Confusion, slopes
from sqlsvm.model.interval import LOGIT, Interval, Sizes, of_strata
from sqlsvm.model.model import Model
from sqlsvm.plan.parameters import SLOPES, THETA
from sqlsvm.run.data import Data
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

OF_ROWS = "accuracy", "weighted_f1"
"""In these measures a class counts as much as it has rows."""


def confusion_held_out(problem: Data, model: Model) -> Confusion:
    return with_intervals(scored_by(problem, model))


def with_intervals(scored: Scored) -> Confusion:
    """None if the label's relation is part of a cycle."""
    plan = apart(scored.problem.plan)
    if plan is None:
        return replace(confusion(scored), no_intervals=JOINED)
    scored = replace(scored, problem=replace(scored.problem, plan=plan))
    if plan.centre is None:
        found = confusion(scored)
        squares = _squares(scored, found)
    else:
        rows = seen(scored, apart=True)
        found = of_seen(scored, rows)
        squares = rows.squares(slopes(found.matrix))
    return of_clusters(found, sizes_by_code(scored.problem.work, plan), squares)


def of_clusters(found: Confusion, sizes: Mapping[int, Sizes], squares: Array) -> Confusion:
    """`squares` has the sum of the squares of what the rows of the label's relation add to each measure, for each
    class. If a measure counts classes alike, each class is a sample of its own."""
    every, share = reduce(add, sizes.values()), found.measures["accuracy"]
    if every.clusters < 2:
        return replace(found, no_intervals="the rows are of one row of the label's table")
    few = [str(name) for n, name in enumerate(found.values, 1) if n not in sizes or sizes[n].clusters < 2]
    strata = [sizes[n] for n in range(1, len(found.values) + 1)] if not few else []
    intervals = {}
    for name, own in zip(MEASURES, squares.T, strict=True):
        if name in OF_ROWS:
            variance, degrees = of_strata([float(own.sum())], [every])
        elif strata:
            variance, degrees = of_strata(own.tolist(), strata)
        else:
            continue
        intervals[name] = Interval.around(found.measures[name], sqrt(variance), degrees, LOGIT)
    clusters = worth(share * (1.0 - share), intervals["accuracy"], every)
    found = replace(found, intervals=intervals, clusters=clusters)
    if not few:
        return found
    why = f"the means over the classes have none: class {few[0]} has less than two rows of the label's table"
    return replace(found, no_intervals=why)


def _squares(scored: Scored, found: Confusion) -> Array:
    """For each class and each measure."""
    steps.info("adding up what the rows of the label's table add to the measures")
    problem, each = scored.problem, list(slopes(found.matrix).values())
    parameters = {THETA: np.concatenate(scored.thetas), SLOPES: np.concatenate([of.ravel() for of in each])}
    return problem.work.ask(compiled.squares(problem.plan, len(each)), parameters)
