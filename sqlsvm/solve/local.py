"""The sample problem: a smoothed SVM with a linear tilt on rows that fit in memory, by damped Newton steps.

    min  mean_w h(1 - y x.beta) + tilt.beta + lam |beta|^2,
    h(z) = 0 below -width, z above width, (z + width)^2 / (4 width) between.

h is piecewise quadratic, so Newton's method ends after finitely many steps, and its Hessian needs only the rows whose
margin is within `width` of the hinge.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlsvm.solve.oracle import Array, Mask, Sample
from sqlsvm.solve.rows import SampleRows

DENSE_UP_TO = 1000  # beyond, d x d Hessians cost more than conjugate gradients on the rows near the hinge
NEWTON_STEPS = 100  # an unfinished Newton run costs a poorer point, not a wrong bound
TINY = 1e-300  # a sample may be empty: then nothing is known but lam |beta|^2
DAMPINGS = 20
LEAST_DAMPING = 0.1  # as if a tenth of all rows were near a hinge of width one half
CG_STEPS = 200


@dataclass(frozen=True)
class LocalProblem:
    """`labels` are the signs y; `shares` the weights divided by their sum."""

    rows: SampleRows
    labels: Array
    shares: Array
    lam: float

    @classmethod
    def of(cls, sample: Sample, lam: float) -> "LocalProblem":
        return cls(sample.rows, sample.labels, sample.weights / max(sample.weights.sum(), TINY), lam)

    def margins(self, beta: Array) -> Array:
        """1 - y x.beta."""
        found: Array = 1.0 - self.labels * self.rows.scores(beta)
        return found

    def hinge_slope(self, beta: Array, width: float) -> Array:
        """The gradient of the hinge part on the sample; width 0 is the subgradient that counts z > 0."""
        return self._slope(self.margins(beta), width)

    def _slope(self, margin: Array, width: float) -> Array:
        return -self.rows.sums(self.shares * self.labels * _active_share(margin, width))

    def density(self, beta: Array, within: float = 0.1) -> float:
        """The density of the margins at the hinge."""
        return float(self.shares @ (np.abs(self.margins(beta)) < within)) / (2.0 * within)

    def blur(self, beta: Array, width: float) -> float:
        """By how much a cut of that width stays below R at beta: max(0, z) less the share of z that it counts, which is
        |z| (width - |z|) / (2 width) near the hinge."""
        distance = np.abs(self.margins(beta))
        return float(self.shares @ np.maximum(distance * (width - distance), 0.0)) / (2.0 * width)

    def value(self, beta: Array, tilt: Array, width: float) -> float:
        return self._value(beta, self.margins(beta), tilt, width)

    def minimise(self, start: Array, tilt: Array, width: float) -> Array:
        """Newton's method from `start`, damped where it goes too far.

        A coordinate whose rows are all away from the hinge has next to no curvature, and would be sent off until they
        are in the way. Damping lends it that of all rows, with little effect on those that have their own.
        """
        beta, margin, damping = start, self.margins(start), 0.0
        value = self._value(beta, margin, tilt, width)
        for _ in range(NEWTON_STEPS):
            gradient = tilt + 2.0 * self.lam * beta + self._slope(margin, width)
            near = np.abs(margin) < width
            for _ in range(DAMPINGS):
                step = -self._solve_hessian(near, width, damping, gradient)
                descent = float(gradient @ step)
                moved = margin - self.labels * self.rows.scores(step)
                trial = self._value(beta + step, moved, tilt, width)
                if trial <= value + 1e-4 * descent:
                    break
                damping = max(8.0 * damping, LEAST_DAMPING)
            else:
                break
            beta, margin, value = beta + step, moved, trial
            if -descent <= 1e-11 * max(abs(value), 1e-9):
                break
            damping = damping / 8.0 if damping > LEAST_DAMPING else 0.0
        return beta

    def _value(self, beta: Array, margin: Array, tilt: Array, width: float) -> float:
        if width == 0.0:
            return float(self.shares @ np.maximum(margin, 0.0) + tilt @ beta + self.lam * (beta @ beta))
        bent = np.clip(margin + width, 0.0, 2.0 * width)
        hinge = bent * bent / (4.0 * width) + np.maximum(margin - width, 0.0)
        return float(self.shares @ hinge + tilt @ beta + self.lam * (beta @ beta))

    def _solve_hessian(self, near: Mask, width: float, damping: float, gradient: Array) -> Array:
        ridge = 2.0 * self.lam + damping * self._squares
        if len(gradient) <= DENSE_UP_TO:
            hessian = self._gram.of(near) / (2.0 * width)
            hessian[np.diag_indices_from(hessian)] += ridge
            return _solved(hessian, gradient)
        return _conjugate_gradients(self.rows[near], self.shares[near] / (2.0 * width), ridge, gradient)

    @cached_property
    def _squares(self) -> Array:
        return self.rows.squares(self.shares)

    @cached_property
    def _gram(self) -> "_Gram":
        return _Gram(self.rows, self.shares)


class _Gram:
    """The sum of share x x' over some rows. From one Newton step to the next few rows come and go: only those are
    added and taken away, as long as they are few."""

    def __init__(self, rows: SampleRows, shares: Array) -> None:
        self._rows, self._shares = rows, shares
        self._inside = np.zeros(len(rows), dtype=bool)
        self._sum = np.zeros((rows.width, rows.width))

    def of(self, inside: Mask) -> Array:
        changed = inside != self._inside
        if 2 * np.count_nonzero(changed) < np.count_nonzero(inside):
            signs = np.where(inside[changed], 1.0, -1.0)
            self._sum = self._sum + self._rows[changed].gram(self._shares[changed] * signs)
        else:
            self._sum = self._rows[inside].gram(self._shares[inside])
        self._inside = inside
        return self._sum


def _solved(hessian: Array, gradient: Array) -> Array:
    """Where lambda is nothing beside columns that repeat each other, the least of all solutions."""
    try:
        return np.linalg.solve(hessian, gradient).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(hessian, gradient, rcond=None)[0].astype(np.float64, copy=False)


def _active_share(margin: Array, width: float) -> Array:
    if width == 0.0:
        return (margin > 0.0).astype(float)
    share: Array = np.clip((margin + width) / (2.0 * width), 0.0, 1.0)
    return share


def _conjugate_gradients(rows: SampleRows, shares: Array, ridge: Array, right: Array) -> Array:
    """(sum of share x x' + ridge) solution = right. Scaled by the diagonal, where rare categories have almost nothing
    and common ones much."""
    diagonal = rows.squares(shares) + ridge
    solution, residual = np.zeros_like(right), right.copy()
    scaled = residual / diagonal
    direction, square = scaled, float(residual @ scaled)
    target = 1e-10 * square
    for _ in range(CG_STEPS):
        if square <= target:
            break
        image = rows.sums(shares * rows.scores(direction)) + ridge * direction
        length = square / float(direction @ image)
        solution = solution + length * direction
        residual = residual - length * image
        scaled = residual / diagonal
        square, before = float(residual @ scaled), square
        direction = scaled + (square / before) * direction
    return solution
