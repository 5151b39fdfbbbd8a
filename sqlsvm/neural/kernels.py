"""Kernels of the outputs of a network, and how a gradient in their values comes back to these outputs."""

from dataclasses import dataclass

import numpy as np

from sqlsvm.kernel.functions import Kernel
from sqlsvm.neural.layers import Batch


@dataclass(frozen=True)
class Between:
    """K(a, b) for outputs a and b. If it is `normalised`, K(a, b) / sqrt(K(a, a) K(b, b)), so that only the direction
    of the features counts and not their size."""

    kernel: Kernel
    normalised: bool = False

    def of(self, a: Batch, b: Batch) -> Batch:
        found = self.kernel.of(self.kernel.sums(a, b))
        return np.asarray(found / np.outer(self._sizes(a), self._sizes(b)) if self.normalised else found)

    def pulled(self, a: Batch, b: Batch, g: Batch) -> Batch:
        """The gradient in a of a function whose gradient in K(a, b) is g."""
        if not self.normalised:
            return self._pulled(a, b, g)
        sizes = self._sizes(a)
        found = self._pulled(a, b, g / np.outer(sizes, self._sizes(b)))
        if self.kernel.by_distance:
            return found
        shares = -0.5 * (g * self.of(a, b)).sum(axis=1) / sizes**2
        return np.asarray(found + (2.0 * shares * self.kernel.slope(self.kernel.diagonal(a)))[:, None] * a)

    def _pulled(self, a: Batch, b: Batch, g: Batch) -> Batch:
        g = g * self.kernel.slope(self.kernel.sums(a, b))
        found = 2.0 * (g.sum(axis=1)[:, None] * a - g @ b) if self.kernel.by_distance else g @ b
        return np.asarray(found)

    def _sizes(self, a: Batch) -> Batch:
        return np.asarray(np.sqrt(self.kernel.of(self.kernel.diagonal(a))))

    def pulled_both(self, z: Batch, g: Batch) -> Batch:
        """The gradient in z of a function whose gradient in K(z, z) is g."""
        return self.pulled(z, z, g + g.T)
