"""The hinge: psi(z) = max(0, z), with z = 1 - y score."""

from dataclasses import dataclass

import numpy as np

from sqlsvm.solve.arrays import Array, Mask
from sqlsvm.solve.loss.base import Loss


class Hinge(Loss):
    origin = 1.0
    knots = (0.0,)

    def value(self, z: Array) -> Array:
        return np.maximum(z, 0.0)

    def slope(self, z: Array) -> Array:
        return (z > 0.0).astype(float)

    def conjugate(self, u: Array) -> Array:
        return np.zeros_like(u)

    def curved(self, z: Array) -> Mask:
        return np.zeros(len(z), dtype=bool)

    def smoothed(self, width: float) -> Loss:
        return SmoothHinge(width) if width else self


class Perceptron(Hinge):
    """The same with z = -y score, which is positive where the sign of the score is wrong."""

    origin = 0.0


@dataclass(frozen=True)
class SmoothHinge(Loss):
    """0 below -width, z above width, (z + width)^2 / (4 width) between."""

    width: float
    origin = Hinge.origin

    @property
    def bend(self) -> float:
        return 1.0 / (2.0 * self.width)

    def value(self, z: Array) -> Array:
        rise = np.clip(z + self.width, 0.0, 2.0 * self.width)
        found: Array = rise * rise / (4.0 * self.width) + np.maximum(z - self.width, 0.0)
        return found

    def slope(self, z: Array) -> Array:
        found: Array = np.clip((z + self.width) / (2.0 * self.width), 0.0, 1.0)
        return found

    def conjugate(self, u: Array) -> Array:
        found: Array = self.width * u * (u - 1.0)
        return found

    def curved(self, z: Array) -> Mask:
        found: Mask = np.abs(z) < self.width
        return found

    def smoothed(self, width: float) -> Loss:
        return self
