"""Where models of several quantiles cross: a row whose score for a lower quantile is above that for a higher one."""

from collections.abc import Sequence
from itertools import pairwise

from sqlsvm import sql
from sqlsvm.ask.residuals import residuals_of
from sqlsvm.ask.rows import on_all
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.target import Numeric, Target, named
from sqlsvm.query import FeatureQuery
from sqlsvm.run.data import Data


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
