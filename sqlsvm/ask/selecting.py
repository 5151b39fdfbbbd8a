"""Choosing among several models by how well they do on rows that they have not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sqlsvm.ask.confusion import Scored, confusion
from sqlsvm.ask.evaluate import evaluate_plan
from sqlsvm.ask.intervals import evaluated, with_intervals_of_numbers
from sqlsvm.ask.listed import Listed
from sqlsvm.ask.mean_loss import mean_loss
from sqlsvm.ask.of_rows import Measures, several_of_rows, with_errors_of_rows
from sqlsvm.ask.residuals import residuals_of
from sqlsvm.ask.rows import on_parts, options_of
from sqlsvm.ask.score_bins import read_bins
from sqlsvm.compile.clusters import apart
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import OptionError
from sqlsvm.measures import MEASURES, values_of
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model, Validated
from sqlsvm.model.raw import theta_of
from sqlsvm.options import NUMBER_LOSSES
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.data import Data, against_others
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss

FINE = 4096
"""Places over the range of scores, for measures that need no bounds."""
MOST_BAGS = 2
"""With more, what a row adds to a measure takes minutes to count."""


def on_holdout(engine: Engine, models: Sequence[Model], *, offload: bool | None = None) -> list[Measures]:
    """What each model does on the rows held out, which are read once."""

    def measures(problem: Data) -> list[Measures]:
        plan = problem.plan
        return [measures_of(problem, [theta_of(plan, p) for p in m.parts], options_of(m)) for m in models]

    return on_parts(engine, models[0], measures, ["holdout"], offload=offload)["holdout"]


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


def measures_of(problem: Data, thetas: Sequence[Array], options: ProblemOptions) -> Measures:
    """What raw weights reach, without class weights. With several classes: the mean loss over all of them, the
    accuracies, and the mean of F1."""
    return with_errors(problem, thetas, options, wanted=False)[0]


def with_errors(
    problem: Data, thetas: Sequence[Array], options: ProblemOptions, *, wanted: bool = True
) -> tuple[Measures, Measures]:
    """The same, and the standard errors of those for which rows of the label's relation are known to be clusters."""
    if problem.part is not None:
        return _of_part(problem, problem.part, thetas, options)
    if len(thetas) == 1 and options.loss not in NUMBER_LOSSES:
        return _of_two(problem, thetas[0], options, wanted=wanted and len(problem.plan.bags) <= MOST_BAGS)
    each = zip(against_others(problem), thetas, strict=True)
    own = {"loss": float(np.mean([mean_loss(problem, theta, options) for problem, theta in each]))}
    if len(thetas) > 1:
        return own | values_of(confusion(Scored(problem, thetas))), {}
    (theta,) = thetas
    wanted = wanted and len(problem.plan.bags) <= MOST_BAGS
    found = residuals_of(problem, theta, options.quantile)
    measures = own | values_of(found)
    intervals = with_intervals_of_numbers(found, problem, theta, options, own["loss"]).intervals if wanted else {}
    return measures, {name: each.standard_error for name, each in intervals.items()}


def _of_part(problem: Data, part: Rows, thetas: Sequence[Array], options: ProblemOptions) -> tuple[Measures, Measures]:
    """The same where the rows are in memory. In a cycle those of the label's relation are not known apart."""
    if len(thetas) > 1:
        loss, found = several_of_rows(problem.plan.design, part, thetas, options)
        return {"loss": loss} | values_of(found), {}
    measures, errors = with_errors_of_rows(problem.plan.design, part, thetas[0], options)
    return measures, errors if apart(problem.plan) else {}


def _of_two(
    problem: Data, theta: Array, options: ProblemOptions, *, wanted: bool
) -> tuple[Measures, Mapping[str, float]]:
    """Of two classes. The loss comes with its error, if that is wanted and known, and else from the list of scores."""
    if not wanted:
        return _of_list(problem, theta, options.named_loss), {}
    of_two = evaluated(problem, theta, options)
    intervals = of_two.intervals
    loss = intervals["loss"].value if "loss" in intervals else mean_loss(problem, theta, options)
    return {"loss": loss} | values_of(of_two), {name: each.standard_error for name, each in intervals.items()}


def _of_list(problem: Data, theta: Array, loss: Loss) -> Measures:
    """One scan has all. On the grid a measure is off by far less than what a sample of rows tells. Over several bags
    the list of exact scores is too long for most joins."""
    costs: list[float] = []

    def read(asked: Listed, found: Evaluation) -> Evaluation:
        bins = read_bins(asked)
        z = (loss.origin or 0.0) - np.array([-1.0, 1.0]) * bins.scores
        costs.append(float((bins.rows * loss.value(z.ravel()).reshape(z.shape)).sum() / bins.rows.sum()))
        return found

    plan = replace(problem.plan, method="grid") if problem.plan.links else problem.plan
    found = evaluate_plan(problem.work, plan, theta, buckets=FINE, then=read)
    return {"loss": costs[0]} | values_of(found)
