"""Functions of a residual z that are quadratic between a few places, as sums over what z is beyond.

A function is split at one place into two arms. To its right, each place adds something to all residuals above it; to
its left, to all residuals at it or below. Where psi is least, both arms of psi only grow, so no large numbers cancel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from sqlsvm.solve.loss.piecewise import Piece, Piecewise

Terms = tuple[float, float, float]
"""What d, the distance of z from a place, adds: terms[0] + terms[1] d + terms[2] d^2 / 2."""
NOTHING: Terms = 0.0, 0.0, 0.0

NOISE = 1e-14  # where pieces meet, their values are rounded in different ways
Side = tuple[float, int]  # the residuals above a place (1), or those at it and below (-1)


@dataclass(frozen=True)
class Parts:
    """A function by its pieces. The place where one ends belongs to the piece on its left."""

    ends: tuple[float, ...]
    pieces: tuple[Piece, ...]  # one more than there are ends

    def arms(self, split: float, least: float) -> dict[Side, Terms]:
        """What is added to `least`."""
        here = sum(end < split for end in self.ends)
        beyond = sum(end <= split for end in self.ends)
        right = [Piece(split, least, 0.0, 0.0), *self.pieces[beyond:]]
        left = [Piece(split, least, 0.0, 0.0), *reversed(self.pieces[: here + 1])]
        found = dict[Side, Terms]()
        for at, before, after in _meeting([split, *self.ends[beyond:]], right):
            found[at, 1] = _with(found.get((at, 1), NOTHING), before, after, at, 1)
        for at, before, after in _meeting([split, *reversed(self.ends[:here])], left):
            found[at, -1] = _with(found.get((at, -1), NOTHING), before, after, at, -1)
        return {side: terms for side, terms in found.items() if terms != NOTHING}


def values(loss: Piecewise) -> Parts:
    """psi(z)"""
    return Parts(_ends(loss), loss.pieces)


def slopes(loss: Piecewise) -> Parts:
    """psi'(z)"""
    return Parts(_ends(loss), tuple(Piece(p.at, p.slope, p.bend, 0.0) for p in loss.pieces))


def bends(loss: Piecewise) -> Parts:
    """psi''(z)"""
    return Parts(_ends(loss), tuple(Piece(p.at, p.bend, 0.0, 0.0) for p in loss.pieces))


def conjugates(loss: Piecewise, counted: Piecewise) -> Parts:
    """psi*(u) of one loss, where u is the slope of another at z."""
    ends, pieces, places = list[float](), list[Piece](), [change.at for change in loss.dual.changes]
    u_of = slopes(counted)
    for (low, high), u in zip(pairwise([-inf, *u_of.ends, inf]), u_of.pieces, strict=True):
        bent = [u.at + (at - u.value) / u.slope for at in places] if u.slope else []
        for start, end in pairwise([low, *(z for z in bent if low + NOISE < z < high - NOISE), high]):
            here = _at(u, _inside(start, end))
            of_u = _at(loss.dual.pieces[sum(here.value > at for at in places)], here.value)
            pieces.append(Piece(here.at, of_u.value, of_u.slope * u.slope, of_u.bend * u.slope**2))
            ends.append(end)
    return Parts(tuple(ends[:-1]), tuple(pieces))


def split_of(loss: Piecewise) -> float:
    """A place where psi is least."""
    for (low, high), p in zip(pairwise([-inf, *_ends(loss), inf]), loss.pieces, strict=True):
        if high == inf or p.slope + p.bend * (high - p.at) > NOISE:
            falls = p.bend > 0.0 and (low == -inf or p.slope + p.bend * (low - p.at) < 0.0)
            return p.at - p.slope / p.bend if falls else low
    raise AssertionError("psi is at least 0, so it does not fall for ever")


def _ends(loss: Piecewise) -> tuple[float, ...]:
    return tuple(change.at for change in loss.changes)


def _meeting(places: Sequence[float], pieces: Sequence[Piece]) -> Iterator[tuple[float, Piece, Piece]]:
    return zip(places, pieces[:-1], pieces[1:], strict=True)


def _with(terms: Terms, before: Piece, after: Piece, at: float, direction: int) -> Terms:
    """And what the piece after has more than the one before."""
    old, new = _at(before, at), _at(after, at)
    more = new.value - old.value, direction * (new.slope - old.slope), new.bend - old.bend
    sums = (float(a + b) for a, b in zip(terms, more, strict=True))
    step, slope, bend = (0.0 if abs(value) < NOISE else value for value in sums)
    return step, slope, bend


def _at(piece: Piece, at: float) -> Piece:
    """The same piece, described at another place."""
    by = at - piece.at
    value = piece.value + piece.slope * by + piece.bend * by * by / 2.0
    return Piece(at, value, piece.slope + piece.bend * by, piece.bend)


def _inside(low: float, high: float) -> float:
    if low == -inf:
        return min(high, 1.0) - 1.0
    return low + 1.0 if high == inf else (low + high) / 2.0
