"""Pegasos (Shalev-Shwartz, Singer, Srebro, Cotter 2011): steps along the subgradient at one row after the other.

It minimises strength / 2 |f|^2 + the mean of max(0, 1 - y f(x)). After t steps f = sum alpha y k(x, .) / (strength t),
where alpha says how often a row was within its margin when it was looked at. The factor 1 / (strength t) is only put on
where a score is looked at, so a step costs nothing unless the row is within its margin.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.rows import SampleRows

AT_ONCE = 4096  # random places


def kernelised(
    row: Callable[[int], Array], signs: Array, weights: Array, strength: float, rng: np.random.Generator
) -> Iterator[Indices]:
    """alpha after each step, always the same array. `row` gives k of one row with all. Rows are looked at as often as
    they weigh."""
    alpha, sums, t = np.zeros(len(signs), dtype=np.int64), np.zeros(len(signs)), 0
    while True:
        for i in rng.choice(len(signs), AT_ONCE, p=weights / weights.sum()).tolist():
            if signs[i] * sums[i] < strength * t or not t:
                alpha[i] += 1
                sums += signs[i] * row(i)
            t += 1
            yield alpha


def after(steps: int, walk: Iterator[Indices]) -> Indices:
    """alpha after so many steps."""
    for _ in range(steps - 1):
        next(walk)
    return next(walk)


@dataclass
class Linear:
    """The linear one, over rows that come in a stream: each is looked at once."""

    strength: float
    dimension: int
    steps: int = 0
    sums: Array = field(init=False)  # the sums of y x over the rows that were within their margin

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.dimension + 1)

    @property
    def beta(self) -> Array:
        return np.asarray(self.sums[:-1] / (self.strength * max(1, self.steps)))

    def look(self, rows: SampleRows, signs: Array) -> None:
        """A category that is not there has its place behind the others, where the sum is always 0."""
        sums, numbers = self.sums, rows.numbers.shape[1]
        for x, ones, y in zip(rows.numbers.astype(float), rows.ones, signs.tolist(), strict=True):
            score = float(x @ sums[:numbers]) + float(sums[ones].sum())
            if y * score < self.strength * self.steps or not self.steps:
                sums[:numbers] += y * x
                sums[ones] += y
                sums[-1] = 0.0
            self.steps += 1
