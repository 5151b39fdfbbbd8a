"""A kernel machine on a sample: the kernel and its gamma, a search, and what each round of it has proven."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sqlsvm.kernel.decomposition import Decomposition, Dual
from sqlsvm.kernel.functions import Kernel
from sqlsvm.kernel.gram import Cache, Gram
from sqlsvm.kernel.pegasos import after, kernelised
from sqlsvm.kernel.rows import Joined
from sqlsvm.options import KernelName
from sqlsvm.solve.arrays import Array, Indices

PAIRS = 2000
"""The median distance is that of so many rows."""


@dataclass(frozen=True)
class Task:
    """min strength / 2 (|f|^2 + b^2) + the mean of max(0, 1 - y (f(x) + b)) over the rows by their weights. There is no
    b without `intercept`; if it is `free`, the penalty does not count it."""

    rows: Joined
    signs: Array
    weights: Array
    strength: float
    intercept: bool = True
    free: bool = False

    @property
    def caps(self) -> Array:
        return np.asarray(self.weights / (self.weights.sum() * self.strength))

    def gram(self, kernel: Kernel, cache: Cache) -> Gram:
        """A constant that the penalty counts is one more feature, which is 1."""
        return Gram(self.rows, kernel, 1.0 if self.intercept and not self.free else 0.0, cache)

    def scaled(self, dual: Dual) -> Dual:
        """In the units of the task: the dual has its sum in place of the mean."""
        low, up = self.strength * dual.lower_bound, self.strength * dual.objective
        constant = dual.offset if self.free else float(dual.beta.sum()) * self.intercept
        return replace(dual, objective=up, lower_bound=low, offset=constant)


OnRound = Callable[[Dual], None]


def decomposed(task: Task, gram: Gram, tol: float, rounds: int, on_round: OnRound) -> Dual:
    search = Decomposition(gram, task.signs, task.caps, task.free)
    return task.scaled(search.solve(tol, rounds, lambda dual: on_round(task.scaled(dual))))


def stepped(task: Task, gram: Gram, tol: float, rounds: int, seed: int, on_round: OnRound) -> Dual:
    """Pegasos. A round has as many steps as there are rows, and the best is kept. What it has is a point of the dual if
    no row counts more than it may; cut off there it gives a lower bound."""
    search = Decomposition(gram, task.signs, task.caps, False)
    size, rng = len(task.signs), np.random.default_rng(seed)
    walk = kernelised(gram.row, task.signs, task.weights, task.strength, rng)
    best = task.scaled(search.proof())
    for done in range(1, rounds + 1):
        beta = after(size, walk) * task.signs / (task.strength * done * size)
        dual, bound = task.scaled(search.proof_of(beta)), best.lower_bound
        best = replace(min(best, dual, key=lambda d: d.objective), lower_bound=max(bound, dual.lower_bound))
        on_round(best)
        if best.gap <= tol:
            break
    return best


def usual_gamma(rows: Joined, name: KernelName, seed: int) -> float:
    """1 / the median of the squared distances that are not 0, of rows or of rows of a table; for inner products 1 / the
    mean of x.x."""
    if name in ("poly", "sigmoid"):
        return 1.0 / (float(rows.diagonal(Kernel("linear")).mean()) or 1.0)
    rng = np.random.default_rng(seed)
    left, right = (rng.integers(0, len(rows), PAIRS) for _ in range(2))
    apart = [
        _apart(block.numbers, block.codes, index[left], index[right])
        for block, index in zip(rows.blocks, rows.index, strict=True)
    ]
    found = np.concatenate(apart) if name == "additive" else np.sum(apart, axis=0)
    return 1.0 / float(np.median(found[found > 0.0])) if (found > 0.0).any() else 1.0


def _apart(numbers: Array, codes: Indices, left: Indices, right: Indices) -> Array:
    far = codes[left] != codes[right]
    both = (codes[left] > 0) & (codes[right] > 0)
    return np.asarray(((numbers[left] - numbers[right]) ** 2).sum(axis=1) + (far * (1 + both)).sum(axis=1))
