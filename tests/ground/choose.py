"""Where random decisions come from: numpy's generator for speed, or hypothesis for shrinking. Low is simple."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Chooser(Protocol):
    """Two primitives are enough; `chance` and `pick` below are made of them."""

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included; shrinks to low."""

    def real(self) -> float:
        """A finite float of moderate size; shrinks to 0."""


class Seeded:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def real(self) -> float:
        return float(self.rng.standard_normal())


class Drawn:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(_integers(low, high))) if low < high else low

    def real(self) -> float:
        return float(self.draw(_REALS))


def chance(chooser: Chooser, percent: int) -> bool:
    """True with that probability; shrinks to False, so ask for the unusual."""
    return percent > 0 and chooser.integer(0, 99) >= 100 - percent


def pick(chooser: Chooser, options: Sequence[T]) -> T:
    """One of the options; shrinks to the first."""
    return options[chooser.integer(0, len(options) - 1)]


_REALS = st.floats(-4, 4, allow_nan=False, allow_subnormal=False)


def weighted(chooser: Chooser, options: Mapping[T, int]) -> T:
    """One of the options by weight; shrinks to the first. One choice instead of a chance for each."""
    place = chooser.integer(0, sum(options.values()) - 1)
    for option, weight in options.items():
        place -= weight
        if place < 0:
            return option
    raise AssertionError("unreachable")


@cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)
