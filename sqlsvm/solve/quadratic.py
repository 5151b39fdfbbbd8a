"""A loss whose mean is a quadratic function that is known: its optimum is a system of equations, and needs no sample.

The optimum is proven as by any solver, by the cut that is made there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.curvature import Curvature, Dense
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.rounding import Rounding
from sqlsvm.solve.run import Proposal, Run
from sqlsvm.solve.solution import Effort, Going, Solution

NEWTON_STEPS = 5  # one is enough, up to its rounding
ENOUGH = 1e-12  # the value may be above the minimum by this share of it
CUTS = 5


@dataclass(frozen=True)
class Quadratic:
    """R(beta) = constant / 2 - linear.beta + beta' matrix beta / 2, as an oracle. Its cuts need no pass."""

    matrix: Array
    linear: Array
    constant: float
    join_rows: float
    rounding: Rounding
    seconds: float  # what it took to read
    exact = True
    soft = False

    @property
    def dimension(self) -> int:
        return len(self.linear)

    def value(self, beta: Array) -> float:
        return max(0.0, self.constant / 2.0 + float(beta @ (self.matrix @ beta / 2.0 - self.linear)))

    def slope(self, beta: Array) -> Array:
        return self.matrix @ beta - self.linear

    def adds_values(self, width: float) -> bool:
        return False

    def size(self, beta: Array, cut: Cut) -> tuple[float, float]:
        """The terms of the sums are products of two numbers: of scores, coordinates and labels."""
        terms = self.rounding.reach(beta) + self.constant**0.5
        return terms**2, terms

    def pass_(self, beta: Array, buckets: int | None, width: float = 0.0) -> Cut:
        slope = self.slope(beta)
        offset = (self.constant - float(beta @ self.matrix @ beta)) / 2.0
        return Cut(slope, offset, max(0.0, offset + float(slope @ beta)), 0.0, None)


def solve(quadratic: Quadratic, penalty: Penalty, effort: Effort | None = None, **going: Unpack[Going]) -> Solution:
    run = Run(quadratic, penalty, effort, **going)
    spent = 0.0 if run.cuts else quadratic.seconds
    for _ in range(CUTS):
        if not run.finished:
            run.observe(Proposal(minimiser(quadratic, penalty), None), spent)
            spent = 0.0
    return run.solution()


def minimiser(quadratic: Quadratic, penalty: Penalty) -> Array:
    beta = penalty.feasible(np.zeros(quadratic.dimension))
    matrix = quadratic.matrix.copy()
    matrix[np.diag_indices_from(matrix)] += penalty.slope(np.ones(quadratic.dimension))  # which is linear
    curvature: Callable[[], Curvature] = partial(Dense, matrix)
    for _ in range(NEWTON_STEPS):
        enough = ENOUGH * abs(quadratic.value(beta) + penalty.value(beta))
        found = penalty.newton(beta, quadratic.slope(beta) + penalty.slope(beta), curvature, 0.0, enough)
        if found is None:
            break
        beta = beta + found[0]
    return beta
