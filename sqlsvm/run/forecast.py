"""How long a training will probably go on, from the passes that it has made."""

from dataclasses import dataclass, replace
from math import ceil, floor, inf, log, sqrt
from time import perf_counter

from sqlsvm.options import Solver
from sqlsvm.solve.curvature import DENSE_UP_TO
from sqlsvm.solve.grain import ERROR_SHARE, adjusted
from sqlsvm.solve.solution import Effort, Record
from sqlsvm.terminal import duration

LONG = 10.0
"""Fewer seconds are not worth a line."""
TINY, MOST_FINER = 1e-16, 4.0
SLOWEST = 0.97
"""If the gap hardly shrinks, nothing is known but how many passes are allowed."""


@dataclass(frozen=True)
class Passes:
    """How many passes are left, from `least` to `most`, and the seconds of one."""

    least: int
    most: int
    seconds: float

    @property
    def total(self) -> float:
        return (self.least + self.most) / 2 * self.seconds

    def at_most(self, passes: int) -> "Passes":
        return replace(self, least=min(self.least, passes), most=min(self.most, passes))

    def __str__(self) -> str:
        many = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        return f"{many} pass{'es' * (self.most > 1)} of {duration(self.seconds)}"


def usual_rate(solver: Solver, dimension: int) -> float:
    """What a pass usually leaves of the gap, as measured on many shapes."""
    if solver == "dane":
        return 0.05 if dimension <= DENSE_UP_TO else 0.3
    return 0.7 if solver == "bundle" else SLOWEST


def passes_left(record: Record, tol: float, rate: float) -> Passes:
    """After a pass that was not the last, if the others leave that share of the gap each. An infinite gap proves as
    little as one of 1."""
    needed = log(max(tol, TINY) / min(1.0, record.gap)) / log(rate)
    return Passes(max(1, floor(needed)), max(1, ceil(needed)), record.seconds * _finer(record, tol))


def _finer(record: Record, tol: float) -> float:
    """How much longer later passes take because they count more finely. The error falls with the square of the buckets,
    and the passes up to the finest take, in the mean, as the root of the buckets."""
    if not record.buckets:
        return 1.0
    error, wanted = record.objective_upper - record.objective, ERROR_SHARE * max(tol, TINY) * record.objective_upper
    return min(MOST_FINER, max(1.0, sqrt(adjusted(record.buckets, error, wanted) / record.buckets)))


@dataclass(frozen=True)
class Outlook:
    """What a training would take, by its first pass."""

    least: int
    most: int
    """Passes, with the first."""
    before: float
    """Seconds before the first pass."""
    seconds: float
    """Of all."""


def outlook(first: Record, before: float, tol: float, rate: float) -> Outlook:
    if first.gap <= tol:
        return Outlook(1, 1, before, before + first.seconds)
    left = passes_left(first, tol, rate)
    return Outlook(1 + left.least, 1 + left.most, before, before + first.seconds + left.total)


class Forecast:
    """Says once how long the rest will take, and again if it takes more than twice as long as was said."""

    def __init__(self, effort: Effort, rate: float) -> None:
        self.tol, self.usual = effort.tol, rate
        self._allowed = effort.max_passes
        self._before: Record | None = None
        self._said, self._end = 0.0, -inf

    def after(self, record: Record) -> str | None:
        """What to say after a pass, if anything."""
        before, self._before = self._before, record
        self._allowed -= 1
        if record.gap <= self.tol or not self._allowed:
            return None
        rate = self.usual if before is None else min(SLOWEST, max(self.usual, record.gap / before.gap))
        left = passes_left(record, self.tol, rate).at_most(self._allowed)
        end = perf_counter() + left.total
        if left.total < LONG or end < self._end + self._said:
            return None
        self._said, self._end = left.total, end
        return f"about {duration(left.total)} to go: {left}"
