"""What the solvers ask of a loss psi. It is convex, at least 0, and piecewise linear or quadratic.

A row of the join has the residual z = origin - sign * score and the loss psi(z). For every number u the line
u z - psi*(u) is below psi, where psi* is the conjugate. So any u that is the same for all tables makes a valid cut, and
u = psi'(z) makes the best one.
"""

from abc import ABC, abstractmethod

from sqlsvm.solve.arrays import Array, Mask


class Loss(ABC):
    origin: float
    """The residual of a row with score 0."""

    knots: tuple[float, ...] = ()
    """The residuals where the slope jumps."""

    @property
    def bend(self) -> float:
        """The second derivative where psi is curved."""
        return 0.0

    @abstractmethod
    def value(self, z: Array) -> Array:
        """psi(z)."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """psi'(z); on a knot, the slope on its left."""

    @abstractmethod
    def conjugate(self, u: Array) -> Array:
        """psi*(u), for slopes u that psi has."""

    @abstractmethod
    def curved(self, z: Array) -> Mask:
        """Where psi has the second derivative `bend`; elsewhere it is linear."""

    @abstractmethod
    def smoothed(self, width: float) -> "Loss":
        """A loss without knots that differs from this one only where a knot is closer than `width`. Its slopes are
        between those of this loss. With width 0 it is this loss."""

    def shortfall(self, z: Array, u: Array) -> Array:
        """How far the line of slope u is below psi at z."""
        return self.value(z) - (u * z - self.conjugate(u))
