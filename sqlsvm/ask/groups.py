"""How good a model with groups is: on the rows of each group, and on all of them. The rows of small groups are read and
scored here; a group with more is measured like a model of its own."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from sqlsvm.ask.confusion import confusion_of
from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.of_rows import scores_of
from sqlsvm.ask.residuals import quantile_of, residuals
from sqlsvm.compile.joined import TIMES
from sqlsvm.engine.base import Rows
from sqlsvm.model.by_group import ByGroup, Found, Measured
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Bounded, Evaluation, Histogram, Residuals
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model
from sqlsvm.model.of_rows import of_number, of_several_classes, of_two_classes
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.target import CODE
from sqlsvm.run.data import Data
from sqlsvm.run.groups import Groups
from sqlsvm.run.in_memory import with_own_categories


def by_group(problem: Data, model: Model, bins: int = 100) -> ByGroup:
    groups = Groups.of(problem)
    place = category_weights(model.chooser)
    parts = {group.place: model.part(int(n) - 1) for group in groups.groups if (n := place(group.value))}
    known = [group for group in groups.groups if group.place in parts]
    read, others = groups.small(None, known)
    found = {group.place: _of_rows(groups, rows, parts[group.place], bins) for group, rows in groups.rows(read)}
    for group in others:
        with groups.in_database(group, "none", scale="none", by_class=False) as here:
            found[group.place] = ungrouped(here, parts[group.place], bins=bins)
    each = [found[group.place] for group in known]
    missed = problem.moments.n - sum(group.rows for group in known)
    measured = tuple(Measured(group.value, one) for group, one in zip(known, each, strict=True))
    return ByGroup(model.by or "", measured, _whole(each), max(0.0, missed))


def ungrouped(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100) -> Found:
    """How good a model without groups is, or that of one group."""
    if model.classes:
        return confusion_of(problem, model)
    if model.of_numbers:
        return residuals(problem, model, bins)
    return evaluate(problem, model, buckets=buckets, bins=bins)


def _of_rows(groups: Groups, rows: Rows, part: Model, bins: int) -> Found:
    design, rows = with_own_categories(groups.plan.design, rows)
    plan = replace(groups.plan, design=design)
    each = [scores_of(design, rows, theta_of(plan, one)) for one in part.parts]
    codes, weights = rows[CODE].astype(float), rows[TIMES].astype(float)
    if part.classes:
        return of_several_classes(np.array(each), codes, weights, part.kinds)
    (scores,) = each
    if not part.of_numbers:
        return of_two_classes(scores, codes, weights, bins)
    return of_number(codes - scores, codes, weights, quantile_of(part), bins)


def _whole(each: Sequence[Found]) -> Found | None:
    """Over all groups together. The scores of different groups are not compared, so there is no AUC."""
    if numbers := [found for found in each if isinstance(found, Residuals)]:
        return _of_numbers(numbers)
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
    )


def _of_several(each: Sequence[Confusion]) -> Confusion:
    """Where rows were drawn in some of the groups, those of the others are all known."""
    drawn = None
    if not all(found.exact for found in each):
        drawn = np.sum([found.rows if found.drawn is None else found.drawn for found in each], axis=0)
    return Confusion(each[0].values, np.sum([found.matrix for found in each], axis=0), drawn)


def _sum(found: Sequence[Bounded]) -> Bounded:
    return Bounded(*(sum(getattr(one, name) for one in found) for name in ("value", "lower", "upper")))


def _of_numbers(each: Sequence[Residuals]) -> Residuals:
    rows = [found.rows for found in each]

    def mean(name: str) -> float:
        return float(np.average([getattr(found, name) for found in each], weights=rows))

    return Residuals(
        rows=sum(rows),
        mae=mean("mae"),
        rmse=sqrt(float(np.average([found.rmse**2 for found in each], weights=rows))),
        r2=None,
        pinball=mean("pinball"),
        quantile=each[0].quantile,
        coverage=mean("coverage"),
        edges=(),
        counts=(),
        blur=max(found.blur for found in each),
    )
