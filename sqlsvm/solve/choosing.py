"""Choosing the strength of the penalty, and the loss, by rows that a training has not seen.

The rows of a sample are cut into parts. For each part one model after the other is trained on the rows that belong to
it, from the strongest penalty to the weakest, each from the weights of the one before, and measured on its other rows.
Parts differ more than models do: so models are compared in each part, and the error is that of the differences.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.threads import fitting_threads

STRENGTHS = tuple(float(f"{10.0 ** (1.0 - half / 2.0):.1g}") for half in range(13))
"""From 10 to 1e-5, two a decade."""
EVERY = 2
"""Of the strengths every second one is tried with another loss."""
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

    of: Callable[[Candidate, Array, Indices], Sequence[float]]
    """The measure; and more of them. Each decides among those that are as good as the best by the one before.
    A model that predicts one class for all rows can have the best order of scores."""
    smaller: bool = False
    """Is less of the first better? Of the others more is."""


@dataclass(frozen=True)
class Tried:
    """A loss and a strength with their measure in each part."""

    loss: str
    strength: float
    values: tuple[float, ...]
    others: tuple[tuple[float, ...], ...] = ()
    """The same for each measure that decides then."""
    scores: tuple[Array, ...] = field(default=(), compare=False, repr=False)
    """Of the rows that each part measures: a row for each sample."""

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def then(self) -> "Tried":
        return replace(self, values=self.others[0], others=self.others[1:])


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
    """The simplest model that is as good as the best, with the first loss, unless another has a better one."""
    with fitting_threads(candidates[0].samples[0].rows.width):
        return _chosen(candidates, parts, measuring, strengths)


def _chosen(
    candidates: Sequence[Candidate], parts: Sequence[Part], measuring: Measuring, strengths: Sequence[float]
) -> Choice:
    first, *others = candidates
    tried = path(first, parts, measuring, strengths)
    smaller = measuring.smaller
    chosen = simplest(tried, smaller=smaller)
    best = chosen
    for other in others:
        found = path(other, parts, measuring, strengths[::EVERY])
        own = simplest(found, smaller=smaller)
        if is_better(own, chosen, smaller=smaller) and (best is chosen or own.mean > best.mean):
            best = own
        tried += found
    return Choice(best, tuple(tried))


def path(candidate: Candidate, parts: Sequence[Part], measuring: Measuring, strengths: Sequence[float]) -> list[Tried]:
    """Each strength, from the strongest on."""
    scores = [_of_part(candidate, part, strengths) for part in parts]

    def measured(n: int) -> Iterator[tuple[float, ...]]:
        each = (measuring.of(candidate, own[n], part.measured) for part, own in zip(parts, scores, strict=True))
        return zip(*each, strict=True)

    found = [tuple(measured(n)) for n in range(len(strengths))]
    each = zip(strengths, found, zip(*scores, strict=True), strict=True)
    return [Tried(candidate.name, strength, known[0], known[1:], own) for strength, known, own in each]


def _of_part(candidate: Candidate, part: Part, strengths: Sequence[float]) -> list[Array]:
    """The scores of the rows that are measured, for each strength: a row for each sample."""
    every = [candidate.penalties(strength) for strength in strengths]
    scores = [
        _scores(sample, candidate.loss, part, [penalties[n] for penalties in every])
        for n, sample in enumerate(candidate.samples)
    ]
    return [np.array(each) for each in zip(*scores, strict=True)]


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


def evened(candidate: Candidate) -> Candidate:
    """With the same weight for both classes."""

    def weighted(sample: Sample) -> Sample:
        own = [sample.weights[sample.signs == way].sum() for way in (-1.0, 1.0)]
        return replace(sample, weights=sample.weights / np.where(sample.signs > 0.0, own[1], own[0]), optima={})

    return replace(candidate, samples=[weighted(sample) for sample in candidate.samples])


def unseen(tried: Tried, parts: Sequence[Part]) -> tuple[Indices, Array]:
    """The rows that parts have measured, and their scores."""
    return np.concatenate([part.measured for part in parts]), np.concatenate(tried.scores, axis=1)


def taken(sample: Sample, places: Indices) -> Sample:
    """Some rows of a sample."""
    return Sample(sample.rows.take(places), sample.signs[places], sample.origins[places], sample.weights[places])


def simplest(tried: Sequence[Tried], *, smaller: bool = False) -> Tried:
    """The first that is not worse than the best by more than one standard error of their differences; then that of
    those for which this holds by what decides then, too."""
    best = (min if smaller else max)(tried, key=lambda each: each.mean)
    good = [each for each in tried if not is_better(replace(best, others=()), each, smaller=smaller)]
    if not best.others:
        return good[0]
    found = simplest([each.then for each in good])
    return next(each for each in good if each.strength == found.strength)


def is_better(one: Tried, other: Tried, *, smaller: bool = False) -> bool:
    """By more than one standard error; if neither is, by what decides then."""
    gain, error = difference(one, other, smaller=smaller)
    if abs(gain) > error or not one.others:
        return gain > error
    return is_better(one.then, other.then)


def difference(one: Tried, other: Tried, *, smaller: bool = False) -> tuple[float, float]:
    """By how much one is better than the other, and the standard error of that over the parts."""
    each = np.subtract(one.values, other.values) * (-1.0 if smaller else 1.0)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0
