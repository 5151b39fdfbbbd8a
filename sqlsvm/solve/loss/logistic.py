"""The logistic loss: psi(z) = log(1 + exp(z)), with z = -y score."""

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss.base import Loss


class Logistic(Loss):
    origin = 0.0
    slopes = 0.0, 1.0

    def value(self, z: Array) -> Array:
        found: Array = np.logaddexp(0.0, z)
        return found

    def slope(self, z: Array) -> Array:
        found: Array = 0.5 + 0.5 * np.tanh(0.5 * z)
        return found

    def curvature(self, z: Array) -> Array:
        u = self.slope(z)
        return u * (1.0 - u)

    def conjugate(self, u: Array) -> Array:
        return _times_log(u) + _times_log(1.0 - u)

    def growth(self, origin: float) -> tuple[float, float, float]:
        """u is below 1, and psi* between -log 2 and 0."""
        return 1.0 + origin, 0.0, 0.0

    def smoothed(self, width: float) -> Loss:
        return self


def _times_log(u: Array) -> Array:
    found: Array = u * np.log(u, out=np.zeros_like(u), where=u > 0.0)
    return found
