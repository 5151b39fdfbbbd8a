"""The default solver. The curvature comes from a sample of the join, the gradient and the proof from passes.

    beta_0     = argmin F_sample(beta)
    beta_{t+1} = argmin F_sample(beta) + (a_t - a_sample(beta_t)).beta

Near the optimum the sample knows the curvature far better than a few cuts do, and the tilt corrects its gradient. The
loss of the sample is smoothed, in a_sample as well. The loss of a pass is smoothed only where many residuals lie on a
knot: a cut that counts whole rows could not prove enough there.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Unpack

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.bundle import level_point
from sqlsvm.solve.grain import ERROR_SHARE, choose_buckets
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.oracle import Cut, Oracle
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.run import Run
from sqlsvm.solve.solution import Effort, Going, Solution
from sqlsvm.solve.threads import fitting_threads

steps = logging.getLogger(__name__)

HOPE = 0.01  # a good pass leaves a hundredth of the gap
WIDTHS = (0.2, 0.07, 0.02, 0.007, 0.002)
BIAS_SHARE = 0.2
"""Smoothing the sample may cost this share of the gap that is asked for."""
BLUR_SHARE = 0.5
"""A soft pass may leave this share of that gap out of R."""
CROWD = 2.0
"""Residuals have a density of about 0.3 at a knot. With more than this, they come in heaps."""
NARROWEST = 1e-8
MEMORY = 8
"""The slopes of this many soft passes are combined."""
PATIENCE = 6
"""After this many poor passes in a row the sample is of no use any more."""
DEPENDENT, TINY = 1e-10, 1e-200
"""With these, slopes that depend on each other or are 0 can be combined too."""
ROWS_EACH = 3
"""Sample rows per coordinate, where there are very many coordinates."""
MUCH = 1.5
"""A join with at most this many times the rows of the sample is taken whole."""


def solve(oracle: Oracle, penalty: L2, effort: Effort | None = None, **going: Unpack[Going]) -> Solution:
    """Minimise F until the certified gap is at most effort.tol."""
    run = Run(oracle, penalty, effort, **going)
    if not run.finished:
        size = run.effort.sample or sample_size(oracle.dimension, oracle.join_rows)
        steps.info("sampling %s rows of the join", f"{size:,}")
        local = LocalProblem.of(oracle.sample(size, run.effort.seed), oracle.loss, penalty)
        with fitting_threads(oracle.dimension):
            while not run.finished:
                point, width = propose(run, local)
                share = ERROR_SHARE / 2.0 ** min(run.stalls, 2)
                run.observe(point, choose_buckets(run, HOPE, local.density(point), share), width)
    return run.solution()


def sample_size(dimension: int, join_rows: float) -> int:
    """Enough rows for the curvature of `dimension` coordinates. Where there are very many, most are categories, and a
    row has only one of a feature's categories."""
    d = dimension
    size = max(20_000, min(2000 * d, 60_000), min(800 * d, 250_000), min(ROWS_EACH * d, 1_000_000))
    return ceil(join_rows) if size < join_rows <= MUCH * size else size


def propose(run: Run, local: LocalProblem) -> tuple[Array, float]:
    """Where to look next, and with what width. This is a function of the log alone.

    After a pass that hardly shrank the gap, the loss becomes narrower and the tilt is taken at the best iterate. After
    the next such pass comes a level step, which converges without a sample. After many such passes only level steps
    are made.
    """
    if not run.cuts and run.start is not None:
        return run.start, 0.0
    if run.stalls % 3 == 2 or run.stalls > PATIENCE:
        return level_point(run), 0.0
    tilted = _Tilted(local, [(run.points[i], run.cuts[i]) for i in _telling(run)])
    if run.oracle.soft and (tilted.width or _knot_bias(run) > BIAS_SHARE * run.effort.tol):
        return _soft_optimum(tilted, None, tilted.width or WIDTHS[0], run.effort.tol / 4.0 ** (run.stalls // 3))
    tol = run.effort.tol / 4.0**run.stalls
    point, width = _tilted_optimum(tilted, tol)
    if run.oracle.soft and local.density(point, width) > CROWD:
        return _soft_optimum(tilted, point, width, tol)
    return point, 0.0


def _telling(run: Run) -> list[int]:
    """The passes whose slopes tilt the sample: the latest soft pass, or several where many rows lie on a knot. If there
    is no soft pass, it is one that counted whole rows; a combination of these would be spoilt by their noise."""
    soft = [i for i, cut in enumerate(run.cuts) if cut.width]
    if soft or not run.cuts:
        return soft[-MEMORY:] if _knot_bias(run) > run.effort.tol else soft[-1:]
    return [run.best if run.stalls % 3 == 1 else len(run.cuts) - 1]


def _knot_bias(run: Run) -> float:
    """As many rows as there are coordinates lie on a knot at the optimum. A pass counts each of them whole or not at
    all, so its slope is off by about d / (2 N). This is what that error takes from the bound."""
    return run.penalty.conjugate(run.oracle.dimension / (2.0 * run.oracle.join_rows))


@dataclass(frozen=True)
class _Tilted:
    """The sample problem, tilted so that its slope is that of the join at the point where a cut was made, or at a
    combination of several such points.

    If the slope of F were linear in beta, a combination of slopes would be the slope at the same combination of points.
    Between near points this is almost true. So the combination with the smallest slope is a better start than any of
    the points (Anderson's mixing).
    """

    local: LocalProblem
    known: Sequence[tuple[Array, Cut]]

    @property
    def width(self) -> float:
        """Of the latest cut."""
        return self.known[-1][1].width if self.known else 0.0

    def minimise(self, start: Array | None, width: float) -> tuple[Array, Array]:
        """The optimum, searched from `start` or from where the tilt was made, and the tilt."""
        if not self.known:
            nothing = np.zeros(self.local.rows.width)
            return self.local.minimise(nothing if start is None else start, nothing, width), nothing
        points = np.array([point for point, _ in self.known])
        slopes = np.array([self._slope(point, cut, width) for point, cut in self.known])
        shares = smallest_combination(slopes + self.local.penalty.slope(points))
        centre = shares @ points
        tilt = shares @ slopes - self.local.loss_slope(centre, width)
        return self.local.minimise(centre if start is None else start, tilt, width), tilt

    def _slope(self, point: Array, cut: Cut, width: float) -> Array:
        """A cut without a width stands for the loss of any width. For a soft cut, the sample says what another width
        would change."""
        if cut.width in (0.0, width):
            return cut.slope
        return cut.slope + self.local.loss_slope(point, width) - self.local.loss_slope(point, cut.width)


def smallest_combination(vectors: Array) -> Array:
    """Shares, with the sum 1, of the combination of vectors that is nearest to 0."""
    gram = vectors @ vectors.T
    gram[np.diag_indices_from(gram)] += DEPENDENT * np.trace(gram) + TINY
    shares = np.linalg.solve(gram, np.ones(len(gram)))
    found: Array = shares / shares.sum()
    return found


def _tilted_optimum(tilted: _Tilted, tol: float) -> tuple[Array, float]:
    """Solve the tilted sample problem with the widest smoothing that does not cost more than its share of tol.

    A wide loss has slopes that vary smoothly, which makes the next tilt accurate. A narrow one is nearer to the truth.
    What narrowing gains is measured with the sample's true loss.
    """
    local, point = tilted.local, None
    for width in WIDTHS:
        narrower, tilt = tilted.minimise(point, width)
        value = local.value(narrower, tilt, 0.0)
        if point is not None and local.value(point, tilt, 0.0) - value <= BIAS_SHARE * tol * abs(value):
            return point, width
        point = narrower
    return narrower, width


def _soft_optimum(tilted: _Tilted, point: Array | None, width: float, tol: float) -> tuple[Array, float]:
    """Narrow until a soft cut at the point is as good as a cut can be but for its share of tol.

    Where many residuals lie on a knot, the slope that the optimum needs counts these rows in part. A soft cut does so;
    a cut that counts whole rows cannot.
    """
    while True:
        point, tilt = tilted.minimise(point, width)
        wanted = BLUR_SHARE * tol * abs(tilted.local.value(point, tilt, 0.0))
        blur = tilted.local.blur(point, width)
        if blur <= wanted or width < NARROWEST:
            return point, width
        width *= max(0.1, 0.8 * (wanted / blur) ** 0.5)
