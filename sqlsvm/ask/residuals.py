"""The quality of a model for a label that is a number, on the rows of a join: how far its scores are off."""

import logging
from math import sqrt

import numpy as np

from sqlsvm.ask.listed import Asked, ByLabel, on_list
from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.resolve import COUNT
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.parameters import LOWEST, WIDTH
from sqlsvm.plan.scaling import FLAT, LabelMoments
from sqlsvm.run.problem import Problem
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

BINS = 100
BUCKETS = 4096
"""Of all residuals, where they have to be rounded."""


def residuals(problem: Problem, model: Model, bins: int = BINS) -> Residuals:
    """Of a model, on the rows of a problem."""
    return residuals_of(problem, theta_of(problem.plan, model), _quantile_of(model), bins)


def residuals_of(problem: Problem, theta: Array, quantile: float = DEFAULTS["quantile"], bins: int = BINS) -> Residuals:
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
    n, least, squares = seen["n"], seen["least"], seen["squares"] * unit**2
    width = (seen["largest"] - least) / bins or 1.0
    rows = asked.run(compiled.histogram([COUNT]), parameters={LOWEST: least, WIDTH: width})[compiled.BINS]
    places = np.minimum(rows["bin"].astype(int), bins - 1)
    spread = label.squares - label.total**2 / n
    return Residuals(
        rows=n,
        mae=(seen["over"] + seen["under"]) * unit / n,
        rmse=sqrt(squares / n),
        r2=1.0 - squares / spread if spread > FLAT * label.squares else None,
        pinball=(quantile * seen["over"] + (1.0 - quantile) * seen["under"]) * unit / n,
        quantile=quantile,
        coverage=seen["covered"] / n,
        edges=tuple(((least + width * np.arange(bins + 1)) * unit).tolist()),
        counts=tuple(np.bincount(places, rows[COUNT].astype(float), bins).tolist()),
        blur=asked.delta * unit,
    )


def residuals_by(z: Array, codes: Array, weights: Array, model: Model, bins: int = BINS) -> Residuals:
    """From the residuals of rows and the codes of their labels."""
    n, quantile = float(weights.sum()), _quantile_of(model)
    squares, label = float(weights @ z**2), LabelMoments(float(weights @ codes), float(weights @ codes**2))
    spread = label.squares - label.total**2 / n
    over, under = float(weights @ np.maximum(z, 0.0)), float(weights @ np.maximum(-z, 0.0))
    counts, edges = np.histogram(z, bins, weights=weights)
    return Residuals(
        rows=n,
        mae=(over + under) / n,
        rmse=sqrt(squares / n),
        r2=1.0 - squares / spread if spread > FLAT * label.squares else None,
        pinball=(quantile * over + (1.0 - quantile) * under) / n,
        quantile=quantile,
        coverage=float(weights @ (z <= 0.0)) / n,
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
    )


def _quantile_of(model: Model) -> float:
    """Of a training for one. Any other has the middle."""
    return float(model.options["problem"]["quantile"] if model.loss == "quantile" else DEFAULTS["quantile"])
