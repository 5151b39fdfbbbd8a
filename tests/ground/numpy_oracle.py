"""The solvers' oracle computed by brute force: every join row, in numpy.

The rows are given by blocks, as a join gives them: block i holds the features of one table and an index that says
which of its rows stands in each join row. Grid counting rounds each block's partial score to multiples of 1/H.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sqlsvm.solve.arrays import Array, Mask
from sqlsvm.solve.loss import Loss, named
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.rounding import EXACT, Rounding
from sqlsvm.solve.rows import SampleRows

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """The features of one table, and which of its rows stands in each join row."""

    features: Array
    index: Index


@dataclass
class NumpyOracle:
    """exact=True counts with the scores themselves, and then a pass may count a row in part, unless all are to be
    counted whole, as in a join of several bags. Otherwise each block is one bag of the grid."""

    blocks: Sequence[Block]
    labels: Array
    weights: Array
    exact: bool = True
    counts_whole: bool = False
    loss: Loss = field(default_factory=named)
    asked: list[int | None] = field(default_factory=list)
    rounding: Rounding = EXACT
    soft_is_cheap = True
    whole = False
    rows_read: float = 0.0
    bags = 1
    even = True

    @property
    def origin(self) -> float:
        """Its labels are classes."""
        assert self.loss.origin is not None
        return self.loss.origin

    @property
    def dimension(self) -> int:
        return sum(block.features.shape[1] for block in self.blocks)

    @property
    def join_rows(self) -> float:
        return float(self.weights.sum())

    def residuals(self, beta: Array) -> Array:
        """z = origin - y beta.x for every join row."""
        residuals: Array = self.origin - self.labels * self._gather(self._partial_scores(beta))
        return residuals

    def mean_loss(self, beta: Array) -> float:
        """R(beta)."""
        return float(self.weights @ self.loss.value(self.residuals(beta)) / self.weights.sum())

    def objective(self, beta: Array, lam: float) -> float:
        """F(beta)."""
        return self.mean_loss(beta) + lam * float(beta @ beta)

    @property
    def soft(self) -> bool:
        return self.exact and not self.counts_whole and bool(self.loss.knots)

    def refine(self, _enough: float) -> None:
        """It counts by the loss itself."""

    def roundings(self, _beta: Array, _buckets: int) -> int:
        return len(self.blocks) - 1

    def adds_values(self, _width: float) -> bool:
        return False

    def size(self, _beta: Array, cut: Cut) -> tuple[float, float]:
        return self.loss.size(cut.value_low + cut.error, self.origin)

    def pass_(self, beta: Array, buckets: int | None, width: float = 0.0) -> Cut:
        self.asked.append(buckets)
        if self.exact or buckets is None:
            cut = self._cut(self.loss.smoothed(width).slope(self.residuals(beta)), beta, 0.0, None)
            return replace(cut, value_low=self.mean_loss(beta), width=width) if width else cut
        counted, delta = self._rounded_margins(beta, buckets)
        u, psi = self.loss.slope(counted), self.loss.value(counted)
        missed = [self.loss.value(counted + t) - psi - u * t for t in (-delta, delta)]
        error = float(self.weights @ np.maximum(*missed) / self.weights.sum())
        return self._cut(u, beta, error, buckets)

    def sample(self, size: int, seed: int) -> Sample:
        """With replacement; of as many rows as there are each one once."""
        n = len(self.labels)
        chosen = np.arange(n) if size >= n else np.random.default_rng(seed).integers(0, n, size)
        rows = np.hstack([b.features[b.index[chosen]] for b in self.blocks])
        origins = np.full(len(rows), self.origin)
        return Sample(SampleRows.of(rows), self.labels[chosen], origins, self.weights[chosen])

    def pseudo_gradient(self, beta: Array, epsilon: float) -> Array:
        """Rows far on the wrong side of the hinge, 1 - y beta.x >= epsilon |beta|.|x|; counts left exact."""
        return self._slope(self._perturbed_margins(beta, epsilon) >= 0.0)

    def value_low(self, beta: Array, epsilon: float) -> float:
        """The paper's equation 6 with the repaired weights f_k, label by label."""
        perturbed = self._perturbed_margins(beta, epsilon)
        sides = [self.labels == y for y in (-1.0, 1.0)]
        return sum(levels_sum(perturbed[side], epsilon) for side in sides) / len(self.labels)

    def _partial_scores(self, beta: Array) -> list[Array]:
        ends = np.cumsum([block.features.shape[1] for block in self.blocks])
        return [b.features @ part for b, part in zip(self.blocks, np.split(beta, ends[:-1]), strict=True)]

    def _gather(self, per_table: list[Array]) -> Array:
        total: Array = np.zeros(len(self.labels))
        for values, block in zip(per_table, self.blocks, strict=True):
            total = total + values[block.index]
        return total

    def _rounded_margins(self, beta: Array, buckets: int) -> tuple[Array, float]:
        scaled = [p * buckets for p in self._partial_scores(beta)]
        first, *others = scaled
        rounded = [np.floor(first) + 0.5, *map(np.round, others)]  # so that a total of 0 is where a bucket ends
        delta = sum(float(np.abs(r - p).max()) for r, p in zip(rounded, scaled, strict=True)) / buckets
        return self.origin - self.labels * self._gather(rounded) / buckets, delta

    def _cut(self, u: Array, beta: Array, error: float, buckets: int | None) -> Cut:
        slope = self._slope(u)
        offset = float(self.weights @ (u * self.origin - self.loss.conjugate(u)) / self.weights.sum())
        return Cut(slope, offset, offset + float(slope @ beta), error, buckets)

    def _slope(self, u: Mask | Array) -> Array:
        """-(sum of w u y x) / (sum of w)."""
        pull = self.weights * u * self.labels / self.weights.sum()
        parts = [np.bincount(b.index, pull, len(b.features)) @ b.features for b in self.blocks]
        slope: Array = -np.concatenate(parts)
        return slope

    def _perturbed_margins(self, beta: Array, epsilon: float) -> Array:
        absolute = NumpyOracle([Block(np.abs(b.features), b.index) for b in self.blocks], self.labels, self.weights)
        extent = absolute._gather(absolute._partial_scores(np.abs(beta)))
        perturbed: Array = self.residuals(beta) - epsilon * extent
        return perturbed


def flat_oracle(
    rows: Array, labels: Array, weights: Array | None = None, *, bags: int = 3, exact: bool = True
) -> NumpyOracle:
    """An ordinary design matrix, its features dealt to `bags` blocks."""
    index = np.arange(len(rows))
    parts = [part for part in np.array_split(rows, bags, axis=1) if part.shape[1]]
    shares = np.ones(len(rows)) if weights is None else weights
    return NumpyOracle([Block(part, index) for part in parts], labels.astype(float), shares, exact)


def levels_sum(values: Array, epsilon: float) -> float:
    """sum_{k<L} f_k (H_k - H_{k+1}) + f_L H_L, with H_k the f_k-th largest value and L the last H_k >= 0."""
    ordered = np.sort(values)[::-1]
    level, total, held = 1, 0.0, 0
    while level <= len(ordered) and ordered[level - 1] >= 0.0:
        total += (level - held) * float(ordered[level - 1])
        held, level = level, int((1.0 + epsilon) * level + 1e-9) + 1
    return total
