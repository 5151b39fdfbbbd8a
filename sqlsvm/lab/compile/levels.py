"""Counts are rounded down to levels: which these are, and what the rounding costs.

A *sketch* of a multiset A, which has A(t) values at or beyond t, is a multiset S with A(t)/(1+e) <= S(t) <= A(t) for
every t. To compress is to round every cumulative count down to a level; it costs a factor 1 + step, where a count
below the next level is at most (1 + step) times this one. Uniting sketches costs nothing, multiplying them multiplies
their factors, so the factor of an answer is (1 + step) to the number of compressions behind it.
"""

from collections import Counter
from collections.abc import Sequence
from math import expm1, log1p

import numpy as np

from sqlsvm.solve.arrays import Array

ROUNDING = 1e-9
"""The share of epsilon that is kept for the rounding of doubles where counts exceed 2^53."""


def compressions(ties: Sequence[tuple[int, int]]) -> int:
    """How many compressions stand behind a count at a bag, for a tree of bags given as pairs.

    Seen from a root, each of the m - 1 other bags compresses the message that it sends, and one with k children the
    k - 1 products that it is made of. The root multiplies what its k neighbours send, but the last product is only
    counted, never kept: k - 2. As children are neighbours less one, it is m - 1 + sum of max(0, neighbours - 2) for any
    root: m - 1 on a path, 2m - 4 on a star.

    >>> compressions([(0, 1), (1, 2), (2, 3)]), compressions([(0, 1), (0, 2), (0, 3)])
    (3, 4)
    """
    degrees = Counter(bag for tie in ties for bag in tie)
    return len(ties) + sum(max(0, degree - 2) for degree in degrees.values())


def step_for(epsilon: float, compressed: int) -> float:
    """The largest step that keeps (1 + step)^compressed <= 1 + epsilon."""
    return expm1(log1p(epsilon) / max(1, compressed)) * (1.0 - ROUNDING)


def levels(step: float, largest: float) -> Array:
    """1 = f_0 < f_1 < ..., up to `largest`: f' = floor((1 + step) f) + 1, so that f' - 1 <= (1 + step) f.

    All counts up to 1/step are levels. Beyond 2^53 a level is truncated to a double: the doubles below it are still at
    most (1 + step) f, because they are at least 2 apart.

    >>> levels(0.5, 20).tolist()
    [1.0, 2.0, 4.0, 7.0, 11.0, 17.0]
    """
    numerator, denominator = step.as_integer_ratio()
    found, level = [], 1
    while level <= largest:
        found.append(float(level))
        level += level * numerator // denominator + 1
        extra = max(0, level.bit_length() - 53)
        level = level >> extra << extra
    return np.array(found)


def real_levels(step: float, smallest: float, largest: float) -> Array:
    """The same for weights that are no integers: smallest * (1 + step)^k."""
    if not smallest <= largest:
        return np.zeros(0)
    size = int(np.log(largest / smallest) / log1p(step)) + 1
    found: Array = smallest * np.exp(log1p(step) * np.arange(size))
    return found
