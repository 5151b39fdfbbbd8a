"""Rows of numbers that are kept in memory up to a limit.

Each kind of row has a worth: what a number of it costs to make. What goes first has the least sum of its worth and of
the clock when it was last used; the clock is that sum of what went last (Cao and Irani 1997, GreedyDual). So of one
kind the least recently used goes first, and dear rows outlive cheap ones that are used as often.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from sqlsvm.solve.arrays import Array


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
