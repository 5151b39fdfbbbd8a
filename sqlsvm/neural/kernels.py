"""Kernels of the outputs of a network, and how a gradient in their values comes back to these outputs."""

from dataclasses import dataclass

import numpy as np

from sqlsvm.kernel.functions import Kernel
from sqlsvm.neural.layers import Batch


@dataclass(frozen=True)
class Between:
    """K(a, b) for outputs a and b."""

    kernel: Kernel

    def of(self, a: Batch, b: Batch) -> Batch:
        return self.kernel.of(self.kernel.sums(a, b))

    def pulled(self, a: Batch, b: Batch, g: Batch) -> Batch:
        """The gradient in a of a function whose gradient in K(a, b) is g."""
        g = g * self.kernel.slope(self.kernel.sums(a, b))
        found = 2.0 * (g.sum(axis=1)[:, None] * a - g @ b) if self.kernel.by_distance else g @ b
        return np.asarray(found)

    def pulled_both(self, z: Batch, g: Batch) -> Batch:
        """The gradient in z of a function whose gradient in K(z, z) is g."""
        return self.pulled(z, z, g + g.T)
