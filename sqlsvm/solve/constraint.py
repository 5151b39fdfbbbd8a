"""Linear constraints on beta: a point that satisfies them, and the proof that there is none."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlsvm.solve.arrays import Array, Mask
from sqlsvm.solve.interior import Limits, Split, minimise

EXACT, HELD = 1e-13, 1e-9
"""How far a row may be violated, as a share of the size of its terms: after a repair, and at any point of a pass."""
ROUNDED = 1e-9
REPAIRS, SEARCHES = 20, 8


@dataclass(frozen=True)
class Constraint:
    """rows beta + shifts >= 0, and what each row is called."""

    names: tuple[str, ...]
    rows: Array
    shifts: Array

    @classmethod
    def none(cls, dimension: int) -> "Constraint":
        return cls((), np.zeros((0, dimension)), np.zeros(0))

    @classmethod
    def together(cls, parts: Iterable["Constraint"], dimension: int) -> "Constraint":
        found = [cls.none(dimension), *parts]
        names = tuple(name for part in found for name in part.names)
        return cls(names, np.vstack([part.rows for part in found]), np.concatenate([part.shifts for part in found]))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, chosen: Mask) -> "Constraint":
        return Constraint(tuple(np.array(self.names)[chosen]), self.rows[chosen], self.shifts[chosen])

    @property
    def limits(self) -> Limits:
        return Limits(self.rows, self.shifts)

    def slack(self, beta: Array) -> Array:
        """Of each row; 0 where it holds as an equation."""
        return self.rows @ beta + self.shifts

    def holds(self, beta: Array) -> bool:
        return not self._violated(beta, HELD).any()

    def repaired(self, beta: Array) -> Array:
        """A point nearby that satisfies all rows. What is 0 stays 0 if that can be."""
        if not self._violated(beta, 0.0).any():
            return beta
        found, kept = self._moved(beta, beta != 0.0), None
        if found is None:
            found = self._moved(beta, np.ones(len(beta), dtype=bool))
        if found is None:
            kept = minimise(Split.diagonal_of(np.ones(len(beta))), -beta, *_no_cuts(beta), self.limits).x
            found = self._moved(kept, np.ones(len(beta), dtype=bool))
        return beta if found is None else found

    def _moved(self, beta: Array, free: Mask) -> Array | None:
        """By the shortest step along free coordinates that makes equations of the rows that are violated."""
        held = np.zeros(len(self), dtype=bool)
        for _ in range(REPAIRS):
            violated = self._violated(beta, EXACT)
            if not violated.any():
                return beta
            held |= violated
            step, *_ = np.linalg.lstsq(self.rows[held][:, free], -self.slack(beta)[held], rcond=None)
            beta = beta.copy()
            beta[free] += step
            beta = self._put_on_ends(beta, held)
        return None

    def on_ends(self, beta: Array, held: Mask) -> Array:
        """Where rows over one coordinate hold as equations, up to rounding."""
        near = np.abs(self.slack(beta)) <= ROUNDED * (
            self._sizes.max(axis=1, initial=0.0) * np.abs(beta).max(initial=0.0)
        )
        return self._put_on_ends(beta, held & near)

    def _put_on_ends(self, beta: Array, held: Mask) -> Array:
        """A row over one coordinate says what that is, to the last bit."""
        beta, ends = beta.copy(), held & self._single
        for row, shift in zip(self.rows[ends], self.shifts[ends], strict=True):
            (place,) = np.flatnonzero(row)
            beta[place] = 0.0 - shift / row[place]
        return beta

    @cached_property
    def _single(self) -> Mask:
        found: Mask = np.count_nonzero(self.rows, axis=1) == 1
        return found

    def _violated(self, beta: Array, share: float) -> Mask:
        violated: Mask = self.slack(beta) < -share * (self._sizes @ np.abs(beta) + np.abs(self.shifts))
        return violated

    @cached_property
    def _sizes(self) -> Array:
        return np.abs(self.rows)

    def conflict(self) -> "Constraint | None":
        """A smallest set of rows that no beta satisfies; None if there is a beta for all."""
        if self.feasible() is not None:
            return None
        chosen = np.ones(len(self), dtype=bool)
        for place in range(len(self)):
            chosen[place] = False
            chosen[place] = self[chosen].feasible() is not None
        return self[chosen]

    def feasible(self) -> Array | None:
        """Some beta that satisfies all rows, near 0 if there is one."""
        beta, norms = np.zeros(self.rows.shape[1]), np.linalg.norm(self.rows, axis=1)
        if np.any((norms == 0.0) & (self.shifts < 0.0)):
            return None
        norms[norms == 0.0] = 1.0
        far = max(1.0, float((np.abs(self.shifts) / norms).max(initial=0.0)))
        for _ in range(SEARCHES):  # the least violation, near the point before
            if self.holds(found := self.repaired(beta)):
                return found
            weight = Split.diagonal_of(np.full(len(beta), 1e-6 / far))
            slopes, offsets = -self.rows / norms[:, None], -self.shifts / norms
            beta = minimise(weight, weight @ -beta, slopes, offsets, np.zeros(len(beta)), Limits.none(len(beta))).x
        return None


def _no_cuts(beta: Array) -> tuple[Array, Array, Array]:
    return np.zeros((0, len(beta))), np.zeros(0), np.zeros(len(beta))
