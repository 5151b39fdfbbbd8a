"""The solver without a sample: a level bundle. It converges on every instance, but needs more passes than dane."""

from collections.abc import Iterator
from typing import Unpack

import numpy as np

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.grain import choose_buckets
from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.run import Proposal, Run
from sqlsvm.solve.solution import Effort, Going, Solution

HOPE = 0.5
DENSITY = 0.3  # of the residuals at the knots; the first pass that rounds anything measures it
LEVEL = 0.3
"""The share of the gap that a step leaves if the cuts are right. With 0.7 a proof takes 1.3 times as many passes."""


def solve(oracle: Oracle, penalty: Penalty, effort: Effort | None = None, **going: Unpack[Going]) -> Solution:
    """Minimise F until the certified gap is at most effort.tol."""
    run = Run(oracle, penalty, effort, **going)
    return run.follow(proposals(run))


def proposals(run: Run[Oracle]) -> Iterator[Proposal]:
    while not run.finished:
        first = np.zeros(run.oracle.dimension) if run.start is None else run.start
        point = level_point(run) if run.cuts else first
        yield Proposal(point, choose_buckets(run, point, HOPE, DENSITY))


def level_point(run: Run[Oracle]) -> Array:
    """The point nearest to the best iterate where, by the cuts, a part of the gap may be closed."""
    proof = run.certificate
    return run.bundle.project(run.points[run.best], LEVEL * proof.objective + (1.0 - LEVEL) * proof.lower_bound)
