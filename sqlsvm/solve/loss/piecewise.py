"""What the solvers ask of a loss psi, which is convex and at least 0, and losses that are linear or quadratic between a
few residuals: the hinge, the squared hinge and their like.

A row of the join has the residual z = origin - sign * score and the loss psi(z). For every number u the line
u z - psi*(u) is below psi, where psi* is the conjugate. So any u that is the same for all tables makes a valid cut, and
u = psi'(z) makes the best one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.blocks import in_blocks
from sqlsvm.solve.rounding import UNIT

NOISE = 1e-13  # what changes add up to may miss 0 by this share of them
COMPUTED = 8.0  # more than the operations by which a row's psi and psi' are computed on a piece
NARROWEST = 1e-9  # a ramp that is narrower than this share of its distance from 0 would be lost to rounding


class Loss(ABC):
    origin: float | None
    """The residual of a row with score 0, where the label has two classes. None: the label is a number, and that is
    its residual."""

    knots: tuple[float, ...] = ()  # the residuals where the slope jumps
    slopes: tuple[float, float]  # the least and the largest; infinite if there is none
    is_step = False
    """Has the label two classes, and is psi' 0 before the only knot, which is 0, and 1 after it? Then a cut is made of
    counts of rows."""

    bounds = inf, inf  # no |u| and no |psi*(u)| is above these
    bent: float = 0.0
    """The slope up to which psi is curved; infinite if it always is, and 0 if it is straight between its knots."""

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
        """A loss without knots that differs from this one only where a crease is closer than `width`. Its slopes are
        between those of this loss. With width 0 it is this loss."""

    def creases(self, width: float) -> tuple[float, ...]:
        """The knots, and the middles of ramps that are narrower: from afar they are knots."""
        return self.knots

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

    computed = 0.0, 0.0  # psi*(u) and u may be sums of numbers of this size, where they are far smaller

    def size(self, mean: float, origin: float, share: float = 64.0 * UNIT) -> tuple[float, float]:
        """a + b sqrt(mean) + c mean: numbers that the mean of |u o| + |psi*(u)| and the root of the mean of u^2 do not
        exceed, where u are the slopes of rows on which the mean of psi is this, and their origins o have this root of
        the mean square. With what computing them for one row may lose, if this share is what sums of rows lose."""
        (a, b, c), mean = self.growth(origin), max(mean, 0.0)  # rounding may have made it less
        (steepest, rise), (most, at_most) = self.steepness(), self.bounds
        offset, slope = a + b * mean**0.5 + c * mean, steepest + rise * mean**0.5
        lost, of_slope = (COMPUTED * UNIT / share * size for size in self.computed)
        return float(min(offset, most * abs(origin) + at_most) + lost), float(min(slope, most) + of_slope)

    def unit(self, width: float) -> float:
        """That of psi, where residuals are measured in this width: the width or, where psi is curved, its square."""
        return width * min(width, self.bent) if self.bent else width

    def shortfall(self, z: Array, u: Array) -> Array:
        """How far the line of slope u is below psi at z."""
        return self.value(z) - (u * z - self.conjugate(u))


@dataclass(frozen=True)
class Change:
    """Beyond the residual `at` the slope is higher by `jump`, and the second derivative by `bend`."""

    at: float
    jump: float = 0.0
    bend: float = 0.0


@dataclass(frozen=True)
class Piece:
    """psi(z) = value + slope (z - at) + bend (z - at)^2 / 2, between two changes; `at` is one of them."""

    at: float
    value: float
    slope: float
    bend: float


@dataclass(frozen=True)
class Piecewise(Loss):
    """`start` is the piece before the first change, described there."""

    start: Piece
    changes: tuple[Change, ...]  # in the order of their places, at least one
    origin: float | None = 1.0

    @cached_property
    def knots(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(change.at for change in self.changes if change.jump)

    @property
    def is_step(self) -> bool:  # type: ignore[override]
        steps = [(piece.slope, piece.bend) for piece in self.pieces] == [(0.0, 0.0), (1.0, 0.0)]
        return steps and self.knots == (0.0,) and self.origin is not None

    @property
    def bent(self) -> float:  # type: ignore[override]
        return max(map(abs, self.slopes)) if any(piece.bend for piece in self.pieces) else 0.0

    @cached_property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """psi* is convex, and its least value is -psi(0)."""
        ends = np.array(self.slopes)
        if not np.isfinite(ends).all():
            return inf, inf
        dual = [*self.conjugate(ends), *self.value(np.zeros(1))]
        return float(np.abs(ends).max()), float(np.abs(dual).max())

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """One more than there are changes."""
        return (self.start, *self._later())

    def _later(self) -> Iterator[Piece]:
        piece = self.start
        for change in self.changes:
            by = change.at - piece.at
            value = _sum(piece.value, piece.slope * by, piece.bend * by * by / 2.0)
            slope = _sum(piece.slope, piece.bend * by, change.jump)
            piece = Piece(change.at, value, slope, _sum(piece.bend, change.bend))
            yield piece

    @in_blocks
    def value(self, z: Array) -> Array:
        piece, by = self._piece(z)
        found = self._bends.take(piece)
        found *= by
        found /= 2.0
        found += self._slopes.take(piece)
        found *= by
        found += self._values.take(piece)
        return found

    @in_blocks
    def slope(self, z: Array) -> Array:
        piece, by = self._piece(z)
        found = self._bends.take(piece)
        found *= by
        found += self._slopes.take(piece)
        return found

    @in_blocks
    def curvature(self, z: Array) -> Array:
        return self._bends.take(self._piece(z)[0])

    def conjugate(self, u: Array) -> Array:
        return self.dual.value(u)

    @cached_property
    def dual(self) -> "Piecewise":
        """psi*, which is linear or quadratic between a few slopes u. Its own slope there is the residual at which the
        line of slope u touches psi."""
        changes = tuple(self._touching()) or (Change(self.pieces[-1].slope),)
        first, u = self.start, changes[0].at
        start = Piece(u, u * first.at - first.value, first.at, _inverse(first.bend))
        return Piecewise(start, changes)

    def _touching(self) -> Iterator[Change]:
        """A line that gets steeper moves along the pieces that are curved, waits at the knots, and jumps over the
        pieces that are straight."""
        if self.start.bend:
            yield Change(self.start.slope, bend=-_inverse(self.start.bend))
        for piece, end in zip(self.pieces[1:], [*self._places[2:], None], strict=True):
            if piece.bend:
                yield Change(piece.slope, bend=_inverse(piece.bend))
                if end is not None:
                    yield Change(piece.slope + piece.bend * (end - piece.at), bend=-_inverse(piece.bend))
            elif end is not None:
                yield Change(piece.slope, jump=end - piece.at)

    @cached_property
    def slopes(self) -> tuple[float, float]:  # type: ignore[override]
        first, last = self.pieces[0], self.pieces[-1]
        return -inf if first.bend else first.slope, inf if last.bend else last.slope

    def smoothed(self, width: float) -> "Piecewise":
        """Each jump, and each narrower ramp, becomes a ramp, from `width` before it to `width` after it."""
        if not (width and self.creases(width)):
            return self
        changes = tuple(sorted(self._ramps(width), key=lambda change: change.at))
        by = changes[0].at - self.start.at
        slope = self.start.slope + self.start.bend * by
        value = self.start.value + by * (self.start.slope + slope) / 2.0
        return replace(self, start=Piece(changes[0].at, value, slope, self.start.bend), changes=changes)

    def _ramps(self, width: float) -> Iterator[Change]:
        for change in self._creased(width):
            if change.jump:
                by = max(width, NARROWEST * abs(change.at))
                start, end = change.at - by, change.at + by
                bend = change.jump / (end - start)  # which are rounded: the slope at the end has to be that of the loss
                yield from (Change(start, bend=bend), Change(end, bend=-bend))
            if change.bend:
                yield Change(change.at, bend=change.bend)

    def creases(self, width: float) -> tuple[float, ...]:
        return tuple(change.at for change in self._creased(width) if change.jump)

    def _creased(self, width: float) -> Iterator[Change]:
        """The changes; where psi bends between two straight pieces, in less than `width` on either side, it jumps."""
        places = iter(range(len(self.changes)))
        for n in places:
            ends, (before, bent, *after) = self.changes[n : n + 2], self.pieces[n : n + 3]
            is_ramp = bent.bend and after and not (before.bend or after[0].bend or any(end.jump for end in ends))
            if is_ramp and ends[1].at - ends[0].at < 2.0 * width:
                next(places)
                yield Change((ends[0].at + ends[1].at) / 2.0, jump=after[0].slope - before.slope)
            else:
                yield self.changes[n]

    @property
    def near(self) -> "Near":
        return Near(self, 0.0, 0.0)

    def most_beyond(self, delta: float) -> float:
        """psi is at most this far above one of its tangents, `delta` away from where that touches."""
        far = sum(c.jump for c in self.changes) * delta + max(p.bend for p in self.pieces) * delta * delta / 2.0
        return min(far, (self.slopes[1] - self.slopes[0]) * delta)

    def growth(self, origin: float) -> tuple[float, float, float]:
        """psi* is u at - value + (u - slope)^2 / (2 bend) on a piece, or without the last term. Without knots it goes
        from -min psi, where its slope is the residual there, and what that grows by are its jumps and its bends."""
        if not self.knots:
            (_, rise), dual, at = self.steepness(), self.dual, np.zeros(1)
            least, place = (abs(float(found[0])) for found in (dual.value(at), dual.slope(at)))
            far, inverse = abs(origin) + place + sum(c.jump for c in dual.changes), max(p.bend for p in dual.pieces)
            return least, far * rise, inverse / 2.0 * rise**2
        (steepest, rise), bends = self.steepness(), [p.bend for p in self.pieces if p.bend]
        far, value = (float(np.abs(found).max()) for found in (self._places, self._values))
        far, inverse = abs(origin) + far, _inverse(2.0 * min(bends, default=0.0))
        constant = far * steepest + value + inverse * (2.0 * steepest) ** 2
        return constant, far * rise + inverse * 4.0 * steepest * rise, inverse * rise**2

    @property
    def computed(self) -> tuple[float, float]:  # type: ignore[override]
        """A piece that is described where it is not least, as that of huber, is 0 by cancelling."""
        if self.knots or not any(p.bend and (p.slope or p.value) for p in self.pieces):
            return 0.0, 0.0
        far, value, steepest = (float(np.abs(e).max()) for e in (self._places, self._values, self._slopes))
        return value + far * steepest, steepest

    def steepness(self) -> tuple[float, float]:
        """With S the steepest of the slopes at the changes, and no bend above q, u^2 <= S^2 + 2 q psi, because psi is
        at least 0. So |u| <= S + rise sqrt(psi). Without knots S is 0: psi falls by u^2 / (2 q) in a step of -u / q."""
        if not self.knots:
            return 0.0, (2.0 * max(p.bend for p in self.pieces)) ** 0.5
        steepest = max(*(abs(p.slope) for p in self.pieces), *(c.jump for c in self.changes))
        return steepest, (2.0 * max(p.bend for p in self.pieces)) ** 0.5

    def _piece(self, z: Array) -> tuple[Indices, Array]:
        """Which piece each residual is on, and how far from the place where that is described."""
        passed = np.zeros(len(z), dtype=np.int16)
        for change in self.changes:  # there are so few that this is faster than a search
            np.add(passed, z > change.at, out=passed)
        piece = passed.astype(np.int64)
        by = self._places.take(piece)
        return piece, np.subtract(z, by, out=by)

    @cached_property
    def _places(self) -> Array:
        return np.array([piece.at for piece in self.pieces])

    @cached_property
    def _values(self) -> Array:
        return np.array([piece.value for piece in self.pieces])

    @cached_property
    def _slopes(self) -> Array:
        return np.array([piece.slope for piece in self.pieces])

    @cached_property
    def _bends(self) -> Array:
        return np.array([piece.bend for piece in self.pieces])


@dataclass(frozen=True)
class Near:
    """A piecewise loss that is close to psi: loss - above <= psi <= loss - above + error."""

    loss: Piecewise
    above: float
    error: float


def _sum(*terms: float) -> float:
    found = sum(terms)
    return found if abs(found) > NOISE * max(map(abs, terms)) else 0.0


def _inverse(bend: float) -> float:
    return 1.0 / bend if bend else 0.0
