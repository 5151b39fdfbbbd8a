"""Kernels as functions of one number for each pair of rows: their inner product, or their squared distance."""

from dataclasses import dataclass

import numpy as np

from sqlsvm.options import KernelName
from sqlsvm.solve.arrays import Array

DEGREE = 3  # of the polynomial kernel (gamma x.y + 1)^3


@dataclass(frozen=True)
class Kernel:
    """linear s; poly (gamma s + 1)^3; sigmoid tanh(gamma s), of the inner product s; rbf exp(-gamma s), of the squared
    distance. additive is the sum of an rbf for each table."""

    name: KernelName
    gamma: float = 1.0

    @property
    def by_distance(self) -> bool:
        return self.name in ("rbf", "additive")

    @property
    def is_definite(self) -> bool:
        """Is it the inner product of some features? Only then is the dual a lower bound."""
        return self.name != "sigmoid"

    def of(self, s: Array) -> Array:
        if self.name == "linear":
            return s
        if self.by_distance:
            return np.exp(-self.gamma * s)
        if self.name == "poly":
            return np.asarray((self.gamma * s + 1.0) ** DEGREE)
        return np.tanh(self.gamma * s)

    def slope(self, s: Array) -> Array:
        """The derivative in s."""
        if self.name == "linear":
            return np.ones_like(s)
        if self.by_distance:
            return -self.gamma * self.of(s)
        if self.name == "poly":
            return np.asarray(DEGREE * self.gamma * (self.gamma * s + 1.0) ** (DEGREE - 1))
        return np.asarray(self.gamma * (1.0 - np.tanh(self.gamma * s) ** 2))

    def sums(self, a: Array, b: Array) -> Array:
        """s of each row of a with each of b."""
        products = a @ b.T
        if not self.by_distance:
            return products
        squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)
        return np.asarray(np.maximum(squares - 2.0 * products, 0.0))
