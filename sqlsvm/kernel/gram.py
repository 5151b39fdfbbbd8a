"""The rows of a kernel matrix over join rows, made from rows of the tables and cached at either level or at both.

Rows stay in memory up to a limit. Each kind of row has a worth: what a number of it costs to make. What goes first has
the least sum of its worth and of the clock when it was last used; the clock is that sum of what went last (Cao and
Irani 1997, GreedyDual). So of one kind the least recently used goes first, and dear rows outlive cheap ones.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sqlsvm.kernel.functions import Kernel
from sqlsvm.kernel.rows import Joined
from sqlsvm.options import CacheKind, CacheShare
from sqlsvm.solve.arrays import Array, Indices


@dataclass
class Kind:
    """Rows that cost alike, the least recently used first, each with its sum of worth and clock."""

    worth: float = 1.0
    rows: OrderedDict[Hashable, tuple[Array, float]] = field(default_factory=OrderedDict)
    asked: OrderedDict[Hashable, None] = field(default_factory=OrderedDict)
    used: int = 0

    @property
    def oldest(self) -> float:
        return next(iter(self.rows.values()))[1]


class Pool:
    """One memory for rows of several kinds."""

    def __init__(self, limit: int, *kinds: Kind) -> None:
        self.limit, self.kinds, self.clock = limit, kinds, 0.0
        self.hits = self.misses = 0

    @property
    def used(self) -> int:
        """Bytes."""
        return sum(kind.used for kind in self.kinds)

    def get(self, kind: Kind, name: Hashable, make: Callable[[], Array]) -> Array:
        """The row, which is made if it is not here, and kept if it fits."""
        found = self._kept(kind, name)
        return self._keep(kind, name, make()) if found is None else found

    def get_if_hot(
        self, kind: Kind, name: Hashable, make: Callable[[], Array], part: Callable[[Array | None], Array], size: int
    ) -> Array:
        """A part of the row. The row is only made and kept if it was asked for before, and not longer ago than as many
        rows as would fit next to the other kinds; else the part is made alone, of None. Rows that come round too rarely
        would only push out each other."""
        found = self._kept(kind, name)
        if found is None and name in kind.asked:
            found = self._keep(kind, name, make())
        kind.asked[name] = None
        kind.asked.move_to_end(name)
        while len(kind.asked) > (self.limit - self.used + kind.used) // max(1, size):
            kind.asked.popitem(last=False)
        return part(found)

    def _kept(self, kind: Kind, name: Hashable) -> Array | None:
        found = kind.rows.pop(name, None)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        kind.rows[name] = found[0], self.clock + kind.worth
        return found[0]

    def _keep(self, kind: Kind, name: Hashable, row: Array) -> Array:
        if row.nbytes > self.limit:
            return row
        while self.used + row.nbytes > self.limit:
            self._drop(min((kind for kind in self.kinds if kind.rows), key=lambda kind: kind.oldest))
        kind.rows[name] = row, self.clock + kind.worth
        kind.used += row.nbytes
        return row

    def _drop(self, kind: Kind) -> None:
        _, (row, self.clock) = kind.rows.popitem(last=False)
        kind.used -= row.nbytes


AT_ONCE = 1 << 22  # numbers of a block of rows that is made and not cached
ADDED = 4.0  # what it costs to look a number up and add it, where a multiplication costs 1


@dataclass(frozen=True)
class Cache:
    """What is kept: local rows of tables, global rows of the join, or both in one memory. `share` is for local rows:
    the same memory for each table, in proportion to what it could fill, or one memory for all."""

    kind: CacheKind = "two-level"
    limit: int = 200 << 20  # bytes
    share: CacheShare = "lru"


@dataclass(frozen=True)
class Gram:
    """k(x_i, x_j) + shift over join rows."""

    rows: Joined
    kernel: Kernel
    shift: float = 0.0
    cache: Cache = field(default_factory=Cache)

    @cached_property
    def diagonal(self) -> Array:
        return self.rows.diagonal(self.kernel, self.shift)

    def row(self, i: int, among: Indices | slice = slice(None)) -> Array:
        """The kernel of join row i with some of the others."""
        if self.cache.kind == "global":
            return self._pools[0].get(self._whole, i, lambda: self._joined(i, slice(None)))[among]
        if self.cache.kind == "two-level":
            return self._pools[0].get_if_hot(
                self._whole,
                i,
                lambda: self._joined(i, slice(None)),
                lambda row: self._joined(i, among) if row is None else row[among],
                8 * len(self.rows),
            )
        return self._joined(i, among)

    def times(self, v: Array) -> Array:
        """K v, a block at a time and past the cache."""
        (places,) = np.nonzero(v)
        found = np.zeros(len(self.rows))
        step = max(1, AT_ONCE // max(1, len(self.rows)))
        for first in range(0, len(places), step):
            part = places[first : first + step]
            found += v[part] @ self.rows[part].values(self.rows, self.kernel, self.shift)
        return found

    @cached_property
    def _pools(self) -> tuple[Pool, ...]:
        """One for all, or one for each table. A number of a table's row costs an inner product, and one of a row of the
        join a sum over the tables."""
        blocks, limit = self.rows.blocks, self.cache.limit
        if self.cache.kind != "local" or self.cache.share == "lru":
            return (Pool(limit, *self._parts[:1], self._whole),)
        sizes = [block.nbytes for block in blocks] if self.cache.share == "size" else [1] * len(blocks)
        return tuple(Pool(limit * size // sum(sizes), part) for size, part in zip(sizes, self._parts, strict=True))

    @cached_property
    def _whole(self) -> Kind:
        return Kind(ADDED * len(self.rows.blocks))

    @cached_property
    def _parts(self) -> tuple[Kind, ...]:
        """The kind of each table's rows: one for all tables where they share a pool."""
        widths = [block.width for block in self.rows.blocks]
        if self.cache.kind == "local" and self.cache.share != "lru":
            return tuple(map(Kind, widths))
        return (Kind(sum(widths) / len(widths)),) * len(widths)

    @property
    def used(self) -> int:
        """Bytes that are cached now."""
        return sum(pool.used for pool in self._pools)

    def _joined(self, i: int, among: Indices | slice) -> Array:
        total: Array | float = 0.0
        for t, index in enumerate(self.rows.index):
            total = total + self._local(t, int(index[i]))[index[among]]
        found = np.asarray(total) if self.kernel.name == "additive" else self.kernel.of(np.asarray(total))
        return found + self.shift if self.shift else found

    def _local(self, t: int, u: int) -> Array:
        if self.cache.kind == "global":
            return self._made(t, u)
        return self._pools[t % len(self._pools)].get(self._parts[t], (t, u), lambda: self._made(t, u))

    def _made(self, t: int, u: int) -> Array:
        block = self.rows.blocks[t]
        sums = block[u : u + 1].sums(block, self.kernel.by_distance)[0]
        return self.kernel.of(sums) if self.kernel.name == "additive" else sums
