"""Choosing the strength of the penalty, and the loss, by rows that a training has not seen.

The rows of a sample are cut into parts. For each part one model after the other is trained on the rows that belong to
it, from the strongest penalty to the weakest, each from the weights of the one before, and measured on its other rows.
Parts differ more than models do: so models are compared in each part, and the error is that of the differences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.threads import fitting_threads

STRENGTHS = tuple(float(f"{10.0 ** (1.0 - half / 2.0):.1g}") for half in range(13))
"""From 10 to 1e-5, two a decade."""
AROUND = 2
"""So many strengths on each side of the one that was found are tried with another loss."""
WIDTH, ACCURACY = 0.1, 1e-3
"""How far the loss is smoothed, in units of the residuals, and how near the optimum is near enough, as a share of it:
the error of a measure is far larger."""


@dataclass(frozen=True)
class Part:
    """Rows to train on, and rows to measure that on."""

    rest: Indices
    measured: Indices


@dataclass(frozen=True)
class Candidate:
    """A loss, with the sample as it sees it, for each class that is trained against all others."""

    name: str
    loss: Loss
    samples: Sequence[Sample]
    penalties: Callable[[float], Sequence[Penalty]]
    """Those of a strength, one for each sample."""


@dataclass(frozen=True)
class Measuring:
    """What says how good scores are: one row of scores for each sample, for these rows of it."""

    of: Callable[[Candidate, Array, Indices], float]
    smaller: bool = False
    """Is less better?"""


@dataclass(frozen=True)
class Tried:
    """A loss and a strength with their measure in each part."""

    loss: str
    strength: float
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))


@dataclass(frozen=True)
class Choice:
    chosen: Tried
    tried: tuple[Tried, ...]
    """All, each loss from the strongest penalty to the weakest."""


def choose(
    candidates: Sequence[Candidate],
    parts: Sequence[Part],
    measuring: Measuring,
    strengths: Sequence[float] = STRENGTHS,
) -> Choice:
    """The simplest model that is as good as the best, with the first loss, unless another has a better one. The others
    are tried around the strength that the first has found."""
    with fitting_threads(candidates[0].samples[0].rows.width):
        return _chosen(candidates, parts, measuring, strengths)


def _chosen(
    candidates: Sequence[Candidate], parts: Sequence[Part], measuring: Measuring, strengths: Sequence[float]
) -> Choice:
    first, *others = candidates
    tried = path(first, parts, measuring, strengths)
    chosen = simplest(tried, smaller=measuring.smaller)
    middle, best = strengths.index(chosen.strength), chosen
    for other in others:
        near = strengths[max(0, middle - AROUND) : middle + AROUND + 1]
        found = path(other, parts, measuring, near)
        own = simplest(found, smaller=measuring.smaller)
        gain, error = difference(own, chosen, smaller=measuring.smaller)
        if gain > error and difference(own, best, smaller=measuring.smaller)[0] > 0.0:
            best = own
        tried += found
    return Choice(best, tuple(tried))


def path(candidate: Candidate, parts: Sequence[Part], measuring: Measuring, strengths: Sequence[float]) -> list[Tried]:
    """Each strength, from the strongest on."""
    found = np.array([_of_part(candidate, part, measuring, strengths) for part in parts])
    return [Tried(candidate.name, s, tuple(row.tolist())) for s, row in zip(strengths, found.T, strict=True)]


def _of_part(candidate: Candidate, part: Part, measuring: Measuring, strengths: Sequence[float]) -> list[float]:
    every = [candidate.penalties(strength) for strength in strengths]
    scores = [
        _scores(sample, candidate.loss, part, [penalties[n] for penalties in every])
        for n, sample in enumerate(candidate.samples)
    ]
    return [measuring.of(candidate, np.array(each), part.measured) for each in zip(*scores, strict=True)]


def _scores(sample: Sample, loss: Loss, part: Part, penalties: Sequence[Penalty]) -> list[Array]:
    """The scores of the rows that are measured, for each penalty."""
    rest, measured = taken(sample, part.rest), sample.rows.take(part.measured)
    local = LocalProblem.of(rest, loss, penalties[0])
    point, nothing, found = np.zeros(sample.rows.width), np.zeros(sample.rows.width), []
    for penalty in penalties:
        local = replace(local, penalty=penalty).fitting(point)
        point = local.minimise(point, nothing, WIDTH * local.unit, ACCURACY)
        found.append(measured.scores(point))
    return found


def taken(sample: Sample, places: Indices) -> Sample:
    """Some rows of a sample."""
    return Sample(sample.rows.take(places), sample.signs[places], sample.origins[places], sample.weights[places])


def simplest(tried: Sequence[Tried], *, smaller: bool = False) -> Tried:
    """The first that is not worse than the best by more than one standard error of their differences."""
    best = (min if smaller else max)(tried, key=lambda each: each.mean)
    for each in tried:
        loss, error = difference(best, each, smaller=smaller)
        if loss <= error:
            return each
    return best


def difference(one: Tried, other: Tried, *, smaller: bool = False) -> tuple[float, float]:
    """By how much one is better than the other, and the standard error of that over the parts."""
    each = np.subtract(one.values, other.values) * (-1.0 if smaller else 1.0)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0
