"""The quality of a model for a label that is a number, on the rows of a join: how far its scores are off."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sqlsvm import sql
from sqlsvm.ask.intervals import with_intervals_of_numbers
from sqlsvm.ask.rows import on_all, options_of
from sqlsvm.ask.scored import Listed, on_list
from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.evaluate import ByLabel
from sqlsvm.engine.base import Engine
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.scored import BINS, of_sums
from sqlsvm.model.several import theta_of
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.parameters import LOWEST, WIDTH
from sqlsvm.plan.scaling import LabelMoments
from sqlsvm.plan.target import Numeric, Target, named
from sqlsvm.query import FeatureQuery
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


def crossings(engine: Engine, models: Sequence[Model], *, offload: bool | None = None) -> list[float]:
    """For each model but the last, the share of the rows in which its score is above that of the next. The models are
    in the order of their quantiles."""

    def shares(problem: Data) -> list[float]:
        return [_share(problem, lower, upper) for lower, upper in pairwise(models)]

    return on_all(engine, models[0], shares, offload=offload, target=_nothing)


def _nothing(query: FeatureQuery) -> Target:
    """Against 0, the residual of a row is its score with the other sign."""
    return Numeric(named(query.label), sql.number(0))


def _share(problem: Data, lower: Model, upper: Model) -> float:
    distance = theta_of(problem.plan, upper) - theta_of(problem.plan, lower)
    return 1.0 - residuals_of(problem, distance).coverage
