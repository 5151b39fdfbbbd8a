"""Places of scores among those of the other class."""

import numpy as np

from sqlsvm.solve.arrays import Array


def area(scores: Array, negative: Array, positive: Array) -> float:
    """Under the ROC curve, by the weights of the negative and of the positive rows."""
    return float(positive @ ranks(scores, negative, positive)[0] / (positive.sum() * negative.sum()))


def ranks(scores: Array, negative: Array, positive: Array) -> tuple[Array, Array]:
    """For each row the weight of the negative ones below it, and of the positive ones above it; ties count one half."""
    _, places = np.unique(scores, return_inverse=True)
    below, above = (np.bincount(places, w) for w in (negative, positive))
    return (np.cumsum(below) - 0.5 * below)[places], (above.sum() - np.cumsum(above) + 0.5 * above)[places]
