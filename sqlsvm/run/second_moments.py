"""R of a squared loss from the second moments of the join: a quadratic function, which one reading of the tables gives.

With z = t - x.beta and the means A of x x', b of x t and c of t^2, it is R(beta) = c / 2 - b.beta + beta' A beta / 2.
"""

from time import perf_counter

import numpy as np

from sqlsvm.compile.second_moments import Factored, factors, second_moments
from sqlsvm.run.problem import Problem
from sqlsvm.run.rounding import rounding
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.quadratic import Quadratic


def read_quadratic(problem: Problem) -> Quadratic:
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


def read_products(work: Workspace, factored: Factored) -> Array:
    """The sums over the join of all products of two factors, at their places; 0 for those that are not made."""
    found = np.zeros((factored.size, factored.size))
    for node in factored.factors:
        for program in second_moments(factored, node):
            with work.scratch():
                answers = work.run(program)
            for rows in answers.values():
                for name, values in rows.items():
                    f, o = map(int, name.removeprefix("s").split("_"))
                    found[f, o] = found[o, f] = float(values[0])
    return found
