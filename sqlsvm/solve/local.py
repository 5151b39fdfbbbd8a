"""The sample problem: a smoothed loss with a linear tilt on rows that fit in memory, by damped Newton steps.

    min  mean_w psi(z) + tilt.beta + penalty(beta),  z = origin - sign x.beta

psi is piecewise quadratic, so Newton's method ends after finitely many steps, and its Hessian needs only the rows where
psi is curved.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlsvm.solve.arrays import Array, Mask
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.rows import SampleRows

DENSE_UP_TO = 1000  # beyond, d x d Hessians cost more than conjugate gradients on the curved rows
NEWTON_STEPS = 100  # an unfinished Newton run costs a poorer point, not a wrong bound
TINY = 1e-300  # a sample may be empty: then nothing is known but the penalty
DAMPINGS = 20
LEAST_DAMPING = 0.1  # as if a tenth of all rows had a curvature of 1
CG_STEPS = 200


@dataclass(frozen=True)
class LocalProblem:
    """`shares` are the weights divided by their sum."""

    rows: SampleRows
    signs: Array
    shares: Array
    loss: Loss
    penalty: L2

    @classmethod
    def of(cls, sample: Sample, loss: Loss, penalty: L2) -> "LocalProblem":
        return cls(sample.rows, sample.signs, sample.weights / max(sample.weights.sum(), TINY), loss, penalty)

    def residuals(self, beta: Array) -> Array:
        found: Array = self.loss.origin - self.signs * self.rows.scores(beta)
        return found

    def loss_slope(self, beta: Array, width: float) -> Array:
        """The gradient of the loss on the sample, smoothed by that width."""
        return self._slope(self.loss.smoothed(width), self.residuals(beta))

    def _slope(self, psi: Loss, z: Array) -> Array:
        return -self.rows.sums(self.shares * self.signs * psi.slope(z))

    def density(self, beta: Array, within: float = 0.1) -> float:
        """The density of the residuals at the knots."""
        z = self.residuals(beta)
        near = sum(float(self.shares @ (np.abs(z - knot) < within)) for knot in self.loss.knots)
        return near / (2.0 * within)

    def blur(self, beta: Array, width: float) -> float:
        """How far a cut of that width is below R at beta."""
        z = self.residuals(beta)
        return float(self.shares @ self.loss.shortfall(z, self.loss.smoothed(width).slope(z)))

    def value(self, beta: Array, tilt: Array, width: float) -> float:
        return self._value(self.loss.smoothed(width), beta, self.residuals(beta), tilt)

    def minimise(self, start: Array, tilt: Array, width: float) -> Array:
        """Newton's method from `start`, damped where it goes too far.

        A coordinate whose rows are all where psi is linear has almost no curvature, and its step would be far too long.
        Damping adds the curvature of all rows, which hardly changes the other coordinates.
        """
        psi, beta, z, damping = self.loss.smoothed(width), start, self.residuals(start), 0.0
        value = self._value(psi, beta, z, tilt)
        for _ in range(NEWTON_STEPS):
            gradient = tilt + self.penalty.slope(beta) + self._slope(psi, z)
            curved = psi.curved(z)
            for _ in range(DAMPINGS):
                step = -self._solve_hessian(curved, psi.bend, damping, gradient)
                descent = float(gradient @ step)
                moved = z - self.signs * self.rows.scores(step)
                trial = self._value(psi, beta + step, moved, tilt)
                if trial <= value + 1e-4 * descent:
                    break
                damping = max(8.0 * damping, LEAST_DAMPING)
            else:
                break
            beta, z, value = beta + step, moved, trial
            if -descent <= 1e-11 * max(abs(value), 1e-9):
                break
            damping = damping / 8.0 if damping > LEAST_DAMPING else 0.0
        return beta

    def _value(self, psi: Loss, beta: Array, z: Array, tilt: Array) -> float:
        return float(self.shares @ psi.value(z) + tilt @ beta + self.penalty.value(beta))

    def _solve_hessian(self, curved: Mask, bend: float, damping: float, gradient: Array) -> Array:
        ridge = self.penalty.curvature + damping * self._squares
        if len(gradient) <= DENSE_UP_TO:
            hessian = bend * self._gram.of(curved)
            hessian[np.diag_indices_from(hessian)] += ridge
            return _solved(hessian, gradient)
        return _conjugate_gradients(self.rows[curved], bend * self.shares[curved], ridge, gradient)

    @cached_property
    def _squares(self) -> Array:
        return self.rows.squares(self.shares)

    @cached_property
    def _gram(self) -> "_Gram":
        return _Gram(self.rows, self.shares)


class _Gram:
    """The sum of share x x' over some rows. Few rows change from one Newton step to the next, so only these are added
    or subtracted."""

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
    """The shortest solution, where columns repeat each other and lambda is too small to tell them apart."""
    try:
        return np.linalg.solve(hessian, gradient).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(hessian, gradient, rcond=None)[0].astype(np.float64, copy=False)


def _conjugate_gradients(rows: SampleRows, shares: Array, ridge: Array, right: Array) -> Array:
    """Solves (sum of share x x' + ridge) solution = right. The diagonal is the preconditioner: it is small for rare
    categories and large for common ones."""
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
