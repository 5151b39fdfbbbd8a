"""The quality of a model on the rows of a join, which is not built: confusion matrix, rates, ROC AUC, histogram.

A row is predicted +1 iff its score is above 0, as scikit-learn does; a score of exactly 0 predicts -1. A row of weight
w counts as w rows. Class weights do not count: they belong to the training.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil, floor, log2
from typing import TypeVar

import numpy as np

from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import LARGEST_BUCKET, rounding, rounding_name
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import OptionError, nearest
from sqlsvm.model.evaluation import Bounded, Evaluation, Histogram
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model
from sqlsvm.model.stored_query import stored_query
from sqlsvm.plan.parameters import BOUND, BUCKETS, LOWEST, SHIFT, THETA, WIDTH
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.target import Target
from sqlsvm.query import FeatureQuery
from sqlsvm.run.holdout import PARTS, Holdout, Part, marked, prepared_part
from sqlsvm.run.offload import brought
from sqlsvm.run.problem import Problem, labelled, prepared
from sqlsvm.run.workspace import Workspace, workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import custom

steps = logging.getLogger(__name__)

NUDGE = 1e-9
"""If scores were rounded, a billionth of a bucket more covers the rounding of the doubles."""

Found = TypeVar("Found")

NONE: Mapping[str, float] = {}

ByLabel = tuple[float, float]
"""A number for y = -1 and one for y = +1."""


def evaluate(problem: Problem, of: Array | Model, *, buckets: int = 256, bins: int = 100) -> Evaluation:
    """Of a model, or of a beta on the problem's features."""
    plan = problem.plan
    theta = theta_of(plan, of) if isinstance(of, Model) else problem.scaling.to_raw(np.asarray(of, dtype=float))
    return evaluate_plan(problem.work, plan, theta, buckets=buckets, bins=bins)


def evaluate_model(
    engine: Engine, model: Model, *, offload: bool = False, buckets: int = 256, bins: int = 100
) -> Evaluation:
    """On all rows that the model's query has now, prepared as for its training."""
    return on_all(engine, model, lambda problem: evaluate(problem, model, buckets=buckets, bins=bins), offload=offload)


def evaluate_parts(
    engine: Engine,
    model: Model,
    parts: Sequence[Part] = PARTS,
    *,
    offload: bool = False,
    buckets: int = 256,
    bins: int = 100,
) -> dict[Part, Evaluation]:
    """The same for a model that was trained with a holdout, on the rows of its training and on the rows held out."""

    def measured(problem: Problem) -> Evaluation:
        return evaluate(problem, model, buckets=buckets, bins=bins)

    return on_parts(engine, model, measured, parts, offload=offload)


def on_all(
    engine: Engine,
    model: Model,
    measured: Callable[[Problem], Found],
    *,
    offload: bool = False,
    target: Callable[[FeatureQuery], Target | None] = lambda query: None,
) -> Found:
    """`target` says what the rows are measured against, if it is not the label as it is."""
    with _rows(engine, model, offload) as (work, query):
        return measured(prepared(work, query, options_of(model), target(query)))


def on_parts(
    engine: Engine,
    model: Model,
    measured: Callable[[Problem], Found],
    parts: Sequence[Part] = PARTS,
    *,
    offload: bool = False,
) -> dict[Part, Found]:
    options, holdout = options_of(model), Holdout.of(model.options)
    if holdout is None:
        raise OptionError(f"model {model.name} was trained on all rows", hint="train with --holdout 0.2, say")
    found: dict[Part, Found] = {}
    with _rows(engine, model, offload, holdout) as (work, query):
        for part in parts:
            with work.scratch():
                found[part] = measured(prepared_part(work, query, options, holdout, part))
    return found


@contextmanager
def _rows(
    engine: Engine, model: Model, offload: bool, holdout: Holdout | None = None
) -> Iterator[tuple[Workspace, FeatureQuery]]:
    query = labelled(engine, stored_query(engine, model), options_of(model))
    query = marked(query, holdout) if holdout else query
    with brought(engine, query, offload) as (here, query), workspace(here) as work:
        yield work, query


def options_of(model: Model) -> ProblemOptions:
    """What its rows were made by. Class weights and scaling are matters of the training alone: the weights of a model
    are those of the query's own columns."""
    stored = model.options.get("problem", {})
    kept = {name: stored[name] for name in _KEPT if name in stored}
    return ProblemOptions(
        label=model.label,
        positive=model.positive,
        nulls=model.nulls,
        categorical=tuple(stored.get("categorical", ())),
        constrain=tuple(stored.get("constrain", ())),
        pieces=custom.given(stored.get("pieces", ())),
        scale="none",
        **kept,
    )


_KEPT = "weight", "counting", "intercept", "loss", "width", "tube", "quantile", "delta"


def evaluate_plan(work: Workspace, plan: Plan, theta: Array, *, buckets: int = 256, bins: int = 100) -> Evaluation:
    """Evaluate theta, which is for the raw coordinates of the plan. The plan's query may have more filters, for example
    to select the rows held out.

    The result is exact if all scores fit into a list. Otherwise they are rounded to a grid with at least `buckets`
    places over their range: more places give narrower bounds. With two bags the confusion matrix is always exact.
    """
    steps.info("counting the scores of the join")
    above = None
    if plan.method == "exact":
        with work.scratch():
            asked = Asked(work, plan, theta)
            if asked.list_exactly():
                return _evaluation(asked, bins, None)
            above = asked.above_at_centre()
    steps.info("counting the scores on a grid")
    with work.scratch():
        return _evaluation(on_grid(work, plan, theta, buckets), bins, above)


def theta_of(plan: Plan, model: Model) -> Array:
    """A model's weights on the raw coordinates of a plan; a category that it does not know weighs 0."""
    design = plan.design
    numbers = {term.feature: term.number for term in model.terms if term.number}
    categories = {term.feature: term for term in model.terms if not term.number}
    theta = np.zeros(design.size)
    for c in design.coordinates:
        if not c.feature:
            theta[c.index] = model.intercept - design.target.centre
        elif c.feature in numbers:
            weight = numbers[c.feature]
            theta[c.index] = weight.weight * ((weight.missing or 0.0) if c.role == "missing" else 1.0)
        else:
            hint = nearest(c.feature, [*numbers, *categories])
            raise OptionError(f"model {model.name} has no weight for the number {c.feature}", hint=hint)
    spellings = {f.name: f.spelling for f in plan.tree.query.features}
    for d in design.dictionaries:
        if d.feature in categories:
            weigh = category_weights(categories[d.feature], spellings[d.feature])
            theta[d.offset : d.offset + len(d.categories)] = [weigh(category) for category in d.categories]
    if model.intercept and not any(c.role == "intercept" for c in design.coordinates):
        raise OptionError(f"model {model.name} has an intercept, and these rows were prepared without one")
    return theta


# -- the list of scores ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A theta, a plan, and the size of the steps in which scores are counted."""

    work: Workspace
    plan: Plan
    theta: Array
    steps: float = 1.0
    """Per unit of the score."""
    delta: float = 0.0
    """The largest error of a score in the list, in steps."""

    def run(self, *statements: Statement, parameters: Mapping[str, float] = NONE) -> dict[str, Rows]:
        return self.work.run(statements, {THETA: self.theta, BOUND: 0.0, BUCKETS: self.steps, **parameters})

    def list_exactly(self) -> bool:
        """Make the list of scores, unless it would be too long; return whether it was made."""
        if self.plan.centre is None:
            self.run(compiled.list_of_rows(self.plan))
            return True
        self.run(*compiled.towards_centre(self.plan))
        fits = bool(self.run(compiled.pairs(self.plan))[compiled.PAIRS]["n"][0] <= compiled.LONGEST_LIST)
        if fits:
            self.run(compiled.list_of_pairs(self.plan))
        return fits

    def above_at_centre(self) -> ByLabel:
        return _by_label(self.run(compiled.above_at_centre(self.plan))[compiled.ABOVE])


def on_grid(work: Workspace, plan: Plan, theta: Array, buckets: int) -> Asked:
    plan = replace(plan, method="grid")
    asked = Asked(work, plan, theta)
    spans = [asked.run(compiled.span(plan, bag))[compiled.span_name(bag)] for bag in plan.bags]
    asked = replace(asked, steps=steps_per_unit(spans, buckets))
    asked.run(*compiled.towards_centre(plan), compiled.list_of_pairs(plan))
    blurs = [asked.run(rounding(plan, bag))[rounding_name(bag)] for bag in plan.bags]
    delta = sum(float(blur["error"][0]) for blur in blurs)
    return replace(asked, delta=delta + NUDGE if delta else 0.0)


def steps_per_unit(spans: Sequence[Rows], buckets: int) -> float:
    """A power of two, so that multiples of a half or a quarter are not rounded; and not so large that a score exceeds
    the largest bucket."""
    width = sum(float(span["largest"][0] - span["least"][0]) for span in spans)
    size = sum(max(abs(float(span[end][0])) for end in ("least", "largest")) for span in spans)
    if not size > 0:
        return 1.0
    return float(2.0 ** min(ceil(log2(buckets / (width or size))), floor(log2(LARGEST_BUCKET / size))))


# -- what is read from it ----------------------------------------------------------------------------------------------


def _evaluation(asked: Asked, bins: int, above: ByLabel | None) -> Evaluation:
    """The numbers of the list. `above` has the exact confusion matrix if the list does not."""
    steps.info("reading the measures from the scores")
    scale = _class_scale(asked.plan)
    seen = [asked.run(compiled.above(), parameters={SHIFT: t})[compiled.ABOVE] for t in _shifts(asked.delta)]
    negatives, positives = (float(seen[0][f"all_{n}"][0]) * s for n, s in zip(compiled.CLASSES, scale, strict=True))
    counts = [above] if above else [_by_label(rows) for rows in seen]
    fp, tp = ([c[label] * scale[label] for c in counts] for label in (0, 1))
    return Evaluation(
        negatives=negatives,
        positives=positives,
        true_positive=_bounded(tp),
        false_positive=_bounded(fp),
        auc=_auc(asked, negatives * positives / (scale[0] * scale[1])),
        histogram=_histogram(asked, seen[0], bins, scale),
        blur=asked.delta / asked.steps,
    )


def _class_scale(plan: Plan) -> ByLabel:
    """Factors that remove the class weights from the counts of each label."""
    negative, positive = plan.design.target.class_weights
    return 1 / negative, 1 / positive


def _shifts(delta: float) -> tuple[float, ...]:
    """The shifts for the value, the lower bound and the upper bound; only for the value if it is exact."""
    return (0.0, delta, -delta) if delta else (0.0,)


def _auc(asked: Asked, pairs: float) -> Bounded | None:
    """Two scores that are each off by delta may be 2 delta closer or further apart."""
    if not pairs > 0:
        return None
    read = (compiled.moved_area() if t else compiled.area() for t in _shifts(asked.delta))
    areas = [asked.run(s, parameters={SHIFT: 2 * t}) for s, t in zip(read, _shifts(asked.delta), strict=True)]
    return _bounded([float(found[compiled.AREA]["area"][0]) / pairs for found in areas])


def _bounded(found: Sequence[float]) -> Bounded:
    """From value, lower and upper bound, or from the exact value alone."""
    return Bounded(found[0], found[1 % len(found)], found[2 % len(found)])


def _by_label(rows: Rows) -> ByLabel:
    negative, positive = (float(rows[name][0]) for name in compiled.CLASSES)
    return negative, positive


def _histogram(asked: Asked, seen: Rows, bins: int, scale: ByLabel) -> Histogram:
    """On the grid a bin has a whole number of places, each in the middle of its step, so that bars have no gaps."""
    if not seen["all_negative"][0] + seen["all_positive"][0]:
        return Histogram((), (), ())
    least, largest = float(seen["least"][0]), float(seen["largest"][0])
    lowest, width = least, (largest - least) / bins or 1.0
    if asked.plan.method == "grid":
        lowest, width = least - 0.5, ceil((largest - least + 1) / bins)
    used = max(1, min(bins, ceil((largest - lowest) / width)))
    rows = asked.run(compiled.histogram(), parameters={LOWEST: lowest, WIDTH: width})[compiled.BINS]
    places = np.minimum(rows["bin"].astype(int), used - 1)
    negative, positive = (
        np.bincount(places, rows[name].astype(float), used) * s for name, s in zip(compiled.CLASSES, scale, strict=True)
    )
    edges = (lowest + width * np.arange(used + 1)) / asked.steps
    return Histogram(tuple(edges.tolist()), tuple(negative.tolist()), tuple(positive.tolist()))
