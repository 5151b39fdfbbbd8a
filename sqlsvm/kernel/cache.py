"""Rows of numbers that are kept in memory up to a limit: the least recently used goes first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable

from sqlsvm.solve.arrays import Array


class Pool:
    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0
        self.hits = self.misses = 0
        self._rows: OrderedDict[Hashable, Array] = OrderedDict()
        self._asked: OrderedDict[Hashable, None] = OrderedDict()

    def get(self, name: Hashable, make: Callable[[], Array]) -> Array:
        """The row, which is made if it is not here, and kept if it fits."""
        found = self._kept(name)
        return self._keep(name, make()) if found is None else found

    def get_if_hot(
        self, name: Hashable, make: Callable[[], Array], part: Callable[[Array | None], Array], size: int
    ) -> Array:
        """A part of the row. The row is only made and kept if it was asked for before, and not longer ago than as many
        rows as would fit; else the part is made alone, of None. Otherwise rows that come round too rarely would push
        out what others are made of."""
        found = self._kept(name)
        if found is None and name in self._asked:
            found = self._keep(name, make())
        self._asked[name] = None
        self._asked.move_to_end(name)
        while len(self._asked) > self.limit // max(1, size):
            self._asked.popitem(last=False)
        return part(found)

    def _kept(self, name: Hashable) -> Array | None:
        found = self._rows.get(name)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._rows.move_to_end(name)
        return found

    def _keep(self, name: Hashable, row: Array) -> Array:
        if row.nbytes > self.limit:
            return row
        while self.used + row.nbytes > self.limit:
            _, old = self._rows.popitem(last=False)
            self.used -= old.nbytes
        self._rows[name] = row
        self.used += row.nbytes
        return row
