"""How good scores are: an answer from the scores and labels of rows that are in memory."""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from sqlsvm.engine.base import Values
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Bounded, Evaluation, Histogram, Residuals
from sqlsvm.plan.scaling import FLAT, LabelMoments
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.ranks import ranks

BINS = 100


def of_two_classes(
    scores: Array, signs: Array, weights: Array, bins: int = BINS, below: Array | None = None
) -> Evaluation:
    """`below`: the weight of the negative rows below each, if it is known."""
    own = [np.where(signs == y, weights, 0.0) for y in (-1.0, 1.0)]
    edges = _edges(scores, bins)
    rows = [tuple(np.histogram(scores, edges, weights=w)[0].tolist()) for w in own]
    above = [float(w[scores > 0.0].sum()) for w in own]
    negatives, positives = (float(w.sum()) for w in own)
    below = ranks(scores, *own)[0] if below is None else below
    return Evaluation(
        negatives=negatives,
        positives=positives,
        true_positive=_exact(above[1]),
        false_positive=_exact(above[0]),
        auc=_exact(float(own[1] @ below) / (negatives * positives)) if negatives and positives else None,
        histogram=Histogram(tuple(edges.tolist()), rows[0], rows[1]),
        blur=0.0,
    )


def _edges(values: Array, bins: int) -> Array:
    """Of no more bins than doubles can tell apart between the least and the largest value."""
    least, largest = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    step = 2.0 * float(np.spacing(max(abs(least), abs(largest))))
    if largest - least < step:
        least, largest = least - max(0.5, step), largest + max(0.5, step)
    return np.linspace(least, largest, int(min(bins, (largest - least) / step)) + 1)


def _exact(value: float) -> Bounded:
    return Bounded(value, value, value)


def of_several_classes(scores: Array, codes: Array, weights: Array, names: tuple[object, ...]) -> Confusion:
    """A row of scores for each class; the code of the first is 1."""
    matrix = np.zeros((len(names), len(names)))
    np.add.at(matrix, (codes.astype(int) - 1, scores.argmax(axis=0)), weights)
    return Confusion(names, matrix)


def of_number(z: Array, codes: Array, weights: Array, quantile: float, bins: int = BINS) -> Residuals:
    """From the residuals of rows and the codes of their labels."""
    sums = {
        "n": float(weights.sum()),
        "over": float(weights @ np.maximum(z, 0.0)),
        "under": float(weights @ np.maximum(-z, 0.0)),
        "squares": float(weights @ z**2),
        "covered": float(weights @ (z <= 0.0)),
    }
    label = LabelMoments(float(weights @ codes), float(weights @ codes**2))
    counts, edges = np.histogram(z, _edges(z, bins), weights=weights)
    return of_sums(sums, label, quantile, (edges, counts))


def of_sums(
    sums: Mapping[str, float], label: LabelMoments, quantile: float, histogram: tuple[Values, Values], unit: float = 1.0
) -> Residuals:
    """From the sums over all rows, whose residuals are in units, and the edges and counts of the histogram."""
    n, over, under, squares = sums["n"], sums["over"], sums["under"], sums["squares"] * unit**2
    edges, counts = histogram
    return Residuals(
        rows=n,
        mae=(over + under) * unit / n,
        rmse=sqrt(squares / n),
        r2=explained(squares, n, label),
        pinball=(quantile * over + (1.0 - quantile) * under) * unit / n,
        quantile=quantile,
        coverage=sums["covered"] / n,
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
    )


def explained(squares: float, rows: float, label: LabelMoments) -> float | None:
    """R^2 of residuals with this sum of squares; None if the label is the same in all rows."""
    spread = label.squares - label.total**2 / rows
    return 1.0 - squares / spread if spread > FLAT * label.squares else None
