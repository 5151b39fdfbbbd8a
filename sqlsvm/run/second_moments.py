"""R of a squared loss from the second moments of the join: a quadratic function, which one reading of the tables gives.

With z = t - x.beta and the means A of x x', b of x t and c of t^2, it is R(beta) = c / 2 - b.beta + beta' A beta / 2.
"""

from time import perf_counter

import numpy as np

from sqlsvm.compile.moments import factors
from sqlsvm.run.data import Data
from sqlsvm.run.measuring import read_products
from sqlsvm.run.rounding import rounding
from sqlsvm.solve.quadratic import Quadratic


def read_quadratic(problem: Data) -> Quadratic:
    """With the seconds that it took."""
    began = perf_counter()
    with problem.work.clock.during("passes"):
        sums = read_products(problem.work, factors(problem.plan))
    scaled, size, n = problem.scaling.from_raw, problem.plan.design.size, problem.moments.n
    half = np.array([scaled(column) for column in sums[:size, :size]])
    matrix = np.array([scaled(row) for row in half.T]) / n
    matrix = (matrix + matrix.T) / 2.0
    seconds = perf_counter() - began
    found = rounding(problem, whole=False)
    return Quadratic(matrix, scaled(sums[:size, size]) / n, float(sums[size, size]) / n, n, found, seconds)
