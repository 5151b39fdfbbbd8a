"""R of a squared loss from the second moments of the join: a quadratic function, which one reading of the tables gives.

With z = t - x.beta and the means A of x x', b of x t and c of t^2, it is R(beta) = c / 2 - b.beta + beta' A beta / 2.
"""

from time import perf_counter

import numpy as np

from sqlsvm.compile.second_moments import factors, product_name, second_moments
from sqlsvm.run.problem import Problem
from sqlsvm.run.rounding import rounding
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.quadratic import Quadratic


def read_quadratic(problem: Problem) -> Quadratic:
    """With the seconds that it took."""
    began = perf_counter()
    with problem.work.clock.during("passes"):
        sums = _sums(problem)
    scaled, size, n = problem.scaling.from_raw, problem.plan.design.size, problem.moments.n
    half = np.array([scaled(column) for column in sums[:size, :size]])
    matrix = np.array([scaled(row) for row in half.T]) / n
    matrix = (matrix + matrix.T) / 2.0
    seconds = perf_counter() - began
    found = rounding(problem, whole=False)
    return Quadratic(matrix, scaled(sums[:size, size]) / n, float(sums[size, size]) / n, n, found, seconds)


def _sums(problem: Problem) -> Array:
    """Of all products, with those of the label last."""
    plan, work = problem.plan, problem.work
    found = np.zeros((plan.design.size + 1, plan.design.size + 1))
    every = factors(plan)
    for node in every:
        with work.scratch():
            answers = work.run(second_moments(plan, node))
        columns = {name: float(values[0]) for rows in answers.values() for name, values in rows.items()}
        for f in every[node]:
            for o in (o for own in every.values() for o in own):
                if (name := product_name(f.place, o.place)) in columns:
                    found[f.place, o.place] = found[o.place, f.place] = columns[name]
    return found
