"""The logistic loss: psi(z) = log(1 + exp(z)), with z = -y score."""

from collections.abc import Mapping
from functools import cache, cached_property

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.blocks import in_blocks
from sqlsvm.solve.loss.piecewise import Change, Loss, Near, Piece, Piecewise

FAR: Mapping[int, float] = {40: 12.0, 80: 16.0, 160: 18.0, 320: 20.0, 640: 22.0}
"""How many pieces the loss may have that is close to it, and the residual beyond which that is straight."""
GRAIN, FITTED = 1e-3, 16
"""The distance of the residuals where the two are compared; at how many for each piece the slopes are fitted."""
TWIST = 0.1  # more than the third derivative of the loss


class Logistic(Loss):
    origin = 0.0
    slopes = 0.0, 1.0

    def __init__(self, pieces: int = min(FAR)) -> None:
        self._pieces, self._far = pieces, FAR[pieces]

    def finer(self, enough: float) -> Loss:
        done = self.near.error <= enough or self._pieces == max(FAR)
        return self if done else _of_pieces(2 * self._pieces).finer(enough)

    @in_blocks
    def value(self, z: Array) -> Array:
        found: Array = np.logaddexp(0.0, z)
        return found

    @in_blocks
    def slope(self, z: Array) -> Array:
        found: Array = 0.5 + 0.5 * np.tanh(0.5 * z)
        return found

    @in_blocks
    def curvature(self, z: Array) -> Array:
        u = self.slope(z)
        return u * (1.0 - u)

    @in_blocks
    def conjugate(self, u: Array) -> Array:
        return _times_log(u) + _times_log(1.0 - u)

    def growth(self, origin: float) -> tuple[float, float, float]:
        """u is below 1, and psi* between -log 2 and 0."""
        return 1.0 + origin, 0.0, 0.0

    def steepness(self) -> tuple[float, float]:
        return 1.0, 0.0

    def smoothed(self, width: float) -> Loss:
        return self

    @cached_property
    def near(self) -> Near:
        """Its error is what it is at some residuals, and what it may be more between two of these and beyond all. Each
        piece has some, so the second derivatives differ between two by little more than at these."""
        far = self._far
        z = np.linspace(-far, far, 1 + round(2.0 * far / GRAIN))
        places = self._places(z)
        loss = _with_slopes(places, self._fitted(places))
        above = loss.value(z) - self.value(z)
        bent = float(np.abs(loss.curvature(z) - self.curvature(z)).max()) + TWIST * GRAIN
        steep = float(np.abs(loss.slope(z) - self.slope(z)).max()) + bent * GRAIN
        between = steep * GRAIN + float(np.exp(-far))
        most, least = float(above.max()) + between, float(above.min()) - between
        return Near(loss, most, most - least)

    def _fitted(self, places: Array) -> Array:
        """The slopes there that make the squares of the differences least."""
        z = np.linspace(-self._far, self._far, 1 + FITTED * self._pieces)
        rising = _integrals(places, z)
        inner = np.linalg.lstsq(rising[:, 1:-1], self.value(z) - rising[:, -1], rcond=None)[0]
        found: Array = np.concatenate([[0.0], inner, [1.0]])
        return found

    def _places(self, z: Array) -> Array:
        """Close where the slope is bent most: then all pieces are off by about as much."""
        u = self.slope(z)
        bent = np.cbrt(np.abs(u * (1.0 - u) * (1.0 - 2.0 * u)) + 1e-9)
        share = np.cumsum(bent) - bent[0]
        found: Array = np.interp(np.linspace(0.0, share[-1], self._pieces + 1), share, z)
        return found


@cache
def _of_pieces(pieces: int) -> Logistic:
    return Logistic(pieces)


def _with_slopes(places: Array, u: Array) -> Piecewise:
    """It is 0 before the first of these places. These are its slopes there; beyond the last it is straight."""
    bends = np.append(np.diff(u) / np.diff(places), 0.0)
    changes = zip(places.tolist(), np.diff(bends, prepend=0.0).tolist(), strict=True)
    start = Piece(float(places[0]), 0.0, 0.0, 0.0)
    return Piecewise(start, tuple(Change(at, bend=bend) for at, bend in changes), origin=0.0)


def _integrals(places: Array, z: Array) -> Array:
    """Up to each z, of the hat of each place: it is 1 there, 0 at the other places and linear between them. Beyond the
    last place, its hat is 1."""
    widths = np.diff(places)
    t = np.clip((z[:, None] - places[:-1]) / widths, 0.0, 1.0)
    found = np.zeros((len(z), len(places)))
    found[:, :-1] += widths * (t - t * t / 2.0)
    found[:, 1:] += widths * t * t / 2.0
    found[:, -1] += np.maximum(z - places[-1], 0.0)
    return found


def _times_log(u: Array) -> Array:
    found: Array = u * np.log(u, out=np.zeros_like(u), where=u > 0.0)
    return found
