"""How good a model with groups is: on the rows of each group, and on all of them. The rows of small groups are read and
scored here; a group with more is measured like a model of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, sqrt
from typing import TypeVar

import numpy as np

from sqlsvm.ask.confusion import confusion, scored_by
from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.intervals import JOINED
from sqlsvm.ask.residuals import quantile_of, residuals
from sqlsvm.ask.rows import options_of
from sqlsvm.ask.scored import of_rows
from sqlsvm.compile.clusters import apart
from sqlsvm.engine.base import Rows
from sqlsvm.measures import NUMBER, SEVERAL, TWO, Label
from sqlsvm.model.by_group import ByGroup, Found, Measured
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Bounded, Clusters, Evaluation, Histogram, Probabilities, Residuals
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.model.scored import BINS, answered, explained, with_intervals
from sqlsvm.plan.scaling import FLAT, LabelMoments
from sqlsvm.run.data import Data
from sqlsvm.run.groups import Group, Groups
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.interval import LOG, LOGIT, Interval, Scale

T = TypeVar("T")

SCALES: Mapping[str, Scale] = {"accuracy": LOGIT, "mae": LOG, "loss": LOG}


def by_group(problem: Data, model: Model, bins: int = BINS, *, held_out: bool = False) -> ByGroup:
    """With the intervals of each group, if the training has not seen these rows."""

    def measured(problem: Data, part: Model) -> Found:
        if problem.part is not None:
            return _of_rows(problem, problem.part, part, bins, held_out=held_out)
        return ungrouped(problem, part, bins=bins, held_out=held_out)

    each = in_each(Groups.of(problem), model, measured, apart=held_out)
    missed = max(0.0, problem.moments.n - sum(group.rows for group, _ in each))
    found = tuple(Measured(group.value, one) for group, one in each)
    whole = _whole([one for _, one in each], None if missed > FLAT * problem.moments.n else problem.moments.label)
    whole = _with_intervals(whole, found) if held_out and whole else whole
    return ByGroup(model.by or "", found, whole, missed)


def in_each(
    groups: Groups, model: Model, of: Callable[[Data, Model], T], *, apart: bool = False
) -> list[tuple[Group, T]]:
    """For each group with a model what is found on its rows, which are in memory if they are few. `apart`: these say
    which row of the label's relation they are of."""
    place = category_weights(model.chooser)
    parts = {group.place: model.part(int(n) - 1) for group in groups.groups if (n := place(group.value))}
    known = [group for group in groups.groups if group.place in parts]
    read, others = groups.small(None, known)
    found = {
        group.place: of(groups.measured(rows), parts[group.place]) for group, rows in groups.rows(read, apart=apart)
    }
    for group in others:
        with groups.in_database(group, "none", scale="none", by_class=False, check=False) as here:
            found[group.place] = of(here, parts[group.place])
    return [(group, found[group.place]) for group in known]


def ungrouped(problem: Data, model: Model, *, buckets: int = 256, bins: int = BINS, held_out: bool = False) -> Found:
    """How good a model without groups is, or that of one group."""
    if model.classes:
        return confusion(scored_by(problem, model), held_out=held_out)
    if model.of_numbers:
        return residuals(problem, model, bins, held_out=held_out)
    return evaluate(problem, model, buckets=buckets, bins=bins, held_out=held_out)


def _of_rows(problem: Data, rows: Rows, part: Model, bins: int, *, held_out: bool) -> Found:
    kind: Label = SEVERAL if part.classes else NUMBER if part.of_numbers else TWO
    scored = of_rows(problem.plan.design, rows, [theta_of(problem.plan, one) for one in part.parts])
    found = answered(kind, scored, bins, curves=part.curves, names=part.kinds, quantile=quantile_of(part))
    if not held_out:
        return found
    is_known = apart(problem.plan) is not None
    return (
        with_intervals(found, scored, options_of(part).named_loss) if is_known else replace(found, no_intervals=JOINED)
    )


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
        probabilities=_over_all([found.probabilities for found in classes], [found.rows for found in classes]),
    )


def _with_intervals(whole: Found, each: Sequence[Measured]) -> Found:
    """Of what is a mean over rows. The rows of groups are others, so their errors are independent."""
    if lacking := next((one for one in each if not one.found.intervals), None):
        return replace(whole, no_intervals=f"{lacking.value}: {lacking.found.no_intervals}")
    shares, intervals = np.array([one.rows for one in each]) / sum(one.rows for one in each), {}
    for name, scale in SCALES.items():
        if all(name in one.found.intervals for one in each):
            own = [one.found.intervals[name] for one in each]
            parts = np.square(shares * [one.standard_error for one in own])
            degrees = (
                parts.sum() ** 2 / (parts**2 / [one.degrees_of_freedom for one in own]).sum() if parts.any() else inf
            )
            value = float(shares @ [one.value for one in own])
            intervals[name] = Interval.around(value, float(np.sqrt(parts.sum())), float(degrees), scale)
    known = [one.found.clusters for one in each if one.found.clusters]
    sums = (sum(getattr(one, name) for one in known) for name in ("rows", "effective"))
    return replace(whole, intervals=intervals, clusters=Clusters(*sums))


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


def _over_all(each: Sequence[Probabilities | None], rows: Sequence[float]) -> Probabilities | None:
    """On the rows of all groups together, if all have probabilities."""
    known = [found for found in each if found]
    if not known or len(known) < len(each):
        return None

    def mean(name: str) -> Bounded:
        ends = ([getattr(getattr(found, name), end) for found in known] for end in ("value", "lower", "upper"))
        return Bounded(*(float(np.average(values, weights=rows)) for values in ends))

    return Probabilities(mean("brier"), mean("log_loss"), ())
