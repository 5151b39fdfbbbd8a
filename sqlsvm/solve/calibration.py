"""Probabilities from scores, as Platt (1999) and as isotonic regression have them."""

import numpy as np

from sqlsvm.solve.arrays import Array

MOST_STEPS = 100
TINY = 1e-12  # of the loss of a row: a Newton step that promises less is the last


def sigmoid(scores: Array, negatives: Array, positives: Array) -> tuple[float, float]:
    """(slope, offset) for which 1 / (1 + exp(slope score + offset)) has the least log loss against Platt's targets:
    (P + 1) / (P + 2) for each of the P positives, 1 / (N + 2) for each of the N negatives.

    `negatives` and `positives` say how many rows have each score."""
    n, p = float(negatives.sum()), float(positives.sum())
    rows = negatives + positives
    targets = positives * (p + 1.0) / (p + 2.0) + negatives / (n + 2.0)
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    design = np.column_stack([scores / scale, np.ones(len(scores))])
    found = np.array([0.0, np.log((n + 1.0) / (p + 1.0))])

    def loss(at: Array) -> float:
        """A row costs t log(1 + e^z) + (1 - t) log(1 + e^-z)."""
        z = design @ at
        return float(rows @ np.logaddexp(0.0, -z) + targets @ z)

    for _ in range(MOST_STEPS):
        share = 1.0 / (1.0 + np.exp(np.clip(design @ found, -700.0, 700.0)))
        gradient = design.T @ (targets - rows * share)
        curvature = design.T @ (design * (rows * share * (1.0 - share))[:, None])
        step = -np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        promised, before, part = -float(gradient @ step), loss(found), 1.0
        if promised <= TINY * (n + p):
            return _unscaled(found + step, scale)
        while loss(found + part * step) > before - 1e-4 * part * promised and part > 1e-10:
            part /= 2.0
        found = found + part * step
    return _unscaled(found, scale)


def _unscaled(found: Array, scale: float) -> tuple[float, float]:
    return float(found[0]) / scale, float(found[1])


def isotonic(scores: Array, negatives: Array, positives: Array) -> tuple[Array, Array]:
    """The rising curve with the least squared error: the ends of its steps, and the share of positives there. The
    scores rise, and each has rows."""
    blocks: list[list[float]] = []
    """Rows, share, first and last score."""
    for score, rows, share in zip(
        scores.tolist(), (negatives + positives).tolist(), (positives / (negatives + positives)).tolist(), strict=True
    ):
        blocks.append([rows, share, score, score])
        while len(blocks) > 1 and blocks[-2][1] >= blocks[-1][1]:
            rows, share, _, last = blocks.pop()
            before = blocks[-1]
            whole = before[0] + rows
            before[:] = [whole, before[1] + (share - before[1]) * rows / whole, before[2], last]
    ends = [(score, share) for _, share, *both in blocks for score in dict.fromkeys(both)]
    found = np.array(ends)
    return found[:, 0], np.clip(found[:, 1], 0.0, 1.0)


def area(scores: Array, negative: Array, positive: Array) -> float:
    """Under the ROC curve, by the weights of the negative and of the positive rows."""
    return float(positive @ ranks(scores, negative, positive)[0] / (positive.sum() * negative.sum()))


def ranks(scores: Array, negative: Array, positive: Array) -> tuple[Array, Array]:
    """For each row the weight of the negative ones below it, and of the positive ones above it; ties count one half."""
    _, places = np.unique(scores, return_inverse=True)
    below, above = (np.bincount(places, w) for w in (negative, positive))
    return (np.cumsum(below) - 0.5 * below)[places], (above.sum() - np.cumsum(above) + 0.5 * above)[places]
