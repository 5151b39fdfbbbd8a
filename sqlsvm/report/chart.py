"""A chart as data: two axes and the marks between them. `svg` and `png` draw the same charts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Literal

Style = Literal["first", "second", "aside"]
"""Two series that differ in dash, marker and filling, not only in colour; and "aside" for everything else."""

Points = tuple[tuple[float, float], ...]

HIGH = 0.93  # of the height of a chart


@dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.log:
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Line:
    points: Points
    name: str = ""  # its name in the key; empty if the label of the axis is enough
    style: Style = "first"
    marked: bool = False  # whether each point has a mark: only the points were measured, not the line between them


@dataclass(frozen=True)
class Area:
    """The area between two curves."""

    upper: Points
    lower: Points
    name: str = ""
    style: Style = "aside"

    @property
    def outline(self) -> Points:
        return (*self.upper, *reversed(self.lower))


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    name: str
    right: bool = True  # whether the name is on its right side


@dataclass(frozen=True)
class Rule:
    """A straight line across the whole chart, at an x if upright, else at a y."""

    at: float
    name: str
    upright: bool = False


Mark = Line | Area | Dot | Rule


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    said: str  # a description in words, also for people who cannot see the chart
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    square: bool = False

    def is_high(self, rule: Rule) -> bool:
        """Is there no room for a name above it?"""
        return self.y.place(rule.at) > HIGH

    @property
    def key(self) -> tuple[Line | Area, ...]:
        return tuple(mark for mark in self.marks if isinstance(mark, Line | Area) and mark.name)


def linear(label: str, values: Iterable[float], percent: bool = False) -> Axis:
    """Round ticks around the values."""
    finite = [v for v in values if isfinite(v)] or [0.0, 1.0]
    bottom, top = min(finite), max(finite)
    step = round_step((top - bottom) or abs(top) or 1.0)
    first, last = floor(bottom / step + 1e-9), ceil(top / step - 1e-9)
    if first == last:
        first, last = first - 1, last + 1
    places = [n * step for n in range(first, last + 1)]
    return Axis(label, places[0], places[-1], _named(places, step, percent))


def within(label: str, low: float, high: float) -> Axis:
    """An axis from low to high, with ticks at the round numbers between."""
    step = round_step(high - low)
    places = [n * step for n in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    return Axis(label, low, high, _named(places, step, False))


def logarithmic(label: str, values: Iterable[float]) -> Axis:
    """Ticks at powers of ten around the values; if there are many, only at every second or third."""
    known = [log10(v) for v in values if isfinite(v) and v > 0] or [0.0]
    low, high = floor(min(known) + 1e-9), ceil(max(known) - 1e-9)
    high = max(high, low + 1)
    every = ceil((high - low) / 6)
    ticks = tuple((10.0**n, f"{10.0**n:g}") for n in range(low, high + 1, every))
    return Axis(label, 10.0**low, 10.0**high, ticks, log=True)


def counted(label: str, last: int) -> Axis:
    """1 to last, in whole steps."""
    step = max(1, int(round_step(last - 1)) if last > 1 else 1)
    places = [n for n in range(1, last + 1) if n == 1 or n % step == 0]
    return Axis(label, 0.8, last + 0.2, tuple((float(n), f"{n}") for n in places))


def round_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that the span has about five steps.

    >>> round_step(0.11), round_step(37), round_step(4)
    (0.02, 10.0, 1.0)
    """
    power = 10.0 ** floor(log10(span / 5))
    factor = min((1, 2, 5, 10), key=lambda f: abs(log10(span / (f * power) / 5)))
    return float(f"{factor * power:.12g}")


def _named(places: Sequence[float], step: float, percent: bool) -> tuple[tuple[float, str], ...]:
    digits = max(0, -floor(log10(step * (100 if percent else 1)) + 1e-9))
    return tuple(
        (v, f"{100 * v:.{digits}f} %" if percent else f"{v + 0.0:,.{digits}f}".replace("-", "\u2212")) for v in places
    )
