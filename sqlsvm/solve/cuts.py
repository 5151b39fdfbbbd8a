"""The proof: a bundle of cuts, the lower bound that follows from them, and the points that they suggest.

Model(beta) = penalty(beta) + max(0, max_i slope_i.beta + offset_i) <= F(beta) everywhere, because each cut is a
minorant of R; 0 is one as well. Its minimum is the maximum over the simplex of the dual
    D(alpha) = offsets.alpha + min over beta of (slopes' alpha).beta + penalty(beta).
Every feasible alpha bounds F* from below, however badly the dual is solved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.curvature import Metric
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.penalty import Cuts, Optimum, Penalty
from sqlsvm.solve.rounding import EXACT, Rounding

ROUNDING = float(np.finfo(np.float64).eps)
LEVEL_STEPS, CLOSE = 40, 0.05
"""Of a search for a level: it may end where the value is within this share of what is between level and bound."""
WIDE, STEP, NARROW = 18.5, 3.0, 0.01
"""How far the logarithm of a multiplier may be from where it begins, how far it steps as long as it has no end, and
between what ends nothing is looked for: the level may be one that no multiplier reaches."""
LEAST = 1e-100  # where terms are smaller, what rounding may do to them is taken to be that of such terms


@dataclass(frozen=True)
class Certificate:
    """objective <= F(model) <= objective_upper and lower_bound <= F*, proven; gap is relative to objective_upper."""

    objective: float
    objective_upper: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """(upper - lower) / upper; 0 where the upper bound is 0, infinite where there is none."""
        if self.objective_upper == inf:
            return inf
        if self.objective_upper <= 0.0:
            return 0.0
        return max(0.0, self.objective_upper - self.lower_bound) / self.objective_upper


class Root:
    """Looks for the place where a falling function is 0: in steps until it is between two places, and from there by the
    line between them, which leaves a tenth of what is between them at least."""

    def __init__(self, start: float) -> None:
        self.next = start
        self._left, self._right = (start - WIDE, inf), (start + WIDE, -inf)

    @property
    def is_narrow(self) -> bool:
        return self._right[0] - self._left[0] < NARROW

    def take(self, value: float) -> None:
        """At `next`."""
        if value > 0.0:
            self._left = (self.next, value)
        else:
            self._right = (self.next, value)
        (left, above), (right, below) = self._left, self._right
        if isfinite(above) and isfinite(below):
            share = above / (above - below) if above > below else 0.5
            self.next = left + (right - left) * min(0.9, max(0.1, share))
        else:
            self.next = (
                min(left + STEP, (left + right) / 2.0) if value > 0.0 else max(right - STEP, (left + right) / 2.0)
            )


class Bundle:
    """Cuts in the order they came, and the best feasible dual point so far."""

    def __init__(self, penalty: Penalty, dimension: int, rounding: Rounding = EXACT) -> None:
        self.penalty, self.rounding = penalty, rounding
        self._slopes = np.zeros((1, dimension))  # row 0 is the zero cut
        self._offsets = np.zeros(1)
        self._gram = np.zeros((1, 1))
        self._sizes = np.zeros((1, 2))
        self._optimum = Optimum(np.zeros(dimension), np.ones(1))
        self._solved = True
        self._lower_bound = 0.0
        self.upper = inf
        """The least F that is known."""
        for cut, sizes in penalty.known:
            self.add(cut, sizes)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def _cuts(self) -> Cuts:
        return Cuts(self._slopes, self._offsets, self._gram)

    def add(self, cut: Cut, sizes: tuple[float, float] = (1.0, 1.0)) -> None:
        """`sizes`: what the rounding of its offset and of its slope is multiplied by."""
        with_old = self._slopes @ cut.slope
        self._slopes = np.vstack([self._slopes, cut.slope])
        self._offsets = np.append(self._offsets, cut.offset)
        self._sizes = np.vstack([self._sizes, sizes])
        corner = np.array([[cut.slope @ cut.slope]])
        self._gram = np.block([[self._gram, with_old[:, None]], [with_old[None, :], corner]])
        self._optimum = replace(self._optimum, alpha=np.append(self._optimum.alpha, 0.0))
        self._solved = False

    def lower_bound(self) -> float:
        """The best proven lower bound on F*. It never falls."""
        self._solve()
        return self._lower_bound

    def minimiser(self) -> Array:
        """The minimiser of the model."""
        self._solve()
        return self._optimum.point

    def model(self, beta: Array) -> float:
        """The model's value, a lower bound on F(beta) up to rounding."""
        return float(np.max(self._slopes @ beta + self._offsets)) + self.penalty.value(beta)

    def project(self, centre: Array, level: float, close: float = CLOSE) -> Array:
        """argmin |beta - centre|^2 subject to model(beta) <= level, for a level above the lower bound.

        With the multiplier of the constraint this is a proximal step. Its model value falls as the multiplier grows. So
        look for the root on the logarithm, and return a point that satisfies the level and is close enough to it.
        """
        above = self.model(centre) - level
        if above <= 0.0:
            return centre
        root = Root(self._guess(centre, above))
        best, alpha = self.minimiser(), self._optimum.alpha
        enough = close * (level - self._lower_bound)
        for _ in range(LEVEL_STEPS):
            found = self.penalty.near(self._cuts, centre, float(np.exp(root.next)), alpha)
            alpha, off = found.alpha, self.model(found.point) - level
            root.take(off)
            if off <= 0.0:
                best = found.point
                if off >= -enough:
                    break
            if root.is_narrow:
                break
        return best

    def _guess(self, centre: Array, above: float) -> float:
        """The logarithm of the multiplier that makes the steepest descent fall so far, if it meets no other cut."""
        steepest = self._slopes[np.argmax(self._slopes @ centre + self._offsets)] + self.penalty.slope(centre)
        longest = float(np.log(1.0 / self.penalty.curvature))
        squares = float(steepest @ steepest)
        return min(longest, float(np.log(2.0 * above / squares))) if squares > 0.0 and isfinite(above) else longest

    def step(self, centre: Array, metric: Metric) -> Array:
        """argmin model(beta) + |beta - centre|^2 / 2 in the metric that, with the curvature of the penalty, is given.

        With the latest cut only, this is a step of Newton's method; the other cuts say where it would go too far.
        """
        return self.penalty.step(self._cuts, centre, metric, self._optimum.alpha)

    def step_between(self, points: Sequence[Array], metric: Metric) -> tuple[Array, Array]:
        """With the multipliers of the lower bound, the mean of the points, where the latest cuts were made; and from
        there, by the mean of these cuts, the same step."""
        self._solve()
        first = len(self._offsets) - len(points)
        alpha = np.maximum(self._optimum.alpha[first:], 0.0)
        alpha = alpha / alpha.sum() if alpha.any() else np.eye(len(points))[-1]
        centre = alpha @ np.array(points)
        slopes = np.vstack([self._slopes[:first], alpha @ self._slopes[first:]])
        offsets = np.append(self._offsets[:first], alpha @ self._offsets[first:])
        start = np.eye(len(offsets))[-1]
        return centre, self.penalty.step(Cuts(slopes, offsets, slopes @ slopes.T), centre, metric, start)

    def _solve(self) -> None:
        if not self._solved:
            self._optimum = self.penalty.lowest(self._cuts, self._optimum.alpha)
            offset, slope = np.maximum(np.maximum(self._optimum.alpha, 0.0) @ self._sizes, LEAST).tolist()
            found = self._bound(self.rounding.times(offset, slope))
            self._lower_bound, self._solved = max(self._lower_bound, found), True

    def _bound(self, rounding: Rounding) -> float:
        found = self._optimum
        return dual_bound(self._slopes, self._offsets, found.alpha, self.penalty, rounding, found.xi, self.upper)

    def rounded(self) -> float:
        """What the rounding of sums has taken from the lower bound."""
        self._solve()
        return max(0.0, self._bound(EXACT) - self._lower_bound)


def dual_bound(
    slopes: Array,
    offsets: Array,
    alpha: Array,
    penalty: Penalty,
    rounding: Rounding = EXACT,
    xi: Array | None = None,
    upper: float = inf,
) -> float:
    """D(alpha, xi) less what rounding may have added to it: never above the exact D of a feasible point.

    alpha >= 0 may sum to slightly more than 1, so it is first scaled below 1 (the zero cut takes the rest). A sum of
    n products is then off by at most g = n eps / (1 - n eps) times the sum of their absolute values (Higham,
    Accuracy and Stability, section 3.1). So the linear term is lowered by that much; the penalty allows for it as well.
    Both also allow for what the rounding of sums has done to the cuts. `upper` is an upper bound on F*.
    """
    count, dimension = slopes.shape
    g = 2.0 * (count + dimension + 8) * ROUNDING
    feasible = np.maximum(alpha, 0.0)
    feasible = feasible * ((1.0 - g) / max(1.0, float(feasible.sum())))
    linear = float(offsets @ feasible) - g * float(np.abs(offsets) @ feasible) - rounding.share
    slope, size = feasible @ slopes, feasible @ np.abs(slopes)
    inner = penalty.inner_minimum(slope, size, g, rounding, xi, upper)
    return float(linear + inner - g * abs(linear))
