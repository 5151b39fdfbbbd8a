"""Join rows as they are joined: the different rows of each table once, and an index that says which of them meet.

The inner product and the squared distance of two join rows are sums over the tables (Rüping 2002), so no join row is
ever made wide.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlsvm.kernel.functions import Kernel
from sqlsvm.solve.arrays import Array, Indices, Mask


@dataclass(frozen=True)
class Block:
    """Different rows of one table: scaled numbers, and a code for each category; 0 is none."""

    numbers: Array
    codes: Indices
    numeric: tuple[str, ...] = ()  # the features of the numbers
    categorical: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, chosen: Indices | slice) -> "Block":
        return Block(self.numbers[chosen], self.codes[chosen], self.numeric, self.categorical)

    @property
    def width(self) -> int:
        return int(self.numbers.shape[1] + self.codes.shape[1])

    @cached_property
    def squares(self) -> Array:
        """The inner product of each row with itself."""
        return np.asarray((self.numbers**2).sum(axis=1) + (self.codes > 0).sum(axis=1))

    def sums(self, other: "Block", by_distance: bool) -> Array:
        """The inner product, or the squared distance, of each row with each of another block of the same table. A
        category is a column that is 1."""
        found = self.numbers @ other.numbers.T
        for own, theirs in zip(self.codes.T, other.codes.T, strict=True):
            found += (own[:, None] == theirs) & (own > 0)[:, None]
        if not by_distance:
            return found
        found *= -2.0
        found += self.squares[:, None]
        found += other.squares
        return np.maximum(found, 0.0, out=found)

    @property
    def nbytes(self) -> int:
        """Of all inner products."""
        return 8 * len(self) * len(self)


@dataclass(frozen=True)
class Joined:
    """index[t, i] is the row of block t that join row i has."""

    blocks: tuple[Block, ...]
    index: Indices

    def __len__(self) -> int:
        return int(self.index.shape[1])

    def __getitem__(self, chosen: Indices | Mask | slice) -> "Joined":
        """Some of the join rows, with the rows of tables that occur in them."""
        parts = [np.unique(index[chosen], return_inverse=True) for index in self.index]
        blocks = tuple(block[kept] for block, (kept, _) in zip(self.blocks, parts, strict=True))
        return Joined(blocks, np.array([places for _, places in parts]).reshape(len(blocks), -1))

    @classmethod
    def of(cls, wide: Sequence[Block]) -> "Joined":
        """From the rows of a join, each block as long as it: equal rows of a table become one."""
        parts = [_different(block) for block in wide]
        index = np.array([places for _, places in parts]).reshape(len(parts), -1)
        return cls(tuple(block for block, _ in parts), index)

    def values(self, other: "Joined", kernel: Kernel, shift: float = 0.0) -> Array:
        """The kernel of each join row with each of the other, plus the shift."""
        total = np.zeros((len(self), len(other)))
        for t, (block, theirs) in enumerate(zip(self.blocks, other.blocks, strict=True)):
            sums = block.sums(theirs, kernel.by_distance)
            if kernel.name == "additive":
                sums = kernel.of(sums)
            total += sums[self.index[t]][:, other.index[t]]
        return (total if kernel.name == "additive" else kernel.of(total)) + shift

    def diagonal(self, kernel: Kernel, shift: float = 0.0) -> Array:
        """The kernel of each join row with itself, plus the shift."""
        if kernel.by_distance:
            return np.full(len(self), (len(self.blocks) if kernel.name == "additive" else 1.0) + shift)
        squares = sum(block.squares[index] for block, index in zip(self.blocks, self.index, strict=True))
        return kernel.of(np.asarray(squares, dtype=float)) + shift


def _different(block: Block) -> tuple[Block, Indices]:
    """The different rows, and the place of each row among them. Rows are compared as bytes, so -0 is made 0."""
    cells = np.hstack([block.numbers + 0.0, block.codes.astype(float)])
    if not cells.shape[1]:
        return block[:1], np.zeros(len(block), dtype=np.int64)
    rows = np.ascontiguousarray(cells).view(np.dtype((np.void, cells.itemsize * cells.shape[1]))).ravel()
    _, first, places = np.unique(rows, return_index=True, return_inverse=True)
    return block[first], places.astype(np.int64)
