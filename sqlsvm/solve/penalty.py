"""The penalty of F = R + penalty: its value, its steps, and what it says about a lower bound."""

from dataclasses import dataclass

import numpy as np

from sqlsvm.options import check
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.rounding import EXACT, Rounding


@dataclass(frozen=True)
class L2:
    """lam |beta|^2."""

    lam: float

    def __post_init__(self) -> None:
        check(self)

    @property
    def strength(self) -> float:
        """What tells it from others of its kind."""
        return self.lam

    @property
    def curvature(self) -> float:
        """The second derivative along each coordinate."""
        return 2.0 * self.lam

    def value(self, beta: Array) -> float:
        return self.lam * float(beta @ beta)

    def slope(self, beta: Array) -> Array:
        return self.curvature * beta

    def minimiser(self, slope: Array) -> Array:
        """argmin slope.beta + penalty(beta)."""
        return -slope / self.curvature

    def conjugate(self, norm: float) -> float:
        """max slope.beta - penalty(beta) for a slope of this length."""
        return norm * norm / (4.0 * self.lam)

    def inner_minimum(self, slope: Array, size: Array, g: float, rounding: Rounding = EXACT) -> float:
        """A number that is never above min slope.beta + penalty(beta), although each entry of the slope may be off by g
        times that of `size`, and by the rounding of sums: it makes the norm longer here, not shorter."""
        norm = rounding.longest(slope) + g * float(np.linalg.norm(size))
        return -self.conjugate(norm) * (1.0 + g)

    def proximal(self, centre: Array, multiplier: float) -> tuple["L2", Array]:
        """penalty(beta) + |beta - centre|^2 / multiplier is a penalty of the same form, about another point, plus a
        constant. Returns the penalty and the point."""
        both = L2(self.lam + 1.0 / multiplier)
        return both, centre / (multiplier * both.lam)
