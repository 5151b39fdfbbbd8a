"""What rounding the scores may have taken past a change of the slope.

Rows were counted by the side of the change on which their rounded residuals are. Of rows that are d buckets beyond it
when rounded, and D exactly, a cut misses   sum of max(0, D) - [d > 0] D,   which is the sum of max(0, X) for X = D
where d <= 0, and X = -D where d > 0. All |D - d| are at most delta, so X <= delta - |d|. Known are the number of these
rows, and the sums of D and of D^2.
"""

import numpy as np

from sqlsvm.solve.arrays import Array

ROUNDED = 1e-9  # more than the rounding of doubles takes from a sum of some million terms of one sign, as a share of it


def crossed(d: Array, rows: Array, rests: Array, squares: Array, delta: float) -> Array:
    """An upper bound for each d. `rests` and `squares` are the sums of D - d and of its square."""
    farthest = delta + np.abs(d)
    least, most = -farthest, delta - np.abs(d)
    first = rows * d + rests
    total = np.where(d > 0.0, -first, first)  # of X
    square = np.maximum(0.0, rows * d * d + 2.0 * d * rests + squares) + ROUNDED * rows * farthest**2
    by_square = (total + np.sqrt(rows * square)) / 2.0  # max(0, X) = (X + |X|) / 2, and Cauchy-Schwarz
    by_chord = most * (total - rows * least) / (2.0 * delta or 1.0)  # max(0, X) is convex, so it is below its chord
    found = np.minimum(by_square, by_chord) + ROUNDED * rows * farthest
    return np.where(most > 0.0, np.clip(found, 0.0, rows * np.maximum(0.0, most)), 0.0)
