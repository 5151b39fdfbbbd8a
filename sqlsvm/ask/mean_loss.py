"""The mean loss of given weights, by a pass."""

from dataclasses import replace

import numpy as np

from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.scaling import Scaling
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.solve.arrays import Array

BUCKETS = 256
"""On the grid, of a unit of the score."""


def mean_loss(problem: Data, theta: Array, options: ProblemOptions) -> float:
    """The mean loss of the training, without the penalty; on the grid at most this."""
    design = problem.plan.design
    as_it_is = replace(problem, scaling=Scaling(design, np.eye(len(design.coordinates))))
    cut = JoinOracle(as_it_is, options.named_loss).pass_(theta, BUCKETS)
    return cut.value_low + cut.error
