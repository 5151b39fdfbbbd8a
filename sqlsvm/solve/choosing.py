"""Choosing the strength of the penalty, and the loss, by rows that a training has not seen.

The rows of a sample are cut into parts. For each part models are trained on the rows that belong to it, from the
strongest penalty on, each from the weights of the one before, and measured on its other rows. Parts differ more than
models do: so models are compared in each part, and the error is that of the differences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.curvature import Dense
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.threads import fitting_threads

STRENGTHS = tuple(float(f"{10.0 ** (1.0 - half / 2.0):.1g}") for half in range(13))  # from 10 to 1e-5, two a decade
EVERY = 2  # every second one is tried first, and then those next to the one that was found
FALLEN, FALLS = 2.0, 2  # the path ends where so many measures, one after the other, are so many errors below the best
TENTH = 0.1  # a gain that is a smaller share of the error of the measure itself is none
HARDLY = 1e-3  # a share of the measure of a number that does not matter
ONE_SIDE = 0.01  # with a smaller share of the rows on one side, all are on the other
DEAR = 3.0  # a loss whose training takes so many times as long is not taken
WIDTH, ACCURACY = 0.1, 1e-3
"""How far the loss is smoothed, in units of the residuals, and how near the optimum is near enough, as a share of it:
the error of a measure is far larger."""
PER_COLUMN = 20  # rows. With fewer, a part is too far from all rows for one Newton step.
SPARSE = 150  # columns of categories. With more, systems are solved by the rows.
ONE = 0  # columns for which BLAS has one thread: more wait for each other if other programs run, and matrices are small


@dataclass(frozen=True)
class Part:
    """Rows to train on, and rows to measure that on."""

    rest: Indices
    measured: Indices
    share: float = 1.0
    """How many rows `rest` has, as a share of those of the model to come. A penalty of all rows, which is lambda times
    their number, does not grow with what is known: so what is lambda there is lambda / share here."""


@dataclass(frozen=True)
class Candidate:
    """A loss, with the sample as it sees it, for each class that is trained against all others."""

    name: str
    loss: Loss
    samples: Sequence[Sample]
    penalties: Callable[[float], Sequence[Penalty]]  # those of a strength, one for each sample
    price: float = 1.0  # of its training, next to others


@dataclass(frozen=True)
class Measuring:
    """What says how good scores are: one row of scores for each sample, for these rows of it."""

    of: Callable[[Candidate, Array, Indices], float]
    smaller: bool = False  # is less better?
    of_numbers: bool = False
    """A penalty that is too strong draws each prediction towards the mean: the order of rows hardly minds, an error
    does."""


class Place(NamedTuple):
    """Where the scores of a model are: scores of others are compared with them in these units."""

    mean: float
    width: float  # the standard deviation

    @classmethod
    def of(cls, scores: Array, weights: Array, mean: float | None = None) -> "Place":
        centre = float(np.average(scores, weights=weights))
        width = float(np.sqrt(np.average((scores - centre) ** 2, weights=weights)))
        return cls(centre if mean is None else mean, width)

    def of_scores(self, scores: Array) -> Array:
        return (scores - self.mean) / (self.width or 1.0)

    def score(self, placed: float) -> float:
        return self.mean + placed * self.width


@dataclass(frozen=True)
class Tried:
    """A loss and a strength with their measure in each part."""

    loss: str
    strength: float
    values: tuple[float, ...]
    scores: tuple[Array, ...] = field(default=(), compare=False, repr=False)
    """Of the rows that each part measures: a row for each sample."""
    placed: tuple[Array, ...] = field(default=(), compare=False, repr=False)
    """The same, placed among those of the rows that the part was trained on. A strong penalty leaves scores that differ
    less than the intercepts of parts do."""

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))


@dataclass(frozen=True)
class Choice:
    chosen: Tried
    tried: tuple[Tried, ...]  # all, each loss from the strongest penalty to the weakest
    dearer: Tried | None = None  # what is better and takes too long to train


def choose(
    candidates: Sequence[Candidate], parts: Sequence[Part], measuring: Measuring, strengths: Sequence[float] = STRENGTHS
) -> Choice:
    """The simplest model that is as good as the best, with the first loss, unless another has a better one."""
    with fitting_threads(ONE):
        return _chosen(candidates, parts, measuring, strengths)


def _chosen(
    candidates: Sequence[Candidate], parts: Sequence[Part], measuring: Measuring, strengths: Sequence[float]
) -> Choice:
    first, *others = (Path(candidate, parts, measuring) for candidate in candidates)
    smaller, cheapest = measuring.smaller, min(candidate.price for candidate in candidates)
    first.go_down(strengths)
    best, taken, dearer = first.best, first, None
    for other in others:
        other.look_around(strengths, first.simplest.strength)
        if (
            other.tells
            and is_better(other.best, first.best, smaller=smaller)
            and (best is first.best or difference(other.best, best, smaller=smaller)[0] > 0.0)
        ):
            if other.candidate.price > DEAR * cheapest:
                dearer = other.best
            else:
                best, taken = other.best, other
    tried = [each for path in (first, *others) for each in path.tried]
    return Choice(taken.placed(taken.simplest), tuple(tried), dearer)


class Path:
    """What was tried with one loss."""

    def __init__(self, candidate: Candidate, parts: Sequence[Part], measuring: Measuring) -> None:
        self.candidate, self.measuring, self._parts = candidate, measuring, parts
        self._learning = [_learning(candidate, place, parts) for place in range(len(candidate.samples))]
        self._found: dict[float, Tried] = {}
        self._points: dict[float, list[list[Array]]] = {}
        """For each sample those of all parts."""

    @property
    def tried(self) -> list[Tried]:
        """From the strongest penalty to the weakest."""
        return [self._found[strength] for strength in sorted(self._found, reverse=True)]

    @property
    def best(self) -> Tried:
        return (min if self.measuring.smaller else max)(self.tried, key=lambda each: each.mean)

    @property
    def simplest(self) -> Tried:
        return simplest(self.tried, smaller=self.measuring.smaller, of_numbers=self.measuring.of_numbers)

    @property
    def tells(self) -> bool:
        """A loss with an edge that has all rows on one side is the same for many weights: what was found on it once it
        is smoothed says nothing of what a training finds."""
        sides = [float(np.mean(own > 0.0)) for scores in self.best.scores for own in scores]
        return not self.candidate.loss.knots or min(*sides, *(1.0 - side for side in sides)) > ONE_SIDE

    def at(self, strength: float) -> Tried:
        if strength not in self._found:
            self._points[strength] = [own.points(strength) for own in self._learning]
            each = zip(self._learning, self._points[strength], strict=True)
            scores = tuple(np.array(of) for of in zip(*(own.scores(points) for own, points in each), strict=True))
            known = zip(scores, self._parts, strict=True)
            values = tuple(self.measuring.of(self.candidate, own, part.measured) for own, part in known)
            self._found[strength] = Tried(self.candidate.name, strength, values, scores)
        return self._found[strength]

    def placed(self, tried: Tried) -> Tried:
        each = self._points[tried.strength]

        def scores(place: int, part: int) -> Array:
            sample, point = self.candidate.samples[place], each[place][part]
            rest = self._parts[part].rest
            seen = Place.of(sample.rows.take(rest).scores(point), sample.weights[rest])
            return seen.of_scores(tried.scores[part][place])

        parts = range(len(self._parts))
        return replace(tried, placed=tuple(np.array([scores(n, part) for n in range(len(each))]) for part in parts))

    def go_down(self, strengths: Sequence[float]) -> None:
        """Every second one, until the measure has fallen, and those next to the one that is found."""
        falls = 0
        for strength in strengths[::EVERY]:
            tried = self.at(strength)
            gain, error = difference(self.best, tried, smaller=self.measuring.smaller)
            falls = falls + 1 if gain > FALLEN * max(error, TENTH * error_of_mean(self.best)) else 0
            if falls == FALLS:
                break
        place = strengths.index(self.simplest.strength)
        for strength in strengths[max(0, place - 1) : place + 2]:
            self.at(strength)

    def look_around(self, strengths: Sequence[float], strength: float) -> None:
        """From what was found with another loss on, as long as it gets better."""
        place = strengths.index(strength) // EVERY * EVERY
        for near in strengths[max(0, place - EVERY) : place + EVERY + 1 : EVERY]:
            self.at(near)
        while True:
            place = strengths.index(self.best.strength)
            more = [n for n in (place - EVERY, place + EVERY) if 0 <= n < len(strengths)]
            if all(strengths[n] in self._found for n in more):
                break
            for n in more:
                self.at(strengths[n])


def path(
    candidate: Candidate,
    parts: Sequence[Part],
    measuring: Measuring,
    strengths: Sequence[float],
    *,
    placing: bool = False,
) -> list[Tried]:
    """Each strength, from the strongest on."""
    found = Path(candidate, parts, measuring)
    with fitting_threads(ONE):
        return [found.placed(found.at(n)) if placing else found.at(n) for n in strengths]


# -- learning ----------------------------------------------------------------------------------------------------------


def _learning(candidate: Candidate, place: int, parts: Sequence[Part]) -> "Together | Apart":
    """Of one of the samples."""
    rows = candidate.samples[place].rows
    left_out = np.concatenate([part.measured for part in parts])
    whole = len(left_out) == len(np.unique(left_out)) == len(rows)
    whole = whole and all(len(part.rest) + len(part.measured) == len(rows) for part in parts)
    is_smooth = candidate.penalties(1.0)[place].is_smooth
    if whole and is_smooth and len(rows) >= PER_COLUMN * rows.width and rows.width <= SPARSE:
        return Together(candidate, place, parts)
    return Apart(candidate, place, parts)


class Learning:
    """A model after the other, on some rows: each begins where that of the next stronger penalty ended."""

    def __init__(self, candidate: Candidate, place: int, share: float, rest: Indices | None = None) -> None:
        whole = candidate.samples[place]
        self._sample, self._loss = whole if rest is None else taken(whole, rest), candidate.loss
        self._penalties, self._place, self._share = candidate.penalties, place, share
        self._points: dict[float, Array] = {}

    def penalty(self, strength: float, share: float) -> Penalty:
        return self._penalties(strength / share)[self._place]

    def point(self, strength: float) -> tuple[LocalProblem, Array]:
        nothing, known = np.zeros(self._sample.rows.width), self._points
        near = min(known, key=lambda each: (each < strength, abs(np.log(each / strength))), default=None)
        start = nothing if near is None else known[near]
        penalty = self.penalty(strength, self._share)
        local = LocalProblem.of(self._sample, self._loss, penalty).fitting(start)
        rows = self._sample.rows
        local = replace(local, by_rows=local.by_rows or rows.width - rows.numbers.shape[1] > SPARSE)
        known[strength] = local.minimise(start, nothing, WIDTH * local.unit, ACCURACY)
        return local, known[strength]


class InParts:
    """The weights of each part, and the rows that it measures."""

    def __init__(self, candidate: Candidate, place: int, parts: Sequence[Part]) -> None:
        self._measured = [taken(candidate.samples[place], part.measured) for part in parts]

    def scores(self, points: Sequence[Array]) -> list[Array]:
        return [sample.rows.scores(point) for sample, point in zip(self._measured, points, strict=True)]


class Apart(InParts):
    """A path for each part."""

    def __init__(self, candidate: Candidate, place: int, parts: Sequence[Part]) -> None:
        super().__init__(candidate, place, parts)
        self._each = [Learning(candidate, place, part.share, part.rest) for part in parts]

    def points(self, strength: float) -> list[Array]:
        return [own.point(strength)[1] for own in self._each]


class Together(InParts):
    """One path on all rows, and from there one Newton step for each part: what rows add to the slope and to the
    curvature adds up over the parts."""

    def __init__(self, candidate: Candidate, place: int, parts: Sequence[Part]) -> None:
        super().__init__(candidate, place, parts)
        self._shares = [part.share for part in parts]
        self._all = Learning(candidate, place, sum(self._shares) / (len(parts) - 1))

    def points(self, strength: float) -> list[Array]:
        local, point = self._all.point(strength)
        psi, found = local.loss.smoothed(WIDTH * local.unit), []
        sums = [_sums(sample, psi, point) for sample in self._measured]
        weights, slopes, grams = (sum(each) for each in zip(*sums, strict=True))
        for share, (own, slope, gram) in zip(self._shares, sums, strict=True):
            left, penalty = weights - own, self._all.penalty(strength, share)
            matrix = (grams - gram) / left
            matrix[np.diag_indices_from(matrix)] += penalty.ridge
            step = Dense(matrix).solve((slopes - slope) / left + penalty.slope(point), 0.0)
            found.append(point - step)
        return found


def _sums(sample: Sample, psi: Loss, point: Array) -> tuple[float, Array, Array]:
    """The weights of rows, and the slope and the curvature of their loss."""
    z = sample.origins - sample.signs * sample.rows.scores(point)
    slope = -sample.rows.sums(sample.weights * sample.signs * psi.slope(z))
    return float(sample.weights.sum()), slope, sample.rows.gram(sample.weights * psi.curvature(z))


def evened(candidate: Candidate) -> Candidate:
    """With the same weight for both classes."""

    def weighted(sample: Sample) -> Sample:
        own = [sample.weights[sample.signs == way].sum() for way in (-1.0, 1.0)]
        return replace(sample, weights=sample.weights / np.where(sample.signs > 0.0, own[1], own[0]), optima={})

    return replace(candidate, samples=[weighted(sample) for sample in candidate.samples])


def unseen(tried: Tried, parts: Sequence[Part]) -> tuple[Indices, Array]:
    """The rows that parts have measured, and their scores: placed, if that is known."""
    return np.concatenate([part.measured for part in parts]), np.concatenate(tried.placed or tried.scores, axis=1)


def taken(sample: Sample, places: Indices) -> Sample:
    """Some rows of a sample."""
    return Sample(sample.rows.take(places), sample.signs[places], sample.origins[places], sample.weights[places])


def simplest(tried: Sequence[Tried], *, smaller: bool = False, of_numbers: bool = False) -> Tried:
    """The one with the strongest penalty that the best is not better than, or hardly if it is a number."""
    best = (min if smaller else max)(tried, key=lambda each: each.mean)
    if of_numbers:
        return next(each for each in tried if abs(each.mean - best.mean) <= HARDLY * abs(best.mean))
    return next(each for each in tried if not is_better(best, each, smaller=smaller))


def is_better(one: Tried, other: Tried, *, smaller: bool = False) -> bool:
    """By more than one standard error of the difference, and by more than a tenth of that of the measure itself."""
    gain, error = difference(one, other, smaller=smaller)
    return gain > max(error, TENTH * error_of_mean(one))


def difference(one: Tried, other: Tried, *, smaller: bool = False) -> tuple[float, float]:
    """By how much one is better than the other, and the standard error of that over the parts."""
    each = np.subtract(one.values, other.values) * (-1.0 if smaller else 1.0)
    return float(each.mean()), _error(each)


def error_of_mean(tried: Tried) -> float:
    return _error(np.array(tried.values))


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
