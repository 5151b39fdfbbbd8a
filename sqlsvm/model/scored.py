"""What measures are computed from: scores with their labels, of rows that are in memory or that the database has
counted; how good they are; and how far that may be off, as their rows are a sample of clusters (ask/intervals.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from itertools import accumulate
from math import ceil, sqrt
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from sqlsvm.measures import SEVERAL, TWO, Label
from sqlsvm.model.confusion import MEASURES, Confusion, slopes
from sqlsvm.model.evaluation import Bounded, Clusters, Evaluation, Group, Histogram, Probabilities, Residuals
from sqlsvm.model.probability import Probability, normalised
from sqlsvm.plan.scaling import FLAT, LabelMoments
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.calibration import isotonic, ranks, sigmoid
from sqlsvm.solve.interval import LOG, LOGIT, UNEXPLAINED, Interval, Scale, Sizes, of_strata
from sqlsvm.solve.loss import Loss

BINS, GROUPS = 100, 20
LEAST = float(np.finfo(float).eps)
"""In the log loss no probability is smaller than this, and none is larger than one minus this."""
OF_ROWS = "accuracy", "weighted_f1"  # in these measures a class counts as much as it has rows
FEW_ROWS = "one of the classes has less than two rows of the label's table"
ONE_ROW = "the rows are of one row of the label's table"


@dataclass(frozen=True)
class Scored:
    scores: Array  # of each entry: one score, or a row of them for each of several classes
    codes: Array  # those of the labels: -1 and 1, 1 and more, or a number
    counts: Array  # how many rows each entry stands for
    clusters: Indices | None = None
    """The cluster that it is of; if there are none, it counts so many clusters of one row."""
    off: float = 0.0  # scores may be wrong by so much, as they were rounded to multiples of `step`
    step: float = 0.0
    ends: tuple[Array, Array] | None = None  # where an entry stands for others too: between which scores these are
    above: tuple[float, float] | None = None
    """The rows of each class with a score above 0, if that is known more exactly."""
    area: float | None = None
    """So many pairs of a negative and a positive row are in order, if that is known more exactly."""

    def of(self, these: ArrayLike) -> "Scored":
        """Of these alone; the others do not count."""
        return Scored(self.scores, self.codes, np.where(these, self.counts, 0.0), self.clusters)

    @cached_property
    def own(self) -> tuple["Scored", "Scored"]:
        """Those of the negative class, and of the positive one."""
        return self.of(self.codes <= 0.0), self.of(self.codes > 0.0)

    @property
    def around(self) -> tuple[Array, Array]:
        """The least and the largest score of each, with all that was rounded."""
        least, largest = self.ends or (self.scores, self.scores)
        return least - self.off, largest + self.off

    @cached_property
    def residuals(self) -> Array:
        return np.asarray(self.codes - self.scores.ravel())

    @cached_property
    def ranks(self) -> tuple[Array, Array]:
        """For each the rows of the negative class below it, and those of the positive one above it."""
        return ranks(self.scores.ravel(), *(own.counts for own in self.own))

    @cached_property
    def sizes(self) -> Sizes:
        if self.clusters is None:
            return Sizes(*[float(self.counts.sum())] * len(fields(Sizes)))
        size = np.bincount(self.clusters, self.counts)
        powers = accumulate([size] * (len(fields(Sizes)) - 1), np.multiply)
        return Sizes(float((size > 0.0).sum()), *(float(power.sum()) for power in powers))

    def mean(self, values: Array) -> float:
        return float(self.counts @ values) / self.sizes.rows

    def squares(self, adds: Array) -> float:
        """The sum of the squares of what each cluster adds."""
        if self.clusters is None:
            return float(self.counts @ adds**2)
        return float((np.bincount(self.clusters, self.counts * adds) ** 2).sum())

    def interval(self, value: float, adds: Array, scale: Scale, by: float = 1.0) -> Interval:
        """That of a mean, from what each row adds to it, by a factor."""
        error = sqrt(self.squares(adds) * self.sizes.factor) / self.sizes.rows
        return Interval.around(value, error * by, self.sizes.degrees, scale)


def together(each: Sequence[Scored]) -> Scored:
    """Those of several lists, without clusters."""
    arrays = ((of.scores, of.codes, of.counts, *of.around) for of in each)
    scores, codes, counts, least, largest = (np.concatenate(parts) for parts in zip(*arrays, strict=True))
    return Scored(scores, codes, counts, ends=(least, largest))


def against_others(scored: Scored) -> list[Scored]:
    """Of several classes: each against all others."""
    each = enumerate(scored.scores, 1)
    return [replace(scored, scores=own, codes=np.where(scored.codes == k, 1.0, -1.0)) for k, own in each]


def losses(scored: Scored, loss: Loss) -> Array:
    """Of each entry; of several classes the mean over all of them."""
    if scored.scores.ndim > 1:
        return np.asarray(np.mean([losses(own, loss) for own in against_others(scored)], axis=0))
    if loss.origin is None:
        return loss.value(scored.residuals)
    return loss.value(loss.origin - np.where(scored.codes > 0.0, scored.scores, -scored.scores))


# -- how good they are -------------------------------------------------------------------------------------------------

Answer = Evaluation | Residuals | Confusion


def answered(
    kind: Label,
    scored: Scored,
    bins: int = BINS,
    *,
    curves: Sequence[Probability] = (),
    names: tuple[object, ...] = (),
    quantile: float = 0.5,
) -> Answer:
    if kind == TWO:
        return of_two_classes(scored, bins, *curves)
    return of_several_classes(scored, names, curves) if kind == SEVERAL else of_number(scored, quantile, bins)


def of_two_classes(scored: Scored, bins: int = BINS, curve: Probability | None = None) -> Evaluation:
    """A row is predicted positive if its score is above 0. Of scores that were rounded to 0, half are taken to be."""
    edges = _edges(np.append(*scored.ends) if scored.ends else scored.scores, bins, scored.step)
    rows = [tuple(_histogram(own, edges)) for own in scored.own]
    negatives, positives = (float(own.counts.sum()) for own in scored.own)
    above = [*map(exactly, scored.above)] if scored.above else [_above(own, scored.off) for own in scored.own]
    return Evaluation(
        negatives=negatives,
        positives=positives,
        true_positive=above[1],
        false_positive=above[0],
        auc=_auc(scored, negatives * positives),
        histogram=Histogram(tuple(edges.tolist()), rows[0], rows[1]),
        blur=scored.off,
        probabilities=probabilities(scored, curve) if curve else None,
    )


def exactly(value: float) -> Bounded:
    return Bounded(value, value, value)


def _above(own: Scored, off: float) -> Bounded:
    value, least, most = (float(own.counts[own.scores > t].sum()) for t in (0.0, off, -off))
    halves = float(own.counts[own.scores == 0.0].sum()) / 2.0 if off else 0.0
    return Bounded(value + halves, least, most)


def _auc(scored: Scored, pairs: float) -> Bounded | None:
    """Two scores that are each off may be twice as far from each other. None if one of the classes has no rows."""
    if not pairs > 0.0:
        return None
    if scored.area is not None:
        return exactly(scored.area / pairs)
    negative, positive = (own.counts for own in scored.own)

    def area(by: float) -> float:
        below = (
            scored.ranks[0] if not by else ranks(scored.scores + 2.0 * by * (positive == 0.0), negative, positive)[0]
        )
        return float(positive @ below) / pairs

    return Bounded(*(area(by) for by in (0.0, scored.off, -scored.off)))


def _edges(values: Array, bins: int, step: float = 0.0) -> Array:
    """Of no more bins than doubles can tell apart between the least and the largest value. On the grid a bin has a
    whole number of places, each in the middle of its step, so that bars have no gaps."""
    if not len(values):
        return np.zeros(0)
    least, largest = float(values.min()), float(values.max())
    if step:
        width = step * ceil(((largest - least) / step + 1.0) / bins)
        used = max(1, min(bins, ceil((largest - least + step / 2.0) / width)))
        return np.asarray(least - step / 2.0 + width * np.arange(used + 1))
    step = 2.0 * float(np.spacing(max(abs(least), abs(largest))))
    if largest - least < step:
        return np.array([least - max(0.5, step), largest + max(0.5, step)])
    return np.linspace(least, largest, int(min(bins, (largest - least) / step)) + 1)


def _histogram(own: Scored, edges: Array) -> list[float]:
    if not len(edges):
        return []
    found: list[float] = np.histogram(own.scores, edges, weights=own.counts)[0].tolist()
    return found


def of_several_classes(scored: Scored, names: tuple[object, ...], curves: Sequence[Probability] = ()) -> Confusion:
    """A row of scores for each class; the code of the first is 1."""
    matrix = np.zeros((len(names), len(names)))
    np.add.at(matrix, (scored.codes.astype(int) - 1, scored.scores.argmax(axis=0)), scored.counts)
    costs = costs_of_chances(scored, curves) if curves else {}
    return Confusion(names, matrix, chances={name: (scored.mean(cost), 0.0) for name, cost in costs.items()})


def of_number(scored: Scored, quantile: float = 0.5, bins: int = BINS) -> Residuals:
    z, weights, codes = scored.residuals, scored.counts, scored.codes
    sums = {
        "n": float(weights.sum()),
        "over": float(weights @ np.maximum(z, 0.0)),
        "under": float(weights @ np.maximum(-z, 0.0)),
        "squares": float(weights @ z**2),
        "covered": float(weights @ (z <= 0.0)),
    }
    label, edges = LabelMoments(float(weights @ codes), float(weights @ codes**2)), _edges(z, bins)
    return of_sums(sums, label, quantile, (edges, np.histogram(z, edges, weights=weights)[0]))


def of_sums(
    sums: Mapping[str, float], label: LabelMoments, quantile: float, histogram: tuple[Array, Array], unit: float = 1.0
) -> Residuals:
    """From the sums over all rows, whose residuals are in units, and the edges and counts of the histogram."""
    n, over, under, squares = sums["n"], sums["over"], sums["under"], sums["squares"] * unit**2
    edges, counts = histogram
    return Residuals(
        rows=n,
        mae=(over + under) * unit / n,
        rmse=sqrt(squares / n),
        r2=explained(squares, n, label),
        pinball=(quantile * over + (1.0 - quantile) * under) * unit / n,
        quantile=quantile,
        coverage=sums["covered"] / n,
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
    )


def explained(squares: float, rows: float, label: LabelMoments) -> float | None:
    """R^2 of residuals with this sum of squares; None if the label is the same in all rows."""
    spread = label.squares - label.total**2 / rows
    return 1.0 - squares / spread if spread > FLAT * label.squares else None


# -- probabilities -----------------------------------------------------------------------------------------------------


def fit(method: str, scored: Scored) -> Probability:
    """Of the positive class."""
    negatives, positives = (own.counts for own in scored.own)
    if method == "sigmoid":
        return Probability("sigmoid", *sigmoid(scored.scores, negatives, positives))
    at, places = np.unique(scored.scores, return_inverse=True)
    negatives, positives = (np.bincount(places, own).astype(float) for own in (negatives, positives))
    scores, shares = isotonic(at, negatives, positives)
    return Probability("isotonic", scores=tuple(scores.tolist()), shares=tuple(shares.tolist()))


def probabilities(scored: Scored, curve: Probability) -> Probabilities | None:
    """The best case has low ones of the negative rows and high ones of the positive."""
    if not len(scored.counts):
        return None
    positive, at = scored.codes > 0.0, curve(scored.scores)
    ends = np.sort([*map(curve, scored.around)], axis=0)
    cases = [at, np.where(positive, ends[1], ends[0]), np.where(positive, ends[0], ends[1])]
    right = [np.where(positive, p, 1.0 - p) for p in cases]
    places = np.minimum((at * GROUPS).astype(int), GROUPS - 1)
    counts = scored.counts
    whole, sums, shares = (np.bincount(places, of, GROUPS) for of in (counts, counts * at, counts * positive))
    used = np.flatnonzero(whole)
    return Probabilities(
        brier=Bounded(*(scored.mean((1.0 - p) ** 2) for p in right)),
        log_loss=Bounded(*(scored.mean(log_loss(p)) for p in right)),
        groups=tuple(Group(float(whole[g]), float(sums[g] / whole[g]), float(shares[g] / whole[g])) for g in used),
    )


def log_loss(share: Array) -> Array:
    """Of what has this probability."""
    return -np.log(np.clip(share, LEAST, 1.0 - LEAST))


def costs_of_chances(scored: Scored, curves: Sequence[Probability]) -> Mapping[str, Array]:
    """What the probabilities of several classes cost in each row."""
    p = normalised(np.column_stack([curve(own) for curve, own in zip(curves, scored.scores, strict=True)]))
    own = p[np.arange(len(p)), scored.codes.astype(int) - 1]
    return {"brier": (p**2).sum(axis=1) - 2.0 * own + 1.0, "log_loss": log_loss(own)}


# -- how far off that may be -------------------------------------------------------------------------------------------


def with_intervals(found: Answer, scored: Scored, loss: Loss) -> Answer:
    """Of rows whose clusters are known."""
    if isinstance(found, Confusion):
        sizes = {n: own.sizes for n, own in _by_class(found, scored).items() if own.sizes.clusters}
        return of_clusters(found, sizes, squares_by_class(found, scored))
    if isinstance(found, Evaluation):
        return of_classes(found, scored, loss)
    return _of_numbers(found, scored, loss)


def of_classes(found: Evaluation, scored: Scored, loss: Loss) -> Evaluation:
    if found.auc is None or min(own.sizes.clusters for own in scored.own) < 2:
        return replace(found, no_intervals=FEW_ROWS)
    wrong, share = (scored.scores > 0.0) != (scored.codes > 0.0), found.accuracy.value
    intervals = {
        "accuracy": scored.interval(share, wrong - (1.0 - share), LOGIT),
        "auc": _of_auc(scored, found.auc.value),
        "loss": _of_loss(scored, loss),
    }
    return told(found, intervals, scored.sizes)


def told(found: Evaluation, intervals: Mapping[str, Interval], every: Sizes) -> Evaluation:
    value = intervals["accuracy"].value
    return replace(found, intervals=intervals, clusters=worth(value * (1.0 - value), intervals["accuracy"], every))


def _of_auc(scored: Scored, auc: float) -> Interval:
    (below, above), (negative, positive) = scored.ranks, scored.own
    adds = (positive, below / negative.sizes.rows - auc), (negative, above / positive.sizes.rows - auc)
    squares = (own.squares(of) / own.sizes.rows**2 for own, of in adds)
    variance, degrees = of_strata(squares, [positive.sizes, negative.sizes])
    return Interval.around(auc, sqrt(variance), degrees, LOGIT)


def _of_loss(scored: Scored, loss: Loss) -> Interval:
    costs = losses(scored, loss)
    mean = scored.mean(costs)
    return scored.interval(mean, costs - mean, LOG)


def _of_numbers(found: Residuals, scored: Scored, loss: Loss) -> Residuals:
    if scored.sizes.clusters < 2:
        return replace(found, no_intervals=ONE_ROW)
    z, square = scored.residuals, found.rmse**2
    intervals = {
        "mae": scored.interval(found.mae, np.abs(z) - found.mae, LOG),
        "rmse": scored.interval(found.rmse, z**2 - square, LOG, 0.5 / found.rmse if found.rmse else 0.0),
        "loss": _of_loss(scored, loss),
    }
    if found.r2 is not None:
        spread = (scored.codes - scored.mean(scored.codes)) ** 2
        variance = scored.mean(spread)
        adds = z**2 - square / variance * spread
        intervals["r2"] = scored.interval(found.r2, adds, UNEXPLAINED, 1.0 / variance)
    clusters = worth(square - found.mae**2, intervals["mae"], scored.sizes)
    return replace(found, intervals=intervals, clusters=clusters)


def _by_class(found: Confusion, scored: Scored) -> dict[int, Scored]:
    return {n: scored.of(scored.codes == n) for n in range(1, len(found.values) + 1)}


def squares_by_class(found: Confusion, scored: Scored) -> Array:
    """For each class and each measure the sum, over the clusters, of the square of what each adds."""
    cells, each = (scored.codes.astype(int) - 1, scored.scores.argmax(axis=0)), slopes(found.matrix).values()
    return np.array([[own.squares(of[cells]) for of in each] for own in _by_class(found, scored).values()])


def of_clusters(found: Confusion, sizes: Mapping[int, Sizes], squares: Array) -> Confusion:
    """`squares` has the sum of the squares of what the rows of the label's relation add to each measure, for each
    class. If a measure counts classes alike, each class is a sample of its own."""
    every, share = reduce(add, sizes.values()), found.measures["accuracy"]
    if every.clusters < 2:
        return replace(found, no_intervals=ONE_ROW)
    few = [str(name) for n, name in enumerate(found.values, 1) if n not in sizes or sizes[n].clusters < 2]
    strata = [sizes[n] for n in range(1, len(found.values) + 1)] if not few else []
    intervals = {}
    for name, own in zip(MEASURES, squares.T, strict=True):
        if name in OF_ROWS:
            variance, degrees = of_strata([float(own.sum())], [every])
        elif strata:
            variance, degrees = of_strata(own.tolist(), strata)
        else:
            continue
        intervals[name] = Interval.around(found.measures[name], sqrt(variance), degrees, LOGIT)
    clusters = worth(share * (1.0 - share), intervals["accuracy"], every)
    found = replace(found, intervals=intervals, clusters=clusters)
    if not few:
        return found
    why = f"the means over the classes have none: class {few[0]} has less than two rows of the label's table"
    return replace(found, no_intervals=why)


def worth(variance: float, found: Interval, sizes: Sizes) -> Clusters:
    """So many independent rows with this variance would have the same standard error; no more than there are."""
    error = found.standard_error
    return Clusters(sizes.clusters, min(variance / error**2 if error > 0.0 else sizes.effective, sizes.rows))
