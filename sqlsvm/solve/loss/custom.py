"""--pieces: a loss of the user's own, as a sum of the ReLUs and ReHUs of Dai and Qiu (2023). Any convex loss of linear
and quadratic pieces is one."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf
from typing import Any

from sqlsvm.errors import OptionError
from sqlsvm.options import OPTIONS, LossPiece
from sqlsvm.solve.loss.piecewise import Change, Piece, Piecewise

FORM = "⟦pieces⟧ '[[1, -0.5], [null, -1, 0]]' is max(0, z - 0.5) + max(0, -z)^2 / 2"
LARGEST = 1e6
"""Of the numbers in a piece, and one over the least that is not 0: their squares and products keep their digits."""


def given(pieces: Any) -> tuple[LossPiece, ...]:
    """The pieces of a JSON text, of a file with one, or of lists."""
    if isinstance(pieces, str):
        pieces = _read(pieces)
    is_list = isinstance(pieces, list | tuple)
    found = tuple(tuple(p) if isinstance(p, list | tuple) else p for p in pieces) if is_list else pieces
    if not OPTIONS["pieces"].allows(found):
        raise OptionError(f"pieces {OPTIONS['pieces'].must}", hint=FORM)
    return found


def _read(text: str) -> Any:
    try:
        if not text.lstrip().startswith("["):
            with open(text, encoding="utf-8-sig") as file:
                text = file.read()
        return json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise OptionError("cannot read the pieces of the loss", detail=str(error), hint=FORM) from error


def of_pieces(pieces: Sequence[LossPiece]) -> Piecewise:
    """The sum, of a label that is a number."""
    parts = [_Part.of(piece) for piece in pieces]
    if not any(part.slope for part in parts):
        problem = "is the same for all residuals" if parts else "has no pieces"
        raise OptionError(f"the loss of your own {problem}", hint=FORM)
    for number in (abs(x) for part in parts for x in (part.slope, part.constant, part.end) if x and x != inf):
        if not 1.0 / LARGEST <= number <= LARGEST:
            raise OptionError(
                f"a piece of the loss has the number {number:g}, whose square may lose its digits",
                hint=f"numbers are 0, or have a size from {1.0 / LARGEST:g} to {LARGEST:g}",
            )
    by_place = groupby(sorted((c for part in parts for c in part.changes()), key=_place), key=_place)
    changes = tuple(_together(at, list(found)) for at, found in by_place)
    first = changes[0].at
    value, slope, bend = (sum(found) for found in zip(*(part.before(first) for part in parts), strict=True))
    return Piecewise(Piece(first, value, slope, bend), changes, origin=None)


def of_margin(pieces: Sequence[LossPiece]) -> Piecewise:
    """The sum, of y score. The residual of a row is -y score."""
    return replace(of_pieces([_mirrored(piece) for piece in pieces]), origin=0.0)


def _mirrored(piece: LossPiece) -> LossPiece:
    if len(piece) == 2:
        return -piece[0], piece[1]
    return piece[0], -piece[1], piece[2]


def _place(change: Change) -> float:
    return change.at


def _together(at: float, found: Sequence[Change]) -> Change:
    return Change(at, sum(c.jump for c in found), sum(c.bend for c in found))


@dataclass(frozen=True)
class _Part:
    """With w = max(0, slope z + constant), w; or w^2 / 2 up to w = end, and straight beyond."""

    slope: float
    constant: float
    end: float = 0.0  # 0: it is w

    @classmethod
    def of(cls, piece: LossPiece) -> "_Part":
        *ends, slope, constant = piece
        end = inf if ends == [None] else float(ends[0] or 0.0) if ends else 0.0
        return cls(float(slope or 0.0), float(constant or 0.0), end)

    def changes(self) -> Iterator[Change]:
        if not self.slope:
            return
        edge, bend = -self.constant / self.slope + 0.0, self.slope**2
        if not self.end:
            yield Change(edge, jump=abs(self.slope))
            return
        rising = self.slope > 0.0
        yield Change(edge, bend=bend if rising else -bend)
        if self.end < inf:
            yield Change((self.end - self.constant) / self.slope, bend=-bend if rising else bend)

    def before(self, z: float) -> tuple[float, float, float]:
        """Value, slope and second derivative just before the first change of all, which is z or follows it."""
        w = max(0.0, self.slope * z + self.constant)
        if self.slope > 0.0:
            return 0.0, 0.0, 0.0
        if not self.end:
            return w, self.slope, 0.0
        if self.end <= w or (self.slope and self.end < inf):
            return self.end * (w - self.end / 2.0), self.slope * self.end, 0.0
        return w * w / 2.0, self.slope * w, self.slope**2
