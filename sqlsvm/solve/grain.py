"""How finely a pass should count. The error of counting on the grid falls with the square of the buckets, but the cost
of a pass grows with them. So each pass is as coarse as its purpose allows."""

from math import ceil, sqrt

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.run import Run

COARSEST, FINEST = 4, 1 << 16
A_ROUNDING = 1 / 8
"""Times the density, the error of one rounding at one bucket a unit: a first guess, which every pass measures again."""
COARSER, MANY = 2.0, 200_000
"""The error of the first pass may be so many times that of the others. It tells the way to the optimum, and they prove
how near it is. If a pass reads fewer rows, it takes little time, and what rounding does to single rows matters more."""
ERROR_SHARE = 0.35
"""The counting error may be this share of the gap that a pass can hope to reach. With a larger one passes are cheaper,
but coarse cuts prove less, so that there are more of them."""
LENIENT, UNEVEN = 1.2, 3.0
"""A grid stays as it is while its error is at most so many times what it may be; longer if passes count more rows too
many than too few. How many depends on the grid. A step on one grid then leaves a tenth of what one between two leaves,
and there the first pass is on the grid of the others."""


def choose_buckets(
    run: Run[Oracle], point: Array, hope: float, density: float, first: float = 1.0, share: float = ERROR_SHARE
) -> int | None:
    """Buckets for the pass at this point, or None where counting is exact.

    `hope` is the factor by which a pass shrinks the gap when all goes well; `density` is that of the residuals at the
    knots, each times its jump, and the mean of psi''; `first` is what to expect of F before any pass. If the error of
    counting is in the way, no grid stays as it is that may be finer.
    """
    upper = run.certificate.objective_upper if run.cuts else first
    run.oracle.refine(share * run.effort.tol * upper)
    if run.oracle.exact:
        return None
    if run.effort.buckets:
        return run.effort.buckets
    if not run.cuts:
        wanted = share * max(run.effort.tol, hope) * first
        coarse = run.oracle.even and run.oracle.rows_read >= MANY
        return _guessed(run.oracle, point, wanted * (COARSER if coarse else 1.0), density)
    wanted = share * max(run.effort.tol, hope * min(1.0, run.gap)) * upper
    last = run.cuts[-1]
    error = last.error - run.oracle.loss.near.error
    if not last.buckets:
        return _guessed(run.oracle, point, wanted, density)
    lenient = LENIENT if run.oracle.even else UNEVEN
    return adjusted(last.buckets, error, wanted, 1.0 if run.blurred else lenient)


def _guessed(oracle: Oracle, point: Array, wanted: float, density: float) -> int:
    """Without a pass to go by. How often a row is rounded may depend on the grid, but hardly."""
    buckets = FINEST
    for _ in range(2):
        buckets = _enough(wanted, density * A_ROUNDING * oracle.roundings(point, buckets))
    return buckets


def adjusted(buckets: int, error: float, wanted: float, lenient: float = LENIENT) -> int:
    """The buckets of the pass after one that had this error."""
    return buckets if error <= lenient * wanted else _enough(wanted, error * buckets**2)


def _enough(wanted: float, error_at_one: float) -> int:
    found = sqrt(error_at_one / wanted) if wanted > 0.0 else FINEST
    return min(FINEST, max(COARSEST, ceil(min(found, FINEST))))
