"""Intervals of measures whose rows come from a sample of clusters: groups of rows that are not independent."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import exp, inf, lgamma, log, pi, sqrt, tanh

import numpy as np

NORMAL = 1.959963984540054  # in the normal distribution 95 % are within so many deviations of the mean
LEAST = 1e-9
LARGEST = 700.0  # above this, exp leaves the range of a double


@dataclass(frozen=True)
class Sizes:
    """The number of clusters, and the sums of the powers of their sizes: of the first to the fifth.

    A cluster of the size n with the mean m adds n (m - mean of all) to what a mean is off. Large clusters pull the mean
    of all towards their own, so the sum of the squares is too small: by `factor` if the means of clusters vary by the
    same. Then it is spread about as chi square with so many `degrees` of freedom (Bell and McCaffrey 2002). If all have
    the same size, these are clusters / (clusters - 1) and clusters - 1.
    """

    clusters: float
    rows: float
    squares: float
    cubes: float
    fourths: float
    fifths: float

    def __add__(self, other: "Sizes") -> "Sizes":
        return Sizes(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def effective(self) -> float:
        """So many rows that share nothing are worth at least as much."""
        return self.rows**2 / self.squares

    @property
    def factor(self) -> float:
        return self.squares / self._trace

    @property
    def degrees(self) -> float:
        """(trace of V)^2 / trace of V^2, where V is the covariance of what clusters add. In terms of shares h of the
        rows, its entries are n n' (1 if they are the same cluster, + H - h - h')."""
        shared, n = self.squares / self.rows**2, self.rows
        same = self.fourths * (1.0 + 2.0 * shared) - 4.0 * self.fifths / n
        others = (shared * self.squares) ** 2 + 2.0 * self.fourths * shared + 2.0 * (self.cubes / n) ** 2
        others -= 4.0 * shared * self.squares * self.cubes / n
        return max(self._trace**2 / max(same + others, self._trace**2 / (self.clusters - 1.0)), 1.0)

    @property
    def _trace(self) -> float:
        """No less than what is left of it where one cluster has nearly all rows."""
        trace = self.squares * (1.0 + self.squares / self.rows**2) - 2.0 * self.cubes / self.rows
        return max(trace, LEAST * self.squares)


def of_strata(squares: Iterable[float], sizes: Iterable[Sizes]) -> tuple[float, float]:
    """The variance of a sum over clusters of several kinds, from the sum of the squares of each kind, and its degrees
    of freedom (Welch)."""
    each = [(square * own.factor, own) for square, own in zip(squares, sizes, strict=True)]
    variance, spread = sum(v for v, _ in each), sum(v**2 / own.degrees for v, own in each)
    return variance, variance**2 / spread if spread else min(own.degrees for _, own in each)


@dataclass(frozen=True)
class Scale:
    """The error of a measure is about symmetric on it. `range` is where the measure is."""

    to: Callable[[float], float]
    back: Callable[[float], float]
    slope: Callable[[float], float]
    range: tuple[float, float] = (-inf, inf)


def _exp(x: float) -> float:
    return exp(min(x, LARGEST))


LOG = Scale(log, _exp, lambda x: 1.0 / x, (0.0, inf))
"""Of an error that cannot be negative: the larger it is, the more it varies."""
LOGIT = Scale(
    lambda x: log(x / (1.0 - x)), lambda x: (1.0 + tanh(x / 2.0)) / 2.0, lambda x: 1.0 / (x * (1.0 - x)), (0.0, 1.0)
)
"""Of a share."""
UNEXPLAINED = Scale(lambda x: -log(1.0 - x), lambda x: 1.0 - _exp(-x), lambda x: 1.0 / (1.0 - x), (-inf, 1.0))
"""Of R^2: that of 1 - R^2, which is a ratio of errors."""


@dataclass(frozen=True)
class Interval:
    """Where a measure is, of other rows of the label's relation, with a probability of 95 %."""

    value: float
    standard_error: float
    lower: float
    upper: float
    degrees_of_freedom: float

    @classmethod
    def around(cls, value: float, error: float, degrees: float, scale: Scale) -> "Interval":
        """At the end of the range, where the scale has no place for it, on no scale."""
        off, (least, largest) = student(degrees) * error, scale.range
        if not least < value < largest:
            return cls(value, error, max(value - off, least), min(value + off, largest), degrees)
        at, off = scale.to(value), off * scale.slope(value)
        return cls(value, error, min(scale.back(at - off), value), max(scale.back(at + off), value), degrees)


def student(degrees: float) -> float:
    """In the t distribution 95 % are within so many deviations. Newton's method comes from below: the distribution
    function is concave there."""
    if degrees > 1e6:
        return NORMAL
    constant = exp(lgamma((degrees + 1.0) / 2.0) - lgamma(degrees / 2.0)) / sqrt(degrees * pi)

    def density(t: np.ndarray) -> np.ndarray:
        return np.asarray(constant * (1.0 + t**2 / degrees) ** (-(degrees + 1.0) / 2.0))

    places, weights = _nodes()
    t = NORMAL
    for _ in range(100):
        within = t * float(weights @ density(t * (places + 1.0) / 2.0))
        step = (0.95 - within) / (2.0 * float(density(np.array(t))))
        t += step
        if abs(step) < 1e-12 * t:
            break
    return t


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """The nodes of a Gauss quadrature. To make them takes longer than all imports together."""
    return np.polynomial.legendre.leggauss(80)
