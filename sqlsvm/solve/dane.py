"""The default solver: curvature from a sample of the join, gradient and proof from relational passes.

    beta_0     = argmin F_sample(beta)
    beta_{t+1} = argmin F_sample(beta) + (a_t - a_sample(beta_t)).beta

Near the optimum the sample knows the curvature far better than a few cuts do, and the tilt repairs its gradient. The
hinge of the sample is smoothed, in a_sample as well; that of the passes never is.
"""

import logging
from math import inf

import numpy as np

from sqlsvm.solve.bundle import level_point
from sqlsvm.solve.grain import ERROR_SHARE, choose_buckets
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.oracle import Array, Oracle
from sqlsvm.solve.run import Run
from sqlsvm.solve.solution import OnPass, OnState, Options, Solution, State

steps = logging.getLogger(__name__)

HOPE = 0.01  # a good pass leaves a hundredth of the gap
WIDTHS = (0.2, 0.07, 0.02, 0.007, 0.002)
BIAS_SHARE = 0.2
"""The smoothing may cost this share of the gap that is asked for."""
PATIENCE = 6
"""After so many poor passes in a row the sample has nothing to add."""
LARGEST_SAMPLE = 40_000_000  # numbers, 320 MB


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
        while not run.finished:
            point = propose(run, local)
            run.observe(point, choose_buckets(run, HOPE, local.density(point), ERROR_SHARE / 2.0 ** min(run.stalls, 2)))
    return run.solution()


def sample_size(dimension: int) -> int:
    """Rows enough for the curvature of `dimension` coordinates, and no more than memory likes."""
    return max(1000, min(max(20_000, min(2000 * dimension, 60_000)), LARGEST_SAMPLE // dimension))


def propose(run: Run, local: LocalProblem) -> Array:
    """Where to look next: a function of the log alone.

    A pass that hardly shrank the gap is followed by one with a narrower hinge from the best iterate, the next such by
    a level step, whose convergence needs no sample; and so in turn, until the level bundle takes over.
    """
    if not run.cuts and run.start is not None:
        return run.start
    if not run.cuts:
        return _tilted_optimum(local, np.zeros(run.oracle.dimension), None, run.options.tol)
    if run.stalls % 3 == 2 or run.stalls > PATIENCE:
        return level_point(run)
    at = run.best if run.stalls % 3 == 1 else len(run.cuts) - 1
    return _tilted_optimum(local, run.points[at], run.cuts[at].slope, run.options.tol / 4.0**run.stalls)


def _tilted_optimum(local: LocalProblem, start: Array, slope: Array | None, tol: float) -> Array:
    """Solve the tilted sample problem with the widest smoothing that does not cost more than its share of tol.

    A wide hinge gives an active set that varies smoothly, which is what makes the next tilt accurate; a narrow one
    is nearer to the truth. What narrowing gains is measured on the sample's true hinge.
    """
    point, gained = start, inf
    for width in WIDTHS:
        tilt = np.zeros_like(start) if slope is None else slope - local.hinge_slope(start, width)
        narrower = local.minimise(point, tilt, width)
        value = local.value(narrower, tilt, 0.0)
        if width < WIDTHS[0]:
            gained = local.value(point, tilt, 0.0) - value
        if gained <= BIAS_SHARE * tol * abs(value):
            break
        point = narrower
    return point
