"""Rows of a sample: numbers, and for every categorical feature at most one 0/1 column that is 1.

A feature may have 100,000 categories, so only the place of the 1 is kept. There may be 10^8 numbers: those of a sample
are kept in single precision, and computed with in double precision, a block at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sqlsvm.solve.arrays import Array, Indices, Mask, Singles

BLOCK = 1 << 18  # numbers


@dataclass(frozen=True)
class SampleRows:
    """There are `width` columns. `numbers` are the first of them. `ones` says for each categorical feature which column
    is 1; it is `width` where none is."""

    numbers: Singles | Array
    ones: Indices
    width: int

    @classmethod
    def of(cls, numbers: Array) -> "SampleRows":
        return cls(numbers.astype(np.float32), np.zeros((len(numbers), 0), dtype=np.int64), numbers.shape[1])

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, chosen: slice) -> "SampleRows":
        return SampleRows(self.numbers[chosen], self.ones[chosen], self.width)

    def take(self, places: Indices) -> "SampleRows":
        """The rows there. To copy them by a mask takes twice as long."""
        return SampleRows(self.numbers.take(places, axis=0), self.ones.take(places, axis=0), self.width)

    def wider(self, columns: Sequence[Mask]) -> "SampleRows":
        """With more columns, that are 1 there."""
        width = self.width + len(columns)
        more = [np.where(column, self.width + place, width)[:, None] for place, column in enumerate(columns)]
        ones = np.hstack([np.where(self.ones == self.width, width, self.ones), *more])
        return SampleRows(self.numbers, ones, width)

    def only(self, columns: Indices) -> "SampleRows":
        """With all numbers, and after them some of the other columns."""
        places = np.full(self.width + 1, len(columns))
        places[columns] = np.arange(len(columns))
        return SampleRows(self.numbers, places[self.ones], len(columns))

    def scores(self, beta: Array) -> Array:
        """x.beta of each row."""
        weights = np.append(beta, 0.0)
        found = np.zeros(len(self))
        for column in self.ones.T:
            found += weights.take(column)
        for block in self._blocks():
            found[block] += self.numbers[block] @ beta[: self.numbers.shape[1]]
        return found

    def sums(self, shares: Array) -> Array:
        """The sum of share x."""
        found = np.zeros(self.numbers.shape[1])
        for block in self._blocks():
            found += shares[block] @ self.numbers[block]
        return self._joined(found, shares)

    def squares(self, shares: Array) -> Array:
        """The sum of share x^2, column by column."""
        found = np.zeros(self.numbers.shape[1])
        for block in self._blocks():
            found += shares[block] @ self.numbers[block] ** 2
        return self._joined(found, shares)

    def gram(self, shares: Array) -> Array:
        """The sum of share x x', for few columns. Of a matrix times itself BLAS computes only half, so each side gets
        the root of a share, if none is negative."""
        found, positive = np.zeros((self.width, self.width)), shares.min(initial=0.0) >= 0.0
        factors = np.sqrt(shares) if positive else shares
        for block in self._blocks():
            rows = self[block].dense()
            scaled = rows * factors[block, None]
            found += scaled.T @ (scaled if positive else rows)
        return found

    def dense(self) -> Array:
        if self.width == self.numbers.shape[1]:
            return self.numbers.astype(float, copy=False)
        found = np.zeros((len(self), self.width + 1))
        found[:, : self.numbers.shape[1]] = self.numbers
        np.put_along_axis(found, self.ones, 1.0, axis=1)
        return found[:, : self.width]

    def _blocks(self) -> Iterator[slice]:
        rows = max(1, BLOCK // max(1, self.numbers.shape[1]))
        return (slice(first, first + rows) for first in range(0, len(self), rows))

    def _joined(self, numbers: Array, shares: Array) -> Array:
        found = np.zeros(self.width + 1)
        found[: len(numbers)] = numbers
        for column in self.ones.T:
            found += np.bincount(column, shares, self.width + 1)
        return found[: self.width]
