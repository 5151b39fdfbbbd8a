"""The quality of a model for a label that is a number, on the rows of a join: how far its scores are off."""

import logging
from dataclasses import replace

import numpy as np

from sqlsvm.ask.intervals import with_intervals_of_numbers
from sqlsvm.ask.listed import Listed, on_list
from sqlsvm.ask.rows import options_of
from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.evaluate import ByLabel
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.model.scored import BINS, of_sums
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.parameters import LOWEST, WIDTH
from sqlsvm.plan.scaling import LabelMoments
from sqlsvm.run.data import Data
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

BUCKETS = 4096
"""Places for all residuals, where they have to be rounded."""


def residuals(problem: Data, model: Model, bins: int = BINS, *, held_out: bool = False) -> Residuals:
    """Those of a model, on the rows of a problem; with intervals, if its training has not seen these."""
    theta = theta_of(problem.plan, model)
    found = residuals_of(problem, theta, quantile_of(model), bins)
    return with_intervals_of_numbers(found, problem, theta, options_of(model)) if held_out else found


def residuals_of(problem: Data, theta: Array, quantile: float = DEFAULTS["quantile"], bins: int = BINS) -> Residuals:
    """Of weights on the raw coordinates."""
    work, plan, label = problem.work, problem.plan, problem.moments.label
    assert label is not None

    def read(asked: Listed, above: ByLabel | None) -> Residuals:
        return _of_list(asked, label, quantile, bins)

    return on_list(work, plan, theta, BUCKETS, read)


def _of_list(asked: Listed, label: LabelMoments, quantile: float, bins: int) -> Residuals:
    """From the residuals of all rows, in steps."""
    steps.info("reading the measures from the residuals")
    seen, unit = asked.ask(compiled.sums_of_residuals()), 1.0 / asked.steps
    least = seen["least"]
    width = (seen["largest"] - least) / bins or 1.0
    counts = asked.ask(compiled.histogram(bins), **{LOWEST: least, WIDTH: width})
    edges = np.asarray((least + width * np.arange(bins + 1.0)) * unit)
    return replace(of_sums(seen, label, quantile, (edges, counts), unit), blur=asked.delta * unit)


def quantile_of(model: Model) -> float:
    """Of a training for one. Any other has the middle."""
    return float(model.options["problem"]["quantile"] if model.loss == "quantile" else DEFAULTS["quantile"])
