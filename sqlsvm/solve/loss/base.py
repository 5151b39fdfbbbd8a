"""What the solvers ask of a loss psi. It is convex and at least 0.

A row of the join has the residual z = origin - sign * score and the loss psi(z). For every number u the line
u z - psi*(u) is below psi, where psi* is the conjugate. So any u that is the same for all tables makes a valid cut, and
u = psi'(z) makes the best one.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sqlsvm.solve.arrays import Array

if TYPE_CHECKING:
    from sqlsvm.solve.loss.piecewise import Near


class Loss(ABC):
    origin: float | None
    """The residual of a row with score 0, where the label has two classes. None: the label is a number, and that is
    its residual."""

    knots: tuple[float, ...] = ()
    """The residuals where the slope jumps."""

    slopes: tuple[float, float]
    """The least and the largest; infinite if there is none."""

    is_step = False
    """Has the label two classes, and is psi' 0 before the only knot, which is 0, and 1 after it? Then a cut is made of
    counts of rows."""

    @abstractmethod
    def value(self, z: Array) -> Array:
        """psi(z)."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """psi'(z); on a knot, the slope on its left."""

    @abstractmethod
    def curvature(self, z: Array) -> Array:
        """psi''(z); on the border of two pieces, that on its left."""

    @abstractmethod
    def conjugate(self, u: Array) -> Array:
        """psi*(u), for slopes u that psi has."""

    @abstractmethod
    def smoothed(self, width: float) -> "Loss":
        """A loss without knots that differs from this one only where a knot is closer than `width`. Its slopes are
        between those of this loss. With width 0 it is this loss."""

    @property
    @abstractmethod
    def near(self) -> "Near":
        """A loss of linear and quadratic pieces that is close to it. Over several bags rows count by that."""

    def finer(self, enough: float) -> "Loss":
        """The same loss, with a `near` that is off by no more than this, or by as little as there is."""
        return self

    @abstractmethod
    def growth(self, origin: float) -> tuple[float, float, float]:
        """a, b and c of `size`, for the terms of offsets."""

    @abstractmethod
    def steepness(self) -> tuple[float, float]:
        """a and b of `size`, for the slopes of rows."""

    def size(self, mean: float, origin: float) -> tuple[float, float]:
        """a + b sqrt(mean) + c mean: numbers that the mean of |u o| + |psi*(u)| and the root of the mean of u^2 do not
        exceed, where u are the slopes of rows on which the mean of psi is this, and their origins o have this root of
        the mean square."""
        (a, b, c), mean = self.growth(origin), max(mean, 0.0)  # rounding may have made it less
        steepest, rise = self.steepness()
        return float(a + b * mean**0.5 + c * mean), float(steepest + rise * mean**0.5)

    def shortfall(self, z: Array, u: Array) -> Array:
        """How far the line of slope u is below psi at z."""
        return self.value(z) - (u * z - self.conjugate(u))
