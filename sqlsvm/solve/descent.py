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

import logging
from math import log, sqrt
from time import perf_counter

import numpy as np

from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.oracle import Array, PseudoOracle
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort, OnPass, OnState, Record, Solution, State

steps = logging.getLogger(__name__)


def solve(
    oracle: PseudoOracle,
    penalty: L2,
    options: Effort | None = None,
    on_pass: OnPass | None = None,
    state: State | None = None,
    on_state: OnState | None = None,
) -> Solution:
    """Descend for the theorem's T passes or options.max_passes; converged means that the theorem's T was reached, or
    that even the trivial lower bound closes the gap."""
    descent = _Descent(oracle, penalty, options or Effort(), on_pass, state, on_state)
    while not descent.finished:
        descent.step()
    return descent.solution()


def ball_radius(dimension: int, lam: float) -> float:
    """|beta*| <= r*: sqrt(d) / (2 lam) is the paper's, 1 / sqrt(2 lam) follows from duality."""
    return min(sqrt(dimension) / (2.0 * lam), 1.0 / sqrt(2.0 * lam))


def trivial_lower_bound(dimension: int, lam: float) -> float:
    """F* >= lam / d, or 1 - d / (4 lam) for a large lam: R >= 1 - |beta| sqrt(d) when |x| <= sqrt(d)."""
    return lam / dimension if 2.0 * lam <= dimension else 1.0 - dimension / (4.0 * lam)


def theorem_passes(dimension: int, lam: float, options: Effort) -> float:
    """T that brings the optimisation error below tol * F*, F* at its trivial lower bound.

    step strong: G^2 (1 + ln T) / (4 lam T) with G = 2 lam r* + sqrt(d); step paper: 4 d^1.5 / (lam sqrt(T)).
    The error of counting, 3 epsilon sqrt(d) r*, comes on top.
    """
    error = options.tol * trivial_lower_bound(dimension, lam)
    if error <= 0.0:
        return float("inf")
    if options.step == "paper":
        return 16.0 * float(dimension) ** 3 / (lam * error) ** 2
    scale = (2.0 * lam * ball_radius(dimension, lam) + sqrt(dimension)) ** 2 / (4.0 * lam * error)
    passes = max(scale, 1.0)
    for _ in range(100):  # the fixed point of T = scale (1 + ln T)
        passes = max(scale * (1.0 + log(passes)), 1.0)
    return passes


class _Descent:
    """The log of the iterates; `slopes` are the counted parts of the pseudo-gradients."""

    def __init__(
        self,
        oracle: PseudoOracle,
        penalty: L2,
        options: Effort,
        on_pass: OnPass | None,
        state: State | None,
        on_state: OnState | None,
    ) -> None:
        self.oracle, self.penalty, self.options = oracle, penalty, options
        self.on_pass, self.on_state = on_pass, on_state
        self.radius = ball_radius(oracle.dimension, penalty.lam)
        self.enough = theorem_passes(oracle.dimension, penalty.lam, options)
        self.points: list[Array] = []
        self.slopes: list[Array] = []
        self.lows: list[float] = []
        self.history: list[Record] = []
        self.best = 0
        for point, cut, seconds in state.passes() if state else ():
            self._log(point, cut.slope, cut.value_low, seconds)

    @property
    def finished(self) -> bool:
        done = len(self.points)
        return done >= self.options.max_passes or (done > 0 and self.converged)

    @property
    def converged(self) -> bool:
        return len(self.points) >= self.enough or self.history[-1].gap <= self.options.tol

    def step(self) -> None:
        began = perf_counter()
        point = self._next_point()
        steps.debug("pass %d", len(self.history) + 1)
        slope = self.oracle.pseudo_gradient(point, self.options.epsilon)
        low = self.oracle.value_low(point, self.options.epsilon)
        self._log(point, slope, low, perf_counter() - began)
        if self.on_state and not self.finished:
            self.on_state(self._state())
        if self.on_pass:
            self.on_pass(self.history[-1])

    def solution(self) -> Solution:
        return Solution(
            self.points[self.best].copy(),
            self._certificate(),
            tuple(self.history),
            self.converged,
            self._state(),
        )

    def _next_point(self) -> Array:
        passes, dimension = len(self.points), self.oracle.dimension
        if not passes:
            return np.zeros(dimension)
        step = 1.0 / (self.penalty.curvature * passes)
        if self.options.step == "paper":
            step = 1.0 / (4.0 * self.penalty.curvature * sqrt(dimension * passes))
        moved = self.points[-1] - step * (self.penalty.slope(self.points[-1]) + self.slopes[-1])
        shrink: Array = moved * min(1.0, self.radius / max(float(np.linalg.norm(moved)), 1e-300))
        return shrink

    def _log(self, point: Array, slope: Array, low: float, seconds: float) -> None:
        self.points.append(point)
        self.slopes.append(slope)
        self.lows.append(low)
        if self._objective(len(self.points) - 1) < self._objective(self.best):
            self.best = len(self.points) - 1
        proof = self._certificate()
        self.history.append(
            Record(
                len(self.points), proof.objective, proof.objective_upper, proof.lower_bound, proof.gap, None, seconds
            )
        )

    def _objective(self, index: int) -> float:
        """F-hat: never above F."""
        return self.lows[index] + self.penalty.value(self.points[index])

    def _certificate(self) -> Certificate:
        """F(beta) <= (1 + epsilon) R-hat + epsilon |beta|_1 + lam |beta|^2: the counts, then the moved rows."""
        epsilon, low = self.options.epsilon, self._objective(self.best)
        upper = low + epsilon * (self.lows[self.best] + float(np.abs(self.points[self.best]).sum()))
        return Certificate(low, upper, trivial_lower_bound(self.oracle.dimension, self.penalty.lam))

    def _state(self) -> State:
        unknown = np.full(len(self.points), np.nan)
        seconds = np.array([record.seconds for record in self.history])
        points, slopes = np.array(self.points), np.array(self.slopes)
        widths = np.zeros(len(self.points))
        return State(points, slopes, unknown, np.array(self.lows), unknown, unknown, widths, seconds)
