"""The largest eigenvalues of a symmetric matrix that has no negative ones, with their vectors.

A large matrix is multiplied with a random block of vectors again and again (power iteration). With the start u of a
vector v, the error is epsilon after log(1 / (epsilon <u, v>)) / log(gap) steps. The gap is the last eigenvalue that is
wanted by the first that the block leaves out; it is measured on the way. <u, v> is above delta / (2 sqrt(d)) with
probability 1 - delta. However many steps it took, the residual |A v - w v| is a proof: an eigenvalue is so near w.
"""

from dataclasses import dataclass
from math import ceil, inf, log, sqrt

import numpy as np

from sqlsvm.solve.arrays import Array

LARGE = 600  # from this size on power iteration takes less time than all eigenvalues
MORE = 10  # vectors in the block beyond those that are asked for
EPSILON, DELTA = 1e-9, 1e-9
MOST = 5000
LOOK = 5  # steps between two looks at the residual


@dataclass(frozen=True)
class Eigen:
    values: Array  # the largest first
    vectors: Array  # in columns; the largest element of each is positive
    residual: float  # the largest |A v - w v|: so far is each value from an eigenvalue, at most
    steps: int = 0  # of the power iteration; 0 if all eigenvalues were computed


def largest(matrix: Array, k: int, *, large: int = LARGE, seed: int = 0) -> Eigen:
    if len(matrix) < large:
        values, vectors = np.linalg.eigh(matrix)
        return _eigen(matrix, values[::-1][:k], vectors[:, ::-1][:, :k], 0)
    return _by_power(matrix, k, seed)


def _by_power(matrix: Array, k: int, seed: int) -> Eigen:
    block = np.random.default_rng(seed).normal(size=(len(matrix), min(len(matrix), 2 * k + MORE)))
    found, steps, most = None, 0, float(MOST)
    while found is None or (steps < most and found.residual > EPSILON * max(float(found.values[0]), 0.0)):
        for _ in range(LOOK):
            block, _ = np.linalg.qr(matrix @ block)
        steps += LOOK
        values, inside = np.linalg.eigh(block.T @ matrix @ block)
        found = _eigen(matrix, values[::-1][:k], (block @ inside)[:, ::-1][:, :k], steps)
        most = min(MOST, steps_needed(len(matrix), values[-k], values[0]))
    return found


def steps_needed(d: int, wanted: float, left_out: float) -> float:
    """
    >>> steps_needed(1000, 2.0, 1.0), steps_needed(1000, 1.0, 1.0)
    (66, inf)
    """
    if not wanted > left_out:
        return inf
    return ceil(log(2.0 * sqrt(d) / (DELTA * EPSILON)) / log(wanted / left_out)) if left_out > 0.0 else 1


def _eigen(matrix: Array, values: Array, vectors: Array, steps: int) -> Eigen:
    tallest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    vectors = vectors * np.where(tallest < 0.0, -1.0, 1.0)
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max(initial=0.0)
    return Eigen(np.maximum(values, 0.0), vectors, float(residual), steps)
