"""What an engine takes for what. By these numbers the planner chooses between ways that have the same result."""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Rates:
    """What active rows and one scan cost that the other way does not: nanoseconds of CPU for each row of the core,
    whether it is active or not. Fitted to the passes of bench/checks/shapes.py. Then sizes from which on another
    way pays."""

    statement: float
    """Active rows: the statement for a relation behind a join. It is there once, not for each row. Infinite if a
    statement takes tenths of a second, however little it reads."""
    key: float  # active rows: to group counts back to such a relation, unless its scores are in an array
    row: float
    own: float  # active rows: to keep them, and each of their columns
    column: float
    far: float  # one scan: to join a column, and what this takes longer if no cache has it
    array: float | None
    """One scan: what a join takes longer than an array of scores, for a relation that no cache has. None: an array is
    no faster than a hash table."""
    read: float  # to read so many rows takes no longer than one more statement
    measured: float  # up to so many rows of the core, moments are added up as fast in one scan that joins all columns
    met: float  # from so many pairs of entries on, close places and several threads pay. Both make statements longer.
    look: float = 0.0  # one scan: to read a column from an array
    built: float = 0.0  # one scan: to make an array, for each of its places

    @property
    def slow_to_start(self) -> bool:
        return self.statement == inf


BY_ROWS = Rates(
    0.0,
    key=15.0,
    row=100.0,
    own=16.0,
    column=12.0,
    far=0.0,
    array=260.0,
    read=5e3,
    measured=0.0,
    met=inf,
    look=6.0,
    built=500.0,
)
COLUMNAR = Rates(1e6, key=4.0, row=3.2, own=3.2, column=1.0, far=0.6, array=None, read=1e5, measured=1e6, met=2e6)
SPREAD = Rates(inf, key=0.0, row=0.0, own=0.0, column=0.0, far=0.0, array=None, read=1e5, measured=inf, met=inf)
"""Only what a statement takes is known."""
