"""The paper's algorithm: projected descent along pseudo-gradients (Abo-Khamis, Im, Moseley, Pruhs, Samadian: "A
Relational Gradient Descent Algorithm for Support Vector Machine Training"), corrected so that it minimises F.

Precondition: every feature lies in [-1, 1]; the caller scales. Steps:
    1. beta_1 = 0
    2. ghat_t = 2 lam beta_t - (1/N) sum y x over the rows with 1 - y beta_t.x >= epsilon |beta_t|.|x|, counts within
       (1 + epsilon)
    3. beta_{t+1} = projection of beta_t - step_t ghat_t on the ball of radius r*
    4. after T steps, the hypothesis is the beta_t with the least F-hat
It proves little about the optimum: its lower bound is the one that holds for every data set.
"""

from math import log, nan, sqrt
from typing import Unpack

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.log import Log
from sqlsvm.solve.oracle import Cut, PseudoOracle
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort, Going, Solution


def solve(oracle: PseudoOracle, penalty: L2, effort: Effort | None = None, **going: Unpack[Going]) -> Solution:
    """Descend for the theorem's T passes or effort.max_passes; converged means that the theorem's T was reached, or
    that even the trivial lower bound closes the gap."""
    descent = _Descent(oracle, penalty, effort or Effort(), **going)
    while not descent.finished:
        descent.step()
    return descent.solution()


def ball_radius(dimension: int, lam: float) -> float:
    """|beta*| <= r*: sqrt(d) / (2 lam) is the paper's, 1 / sqrt(2 lam) follows from duality."""
    return min(sqrt(dimension) / (2.0 * lam), 1.0 / sqrt(2.0 * lam))


def trivial_lower_bound(dimension: int, lam: float) -> float:
    """F* >= lam / d, or 1 - d / (4 lam) for a large lam: R >= 1 - |beta| sqrt(d) when |x| <= sqrt(d)."""
    return lam / dimension if 2.0 * lam <= dimension else 1.0 - dimension / (4.0 * lam)


def theorem_passes(dimension: int, lam: float, effort: Effort) -> float:
    """T that brings the optimisation error below tol * F*, F* at its trivial lower bound.

    step strong: G^2 (1 + ln T) / (4 lam T) with G = 2 lam r* + sqrt(d); step paper: 4 d^1.5 / (lam sqrt(T)).
    The error of counting, 3 epsilon sqrt(d) r*, comes on top.
    """
    error = effort.tol * trivial_lower_bound(dimension, lam)
    if error <= 0.0:
        return float("inf")
    if effort.step == "paper":
        return 16.0 * float(dimension) ** 3 / (lam * error) ** 2
    scale = (2.0 * lam * ball_radius(dimension, lam) + sqrt(dimension)) ** 2 / (4.0 * lam * error)
    passes = max(scale, 1.0)
    for _ in range(100):  # the fixed point of T = scale (1 + ln T)
        passes = max(scale * (1.0 + log(passes)), 1.0)
    return passes


class _Descent(Log):
    """The slopes of its cuts are the counted parts of the pseudo-gradients. They are no minorants: the other numbers of
    a cut are nan."""

    def __init__(self, oracle: PseudoOracle, penalty: L2, effort: Effort, **going: Unpack[Going]) -> None:
        self.oracle = oracle
        self.radius = ball_radius(oracle.dimension, penalty.lam)
        self.enough = theorem_passes(oracle.dimension, penalty.lam, effort)
        super().__init__(penalty, effort, **going)

    def proof(self) -> Certificate:
        """F(beta) <= (1 + epsilon) R-hat + epsilon |beta|_1 + lam |beta|^2: the counts, then the moved rows."""
        epsilon, low = self.effort.epsilon, self.objective(self.best)
        upper = low + epsilon * (self.cuts[self.best].value_low + float(np.abs(self.points[self.best]).sum()))
        return Certificate(low, upper, trivial_lower_bound(self.oracle.dimension, self.penalty.lam))

    def merit(self, index: int) -> float:
        return self.objective(index)

    @property
    def converged(self) -> bool:
        return len(self.cuts) >= self.enough or super().converged

    def step(self) -> None:
        self.make(self._next_point(), self._observed)

    def _observed(self, point: Array) -> Cut:
        slope = self.oracle.pseudo_gradient(point, self.effort.epsilon)
        return Cut(slope, nan, self.oracle.value_low(point, self.effort.epsilon), nan, None)

    def _next_point(self) -> Array:
        passes, dimension = len(self.points), self.oracle.dimension
        if not passes:
            return np.zeros(dimension)
        step = 1.0 / (self.penalty.curvature * passes)
        if self.effort.step == "paper":
            step = 1.0 / (4.0 * self.penalty.curvature * sqrt(dimension * passes))
        moved = self.points[-1] - step * (self.penalty.slope(self.points[-1]) + self.cuts[-1].slope)
        shrink: Array = moved * min(1.0, self.radius / max(float(np.linalg.norm(moved)), 1e-300))
        return shrink
