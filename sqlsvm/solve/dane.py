"""The default solver. The curvature comes from a sample of the join, the gradient and the proof from passes.

    beta_0     = argmin F_sample(beta)
    beta_{t+1} = argmin max_i (slope_i.beta + offset_i) + penalty(beta) + |beta - beta_best|^2 / 2

The distance is measured in the curvature of the smoothed loss on the sample at beta_0, and more by its diagonal where
it has few rows for its columns. Near the optimum the sample knows the curvature far better than a few cuts do, and the
cuts correct its gradient.

On a grid a short step changes a slope by chance: few rows leave their buckets. So there, all cuts and their points are
replaced by their means with the multipliers of the lower bound, where the slopes cancel best. The step from there is
made longer as long as its cut proves nearly as much, as the two ends of a long step tell better what the slope between
them is.

Cuts that count whole rows cannot prove enough where very many rows lie on the knots of the loss. If the oracle allows
it, passes then count in part the rows that are near. If residuals come in a heap on a knot, the heap moves with beta,
and no fixed curvature knows it. Then the sample is solved again in each step, with its gradient corrected by a tilt:

    beta_{t+1} = argmin F_sample(beta) + (a_t - a_sample(beta_t)).beta

This gives one soft cut that proves nearly all. Where one cannot, because few rows make its slope or because the slopes
of several have to cancel along a free intercept, the steps over a heap are those of the bundle, in a curvature that is
as narrow as the heap, from the latest point.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import exp, inf, log
from statistics import fmean
from typing import Unpack

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.bundle import level_point
from sqlsvm.solve.curvature import DENSE_UP_TO, Dense, Metric
from sqlsvm.solve.grain import ERROR_SHARE, choose_buckets
from sqlsvm.solve.local import TINY, LocalProblem
from sqlsvm.solve.oracle import Cut, Oracle
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.run import Proposal, Run
from sqlsvm.solve.solution import Effort, Going, Solution

steps = logging.getLogger(__name__)

HOPE = 0.0001
"""A good pass leaves as little of the gap. The gap of the first pass says how few cuts there are, not how good the next
one may be, and a step between two grids is a poor one. So nearly all passes are as fine as the last one has to be."""
WIDEST, ROUGH, ROUGH_ROWS = 1.0, 0.02, 200
"""From 0, where the residuals of classes are all the same, a loss so wide is curved at all of them. This share of its
minimum is near enough, and so many rows for each column are."""
WIDTHS = (0.2, 0.07, 0.02)
LEAD_WIDTH, NARROWING, FAST = 0.1, 0.3, 0.4
"""Where all rows are in memory, a step of the method of multipliers should leave this share of what a cut misses. If it
leaves more, as where ramps of several knots meet, the loss is made narrower."""
METRIC_WIDTH, ON_GRID = 0.3, 0.5
"""A wide loss has a curvature that holds for a long way. On a grid, which moves residuals, a wider one proves more."""
STRETCH_COST, FARTHEST = 0.1, 0.02
"""A longer step may cost this share of the gap that is asked for, and move scores so far, in units."""
HEAP_WIDTHS = 8.0
"""A heap on a knot is narrow, and so is the region where its curvature holds: this many widths of a soft pass."""
NEAR = 0.1  # how far from a knot residuals count for its density
BIAS_SHARE = 0.2  # smoothing the sample may cost this share of the gap that is asked for
FINEST = 20
"""So often may stalls divide by four what cuts may miss: there is nothing finer to gain, and powers overflow."""
BLUR_SHARE = 0.5  # a soft pass may leave this share of that gap out of R
ACCURACY, LED_ACCURACY = 0.05, 0.2
"""The sample problem may be this share of that gap away from its optimum; where all rows are in memory, this one."""
CROWD = 1.0  # residuals have a density of about 0.3 at a knot. With more than this, they come in heaps.
SOME_ROWS, LIKELY = 500, 0.7
"""So many rows for each column tell how much a cut will miss. It should then be this share of what it may miss."""
NARROWEST = 1e-8
SAME = 1e-10
PATIENCE, HOPED, FEW = 3, 0.78, 0.04
"""After so many passes with the sample, level steps are made where they leave less of the gap. Before the first one, a
pass of theirs is taken to leave this share. What a pass of either kind leaves is the mean of its latest ones."""
CLOSE = 0.03
"""If passes for other penalties leave at most this gap, their cuts know the next point better than the sample does."""
MOST = 0.5  # unless it has this share of the rows of the join
SHARPER = 0.5
"""Then the point is good at once and only the proof needs passes: soft ones, and each may miss this part of what
others may."""
FAR = 0.5
"""If scores are further off than this where the nearest cut was made, its slope is no better guide than the sample."""
ROWS_EACH = 3  # sample rows per coordinate, where there are very many coordinates
A_ROW_OF, A_ROW_OF_PAIRED, A_ROW_OF_SORTED = 200, 2.5, 1
"""The sample has a row for so many that a pass reads: it is then solved in less time than a pass takes. Where rows of
several tables meet, a pass takes far longer for a row: on a grid it meets every bucket of its partners, and else it is
sorted with them."""
LEAST, LEAST_A_BAG = 20_000, 30_000
"""The rows of the smallest sample. On a grid there are so many for each bag: two passes are then enough for most joins,
and a third would take longer than these rows, however few rows it reads."""


def solve(oracle: Oracle, penalty: Penalty, effort: Effort | None = None, **going: Unpack[Going]) -> Solution:
    """Minimise F until the certified gap is at most effort.tol."""
    run = Run(oracle, penalty, effort, **going)
    return run.follow(proposals(run))


def proposals(run: Run[Oracle]) -> Iterator[Proposal]:
    if run.finished:
        return
    local = sampled(run)
    yield from Search(run, local).proposals()


def sample_size(dimension: int, rows_read: float = 0.0, each: float = A_ROW_OF, least: int = LEAST) -> int:
    """Enough rows for the curvature of `dimension` coordinates. Where there are very many, most are categories, and a
    row has only one of a feature's categories. Where a pass takes long, a larger sample saves one: it has a row for
    `each` so many that a pass reads."""
    d = dimension
    dense = min(2000 * d, 60_000), min(800 * d, 250_000 if d <= DENSE_UP_TO else 100_000)
    return max(least, *dense, min(ROWS_EACH * d, 1_000_000), min(int(rows_read / each), 250_000))


def rows_for(oracle: Oracle) -> int:
    if oracle.bags == 1:
        return sample_size(oracle.dimension, oracle.rows_read)
    if oracle.exact:
        return sample_size(oracle.dimension, oracle.rows_read, A_ROW_OF_SORTED)
    return sample_size(oracle.dimension, oracle.rows_read, A_ROW_OF_PAIRED, LEAST_A_BAG * oracle.bags)


def sampled(run: Run[Oracle]) -> LocalProblem:
    """The problem on a sample of the join."""
    oracle = run.oracle
    size = run.effort.sample or rows_for(oracle)
    if not oracle.whole:
        steps.info("sampling %s rows of the join", f"{size:,}")
    return LocalProblem.of(oracle.sample(size, run.effort.seed), oracle.loss, run.penalty)


class Search:
    """Where to look next, and with what width. This is a function of the log alone: what is kept here would be found
    again."""

    def __init__(self, run: Run[Oracle], local: LocalProblem) -> None:
        self.run, self.local = run, local
        whole = run.oracle.whole
        steps.info("solving the problem of %s rows", f"{len(local.rows):,}")
        nothing = np.zeros(run.oracle.dimension)
        point = self._known_optimum(nothing)
        self.local = local = local.fitting(point)
        bias = _knot_bias(run) / self._size(point)
        soft = run.oracle.soft and not whole  # the rows of the whole join are counted in part here
        self.heap = soft and self.local.density(point, WIDTHS[-1]) > CROWD
        self.tilts = self.heap and bias <= run.effort.tol and not run.penalty.known
        self.follows = bool(run.strengths) and run.strengths[0] != run.penalty.strength and not (whole or self.tilts)
        late = self.follows or bias > BIAS_SHARE * run.effort.tol  # only the proof is
        self.soft = self.heap or (soft and run.oracle.soft_is_cheap and late)
        self._end = self._led(point) if whole else None
        self._optimum = self._end.point if self._end else point

    @cached_property
    def first(self) -> tuple[Array, float]:
        """The optimum of the sample, and the width that its pass should have."""
        point, width = self._optimum, self._fitting_width(self._optimum)
        return self._soft_optimum(point, np.zeros_like(point), width) if self.soft else (point, 0.0)

    def proposals(self) -> Iterator[Proposal]:
        run = self.run
        if self._end:
            yield from self._ends(self._end)
        while not run.finished:
            point, width = self.propose()
            if any(np.allclose(point, made, rtol=SAME, atol=0.0) for made in run.points[-2:]):
                point, width = level_point(run), 0.0  # the same pass again would tell nothing
            share = ERROR_SHARE / 2.0 ** min(run.stalls, 2)
            buckets = choose_buckets(run, point, HOPE, self.density(point), self._expected, share)
            yield Proposal(point, buckets, width)

    def _ends(self, led: Proposal) -> Iterator[Proposal]:
        """Its cut is known. If the first pass has to look elsewhere, it proves how good that is."""
        if self.run.start is None:
            yield led
        elif led.cut:
            self.run.bundle.add(led.cut, self.run.oracle.size(led.point, led.cut))

    @property
    def settled(self) -> tuple[Array, float]:
        """The point of the latest soft pass, which proves most, and its width; the first one before any pass."""
        cuts, latest = self.run.cuts, self._latest_soft
        return (self.run.points[latest], cuts[latest].width) if cuts else self.first

    def _size(self, point: Array) -> float:
        """That of the objective, if it is not about 1 as for classes."""
        found = self.local.value(point, np.zeros_like(point), 0.0) if self.run.oracle.loss.origin is None else 1.0
        return found or 1.0

    @cached_property
    def _expected(self) -> float:
        """F of the sample at its optimum, as the grid has it."""
        return self.local.value(self._optimum, np.zeros_like(self._optimum), 0.0) / self._size(self._optimum)

    def density(self, point: Array) -> float:
        """Of the residuals at the knots, as the grid has them: there a label that is a number has the size 1."""
        local = self.local
        found = local.mean_curvature(point, NEAR * local.unit)
        return found if self.run.oracle.loss.origin is not None else found * local.origin**2 / self._size(point)

    @property
    def curved(self) -> float:
        """The width of the loss whose curvature at the first point is that of the metric."""
        width = self.first[1]
        if self.heap and width:
            return HEAP_WIDTHS * width
        return (METRIC_WIDTH if self.run.oracle.exact else ON_GRID) * self.local.unit

    @property
    def scarcity(self) -> float:
        """How few rows the sample has for its columns: nearly 0 as it is drawn, and 1 where it has next to none."""
        columns = self.local.columns
        return 0.0 if self.run.oracle.whole else columns / (len(self.local.rows) + columns)

    @cached_property
    def metric(self) -> Metric:
        found = self.local.curvature(self.first[0], self.curved)
        return Metric(found.shrunk(self.scarcity**2) if isinstance(found, Dense) else found)

    def propose(self) -> tuple[Array, float]:
        """If the gap hardly shrinks, level steps are made, which converge without a sample."""
        run = self.run
        if run.penalty.strength not in run.strengths:
            return self._beginning()
        if (self.tilts and run.stalls % 3 == 2) or is_misled(run.gaps, run.effort.tol, self.scarcity):
            return level_point(run), 0.0
        if self.tilts:
            return self._tilted_optimum(self._latest_soft)
        return self._step()

    def _step(self) -> tuple[Array, float]:
        run = self.run
        if self.heap and run.penalty.strength in run.strengths:
            # many points are about as good, and the slope at the latest one says most
            point = run.bundle.step(run.points[-1], self.metric)
        elif run.oracle.exact or set(run.strengths) != {run.penalty.strength}:
            point = self._step_from_best()
        else:
            centre, point = run.bundle.step_between(run.points, self.metric)
            point = centre + self._stretch(point - centre) * (point - centre)
        return point, self._fitting_width(point)

    def _step_from_best(self) -> Array:
        run, local = self.run, self.local
        best, tilt = run.points[run.best], self._tilt(run.best)
        point = run.bundle.step(best, self.metric)
        longer = local.value(point, tilt, 0.0) > local.value(best, tilt, 0.0)  # what is curved there is not here
        return self._sample_optimum(best, tilt) if longer and not run.stalls else point

    def _stretch(self, step: Array) -> float:
        """How many times as long a step should be. With a length of L its cut proves (L - 1) |step|^2 / 2 less, as it
        is a straight line."""
        local, run = self.local, self.run
        moved = local.spread(step)
        bend = self._bend * (moved * local.unit) ** 2 / 2.0
        free = STRETCH_COST * run.effort.tol * run.certificate.objective_upper
        return max(1.0, min(1.0 + free / max(bend, TINY), FARTHEST / max(moved, TINY)))

    @cached_property
    def _bend(self) -> float:
        """The mean curvature of the metric's loss."""
        return self.local.mean_curvature(self.first[0], self.curved)

    def _beginning(self) -> tuple[Array, float]:
        """The optimum of the sample; with the slope of the join, if a pass was made nearby for another penalty. Where
        those passes leave a small gap, a step from the best of their points."""
        run = self.run
        if run.start is not None:
            return run.start, self._fitting_width(run.start)
        few = len(self.local.rows) < MOST * run.oracle.join_rows
        if self.follows and few and run.gap <= CLOSE:
            return self._step()
        away = [self.local.spread(point - self._optimum) for point in run.points]
        if min(away, default=inf) > FAR:
            return self.first
        nearest = away.index(min(away))
        if self.soft:
            return self._tilted_optimum(nearest)
        point = self._sample_optimum(run.points[nearest], self._tilt(nearest))
        return point, self._fitting_width(point)

    def _known_optimum(self, nothing: Array) -> Array:
        """That of the sample, which several runs may share."""
        optima, asked = self.local.optima, (self.local.loss, self.run.penalty.strength, self.run.effort.tol)
        if asked not in optima:
            start = self._rough(nothing)
            optima[asked] = start if self.run.oracle.whole else self._sample_optimum(start, nothing)
        return optima[asked]

    def _rough(self, nothing: Array) -> Array:
        """Roughly the optimum, from few rows; where there are very many columns, mostly of categories, from fewer
        than there are columns. It saves nothing if the sample has no more rows than these."""
        rows = self.local.rows
        local = self.local.thinned(min(ROUGH_ROWS * rows.width, max(ROUGH_ROWS * self.local.columns, LEAST)))
        if local is self.local and not self.run.oracle.whole:
            return nothing
        return local.minimise(nothing, nothing, WIDEST * local.unit, ROUGH)

    def _led(self, point: Array) -> Proposal:
        """The optimum where all rows are in memory, and a cut there that is as good as a cut can be, up to its share of
        tol. Multipliers hold the rows on the knots, so the loss may stay wide, and Newton's method takes few steps."""
        local, before, nothing = self.local, inf, np.zeros_like(point)
        freely = bool(self.run.penalty.known)  # cuts are known that balance what pulls freely
        accuracy = (LED_ACCURACY * self._tol) ** (1.5 if freely else 1.0)
        point, width = self._leading(point, accuracy)
        while True:
            point = local.minimise(point, nothing, width, accuracy)
            cut = local.cut(point, width)
            missed, wanted = self._missed(cut, point)
            if not local.loss.creases(width) or width < NARROWEST * local.unit or missed <= wanted:
                return Proposal(point, None, width, cut)
            local = local.leading(point, width)
            if missed > FAST * before:
                width *= NARROWING
                local = replace(local, ahead=NARROWING * local.ahead if local.loss.creases(width) else 0.0)
            before = missed

    def _leading(self, point: Array, accuracy: float) -> tuple[Array, float]:
        """Where to begin with all rows, and how wide. Some rows tell how wide the loss may be for the first cut to be
        good enough; where it had to be much narrower, multipliers take fewer steps."""
        width = LEAD_WIDTH * self.local.unit
        some = self.local.thinned(SOME_ROWS * self.local.rows.width)
        if some is self.local:
            return point, width
        point = some.minimise(point, np.zeros_like(point), width, accuracy)
        missed, wanted = self._missed(some.cut(point, width), point)
        share = LIKELY * wanted / max(missed, TINY)
        return point, width * share**0.5 if NARROWING**2 < share < 1.0 else width

    def _missed(self, cut: Cut, point: Array) -> tuple[float, float]:
        """How far a cut is below R where it was made, and how far it may be."""
        return cut.short(point), self._wanted(cut.value_low + self.run.penalty.value(point))

    def _sample_optimum(self, start: Array, tilt: Array) -> Array:
        """With the widest smoothing that does not cost more than its share of the gap, if one of WIDTHS does."""
        local, point = self.local, start
        for width in WIDTHS:
            before, point = point, local.minimise(point, tilt, width * local.unit, ACCURACY * self.run.effort.tol)
            value = local.value(point, tilt, 0.0)
            if local.value(before, tilt, 0.0) - value <= BIAS_SHARE * self.run.effort.tol * value:
                break
        return point

    @property
    def _latest_soft(self) -> int:
        cuts = self.run.cuts
        return max((i for i, cut in enumerate(cuts) if cut.width), default=len(cuts) - 1)

    def _tilted_optimum(self, index: int) -> tuple[Array, float]:
        """Of the sample, with the slope of the join where this pass was made."""
        width = self.run.cuts[index].width or WIDTHS[0] * self.local.unit
        return self._soft_optimum(self.run.points[index], self._tilt(index), width)

    def _tilt(self, index: int) -> Array:
        """What gives the sample the slope of the join where this pass was made. All rows have it."""
        if self.run.oracle.whole:
            return np.zeros(self.run.oracle.dimension)
        cut = self.run.cuts[index]
        return cut.slope - self.local.loss_slope(self.run.points[index], cut.width)

    def _soft_optimum(self, point: Array, tilt: Array, width: float) -> tuple[Array, float]:
        """Narrow until a soft cut at the point is as good as a cut can be, up to its share of tol.

        Where many residuals lie on a knot, the slope that the optimum needs counts these rows in part. A soft cut does
        so; a cut that counts whole rows cannot.
        """
        while True:
            point = self.local.minimise(point, tilt, width, ACCURACY * self._tol)
            narrower = self._narrower(point, tilt, width)
            if narrower == width:
                return point, width
            width = narrower

    def _fitting_width(self, point: Array) -> float:
        """The width of a soft pass there; 0 where whole rows are good enough."""
        width, narrower = 0.0, WIDTHS[0] * self.local.unit if self.soft else 0.0
        while narrower != width:
            width, narrower = narrower, self._narrower(point, np.zeros_like(point), narrower)
        return width

    def _narrower(self, point: Array, tilt: Array, width: float) -> float:
        """A width with which a cut may be good enough; the same if it is with this one."""
        wanted, blur = self._wanted(self.local.value(point, tilt, 0.0)), self.local.blur(point, width)
        return (
            width
            if blur <= wanted or width < NARROWEST * self.local.unit
            else width * max(0.1, 0.8 * (wanted / blur) ** 0.5)
        )

    def _wanted(self, value: float) -> float:
        """What a cut may miss where the objective has this value."""
        return BLUR_SHARE * (SHARPER if self.follows else 1.0) * self._tol * abs(value)

    @property
    def _tol(self) -> float:
        return self.run.effort.tol / 4.0 ** min(self.run.stalls // 3, FINEST)


def is_misled(gaps: Sequence[float], tol: float, scarcity: float = 0.0) -> bool:
    """Does the sample close less of the gap than level steps? The gaps after each pass tell which kind each was. Where
    one more pass with the sample should be the last one, it is made. Less is hoped of a sample of few rows."""
    patience, hoped = PATIENCE - (scarcity > FEW), HOPED ** (1.0 + 2.0 * scarcity)
    closed: dict[bool, list[float]] = {False: [], True: []}
    misled = False
    for before, after in pairwise(gaps):
        closed[misled].append(log(max(before, TINY) / max(after, TINY)))
        sample, level = (fmean(closed[kind][-patience:] or [-log(hoped)]) for kind in (False, True))
        misled = len(closed[False]) >= patience and level > sample and after * exp(-sample) > tol
    return misled


def _knot_bias(run: Run[Oracle]) -> float:
    """As many rows as there are coordinates lie on a knot at the optimum. A pass counts each of them whole or not at
    all, so its slope is off by about d / (2 N). This is what that error takes from the bound."""
    return run.penalty.conjugate(run.oracle.dimension / (2.0 * run.oracle.join_rows))
