"""The probability of the positive class, fitted to the scores of rows that the training has not seen."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sqlsvm.ask.groups import in_each
from sqlsvm.ask.listed import Listed, on_list
from sqlsvm.ask.probabilities import bins_in_memory
from sqlsvm.ask.rows import on_parts
from sqlsvm.ask.score_bins import ScoreBins, read_bins
from sqlsvm.compile.evaluate import ByLabel
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model, OfGroup
from sqlsvm.model.probability import Probability
from sqlsvm.model.raw import theta_of
from sqlsvm.model.several import with_curves
from sqlsvm.options import ProbabilityMethod
from sqlsvm.run.data import Data, against_others
from sqlsvm.run.groups import Groups
from sqlsvm.run.notes import listed
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.calibration import isotonic, sigmoid

steps = logging.getLogger(__name__)

PLACES = 4096
"""On the grid, over the range of the scores."""


def with_probabilities(engine: Engine, models: Sequence[Model], *, offload: bool | None = None) -> list[Model]:
    """The models of one training, each with its probability if that was asked for. The rows held out are read once.
    With folds, the scores there have given it already."""
    method = models[0].options.get("probability")
    if method is None or models[0].options["folds"]:
        return list(models)

    def fitted(problem: Data) -> list[Model]:
        steps.info("fitting the probabilities")
        of = _of_groups if models[0].groups else _of_all
        return [of(problem, model, method) for model in models]

    return on_parts(engine, models[0], fitted, ["holdout"], offload=offload)["holdout"]


def _of_all(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """The rows held out have all classes, or they could not be prepared."""
    each = bins_of_each(problem, _thetas(problem, model))
    return with_curves(model, [fit(method, bins) for bins in each])


def _of_groups(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """Each group has a curve of its own, if its rows have all classes."""

    def bins(problem: Data, part: Model) -> list[ScoreBins]:
        return bins_of_each(problem, _thetas(problem, part))

    found = {group.value: own for group, own in in_each(Groups.of(problem), model, bins)}
    fitted = [_with_curves(of, method, found.get(of.value, ())) for of in model.groups]
    lacking = [before.value for before, of in zip(model.groups, fitted, strict=True) if of is before]
    said = f"there is no probability for {model.by} {listed(lacking)}: a class has no rows that are held out"
    return replace(model, groups=tuple(fitted), notes=(*model.notes, *([said] if lacking else [])))


def _with_curves(of: OfGroup, method: ProbabilityMethod, each: Sequence[ScoreBins]) -> OfGroup:
    if not each or not all(bins.rows.sum(axis=0).all() for bins in each):
        return of
    return with_curves(of, [fit(method, bins) for bins in each])


def _thetas(problem: Data, model: Model) -> list[Array]:
    return [theta_of(problem.plan, part) for part in model.parts]


def bins_of_each(problem: Data, thetas: Sequence[Array]) -> list[ScoreBins]:
    """Of raw weights: one vector, or one for each class against all others."""
    if problem.part is not None:
        return bins_in_memory(problem.plan.design, problem.part, thetas)
    return [_bins_of(own, theta) for own, theta in zip(against_others(problem), thetas, strict=False)]


def _bins_of(problem: Data, theta: Array) -> ScoreBins:
    """Of the scores of raw weights."""

    def read(asked: Listed, above: ByLabel | None) -> ScoreBins:
        return read_bins(asked)

    return on_list(problem.work, problem.plan, theta, PLACES, read)


def fit(method: ProbabilityMethod, bins: ScoreBins) -> Probability:
    if method == "isotonic":
        scores, shares = isotonic(bins.middle, *bins.rows.T)
        return Probability(method, scores=tuple(scores.tolist()), shares=tuple(shares.tolist()))
    nothing = np.zeros(len(bins.rows))
    negatives, positives = bins.rows.T
    slope, offset = sigmoid(bins.scores.T.ravel(), np.append(negatives, nothing), np.append(nothing, positives))
    return Probability(method, slope, offset)
