"""How well the kernel of a batch goes with a target matrix: the cosine of the two as vectors, and its gradient."""

import numpy as np

from sqlsvm.lab.neural.layers import Batch


def alignment(k: Batch, target: Batch) -> tuple[float, Batch]:
    """<target, K> / (|target| |K|) and its gradient in K. It is 0 where the target is 0."""
    size, wanted = float(np.sqrt((k * k).sum())), float(np.sqrt((target * target).sum()))
    if not size * wanted > 0.0:
        return 0.0, np.zeros_like(k)
    found = float((target * k).sum()) / (size * wanted)
    return found, target / (size * wanted) - found * k / size**2
