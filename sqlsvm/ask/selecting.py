"""Choosing among several models by how well they do on rows that they have not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sqlsvm.ask.confusion import classed, confusion
from sqlsvm.ask.intervals import with_intervals, with_intervals_of_numbers
from sqlsvm.ask.mean_loss import mean_loss
from sqlsvm.ask.residuals import residuals_of
from sqlsvm.ask.scored import FINE, Measures, of_plan, of_rows
from sqlsvm.compile.clusters import apart
from sqlsvm.errors import OptionError
from sqlsvm.measures import MEASURES, NUMBER, SEVERAL, TWO, Label, values_of
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Validated
from sqlsvm.model.raw import less
from sqlsvm.model.scored import Answer, Scored, answered, losses
from sqlsvm.model.scored import with_intervals as of_scored
from sqlsvm.options import NUMBER_LOSSES
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.data import Data, against_others
from sqlsvm.solve.arrays import Array

MOST_BAGS = 2
"""With more, what a row adds to a measure takes minutes to count."""


def best(measures: Sequence[Measures], by: str) -> int:
    """The place of the best one; of the first, if several are."""
    if by not in measures[0]:
        hint = f"take {', '.join(measures[0])}"
        raise OptionError(f"there is no {by} of a label with more than two classes", hint=hint)
    values = [found[by] for found in measures]
    return values.index((min if MEASURES[by].smaller else max)(values))


def simplest(found: Sequence[Mapping[str, Validated]], by: str, strengths: Sequence[float]) -> int:
    """The place of the model with the strongest penalty among those that are at most one standard error worse than the
    best."""
    top = found[best([means(each) for each in found], by)][by]
    near = [n for n, each in enumerate(found) if abs(each[by].mean - top.mean) <= (top.standard_error or 0.0)]
    return max(near, key=lambda n: strengths[n])


def means(found: Mapping[str, Validated]) -> Measures:
    return {name: measure.mean for name, measure in found.items()}


def with_errors(
    problem: Data, thetas: Sequence[Array], options: ProblemOptions, threshold: float = 0.0, *, wanted: bool = True
) -> tuple[Measures, Measures]:
    """What raw weights reach, without class weights; of several classes the mean loss over all of them, which knows no
    threshold. And the standard errors of those for which rows of the label's relation are known to be clusters. Those
    of rows in memory are, unless the label's relation is in a cycle."""
    loss, is_number, plan = options.named_loss, options.loss in NUMBER_LOSSES, problem.plan
    wanted = len(thetas) == 1 and (
        wanted and len(plan.bags) <= MOST_BAGS if problem.part is None else bool(apart(plan))
    )
    found: Answer
    if problem.part is None and (len(thetas) > 1 or is_number):
        each = zip(against_others(problem), thetas, strict=False)  # rows may have a class that no theta is for
        cost = float(np.mean([mean_loss(own, theta, options) for own, theta in each]))
        found = residuals_of(problem, thetas[0], options.quantile) if is_number else confusion(classed(problem, thetas))
        if isinstance(found, Residuals) and wanted:
            found = with_intervals_of_numbers(found, problem, thetas[0], options, cost)
        return {"loss": cost} | values_of(found), errors_of(found)
    decided = [less(theta, plan, threshold) for theta in thetas]
    scored = _scored(problem, decided, exactly=wanted)
    costs = losses(replace(scored, scores=scored.scores + threshold), loss)
    kind: Label = SEVERAL if len(thetas) > 1 else NUMBER if is_number else TWO
    found = answered(kind, scored, names=tuple(range(len(thetas))), quantile=options.quantile)
    if wanted and problem.part is not None:
        found = of_scored(found, scored, loss)
    elif wanted and isinstance(found, Evaluation):
        found = with_intervals(found, scored, problem, decided[0], options)
    return {"loss": scored.mean(costs)} | values_of(found), errors_of(found)


def errors_of(found: Answer) -> Measures:
    return {name: each.standard_error for name, each in found.intervals.items()}


def _scored(problem: Data, thetas: Sequence[Array], *, exactly: bool) -> Scored:
    """On the grid a measure is off by far less than what a sample of rows tells. Over several bags the list of exact
    scores is too long for most joins."""
    plan = problem.plan
    if problem.part is not None:
        return of_rows(plan.design, problem.part, thetas)
    plan = plan if exactly or not plan.links else replace(plan, method="grid")
    return of_plan(problem.work, plan, thetas[0], FINE)
