"""The quality of a model for a label that is a number, on the rows of a join: how far its scores are off."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from math import sqrt

import numpy as np

from sqlsvm.ask.listed import Asked, ByLabel, on_list
from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.resolve import COUNT
from sqlsvm.engine.base import Values
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.parameters import LOWEST, WIDTH
from sqlsvm.plan.scaling import FLAT, LabelMoments
from sqlsvm.run.data import Data
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

BINS = 100
BUCKETS = 4096
"""Of all residuals, where they have to be rounded."""


def residuals(problem: Data, model: Model, bins: int = BINS) -> Residuals:
    """Of a model, on the rows of a problem."""
    return residuals_of(problem, theta_of(problem.plan, model), quantile_of(model), bins)


def residuals_of(problem: Data, theta: Array, quantile: float = DEFAULTS["quantile"], bins: int = BINS) -> Residuals:
    """Of weights on the raw coordinates."""
    work, plan, label = problem.work, problem.plan, problem.moments.label
    assert label is not None

    def read(asked: Asked, above: ByLabel | None) -> Residuals:
        return _of_list(asked, label, quantile, bins)

    return on_list(work, plan, theta, BUCKETS, read)


def _of_list(asked: Asked, label: LabelMoments, quantile: float, bins: int) -> Residuals:
    """From the residuals of all rows, in steps."""
    steps.info("reading the measures from the residuals")
    sums = asked.run(compiled.sums_of_residuals())[compiled.RESIDUALS]
    seen, unit = {name: float(values[0]) for name, values in sums.items()}, 1.0 / asked.steps
    least = seen["least"]
    width = (seen["largest"] - least) / bins or 1.0
    rows = asked.run(compiled.histogram([COUNT]), parameters={LOWEST: least, WIDTH: width})[compiled.BINS]
    places = np.minimum(rows["bin"].astype(int), bins - 1)
    edges, counts = (least + width * np.arange(bins + 1)) * unit, np.bincount(places, rows[COUNT].astype(float), bins)
    return replace(_of_sums(seen, label, quantile, (edges, counts), unit), blur=asked.delta * unit)


def residuals_by(z: Array, codes: Array, weights: Array, quantile: float, bins: int = BINS) -> Residuals:
    """From the residuals of rows and the codes of their labels."""
    sums = {
        "n": float(weights.sum()),
        "over": float(weights @ np.maximum(z, 0.0)),
        "under": float(weights @ np.maximum(-z, 0.0)),
        "squares": float(weights @ z**2),
        "covered": float(weights @ (z <= 0.0)),
    }
    label = LabelMoments(float(weights @ codes), float(weights @ codes**2))
    counts, edges = np.histogram(z, bins, weights=weights)
    return _of_sums(sums, label, quantile, (edges, counts))


def _of_sums(
    sums: Mapping[str, float], label: LabelMoments, quantile: float, histogram: tuple[Values, Values], unit: float = 1.0
) -> Residuals:
    """From the sums over all rows, whose residuals are in units, and the edges and counts of the histogram."""
    n, over, under, squares = sums["n"], sums["over"], sums["under"], sums["squares"] * unit**2
    spread = label.squares - label.total**2 / n
    edges, counts = histogram
    return Residuals(
        rows=n,
        mae=(over + under) * unit / n,
        rmse=sqrt(squares / n),
        r2=1.0 - squares / spread if spread > FLAT * label.squares else None,
        pinball=(quantile * over + (1.0 - quantile) * under) * unit / n,
        quantile=quantile,
        coverage=sums["covered"] / n,
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
    )


def quantile_of(model: Model) -> float:
    """Of a training for one. Any other has the middle."""
    return float(model.options["problem"]["quantile"] if model.loss == "quantile" else DEFAULTS["quantile"])
