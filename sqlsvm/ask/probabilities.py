"""The probability of the positive class: fitted to the scores of rows that the training has not seen, and measured."""

import logging
from collections.abc import Sequence

import numpy as np

from sqlsvm.ask.listed import Asked, ByLabel, on_list
from sqlsvm.ask.rows import on_parts
from sqlsvm.ask.score_bins import ScoreBins, read_bins
from sqlsvm.engine.base import Engine
from sqlsvm.model.evaluation import Bounded, Group, Probabilities
from sqlsvm.model.model import Model
from sqlsvm.model.probability import Probability
from sqlsvm.model.raw import theta_of
from sqlsvm.model.several import with_curves
from sqlsvm.options import ProbabilityMethod
from sqlsvm.run.data import Data, against_others
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.calibration import isotonic, sigmoid

steps = logging.getLogger(__name__)

PLACES = 4096
"""On the grid, over the range of the scores."""
GROUPS = 20
LEAST = float(np.finfo(float).eps)
"""In the log loss no probability is smaller than this, and none is larger than one minus this."""


# -- fitting -----------------------------------------------------------------------------------------------------------


def with_probabilities(engine: Engine, models: Sequence[Model], *, offload: bool | None = None) -> list[Model]:
    """The models of one training, each with its probability if that was asked for. The rows held out are read once.
    With folds, the scores there have given it already."""
    method = models[0].options.get("probability")
    if method is None or models[0].options["folds"]:
        return list(models)

    def fitted(problem: Data) -> list[Model]:
        steps.info("fitting the probabilities")
        return [with_curves(model, [fit(method, bins) for bins in _bins(problem, model)]) for model in models]

    return on_parts(engine, models[0], fitted, ["holdout"], offload=offload)["holdout"]


def _bins(problem: Data, model: Model) -> list[ScoreBins]:
    return bins_of_each(problem, [theta_of(problem.plan, part) for part in model.parts])


def bins_of_each(problem: Data, thetas: Sequence[Array]) -> list[ScoreBins]:
    """Of raw weights: one vector, or one for each class against all others."""
    return [bins_of(own, theta) for own, theta in zip(against_others(problem), thetas, strict=True)]


def bins_of(problem: Data, theta: Array) -> ScoreBins:
    """Of the scores of raw weights."""

    def read(asked: Asked, above: ByLabel | None) -> ScoreBins:
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


# -- measuring ---------------------------------------------------------------------------------------------------------


def probabilities(bins: ScoreBins, probability: Probability) -> Probabilities | None:
    if not len(bins.rows):
        return None
    at = probability(bins.scores)
    ends = np.sort(np.column_stack([probability(bins.least), probability(bins.largest)]), axis=1)
    least, most = (at, at) if bins.exact else (ends, ends[:, ::-1])
    cases = [at, least, most]
    """Of the negative rows and of the positive ones: the best case has low and high ones."""
    return Probabilities(
        brier=Bounded(*(_mean(bins, p[:, 0] ** 2, (1.0 - p[:, 1]) ** 2) for p in cases)),
        log_loss=Bounded(*(_mean(bins, _log(1.0 - p[:, 0]), _log(p[:, 1])) for p in cases)),
        groups=tuple(_groups(bins, probability(bins.middle))),
    )


def _mean(bins: ScoreBins, negative: Array, positive: Array) -> float:
    return float((bins.rows * np.column_stack([negative, positive])).sum() / bins.rows.sum())


def _log(share: Array) -> Array:
    return -np.log(np.clip(share, LEAST, 1.0 - LEAST))


def _groups(bins: ScoreBins, p: Array) -> list[Group]:
    places = np.minimum((p * GROUPS).astype(int), GROUPS - 1)
    rows, positives = bins.rows.sum(axis=1), bins.rows[:, 1]
    whole, sums, positive = (np.bincount(places, of, GROUPS) for of in (rows, rows * p, positives))
    used = np.flatnonzero(whole)
    return [Group(float(whole[g]), float(sums[g] / whole[g]), float(positive[g] / whole[g])) for g in used]
