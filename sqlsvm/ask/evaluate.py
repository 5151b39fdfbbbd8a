"""The quality of a model on the rows of a join, which is not built: of any label, and of each group. The rows of small
groups are read and scored here; a group with more is measured like a model of its own.

A row is predicted +1 iff its score is above 0, as scikit-learn does; a score of exactly 0 predicts -1. A row of weight
w counts as w rows. Class weights do not count: they belong to the training.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import inf, sqrt
from typing import TypeVar

import numpy as np

from sqlsvm import sql
from sqlsvm.ask.confusion import confusion, scored_by
from sqlsvm.ask.intervals import JOINED, with_intervals, with_intervals_of_numbers
from sqlsvm.ask.rows import on_all, options_of
from sqlsvm.ask.scored import Listed, of_plan, of_rows, on_list
from sqlsvm.compile.clusters import apart
from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.evaluate import ByLabel
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.lab.ask.machine import evaluate_machine
from sqlsvm.measures import NUMBER, SEVERAL, TWO, Label
from sqlsvm.model.confusion import ByGroup, Confusion, Found
from sqlsvm.model.confusion import Measured as OfGroup
from sqlsvm.model.evaluation import Bounded, Clusters, Evaluation, Fairness, Histogram, Named, Probabilities, Residuals
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model
from sqlsvm.model.scored import BINS, answered, explained, of_sums, of_two_classes
from sqlsvm.model.scored import with_intervals as of_scored
from sqlsvm.model.several import theta_of
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.constraints import fair
from sqlsvm.plan.scaling import FLAT, LabelMoments, Scaling
from sqlsvm.plan.target import Numeric, Target, named
from sqlsvm.query import FeatureQuery
from sqlsvm.run.checks import Lacking, LostClasses
from sqlsvm.run.data import Audit, Data, audit
from sqlsvm.run.groups import Group, Groups
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.interval import LOG, LOGIT, Interval, Scale
from sqlsvm.solve.loss import PERCEPTRON

steps = logging.getLogger(__name__)

PLACES = 4096  # places for all residuals, where they have to be rounded


def residuals(problem: Data, model: Model, bins: int = BINS, *, held_out: bool = False) -> Residuals:
    """Those of a model, on the rows of a problem; with intervals, if its training has not seen these."""
    theta = theta_of(problem.plan, model)
    found = residuals_of(problem, theta, quantile_of(model), bins)
    return with_intervals_of_numbers(found, problem, theta, options_of(model)) if held_out else found


def residuals_of(problem: Data, theta: Array, quantile: float = DEFAULTS["quantile"], bins: int = BINS) -> Residuals:
    """Of weights on the raw coordinates."""
    work, plan, label = problem.work, problem.plan, problem.moments.label
    assert label is not None

    def read(asked: Listed, above: ByLabel | None) -> Residuals:
        return _of_list(asked, label, quantile, bins)

    return on_list(work, plan, theta, PLACES, read, problem.rows)


def _of_list(asked: Listed, label: LabelMoments, quantile: float, bins: int) -> Residuals:
    """From the residuals of all rows, in steps."""
    steps.info("reading the measures from the residuals")
    seen, unit = asked.sums_of_residuals(), 1.0 / asked.steps
    least = seen["least"]
    width = (seen["largest"] - least) / bins or 1.0
    counts = asked.histogram(bins, least, width)
    edges = np.asarray((least + width * np.arange(bins + 1.0)) * unit)
    return replace(of_sums(seen, label, quantile, (edges, counts), unit), blur=asked.delta * unit)


def quantile_of(model: Model) -> float:
    """Of a training for one. Any other has the middle."""
    return float(model.options["problem"]["quantile"] if model.loss == "quantile" else DEFAULTS["quantile"])


def crossings(engine: Engine, models: Sequence[Model], *, offload: bool | None = None) -> list[float]:
    """For each model but the last, the share of the rows in which its score is above that of the next. The models are
    in the order of their quantiles."""

    def shares(problem: Data) -> list[float]:
        return [_share(problem, lower, upper) for lower, upper in pairwise(models)]

    return on_all(engine, models[0], shares, offload=offload, target=_nothing)


def _nothing(query: FeatureQuery) -> Target:
    """Against 0, the residual of a row is its score with the other sign."""
    return Numeric(named(query.label), sql.number(0))


def _share(problem: Data, lower: Model, upper: Model) -> float:
    distance = theta_of(problem.plan, upper) - theta_of(problem.plan, lower)
    return 1.0 - residuals_of(problem, distance).coverage


NO_SUM = "the score of a kernel machine is no sum over the tables"


def evaluate(
    problem: Data, model: Model, *, buckets: int = 256, bins: int = BINS, held_out: bool = False
) -> Evaluation:
    """With intervals, if the training has not seen these rows."""
    if model.support:
        found = evaluate_machine(problem, model, bins)
        return replace(found, no_intervals=NO_SUM) if held_out else found
    theta = theta_of(problem.plan, model)
    scored = of_plan(problem.work, problem.plan, theta, buckets, bins, problem.rows)
    found = of_two_classes(scored, bins, model.probability)
    return with_intervals(found, scored, problem, theta, options_of(model)) if held_out else found


BUCKETS = 256  # on the grid, of a unit of the score


Audited = TypeVar("Audited", bound=Evaluation | Residuals)


def with_fairness(found: Audited, problem: Data, model: Model) -> Audited:
    return replace(found, fairness=fairness(problem, model))


def fairness(problem: Data, model: Model) -> tuple[Fairness, ...]:
    """Of the problem on which the model is evaluated; nothing if the model was trained without such columns. This is
    the last question to a problem: its tables make room for those of the audit."""
    asked = dict(fair(options_of(model).constrain))
    if not asked:
        return ()
    problem.work.drop([s.table for s in working_tables(problem.plan) if s.table])
    with audit(problem.work, problem.query, options_of(model), problem.plan.design.target) as found:
        theta = _widened(problem.plan.design.moved(theta_of(problem.plan, model)), problem, found)
        has_constant = found.plan.design.constant is not None
        positive = None if model.of_numbers or not has_constant else _predicted(problem, found, theta)
        return tuple(_of_columns(problem, found, asked, theta_of(problem.plan, model), positive))


def _of_columns(
    problem: Data, found: Audit, asked: dict[str, float], theta: Array, positive: Array | None
) -> Iterator[Fairness]:
    moments = found.moments
    for name, c in found.columns.items():
        rates = None
        if positive is not None and found.two_groups(c):
            inside, n = moments.total[c.index], moments.n
            rates = (positive[-1] - positive[c.index]) / (n - inside), positive[c.index] / inside
        covariance = float(problem.covariances[name] @ theta)
        yield Fairness(name, asked[name], covariance, rates and (float(rates[0]), float(rates[1])))


def _widened(theta: Array, problem: Data, found: Audit) -> Array:
    """With weights of 0 for the audited columns, which come before the categories."""
    own, all_ = len(problem.plan.design.coordinates), len(found.plan.design.coordinates)
    return np.insert(theta, own, np.zeros(all_ - own))


def _predicted(problem: Data, found: Audit, theta: Array) -> Array:
    """For each coordinate its sum over the rows that are predicted +1; at the end the number of these rows.

    The constant is there. A pass that counts the rows whose score has the wrong side gives the sum over those with
    y = -1 less that over the others."""
    design, moments = found.plan.design, found.moments
    as_it_is = Scaling(design, np.eye(len(design.coordinates)))
    rows = replace(problem, plan=found.plan, moments=moments, scaling=as_it_is)
    cut = JoinOracle(rows, PERCEPTRON).pass_(theta, BUCKETS)
    sums = moments.total - moments.total_negative + moments.n * cut.slope
    constant = design.constant
    return np.append(sums, sums[constant])


Measured = Evaluation | Residuals | Confusion | ByGroup


def measure(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100, held_out: bool = False) -> Measured:
    """With intervals, if the training has not seen these rows."""
    found: Measured
    if model.groups:
        found = by_group(problem, model, bins, held_out=held_out)
    else:
        found = ungrouped(problem, model, buckets=buckets, bins=bins, held_out=held_out)
        found = found if isinstance(found, Confusion) else with_fairness(found, problem, model)
    return replace(found, of=Named(model.label, model.trained_on.label_values, model.weighted))


measure_held_out = partial(measure, held_out=True)


T = TypeVar("T")

SCALES: Mapping[str, Scale] = {"accuracy": LOGIT, "mae": LOG, "loss": LOG}


def by_group(problem: Data, model: Model, bins: int = BINS, *, held_out: bool = False) -> ByGroup:
    """With the intervals of each group, if the training has not seen these rows."""

    def measured(problem: Data, parts: Sequence[Model]) -> Found:
        (part,) = parts
        if problem.raw is not None:
            return _of_rows(problem, problem.raw, part, bins, held_out=held_out)
        return ungrouped(problem, part, bins=bins, held_out=held_out)

    each = in_each(problem, [model], measured, apart=held_out)
    missed = max(0.0, problem.moments.n - sum(group.rows for group, _ in each))
    found = tuple(OfGroup(group.value, one) for group, one in each)
    whole = _whole([one for _, one in each], None if missed > FLAT * problem.moments.n else problem.moments.label)
    names = [name for name in SCALES if name != "loss" or len(model.choices("loss")) == 1]  # one loss is not another
    whole = _with_intervals(whole, found, names) if held_out and whole else whole
    return ByGroup(model.by or "", found, whole, missed)


def in_each(
    problem: Data,
    models: Sequence[Model],
    of: Callable[[Data, Sequence[Model]], T],
    *,
    apart: bool = False,
    check: bool = False,
) -> list[tuple[Group, T]]:
    """What is found on the rows of each group with its models. The rows are in memory if they are few. `apart`: they
    say which row of the label's relation they are of. `check`: groups that lack a class are left out."""
    groups, place, found = Groups.of(problem), category_weights(models[0].chooser), dict[int, T]()
    places = {group.place: int(n) - 1 for group in groups.groups if (n := place(group.value))}
    known = [group for group in groups.groups if group.place in places]
    read, others = groups.small(None, known)
    lacking = (Lacking, LostClasses) if check else ()

    def parts(group: Group) -> Sequence[Model]:
        return [model.part(places[group.place]) for model in models]

    for group, rows in groups.rows(read, apart=apart):
        with suppress(*lacking):
            found[group.place] = of(groups.measured(group, rows, check=check), parts(group))
    for group in others:
        with suppress(*lacking), groups.in_database(group, "none", scale="none", by_class=False, check=check) as here:
            found[group.place] = of(here, parts(group))
    return [(group, found[group.place]) for group in known if group.place in found]


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
    return of_scored(found, scored, options_of(part).named_loss) if is_known else replace(found, no_intervals=JOINED)


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


def _with_intervals(whole: Found, each: Sequence[OfGroup], names: Sequence[str]) -> Found:
    """Of what is a mean over rows. The rows of groups are others, so their errors are independent."""
    if lacking := next((one for one in each if not one.found.intervals), None):
        return replace(whole, no_intervals=f"{lacking.value}: {lacking.found.no_intervals}")
    shares, intervals = np.array([one.rows for one in each]) / sum(one.rows for one in each), {}
    for name in names:
        if all(name in one.found.intervals for one in each):
            own = [one.found.intervals[name] for one in each]
            parts = np.square(shares * [one.standard_error for one in own])
            degrees = (
                parts.sum() ** 2 / (parts**2 / [one.degrees_of_freedom for one in own]).sum() if parts.any() else inf
            )
            value = float(shares @ [one.value for one in own])
            intervals[name] = Interval.around(value, float(np.sqrt(parts.sum())), float(degrees), SCALES[name])
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
