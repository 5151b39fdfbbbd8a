"""How good the probabilities of a model are."""

from collections.abc import Sequence

import numpy as np

from sqlsvm.ask.of_rows import scores_of
from sqlsvm.ask.score_bins import ScoreBins, bins_of_rows
from sqlsvm.compile.joined import TIMES
from sqlsvm.engine.base import Rows
from sqlsvm.model.evaluation import Bounded, Group, Probabilities
from sqlsvm.model.probability import Probability
from sqlsvm.plan.design import Design
from sqlsvm.plan.target import CODE
from sqlsvm.solve.arrays import Array

GROUPS = 20
LEAST = float(np.finfo(float).eps)
"""In the log loss no probability is smaller than this, and none is larger than one minus this."""


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


def bins_in_memory(design: Design, rows: Rows, thetas: Sequence[Array]) -> list[ScoreBins]:
    """Of raw weights: one vector, or one for each class against all others."""
    codes, weights = rows[CODE].astype(float), rows[TIMES].astype(float)
    each = zip(design.target.against_others, thetas, strict=True)
    return [bins_of_rows(scores_of(design, rows, theta), of.as_rows(codes, 0.0)[0], weights) for of, theta in each]


def over_all(each: Sequence[Probabilities | None], rows: Sequence[float]) -> Probabilities | None:
    """On the rows of all groups together, if all have probabilities."""
    known = [found for found in each if found]
    if not known or len(known) < len(each):
        return None

    def mean(name: str) -> Bounded:
        ends = ([getattr(getattr(found, name), end) for found in known] for end in ("value", "lower", "upper"))
        return Bounded(*(float(np.average(values, weights=rows)) for values in ends))

    return Probabilities(mean("brier"), mean("log_loss"), ())
