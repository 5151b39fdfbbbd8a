"""How finely a pass should count. The error of counting on the grid falls with the square of the buckets, but the cost
of a pass grows with them. So each pass is as coarse as its purpose allows."""

from math import ceil, sqrt

from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.run import Run

COARSEST, FINEST = 4, 1 << 16
AT_ONE = 3 / 8
"""Times the density, the error of three bags at one bucket a unit: a first guess, which every pass measures again."""
ERROR_SHARE = 0.1
"""The counting error may be this share of the gap that a pass can hope to reach. With a larger one passes are cheaper,
but coarse cuts prove less, so that there are more of them."""
FIRST_ERROR = 1e-4
"""The error of the first pass. A coarser pass gives a poorer second point, which often costs one more pass."""


def choose_buckets(run: Run[Oracle], hope: float, density: float, share: float = ERROR_SHARE) -> int | None:
    """Buckets for the next pass, or None where counting is exact.

    `hope` is the factor by which a pass shrinks the gap when all goes well; `density` is that of the residuals at the
    knots, each times its jump, and the mean of psi''.
    """
    if run.oracle.exact:
        return None
    if run.effort.buckets:
        return run.effort.buckets
    error_at_one = density * AT_ONE
    if not run.cuts:
        return _enough(max(FIRST_ERROR, share * run.effort.tol), error_at_one)
    last = run.cuts[-1]
    if last.error > 0.0 and last.buckets:
        error_at_one = last.error * last.buckets**2
    hoped = max(run.effort.tol, hope * min(1.0, run.gap))
    return _enough(share * hoped * run.certificate.objective_upper, error_at_one)


def _enough(wanted: float, error_at_one: float) -> int:
    return min(FINEST, max(COARSEST, ceil(sqrt(error_at_one / max(wanted, 1e-12)))))
