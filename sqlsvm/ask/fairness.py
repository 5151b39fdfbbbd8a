"""How far the scores of a model go with the columns that it had to be fair to, on the rows of a join."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from sqlsvm.ask.rows import options_of
from sqlsvm.compile.copies import working_tables
from sqlsvm.model.evaluation import Evaluation, Fairness, Residuals
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.constraints import fair
from sqlsvm.plan.scaling import Scaling
from sqlsvm.run.auditing import Audit, audit
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import PERCEPTRON

BUCKETS = 256
"""On the grid, of a unit of the score."""


Measured = TypeVar("Measured", bound=Evaluation | Residuals)


def with_fairness(found: Measured, problem: Data, model: Model) -> Measured:
    return replace(found, fairness=fairness(problem, model))


def fairness(problem: Data, model: Model) -> tuple[Fairness, ...]:
    """Of the problem on which the model is evaluated; nothing if the model was trained without such columns. This is
    the last question to a problem: its tables make room for those of the audit."""
    asked = dict(fair(options_of(model).constrain))
    if not asked:
        return ()
    problem.work.drop([s.table for s in working_tables(problem.plan) if s.table])
    with audit(problem.work, problem.query, options_of(model), problem.plan.design.target) as found:
        theta = _widened(problem.plan.design.moved(theta_of(problem.plan, model)), problem, found)
        has_constant = found.plan.design.constant is not None
        positive = None if model.of_numbers or not has_constant else _predicted(problem, found, theta)
        return tuple(_of_columns(problem, found, asked, theta_of(problem.plan, model), positive))


def _of_columns(
    problem: Data, found: Audit, asked: dict[str, float], theta: Array, positive: Array | None
) -> Iterator[Fairness]:
    moments = found.moments
    for name, c in found.columns.items():
        rates = None
        if positive is not None and found.two_groups(c):
            inside, n = moments.total[c.index], moments.n
            rates = (positive[-1] - positive[c.index]) / (n - inside), positive[c.index] / inside
        covariance = float(problem.covariances[name] @ theta)
        yield Fairness(name, asked[name], covariance, rates and (float(rates[0]), float(rates[1])))


def _widened(theta: Array, problem: Data, found: Audit) -> Array:
    """With weights of 0 for the audited columns, which come before the categories."""
    own, all_ = len(problem.plan.design.coordinates), len(found.plan.design.coordinates)
    return np.insert(theta, own, np.zeros(all_ - own))


def _predicted(problem: Data, found: Audit, theta: Array) -> Array:
    """For each coordinate its sum over the rows that are predicted +1; at the end the number of these rows.

    The constant is there. A pass that counts the rows whose score has the wrong side gives the sum over those with
    y = -1 less that over the others."""
    design, moments = found.plan.design, found.moments
    as_it_is = Scaling(design, np.eye(len(design.coordinates)))
    rows = replace(problem, plan=found.plan, moments=moments, scaling=as_it_is)
    cut = JoinOracle(rows, PERCEPTRON).pass_(theta, BUCKETS)
    sums = moments.total - moments.total_negative + moments.n * cut.slope
    constant = design.constant
    return np.append(sums, sums[constant])
