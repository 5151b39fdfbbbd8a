"""The quality of a model on the rows of a join, which is not built: confusion matrix, rates, ROC AUC, histogram.

A row is predicted +1 iff its score is above 0, as scikit-learn does; a score of exactly 0 predicts -1. A row of weight
w counts as w rows. Class weights do not count: they belong to the training.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from math import ceil

import numpy as np

from sqlsvm.ask.listed import Listed, on_list
from sqlsvm.ask.probabilities import probabilities
from sqlsvm.ask.score_bins import read_bins
from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.evaluate import ByLabel, by_label
from sqlsvm.lab.ask.machine import evaluate_machine
from sqlsvm.model.evaluation import Bounded, Evaluation, Histogram
from sqlsvm.model.model import Model
from sqlsvm.model.probability import Probability
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.parameters import LOWEST, SHIFT, WIDTH
from sqlsvm.plan.plan import Plan
from sqlsvm.run.data import Data
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)


def evaluate(problem: Data, of: Array | Model, *, buckets: int = 256, bins: int = 100) -> Evaluation:
    """Of a model, or of a beta on the problem's features."""
    if isinstance(of, Model) and of.support:
        return evaluate_machine(problem, of, bins)
    plan = problem.plan
    theta = theta_of(plan, of) if isinstance(of, Model) else problem.scaling.to_raw(np.asarray(of, dtype=float))
    probability = of.probability if isinstance(of, Model) else None
    return evaluate_plan(problem.work, plan, theta, probability, buckets=buckets, bins=bins)


def evaluate_plan(
    work: Workspace,
    plan: Plan,
    theta: Array,
    probability: Probability | None = None,
    *,
    buckets: int = 256,
    bins: int = 100,
    then: Callable[[Listed, Evaluation], Evaluation] | None = None,
) -> Evaluation:
    """Evaluate theta, which is for the raw coordinates of the plan. The plan's query may have more filters, for example
    to select the rows held out. `then` may read more from the list of scores.

    The result is exact if all scores fit into a list. Otherwise they are rounded to a grid with at least `buckets`
    places over their range: more places give narrower bounds. With two bags the confusion matrix is always exact.
    """

    def read(asked: Listed, above: ByLabel | None) -> Evaluation:
        found = _evaluation(asked, above, bins, probability)
        return then(asked, found) if then else found

    return on_list(work, plan, theta, buckets, read)


# -- what is read from it ----------------------------------------------------------------------------------------------


def _evaluation(asked: Listed, above: ByLabel | None, bins: int, probability: Probability | None) -> Evaluation:
    """The numbers of the list. `above` has the exact confusion matrix if the list does not."""
    steps.info("reading the measures from the scores")
    scale = asked.class_scale
    seen = [asked.ask(compiled.above(), **{SHIFT: t}) for t in _shifts(asked.delta)]
    negatives, positives = (seen[0][f"all_{n}"] * s for n, s in zip(compiled.CLASSES, scale, strict=True))
    counts = [above] if above else [*map(by_label, seen)]
    if asked.delta and not above:
        counts[0] = _halved(asked, counts[0])
    fp, tp = ([c[label] * scale[label] for c in counts] for label in (0, 1))
    return Evaluation(
        negatives=negatives,
        positives=positives,
        true_positive=_bounded(tp),
        false_positive=_bounded(fp),
        auc=_auc(asked, negatives * positives / (scale[0] * scale[1])),
        histogram=_histogram(asked, seen[0], bins, scale),
        blur=asked.delta / asked.steps,
        probabilities=probabilities(read_bins(asked), probability) if probability else None,
    )


def _halved(asked: Listed, above: ByLabel) -> ByLabel:
    """The rows above 0, and half of those that are rounded to 0: as many are above it as below."""
    from_0 = by_label(asked.ask(compiled.above(), **{SHIFT: -1.0}))
    return (above[0] + from_0[0]) / 2.0, (above[1] + from_0[1]) / 2.0


def _shifts(delta: float) -> tuple[float, ...]:
    """The shifts for the value, the lower bound and the upper bound; only for the value if it is exact."""
    return (0.0, delta, -delta) if delta else (0.0,)


def _auc(asked: Listed, pairs: float) -> Bounded | None:
    """Two scores that are each off by delta may be 2 delta closer or further apart."""
    if not pairs > 0:
        return None
    read = ((compiled.moved_area() if t else compiled.area(), t) for t in _shifts(asked.delta))
    return _bounded([asked.ask(area, **{SHIFT: 2 * t}) / pairs for area, t in read])


def _bounded(found: Sequence[float]) -> Bounded:
    """From value, lower and upper bound, or from the exact value alone."""
    return Bounded(found[0], found[1 % len(found)], found[2 % len(found)])


def _histogram(asked: Listed, seen: Mapping[str, float], bins: int, scale: ByLabel) -> Histogram:
    """On the grid a bin has a whole number of places, each in the middle of its step, so that bars have no gaps."""
    if not seen["all_negative"] + seen["all_positive"]:
        return Histogram((), (), ())
    least, largest = seen["least"], seen["largest"]
    lowest, width = least, (largest - least) / bins or 1.0
    if asked.plan.method == "grid":
        lowest, width = least - 0.5, ceil((largest - least + 1) / bins)
    used = max(1, min(bins, ceil((largest - lowest) / width)))
    found = asked.ask(compiled.histogram(used), **{LOWEST: lowest, WIDTH: width})
    negative, positive = (rows * s for rows, s in zip(found, scale, strict=True))
    edges = (lowest + width * np.arange(used + 1)) / asked.steps
    return Histogram(tuple(edges.tolist()), tuple(negative.tolist()), tuple(positive.tolist()))
