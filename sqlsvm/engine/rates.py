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


@dataclass(frozen=True)
class Thresholds:
    """From which sizes on another way with the same result pays, or takes too much memory. They are those of every
    engine."""

    few_pairs: float = 100.0
    """With fewer pairs of equal keys for each row, the database joins them sooner than a training counts them."""
    sorted: float = 6e5
    """The most rows of both half-joins together for which three or more bags are counted exactly, which has to sort
    them. With 150,000 rows, a training on the grid takes about as long; with 320,000 three quarters of it, with 680,000
    half. But what `evaluate` says is exact then, and not between bounds."""
    rows_a_key: int = 4  # then it costs less to look for keys without a partner than to join all rows
    rows_a_place: int = 2
    """Then it costs less to make an array of all places in every pass than a hash table. With one row a place it costs
    more."""
    array: int = 1_000_000  # places, 8 MB: every process that scans has its own copy
    listed: float = 1e7  # pairs of entries that may meet at the centre for an exact list of scores
    held: float = 1e7  # rows whose scores are sorted here and not in the database
    bins: int = 1 << 16  # so many scores that differ are not put into bins at all
    in_bucket: float = 0.5
    """Buckets that scores deviate by. With more, enough rows lie on both sides of the ends of buckets."""
    drawn: float = 2  # if bags have at most this many times the rows that would be drawn of them, they are read whole
    thinned: int = 1000
    """From this size on, it does not matter that a thinned table keeps a few rows more or less than were asked for."""
    read: float = 2
    """A join with at most this many times the rows of the sample is small. From a server, as many numbers may be
    sent."""
    sample: int = 55_000  # or of a sample of so many: where columns are few, passes take longer than to read them all
    sent: int = 100_000  # to send so many numbers takes as long as one more statement
    made: int = 15_000_000
    made_fast: int = 6_000_000
    """Numbers of a many-to-many join that is made here of its tables. Where the data is in this process, passes over
    one such link take less time, and over two they take far longer."""
    of_group: int = 200_000
    """Rows of the join, in a group that is read. A group with more makes passes in the database."""
    copied: int = 20_000_000  # numbers, 160 MB, that are little to offload
