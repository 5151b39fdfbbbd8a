"""How good a model with groups is: on the rows of each group, and on all of them. The rows of small groups are read and
scored here; a group with more is measured like a model of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt
from typing import TypeVar

import numpy as np

from sqlsvm.ask.confusion import confusion_of, costs_of
from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.of_rows import scores_of
from sqlsvm.ask.probabilities import bins_in_memory, over_all, probabilities
from sqlsvm.ask.residuals import quantile_of, residuals
from sqlsvm.compile.joined import TIMES
from sqlsvm.model.by_group import ByGroup, Found, Measured
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Bounded, Evaluation, Histogram, Residuals
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model
from sqlsvm.model.of_rows import explained, of_number, of_several_classes, of_two_classes
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.scaling import FLAT, LabelMoments
from sqlsvm.plan.target import CODE
from sqlsvm.run.data import Data
from sqlsvm.run.groups import Group, Groups
from sqlsvm.solve.arrays import Array

T = TypeVar("T")


def by_group(problem: Data, model: Model, bins: int = 100) -> ByGroup:
    def measured(problem: Data, part: Model) -> Found:
        return _of_rows(problem, part, bins) if problem.part is not None else ungrouped(problem, part, bins=bins)

    each = in_each(Groups.of(problem), model, measured)
    missed = max(0.0, problem.moments.n - sum(group.rows for group, _ in each))
    found = tuple(Measured(group.value, one) for group, one in each)
    whole = _whole([one for _, one in each], None if missed > FLAT * problem.moments.n else problem.moments.label)
    return ByGroup(model.by or "", found, whole, missed)


def in_each(groups: Groups, model: Model, of: Callable[[Data, Model], T]) -> list[tuple[Group, T]]:
    """For each group with a model what is found on its rows, which are in memory if they are few."""
    place = category_weights(model.chooser)
    parts = {group.place: model.part(int(n) - 1) for group in groups.groups if (n := place(group.value))}
    known = [group for group in groups.groups if group.place in parts]
    read, others = groups.small(None, known)
    found = {group.place: of(groups.measured(rows), parts[group.place]) for group, rows in groups.rows(read)}
    for group in others:
        with groups.in_database(group, "none", scale="none", by_class=False, check=False) as here:
            found[group.place] = of(here, parts[group.place])
    return [(group, found[group.place]) for group in known]


def ungrouped(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100) -> Found:
    """How good a model without groups is, or that of one group."""
    if model.classes:
        return confusion_of(problem, model)
    if model.of_numbers:
        return residuals(problem, model, bins)
    return evaluate(problem, model, buckets=buckets, bins=bins)


def _of_rows(problem: Data, part: Model, bins: int) -> Found:
    rows, design = problem.part or {}, problem.plan.design
    thetas = [theta_of(problem.plan, one) for one in part.parts]
    scores = np.array([scores_of(design, rows, theta) for theta in thetas])
    codes, weights = rows[CODE].astype(float), rows[TIMES].astype(float)
    if part.classes:
        costs = costs_of(codes, scores, part.curves) if part.curves else {}
        chances = {name: (float(weights @ cost / weights.sum()), 0.0) for name, cost in costs.items()}
        return replace(of_several_classes(scores, codes, weights, part.kinds), chances=chances)
    if part.of_numbers:
        return of_number(codes - scores[0], codes, weights, quantile_of(part), bins)
    found = of_two_classes(scores[0], codes, weights, bins)
    if part.probability is None:
        return found
    (of_scores,) = bins_in_memory(design, rows, thetas)
    return replace(found, probabilities=probabilities(of_scores, part.probability))


def _whole(each: Sequence[Found], label: LabelMoments | None) -> Found | None:
    """Over all groups together. The scores of different groups are not compared, so there is no AUC. `label`: its
    moments, if all rows are in a group with a model."""
    if numbers := [found for found in each if isinstance(found, Residuals)]:
        return _of_numbers(numbers, label)
    if several := [found for found in each if isinstance(found, Confusion)]:
        return _of_several(several)
    classes = [found for found in each if isinstance(found, Evaluation)]
    if not classes:
        return None
    return Evaluation(
        negatives=sum(found.negatives for found in classes),
        positives=sum(found.positives for found in classes),
        true_positive=_sum([found.true_positive for found in classes]),
        false_positive=_sum([found.false_positive for found in classes]),
        auc=None,
        histogram=Histogram((), (), ()),
        blur=0.0,
        probabilities=over_all([found.probabilities for found in classes], [found.rows for found in classes]),
    )


def _of_several(each: Sequence[Confusion]) -> Confusion:
    """Where rows were drawn in some of the groups, those of the others are all known."""
    drawn = None
    if not all(found.exact for found in each):
        drawn = np.sum([found.rows if found.drawn is None else found.drawn for found in each], axis=0)
    matrix = np.sum([found.matrix for found in each], axis=0)
    shares = np.array([found.matrix.sum() for found in each]) / matrix.sum()
    names = each[0].chances if all(found.chances for found in each) else ()
    chances = {name: _mean_chance([found.chances[name] for found in each], shares) for name in names}
    return Confusion(each[0].values, matrix, drawn, chances=chances)


def _mean_chance(each: Sequence[tuple[float, float]], shares: Array) -> tuple[float, float]:
    """With its error: those of groups are independent."""
    values, errors = np.array(each).T
    return float(shares @ values), float(np.linalg.norm(shares * errors))


def _sum(found: Sequence[Bounded]) -> Bounded:
    return Bounded(*(sum(getattr(one, name) for one in found) for name in ("value", "lower", "upper")))


def _of_numbers(each: Sequence[Residuals], label: LabelMoments | None) -> Residuals:
    rows = [found.rows for found in each]

    def mean(name: str) -> float:
        return float(np.average([getattr(found, name) for found in each], weights=rows))

    squares = sum(found.rows * found.rmse**2 for found in each)
    return Residuals(
        rows=sum(rows),
        mae=mean("mae"),
        rmse=sqrt(squares / sum(rows)),
        r2=explained(squares, sum(rows), label) if label else None,
        pinball=mean("pinball"),
        quantile=each[0].quantile,
        coverage=mean("coverage"),
        edges=(),
        counts=(),
        blur=max(found.blur for found in each),
    )
