"""The penalty of F = R + penalty: its value, its steps, and what it says about a lower bound."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from sqlsvm.options import check
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.curvature import Curvature, Metric
from sqlsvm.solve.interior import Limits, Split, minimise
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.rounding import EXACT, Rounding
from sqlsvm.solve.simplex_qp import solve_simplex_qp

NOISE = 1e-10  # of products of slopes, as a share of the largest


@dataclass(frozen=True)
class Cuts:
    """R >= max_i slopes_i.beta + offsets_i. One of them is 0. `gram` holds the products of the slopes."""

    slopes: Array
    offsets: Array
    gram: Array


@dataclass(frozen=True)
class Optimum:
    """The minimiser of a model, and the multipliers of its cuts and of constraints."""

    point: Array
    alpha: Array
    xi: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Penalty(ABC):
    """Every penalty has a term lam |beta|^2."""

    lam: float

    def __post_init__(self) -> None:
        check(self)

    @property
    @abstractmethod
    def strength(self) -> float:
        """A number that tells it from others."""

    @property
    def known(self) -> Sequence[tuple[Cut, tuple[float, float]]]:
        """Cuts that need no pass, each with what its rounding is multiplied by."""
        return ()

    @property
    def curvature(self) -> float:
        """The second derivative of that term along each coordinate."""
        return 2.0 * self.lam

    @property
    def ridge(self) -> Array | float:
        """What a step takes for the second derivative along each coordinate: above 0, so that it has an end."""
        return self.curvature

    @property
    def is_smooth(self) -> bool:
        """Has it a slope everywhere?"""
        return True

    @abstractmethod
    def value(self, beta: Array) -> float: ...

    @abstractmethod
    def slope(self, beta: Array) -> Array:
        """Of the part that has a derivative."""

    def wider(self, columns: int) -> "Penalty":
        """Of so many columns more, for a training on rows in memory."""
        return self

    def feasible(self, beta: Array) -> Array:
        """A point nearby that satisfies the constraints, if there are any."""
        return beta

    def held(self, beta: Array) -> Sequence[tuple[str, float]]:
        """The name of each constraint, and how far beta is within it."""
        return ()

    def conjugate(self, norm: float) -> float:
        """max slope.beta - lam |beta|^2 for a slope of this length."""
        return norm * norm / (4.0 * self.lam)

    @abstractmethod
    def inner_minimum(
        self,
        slope: Array,
        size: Array,
        g: float,
        rounding: Rounding = EXACT,
        xi: Array | None = None,
        upper: float = inf,
    ) -> float:
        """A number that is never above min slope.beta + penalty(beta), although each entry of the slope may be off by g
        times that of `size`, and by the rounding of sums. Any multipliers xi >= 0 of constraints prove one. No beta
        counts where the objective is above `upper`."""

    @abstractmethod
    def lowest(self, cuts: Cuts, start: Array) -> Optimum:
        """argmin cuts(beta) + penalty(beta). `start` is an alpha to begin with."""

    @abstractmethod
    def near(self, cuts: Cuts, centre: Array, multiplier: float, start: Array) -> Optimum:
        """argmin cuts(beta) + penalty(beta) + |beta - centre|^2 / multiplier."""

    @abstractmethod
    def step(self, cuts: Cuts, centre: Array, metric: Metric, start: Array) -> Array:
        """argmin cuts(beta) + penalty(beta) + |beta - centre|^2 / 2 in a metric that the curvature of the penalty is a
        part of."""

    def smooth_step(self, cuts: Cuts, centre: Array, metric: Metric, start: Array) -> Array:
        """The same, if it has a slope everywhere."""
        about = centre - metric.image(self.slope(centre))
        images = metric.images(cuts.slopes)
        gram = cuts.slopes @ images.T
        alpha = solve_simplex_qp(0.5 * (gram + gram.T), cuts.offsets + cuts.slopes @ about, 1.0, start)
        return about - alpha @ images

    @abstractmethod
    def newton(
        self, beta: Array, gradient: Array, curvature: Callable[[], Curvature], accuracy: float, enough: float
    ) -> tuple[Array, float] | None:
        """A step of Newton's method, from the gradient of all that has a derivative, and by how much a step of length 1
        would fall along it. None if the value is at most `enough` above the minimum."""


class L2(Penalty):
    """lam |beta|^2."""

    @property
    def strength(self) -> float:
        return self.lam

    def value(self, beta: Array) -> float:
        return self.lam * float(beta @ beta)

    def slope(self, beta: Array) -> Array:
        return self.curvature * beta

    def minimiser(self, slope: Array) -> Array:
        """argmin slope.beta + penalty(beta)."""
        return -slope / self.curvature

    def inner_minimum(
        self,
        slope: Array,
        size: Array,
        g: float,
        rounding: Rounding = EXACT,
        xi: Array | None = None,
        upper: float = inf,
    ) -> float:
        """The errors make the norm longer here, not shorter."""
        norm = rounding.longest(slope) + g * float(np.linalg.norm(size))
        return -self.conjugate(norm) * (1.0 + g)

    def lowest(self, cuts: Cuts, start: Array) -> Optimum:
        return self._about(np.zeros(cuts.slopes.shape[1]), cuts, start)

    def _about(self, centre: Array, cuts: Cuts, start: Array) -> Optimum:
        """argmin cuts(beta) + lam |beta - centre|^2. Products of slopes have half of their digits: where slopes have to
        cancel to more of them, the slopes themselves are needed."""
        offsets = cuts.offsets + cuts.slopes @ centre
        steepest = float(cuts.gram.diagonal().max(initial=0.0))
        if NOISE * self.conjugate(steepest**0.5) <= float(np.abs(cuts.offsets).max(initial=0.0)):
            alpha = solve_simplex_qp(cuts.gram, offsets, self.curvature, start)
            return Optimum(centre + self.minimiser(alpha @ cuts.slopes), alpha)
        none = np.zeros_like(centre)
        bends = Split.diagonal_of(none + self.curvature)
        found = minimise(bends, none, cuts.slopes, offsets, none, Limits.none(len(none)))
        return Optimum(centre + found.x, found.alpha)

    def proximal(self, centre: Array, multiplier: float) -> tuple["L2", Array]:
        """penalty(beta) + |beta - centre|^2 / multiplier is a penalty of the same form, about another point, plus a
        constant. Returns the penalty and the point."""
        both = L2(self.lam + 1.0 / multiplier)
        return both, centre / (multiplier * both.lam)

    def near(self, cuts: Cuts, centre: Array, multiplier: float, start: Array) -> Optimum:
        """The same dual about another point."""
        both, shift = self.proximal(centre, multiplier)
        return both._about(shift, cuts, start)

    def step(self, cuts: Cuts, centre: Array, metric: Metric, start: Array) -> Array:
        return self.smooth_step(cuts, centre, metric, start)

    def newton(
        self, beta: Array, gradient: Array, curvature: Callable[[], Curvature], accuracy: float, enough: float
    ) -> tuple[Array, float] | None:
        if self.conjugate(float(np.linalg.norm(gradient))) <= enough:
            return None
        step = -curvature().solve(gradient, accuracy)
        return step, float(gradient @ step)
