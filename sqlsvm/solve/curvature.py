"""The curvature of F on rows of a sample: a matrix. The solvers only need solutions of linear systems with it.

With few columns it is a dense matrix. With many, most are categories, and it is known by its rows: the systems are
solved by conjugate gradients, as exactly as is asked for.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from sqlsvm.solve.arrays import Array, Mask
from sqlsvm.solve.interior import Split
from sqlsvm.solve.rows import SampleRows

DENSE_UP_TO = 1000  # beyond, matrices of d x d numbers cost more than conjugate gradients on the curved rows
CG_STEPS = 200
BLOCK = 400  # columns whose curvature is a matrix, where there are many


class Curvature(Protocol):
    def solve(self, right: Array, accuracy: float) -> Array:
        """The vector whose image is `right`. Where that is not computed exactly, the part of `right` that is left out
        is at most this share of it."""

    def split(self, active: Mask) -> Split:
        """The matrix. Where there are many columns, only the most important of those that are active are not taken for
        independent of all others."""


@dataclass(frozen=True)
class Dense:
    matrix: Array

    def solve(self, right: Array, accuracy: float) -> Array:
        """The shortest solution, where columns repeat each other and lambda is too small to tell them apart."""
        try:
            return np.linalg.solve(self.matrix, right).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            return np.linalg.lstsq(self.matrix, right, rcond=None)[0].astype(np.float64, copy=False)

    def split(self, active: Mask) -> Split:
        return Split.dense_of(self.matrix)

    def shrunk(self, share: float) -> "Dense":
        """Towards the diagonal by this share: few rows know what columns have in common far worse than each column."""
        return Dense((1.0 - share) * self.matrix + share * np.diag(self.matrix.diagonal()))


class ByRows:
    """The sum of share x x', plus a diagonal. The preconditioner is the diagonal of it all, which is small for rare
    categories and large for common ones, and the matrix of the numbers, if there are few."""

    def __init__(self, rows: SampleRows, shares: Array, ridge: Array | float) -> None:
        self._rows, self._shares, self._ridge = rows, shares, ridge
        self._diagonal = rows.squares(shares) + ridge

    @cached_property
    def _numbers(self) -> Array:
        """The inverse of their matrix."""
        numbers = self._rows.numbers.shape[1]
        if not 1 < numbers <= BLOCK:
            return np.zeros((0, 0))
        block = SampleRows(self._rows.numbers, self._rows.ones[:, :0], numbers).gram(self._shares)
        block[np.diag_indices_from(block)] = self._diagonal[:numbers]
        try:
            return np.linalg.inv(block).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            return np.zeros((0, 0))

    def _scaled(self, residual: Array) -> Array:
        found, size = residual / self._diagonal, len(self._numbers)
        found[:size] = self._numbers @ residual[:size]
        return found

    def solve(self, right: Array, accuracy: float) -> Array:
        solution, residual = np.zeros_like(right), right.copy()
        scaled = self._scaled(residual)
        direction, square = scaled, float(residual @ scaled)
        target = accuracy**2 * square
        for _ in range(CG_STEPS):
            if square <= target:
                break
            image = self._rows.sums(self._shares * self._rows.scores(direction)) + self._ridge * direction
            length = square / float(direction @ image)
            solution = solution + length * direction
            residual = residual - length * image
            scaled = self._scaled(residual)
            square, before = float(residual @ scaled), square
            direction = scaled + (square / before) * direction
        return solution

    def split(self, active: Mask) -> Split:
        numbers, width = self._rows.numbers.shape[1], self._rows.width
        first = np.flatnonzero(active[numbers:]) + numbers
        first = first[np.argsort(-self._diagonal[first], kind="stable")][: max(0, BLOCK - numbers)]
        first = np.append(np.arange(numbers), first)
        dense = self._rows.only(first).gram(self._shares)
        dense[np.diag_indices_from(dense)] = self._diagonal[first]
        rest = np.setdiff1d(np.arange(width), first)
        return Split(dense, self._diagonal[rest], np.append(first, rest))


class Gram:
    """The sum of share x x'. Often the shares of few rows change from one Newton step to the next, so only these are
    added or subtracted."""

    def __init__(self, rows: SampleRows) -> None:
        self._rows = rows
        self._shares = np.zeros(len(rows))
        self._sum = np.zeros((rows.width, rows.width))

    def of(self, shares: Array) -> Array:
        changed, held = np.flatnonzero(shares != self._shares), np.flatnonzero(shares)
        if 2 * len(changed) < len(held):
            self._sum = self._sum + self._rows.take(changed).gram((shares - self._shares).take(changed))
        else:
            every = len(held) == len(shares)
            self._sum = self._rows.gram(shares) if every else self._rows.take(held).gram(shares.take(held))
        self._shares = shares
        return self._sum.copy()


class Metric:
    """A curvature as a norm. It remembers the image of each slope, so that each costs one system."""

    ACCURACY = 1e-4

    def __init__(self, curvature: Curvature) -> None:
        self._curvature = curvature
        self._known: dict[bytes, Array] = {}
        self._split: Split | None = None

    def image(self, vector: Array) -> Array:
        """The curvature's inverse times the vector."""
        return self._curvature.solve(vector, self.ACCURACY)

    def split(self, active: Mask) -> Split:
        """The matrix, always the same as at the first call."""
        self._split = self._split or self._curvature.split(active)
        return self._split

    def images(self, slopes: Array) -> Array:
        found = []
        for slope in slopes:
            if (name := slope.tobytes()) not in self._known:
                self._known[name] = self.image(slope)
            found.append(self._known[name])
        return np.array(found)
