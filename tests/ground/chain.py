"""A chain of three tables, joined many to many on two keys, for the solvers: L - M - R, the label on M."""

import numpy as np

from sqlsvm.solve.arrays import Array
from tests.ground.numpy_oracle import Block, Index, NumpyOracle


def chain_oracle(
    seed: int, dimension: int, *, discrete: bool, exact: bool, rows: int = 3000, fan_out: int = 10
) -> NumpyOracle:
    """About rows * fan_out^2 join rows, from `rows` rows of M and a third of that in L and R.

    Features are uniform in [-1, 1], or in {-1, 0, 1} where discrete; the last one of M is the constant 1.
    """
    rng = np.random.default_rng(seed)
    keys = rows // (3 * fan_out)
    widths = [len(part) for part in np.array_split(np.arange(dimension), 3)]
    left, middle, right = (
        _features(rng, height, width, discrete)
        for height, width in zip((rows // 3, rows, rows // 3), widths, strict=True)
    )
    left_key, right_key = rng.integers(0, keys, (2, rows // 3))
    to_left, to_right = rng.integers(0, keys, (2, rows))
    truth = rng.normal(size=widths[1]) / np.sqrt(widths[1])
    score = 1.5 * middle @ truth + 2.0 * _key_mean(left, left_key, keys)[to_left]
    score = score + 2.0 * _key_mean(right, right_key, keys)[to_right] + 0.5 * rng.normal(size=rows)
    middle[:, -1] = 1.0
    at_left, at_middle, at_right = _join(left_key, to_left, to_right, right_key)
    labels = np.where(score > 0.1, 1.0, -1.0)[at_middle]
    blocks = [Block(left, at_left), Block(middle, at_middle), Block(right, at_right)]
    return NumpyOracle(blocks, labels, np.ones(len(labels)), exact)


def _features(rng: np.random.Generator, height: int, width: int, discrete: bool) -> Array:
    drawn = rng.uniform(-1.0, 1.0, (height, width))
    return np.round(1.5 * drawn).clip(-1.0, 1.0) if discrete else drawn


def _key_mean(features: Array, key: Index, keys: int) -> Array:
    """The mean of the first feature over the rows of each key."""
    mean: Array = np.bincount(key, features[:, 0], keys) / np.maximum(np.bincount(key, minlength=keys), 1)
    return mean


def _join(left_key: Index, to_left: Index, to_right: Index, right_key: Index) -> tuple[Index, Index, Index]:
    """The row numbers of L, M and R in every join row."""
    found = [
        (np.flatnonzero(left_key == a), np.flatnonzero(right_key == c)) for a, c in zip(to_left, to_right, strict=True)
    ]
    at_left = np.concatenate([np.repeat(a, len(c)) for a, c in found])
    at_middle = np.concatenate([np.full(len(a) * len(c), row) for row, (a, c) in enumerate(found)])
    at_right = np.concatenate([np.tile(c, len(a)) for a, c in found])
    return at_left, at_middle, at_right
