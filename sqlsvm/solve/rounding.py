"""What the rounding of doubles may change in what a pass returns."""

from dataclasses import dataclass, field, replace
from typing import TypedDict, Unpack

import numpy as np

from sqlsvm.solve.arrays import Array

UNIT = float(np.finfo(np.float64).eps) / 2


class Stored(TypedDict, total=False):
    label: float
    terms: float
    far: Array
    bend: float


@dataclass(frozen=True)
class Rounding:
    """The offset of a cut may be off by `share`, and its slope along coordinate j by share sizes[j], where sizes[j] is
    at least the mean of |x_j|. The slope along all categories together may be off by share `features`, the number of
    features that they are of; their sizes are 0."""

    share: float = 0.0
    sizes: Array = field(default_factory=lambda: np.zeros(1))
    features: float = 0.0
    label: float = 0.0  # how far a stored score may be off as it is added to the centre of the label,
    terms: float = 0.0  # and as its terms are added up, as a share of their sizes, here and in the pass,
    far: Array = field(default_factory=lambda: np.zeros(1))
    """and for each unit of a weight, where a sum of terms is less their origins;"""
    bend: float = 0.0  # the most that psi'' is

    @classmethod
    def after(cls, steps: float, sizes: Array, features: float, **stored: Unpack[Stored]) -> "Rounding":
        """After that many operations in a row, if each is off by at most one unit of its result."""
        share = steps * UNIT / (1.0 - steps * UNIT) if steps * UNIT < 1.0 else float("inf")
        return cls(share, sizes, features, **stored)

    def times(self, offset: float, slope: float) -> "Rounding":
        """Where the terms of offsets and of slopes are not at most 1 and |x|, but these multiples."""
        ratio = slope / offset
        return replace(self, share=self.share * offset, sizes=self.sizes * ratio, features=self.features * ratio)

    def of_value(self, terms: float, others: float) -> float:
        """Of the value of a pass: of terms of this size in all, and others that are added to R there."""
        return self.share * (terms + others)

    def of_stored(self, beta: Array, steepest: float) -> float:
        """Of the mean loss of the scores that the stored model has, where the mean of |u| is at most `steepest`."""
        off = self.label + self.terms * self.reach(beta) + float((self.far * np.abs(beta)).sum())
        return off * (steepest + self.bend * off)

    def reach(self, beta: Array) -> float:
        """At least the mean size of the scores, as sums of the sizes of their terms."""
        size = np.abs(beta)
        of_categories = self.features * float(size[self.sizes == 0.0].max(initial=0.0)) if self.features else 0.0
        return float((self.sizes * size).sum()) + of_categories

    def longest(self, slope: Array) -> float:
        """The length that a slope may have."""
        return float(np.linalg.norm(np.abs(slope) + self.share * self.sizes)) + self.share * self.features


EXACT = Rounding()
