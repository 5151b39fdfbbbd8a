"""The sample problem: a smoothed loss with a linear tilt on rows that fit in memory, by Newton's method.

    min  mean_w psi(z) + tilt.beta + penalty(beta),  z = origin - sign x.beta

psi is piecewise quadratic, so Newton's method ends after few steps, and its Hessian needs only the rows where psi is
curved.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.curvature import DENSE_UP_TO, ByRows, Curvature, Dense, Gram
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.rows import SampleRows

NEWTON_STEPS = 100  # an unfinished Newton run costs a poorer point, not a wrong bound
TINY = 1e-300  # a sample may be empty: then nothing is known but the penalty
ROUNDING = 1e-14
NEWTON_ACCURACY = 0.1
"""That of the systems of a Newton step, where there are many columns. A better step is not worth its cost."""
ENOUGH_DESCENT, SHORTEST = 1e-4, 1e-3
TOO_LONG = 0.3  # a step went too far if less than this share of it can be made
LEAST_DAMPING, MOST_DAMPING = 0.05, 1e4  # 1 is as if all rows had a curvature of 1


@dataclass(frozen=True)
class LocalProblem:
    """`shares` are the weights divided by their sum."""

    rows: SampleRows
    signs: Array
    origins: Array
    shares: Array
    loss: Loss
    penalty: Penalty
    unit: float = 1.0  # the unit of widths: that of residuals
    optima: dict[tuple[Loss, float, float], Array] = field(default_factory=dict)  # those of the sample that are known
    ahead: Array | float = 0.0  # how far beyond its residual each row is on the smoothed loss
    by_rows: bool = False  # are systems solved by conjugate gradients?

    @classmethod
    def of(cls, sample: Sample, loss: Loss, penalty: Penalty) -> "LocalProblem":
        shares = sample.weights / max(sample.weights.sum(), TINY)
        unit = 1.0 if loss.origin is not None else _unit(shares, sample.origins)
        by_rows, optima = sample.rows.width > DENSE_UP_TO, sample.optima
        return cls(sample.rows, sample.signs, sample.origins, shares, loss, penalty, unit, optima, by_rows=by_rows)

    def fitting(self, beta: Array) -> "LocalProblem":
        """The same with the unit that the residuals have there. Where the label has classes, it is that of the
        loss."""
        return self if self.loss.origin is not None else replace(self, unit=_unit(self.shares, self.residuals(beta)))

    def thinned(self, most: int) -> "LocalProblem":
        """The same on about so many rows, evenly spaced, or fewer than twice as many."""
        step = len(self.rows) // max(1, most)
        if step <= 1:
            return self
        some = np.arange(0, len(self.rows), step)
        shares = self.shares[some] / max(self.shares[some].sum(), TINY)
        return replace(
            self, rows=self.rows.take(some), signs=self.signs[some], origins=self.origins[some], shares=shares
        )

    @property
    def columns(self) -> int:
        """Of the matrices that are multiplied here."""
        return self.rows.numbers.shape[1] if self.by_rows else self.rows.width

    @property
    def origin(self) -> float:
        """The root of the mean square of the origins."""
        return float(np.sqrt(self.shares @ self.origins**2))

    def residuals(self, beta: Array) -> Array:
        found = self.rows.scores(beta)
        found *= self.signs
        return np.subtract(self.origins, found, out=found)

    def loss_slope(self, beta: Array, width: float) -> Array:
        """The gradient of the loss on the sample, smoothed by that width."""
        return self._slope(self.loss.smoothed(width), self.residuals(beta))

    def _slope(self, psi: Loss, z: Array) -> Array:
        return -self.rows.sums(self.pulls * psi.slope(z))

    @cached_property
    def pulls(self) -> Array:
        """Its share of each row, with the sign."""
        return self.shares * self.signs

    def spread(self, beta: Array) -> float:
        """The root of the mean square of the scores, in units."""
        return float(np.sqrt(self.shares @ self.rows.scores(beta) ** 2)) / self.unit

    def density(self, beta: Array, within: float = 0.1) -> float:
        """The density of the residuals at the knots, in units."""
        z = self.residuals(beta) / self.unit
        near = sum(float(self.shares @ (np.abs(z - knot / self.unit) < within)) for knot in self.loss.knots)
        return near / (2.0 * within)

    def blur(self, beta: Array, width: float) -> float:
        """How far a cut of that width is below R at beta."""
        z = self.residuals(beta)
        return float(self.shares @ self.loss.shortfall(z, self.loss.smoothed(width).slope(z)))

    def leading(self, beta: Array, width: float) -> "LocalProblem":
        """A step of the method of multipliers: each row keeps its place on the ramp of the nearest crease, so it has
        the same slope if its residual is on the crease."""
        z = self.residuals(beta) + self.ahead
        offsets = z - np.array(self.loss.creases(width))[:, None]
        nearest = np.abs(offsets).argmin(axis=0)
        return replace(self, ahead=np.clip(offsets[nearest, np.arange(len(z))], -width, width))

    def value(self, beta: Array, tilt: Array, width: float) -> float:
        return self._value(self.loss.smoothed(width), self.residuals(beta)) + self._rest(tilt, beta)

    def cut(self, beta: Array, width: float) -> Cut:
        """The cut of that width. It is below R where the sample has all rows of the join."""
        z = self.residuals(beta)
        u = self.loss.smoothed(width).slope(z + self.ahead)
        slope = -self.rows.sums(self.pulls * u)
        offset = float(self.shares @ (u * self.origins - self.loss.conjugate(u)))
        return Cut(slope, offset, float(self.shares @ self.loss.value(z)), 0.0, None, width)

    def curvature(self, beta: Array, width: float) -> Curvature:
        """Of the penalty and the smoothed loss."""
        return self._curvature(self.loss.smoothed(width), self.residuals(beta), 0.0)

    def mean_curvature(self, beta: Array, width: float) -> float:
        """That of the smoothed loss, over the residuals."""
        return float(self.shares @ self.loss.smoothed(width).curvature(self.residuals(beta)))

    def loss_curvature(self, beta: Array, width: float, columns: Indices) -> Array:
        """That of the smoothed loss alone, for some columns."""
        shares = self.shares * self.loss.smoothed(width).curvature(self.residuals(beta))
        curved = np.flatnonzero(shares > 0.0)
        return self.rows.take(curved).only(columns).gram(shares.take(curved))

    def minimise(self, start: Array, tilt: Array, width: float, accuracy: float) -> Array:
        """Newton's method from `start`, until by the penalty's curvature the value is at most this share of it above
        the minimum.

        A coordinate whose rows are all where psi is linear has almost no curvature, and its step would be far too long.
        A step is made as far as the value falls. If that is not far, the next one is damped: this adds the curvature of
        all rows, which hardly changes the other coordinates.
        """
        psi, beta, damping = self.loss.smoothed(width), self.penalty.feasible(start), 0.0
        z = self.residuals(beta) + self.ahead
        loss, rest = self._value(psi, z), self._rest(tilt, beta)
        for _ in range(NEWTON_STEPS):
            gradient = tilt + self.penalty.slope(beta) + self._slope(psi, z)
            curvature, enough = partial(self._curvature, psi, z, damping), accuracy * abs(loss + rest)
            found = self.penalty.newton(beta, gradient, curvature, NEWTON_ACCURACY, enough)
            if found is None:
                break
            step, descent = found
            moved, length = -self.signs * self.rows.scores(step), 1.0
            while length > SHORTEST:
                trial = self._value(psi, z + length * moved), self._rest(tilt, beta + length * step)
                rise = sum(trial) - loss - rest
                if rise <= ENOUGH_DESCENT * length * descent:
                    beta, z, (loss, rest) = beta + length * step, z + length * moved, trial
                    break
                length *= min(0.7, max(0.1, -descent * length / (2.0 * (rise - descent * length))))
            damping = max(8.0 * damping, LEAST_DAMPING) if length < TOO_LONG else damping / 8.0
            damping = damping if damping >= LEAST_DAMPING else 0.0
            if damping > MOST_DAMPING or abs(rise) <= ROUNDING * abs(loss):
                break
        return beta

    def _value(self, psi: Loss, z: Array) -> float:
        return float(self.shares @ psi.value(z))

    def _rest(self, tilt: Array, beta: Array) -> float:
        return float(tilt @ beta) + self.penalty.value(beta)

    def _curvature(self, psi: Loss, z: Array, damping: float) -> Curvature:
        shares = self.shares * psi.curvature(z)
        ridge = self.penalty.ridge + (damping * self._squares if damping else 0.0)
        if self.by_rows:
            curved = np.flatnonzero(shares > 0.0)
            return ByRows(self.rows.take(curved), shares.take(curved), ridge)
        matrix = self._gram.of(shares)
        matrix[np.diag_indices_from(matrix)] += ridge
        return Dense(matrix)

    @cached_property
    def _squares(self) -> Array:
        return self.rows.squares(self.shares)

    @cached_property
    def _gram(self) -> Gram:
        return Gram(self.rows)


def _unit(shares: Array, z: Array) -> float:
    """The mean size of residuals; 1 where all are 0."""
    return float(shares @ np.abs(z)) or 1.0
