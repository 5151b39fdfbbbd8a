"""The default solver: curvature from a sample of the join, gradient and proof from relational passes.

    beta_0     = argmin F_sample(beta)
    beta_{t+1} = argmin F_sample(beta) + (a_t - a_sample(beta_t)).beta

Near the optimum the sample knows the curvature far better than a few cuts do, and the tilt repairs its gradient. The
hinge of the sample is smoothed, in a_sample as well; that of the passes only where margins lie in a heap on the hinge.
"""

import logging
from dataclasses import dataclass
from math import inf

import numpy as np

from sqlsvm.solve.bundle import level_point
from sqlsvm.solve.grain import ERROR_SHARE, choose_buckets
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.oracle import Array, Cut, Oracle
from sqlsvm.solve.run import Run
from sqlsvm.solve.solution import OnPass, OnState, Options, Solution, State
from sqlsvm.solve.threads import fitting_threads

steps = logging.getLogger(__name__)

HOPE = 0.01  # a good pass leaves a hundredth of the gap
WIDTHS = (0.2, 0.07, 0.02, 0.007, 0.002)
BIAS_SHARE = 0.2
"""The smoothing may cost this share of the gap that is asked for."""
CROWD = 2.0
"""Margins come with a density of about 0.3 at the hinge; with more than this, they come in heaps."""
NARROWEST = 1e-8
PATIENCE = 6
"""After so many poor passes in a row the sample has nothing to add."""
ROWS_EACH = 3
"""Rows for each coordinate, where there are very many."""


def solve(
    oracle: Oracle,
    lam: float,
    options: Options | None = None,
    on_pass: OnPass | None = None,
    state: State | None = None,
    on_state: OnState | None = None,
) -> Solution:
    """Minimise F until the certified gap is at most options.tol."""
    run = Run(oracle, lam, options or Options(), on_pass, state, on_state)
    if not run.finished:
        size = run.options.sample or sample_size(oracle.dimension)
        steps.info("sampling %s rows of the join", f"{size:,}")
        local = LocalProblem.of(oracle.sample(size, run.options.seed), lam)
        with fitting_threads(oracle.dimension):
            while not run.finished:
                point, width = propose(run, local)
                share = ERROR_SHARE / 2.0 ** min(run.stalls, 2)
                run.observe(point, choose_buckets(run, HOPE, local.density(point), share), width)
    return run.solution()


def sample_size(dimension: int) -> int:
    """Rows enough for the curvature of `dimension` coordinates: where there are very many, most are categories, of
    which a row has but one."""
    return max(20_000, min(2000 * dimension, 60_000), min(ROWS_EACH * dimension, 1_000_000))


def propose(run: Run, local: LocalProblem) -> tuple[Array, float]:
    """Where to look next, and with what width: a function of the log alone.

    A pass that hardly shrank the gap is followed by one with a narrower hinge from the best iterate, the next such by
    a level step, whose convergence needs no sample; and so in turn, until the level bundle takes over.
    """
    if not run.cuts and run.start is not None:
        return run.start, 0.0
    if run.stalls % 3 == 2 or run.stalls > PATIENCE:
        return level_point(run), 0.0
    tol = run.options.tol / 4.0**run.stalls
    tilted = _start(run, local)
    if tilted.cut and tilted.cut.width:
        return _soft_optimum(tilted, tilted.start, 10.0 * tilted.cut.width, tol)
    point, width = _tilted_optimum(tilted, tol)
    if run.oracle.soft and local.density(point, width) > CROWD:
        return _soft_optimum(tilted, point, width, tol)
    return point, 0.0


def _start(run: Run, local: LocalProblem) -> "_Tilted":
    if not run.cuts:
        return _Tilted(local, np.zeros(run.oracle.dimension), None)
    at = run.best if run.stalls % 3 == 1 else len(run.cuts) - 1
    return _Tilted(local, run.points[at], run.cuts[at])


@dataclass(frozen=True)
class _Tilted:
    """The sample problem, tilted so that at `start` its slope is that of the cut which was made there."""

    local: LocalProblem
    start: Array
    cut: Cut | None

    def tilt(self, width: float) -> Array:
        """A cut without a width stands for the hinge of any width; a soft one only for its own."""
        if self.cut is None:
            return np.zeros_like(self.start)
        return self.cut.slope - self.local.hinge_slope(self.start, self.cut.width or width)


def _tilted_optimum(tilted: _Tilted, tol: float) -> tuple[Array, float]:
    """Solve the tilted sample problem with the widest smoothing that does not cost more than its share of tol.

    A wide hinge gives an active set that varies smoothly, which is what makes the next tilt accurate; a narrow one
    is nearer to the truth. What narrowing gains is measured on the sample's true hinge.
    """
    local, point, gained = tilted.local, tilted.start, inf
    for width in WIDTHS:
        tilt = tilted.tilt(width)
        narrower = local.minimise(point, tilt, width)
        value = local.value(narrower, tilt, 0.0)
        if width < WIDTHS[0]:
            gained = local.value(point, tilt, 0.0) - value
        if gained <= BIAS_SHARE * tol * abs(value):
            break
        point = narrower
    return point, width


def _soft_optimum(tilted: _Tilted, point: Array, width: float, tol: float) -> tuple[Array, float]:
    """Narrow further, until a soft cut at the point is as good as a cut can be but for its share of tol.

    Where many margins lie in a heap, an infinitesimal step moves all of it across the hinge: no cut that counts whole
    rows there has the slope that the optimum needs, which counts them in part. A soft cut does.
    """
    while True:
        tilt = tilted.tilt(width)
        point = tilted.local.minimise(point, tilt, width)
        wanted = BIAS_SHARE * tol * abs(tilted.local.value(point, tilt, 0.0))
        if tilted.local.blur(point, width) <= wanted or width < NARROWEST:
            return point, width
        width /= 3.0
