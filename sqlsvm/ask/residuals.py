"""The quality of a model for a label that is a number, on the rows of a join of one bag: how far its scores are off."""

import logging
from math import sqrt

import numpy as np

from sqlsvm.ask.evaluate import theta_of
from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.resolve import COUNT
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.parameters import LOWEST, THETA, WIDTH
from sqlsvm.plan.scaling import FLAT
from sqlsvm.run.problem import Problem

steps = logging.getLogger(__name__)

BINS = 100


def residuals(problem: Problem, model: Model, bins: int = BINS) -> Residuals:
    """Of a model, on the rows of a problem."""
    work, plan, label = problem.work, problem.plan, problem.moments.label
    assert label is not None
    steps.info("reading the measures from the residuals")
    with work.scratch():
        work.run([compiled.residuals(plan)], {THETA: theta_of(plan, model)})
        sums = work.run([compiled.sums_of_residuals()])[compiled.RESIDUALS]
        seen = {name: float(values[0]) for name, values in sums.items()}
        n, least = seen["n"], seen["least"]
        width = (seen["largest"] - least) / bins or 1.0
        rows = work.run([compiled.histogram([COUNT])], {LOWEST: least, WIDTH: width})[compiled.BINS]
    places = np.minimum(rows["bin"].astype(int), bins - 1)
    spread, quantile = label.squares - label.total**2 / n, _quantile_of(model)
    return Residuals(
        rows=n,
        mae=(seen["over"] + seen["under"]) / n,
        rmse=sqrt(seen["squares"] / n),
        r2=1.0 - seen["squares"] / spread if spread > FLAT * label.squares else None,
        pinball=(quantile * seen["over"] + (1.0 - quantile) * seen["under"]) / n,
        quantile=quantile,
        coverage=seen["covered"] / n,
        edges=tuple((least + width * np.arange(bins + 1)).tolist()),
        counts=tuple(np.bincount(places, rows[COUNT].astype(float), bins).tolist()),
    )


def _quantile_of(model: Model) -> float:
    """Of a training for one. Any other has the middle."""
    return float(model.options["problem"]["quantile"] if model.loss == "quantile" else DEFAULTS["quantile"])
