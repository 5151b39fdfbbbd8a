"""The elastic net, with an intercept that is not penalised and with constraints on beta, if asked for:

    lam |beta|^2 + l1 |beta|_1  subject to  rows beta + shifts >= 0.

l1 does not apply to the intercept. If alpha are the multipliers of the cuts, xi those of the constraints, and g is
slopes' alpha - rows' xi, then F* is at least
    offsets.alpha - shifts.xi - sum_j max(0, |g_j| - l1)^2 / (4 lam).
An intercept without a penalty adds its least g_0 beta_0 in an interval that contains every optimum. alpha is chosen
such that g_0 is 0 up to rounding, so the length of the interval hardly matters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, sqrt
from zlib import crc32

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.curvature import Curvature, Metric
from sqlsvm.solve.interior import Split, minimise
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.penalty import Cuts, Optimum, Penalty
from sqlsvm.solve.rounding import EXACT, Rounding

TRACE = 1e-6
"""An intercept that is free has this share of the curvature of others in a step. With all of it steps would be far too
short where features are not centred: there an intercept and a weight are nearly one."""
_FARTHER = 2.0 ** np.arange(997.0)


@dataclass(frozen=True)
class Side:
    """Rows of one class. A label that is a number has one side."""

    share: float  # of all rows
    way: float  # z = origin - way * score
    origin: float  # the mean of the origins
    size: float  # the root of their mean square
    means: Array  # of the coordinates


@dataclass(frozen=True)
class Free:
    """What is known about an intercept that has no penalty: where it is, and cuts that pull it back.

    psi is convex, so the mean loss of a side is at least psi of its mean residual. So R is at least the share of the
    side times that, and every slope of psi makes a cut of it, without a pass.
    """

    place: int  # in beta
    loss: Loss
    sides: Sequence[Side]

    @cached_property
    def cuts(self) -> tuple[tuple[Cut, tuple[float, float]], ...]:
        """With what the rounding of the offset and of the slope is multiplied by."""
        return tuple(self._cut(side, u) for side in self.sides for u in self._slopes(side) if u)

    def _slopes(self, side: Side) -> Sequence[float]:
        """The steepest ones; if there are none, those at a residual of the usual size."""
        usual = self.loss.slope(np.array([-1.0, 1.0]) * (side.size or 1.0))
        return [end if isfinite(end) else float(u) for end, u in zip(self.loss.slopes, usual, strict=True)]

    def _cut(self, side: Side, u: float) -> tuple[Cut, tuple[float, float]]:
        conjugate = float(self.loss.conjugate(np.array([u]))[0])
        offset = side.share * (u * side.origin - conjugate)
        cut = Cut(-side.share * side.way * u * side.means, offset, offset, 0.0, None)
        return cut, (max(1.0, abs(u) * side.size + abs(conjugate)), max(1.0, abs(u)))

    def within(self, upper: float, radius: float) -> tuple[float, float]:
        """Where it is if F is at most `upper`, and the length of the other coordinates at most `radius`."""
        low, high = -inf, inf
        for side in self.sides:
            others = np.delete(side.means, self.place)
            spread = float(np.linalg.norm(others)) * radius
            least, most = (self._last(upper / side.share, way) for way in (-1.0, 1.0))
            ends = sorted(side.way * (side.origin - z) for z in (least, most))
            low, high = max(low, ends[0] - spread), min(high, ends[1] + spread)
        return low, high

    def _last(self, value: float, way: float) -> float:
        """A residual on this side of 0 beyond which psi is above the value; infinite if there is none."""
        above = np.flatnonzero(self._values[way] > value)
        return way * float(_FARTHER[above[0]]) if len(above) else way * inf

    @cached_property
    def _values(self) -> Mapping[float, Array]:
        """The values of psi, farther and farther on each side of 0."""
        with np.errstate(over="ignore"):
            return {way: self.loss.value(way * _FARTHER) for way in (-1.0, 1.0)}


@dataclass(frozen=True)
class Elastic(Penalty):
    l1: float
    constraint: Constraint
    constant: int | None = None  # the place of the intercept in beta
    free: Free | None = None  # the same, if it has no penalty

    def wider(self, columns: int) -> "Elastic":
        rows = np.pad(self.constraint.rows, ((0, 0), (0, columns)))
        return replace(self, constraint=replace(self.constraint, rows=rows))

    @property
    def dimension(self) -> int:
        return int(self.constraint.rows.shape[1])

    @cached_property
    def strength(self) -> float:
        rows = self.constraint
        known = np.concatenate([[self.lam, self.l1, self.free is not None], rows.rows.ravel(), rows.shifts])
        return float(crc32(known.tobytes()))

    @property
    def known(self) -> Sequence[tuple[Cut, tuple[float, float]]]:
        return self.free.cuts if self.free else ()

    @cached_property
    def _bends(self) -> Array:
        found = np.full(self.dimension, self.curvature)
        if self.free:
            found[self.free.place] = 0.0
        return found

    @property
    def is_smooth(self) -> bool:
        return not (self.l1 or len(self.constraint.shifts))

    @cached_property
    def ridge(self) -> Array:
        return np.maximum(self._bends, TRACE * self.curvature)

    @cached_property
    def _weights(self) -> Array:
        found = np.full(self.dimension, self.l1)
        if self.constant is not None:
            found[self.constant] = 0.0
        return found

    def value(self, beta: Array) -> float:
        if not self.constraint.holds(beta):
            return inf
        return 0.5 * float(self._bends @ beta**2) + self._size(beta)

    def _size(self, beta: Array) -> float:
        return float(self._weights @ np.abs(beta))

    def slope(self, beta: Array) -> Array:
        return self._bends * beta

    def feasible(self, beta: Array) -> Array:
        return self.constraint.repaired(beta)

    def held(self, beta: Array) -> Sequence[tuple[str, float]]:
        return tuple(zip(self.constraint.names, self.constraint.slack(beta).tolist(), strict=True))

    def inner_minimum(
        self,
        slope: Array,
        size: Array,
        g: float,
        rounding: Rounding = EXACT,
        xi: Array | None = None,
        upper: float = inf,
    ) -> float:
        rows, shifts = self.constraint.rows, self.constraint.shifts
        forces = np.zeros(len(shifts)) if xi is None or not len(xi) else np.maximum(xi, 0.0)
        slope, size = slope - forces @ rows, size + forces @ np.abs(rows)
        off = (1.0 + g) * (g * size + rounding.share * rounding.sizes)
        held = float(shifts @ forces) + g * float(np.abs(shifts) @ forces)
        above = np.maximum(np.abs(slope) + off - self._weights, 0.0)
        above[self._bends == 0.0] = 0.0
        norm = (float(np.linalg.norm(above)) + rounding.share * rounding.features) * (1.0 + g)
        return -held - self.conjugate(norm) * (1.0 + g) + self._of_intercept(slope, off, upper)

    def _of_intercept(self, slope: Array, off: Array, upper: float) -> float:
        if self.free is None:
            return 0.0
        pull, error = (float(np.broadcast_to(found, slope.shape)[self.free.place]) for found in (slope, off))
        if pull == error == 0.0:
            return 0.0
        if not isfinite(upper):
            return -inf
        low, high = self.free.within(upper, sqrt(upper / self.lam))
        if not (isfinite(low) and isfinite(high)):
            return -inf
        return min(pull * low, pull * high) - (error + 1e-12 * abs(pull)) * max(abs(low), abs(high))

    def lowest(self, cuts: Cuts, start: Array) -> Optimum:
        return self._balanced(cuts, self._minimum(Split.diagonal_of(self._bends), np.zeros(self.dimension), cuts))

    def near(self, cuts: Cuts, centre: Array, multiplier: float, start: Array) -> Optimum:
        share = 2.0 / multiplier
        return self._minimum(Split.diagonal_of(self._bends + share), -share * centre, cuts)

    def step(self, cuts: Cuts, centre: Array, metric: Metric, start: Array) -> Array:
        if self.is_smooth:
            return self.smooth_step(cuts, centre, metric, start)
        matrix = metric.split(centre != 0.0)
        return self._minimum(matrix, self.slope(centre) - matrix @ centre, cuts).point

    def newton(
        self, beta: Array, gradient: Array, curvature: Callable[[], Curvature], accuracy: float, enough: float
    ) -> tuple[Array, float] | None:
        """The step to the minimum of a quadratic model. It has the penalty and the constraints themselves. The value is
        above the minimum by no more than a step falls whose model has the curvature of the penalty alone."""
        if self.is_smooth:
            step = -curvature().solve(gradient, accuracy)
            fall = float(gradient @ step)
            return None if -fall <= enough else (step, fall)
        if self.free is None and -self._step(Split.diagonal_of(self._bends), beta, gradient, self._bends)[1] <= enough:
            return None
        matrix = curvature().split((beta != 0.0) | (np.abs(gradient) > self._weights))
        step, fall = self._step(matrix, beta, gradient, None)
        return None if -fall <= (enough if self.free else 0.0) else (step, fall)

    def _step(self, matrix: Split, beta: Array, gradient: Array, bends: Array | None) -> tuple[Array, float]:
        """To the minimum of the model with this curvature; by how much it falls, along the slope and, if there are
        `bends`, in the model."""
        none = Cuts(np.zeros((0, self.dimension)), np.zeros(0), np.zeros((0, 0)))
        step = self._minimum(matrix, gradient - matrix @ beta, none).point - beta
        curved = 0.0 if bends is None else 0.5 * float(bends @ step**2)
        return step, float(gradient @ step) + self._size(beta + step) - self._size(beta) + curved

    def _minimum(self, matrix: Split, linear: Array, cuts: Cuts) -> Optimum:
        found = minimise(matrix, linear, cuts.slopes, cuts.offsets, self._weights, self.constraint.limits)
        return Optimum(self.feasible(self.constraint.on_ends(found.x, found.held)), found.alpha, found.xi)

    def _balanced(self, cuts: Cuts, found: Optimum) -> Optimum:
        """With multipliers that do not pull at an intercept that is free. The zero cut takes what is taken away."""
        if self.free is None:
            return found
        pulls = cuts.slopes[:, self.free.place], -self.constraint.rows[:, self.free.place]
        forces = found.alpha, found.xi
        up, down = (
            sum(float(force @ np.maximum(way * pull, 0.0)) for force, pull in zip(forces, pulls, strict=True))
            for way in (1.0, -1.0)
        )
        ups, downs = (min(up, down) / (force or 1.0) for force in (up, down))
        alpha, xi = (
            force * np.where(pull > 0.0, ups, np.where(pull < 0.0, downs, 1.0))
            for force, pull in zip(forces, pulls, strict=True)
        )
        return replace(found, alpha=alpha, xi=xi)
