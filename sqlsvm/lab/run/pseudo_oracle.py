"""The join as an oracle for the paper's descent: pseudo-gradients and F-hat, everything within a factor 1 + epsilon."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from sqlsvm.compile.resolve import resolve, sums
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import active_rows
from sqlsvm.compile.weighting import Step
from sqlsvm.engine.base import Rows
from sqlsvm.lab.compile.sketch import (
    EXCESS,
    compressions,
    counted,
    excess,
    levels,
    perturbed,
    real_levels,
    size_name,
    sizes,
    step_for,
)
from sqlsvm.plan.parameters import BOUND, LABEL, LEVELS, SLACK, THETA
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Scaling
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import sums as gathered
from sqlsvm.run.workspace import Program, Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import named

LABELS = (-1, 1)


@dataclass(frozen=True)
class Sketching:
    """The levels with which a plan's answers are within a factor of 1 + epsilon."""

    plan: Plan
    smallest: float  # no positive count of a message is smaller
    largest: float  # no count is larger. Messages also count rows that the join leaves out.

    def for_counts(self, epsilon: float, more: int = 0) -> Array:
        """`more`: for thresholds the list of all join rows is compressed once more."""
        step = step_for(epsilon, compressions([link.bags for link in self.plan.links]) + more)
        if self.plan.design.weighted:
            return real_levels(step, self.smallest, self.largest)
        return levels(step, self.largest)


def sketching(work: Workspace, plan: Plan) -> Sketching:
    """Measure once the smallest and the largest count that a message of any pass can have."""
    answers = work.run(sizes(plan), {THETA: np.zeros(plan.design.size)})
    found = [answers[size_name(bag)] for bag in plan.bags]
    smallest = prod(min(1.0, float(answer["smallest"][0])) for answer in found)
    return Sketching(plan, smallest, prod(float(answer["total"][0]) for answer in found))


class PseudoJoinOracle:
    """The oracle of descent. Counts are sketched, or exact if the plan counts exactly.

    |beta|.|x| is computed on raw coordinates. It is the same on scaled features if, in each row, a feature is a number
    times one coordinate. That is so without scaling and with maxabs, where a feature is its own coordinate or the
    indicator that it is missing, never both. It is not so for standard scaling, which centres.
    """

    def __init__(self, problem: Data) -> None:
        self.problem = problem
        self.sketching = sketching(problem.work, problem.plan)
        self._gradient = Program(problem.work.engine, far_sums(problem.plan))
        self._value = Program(problem.work.engine, excess(problem.plan, perturbed))

    @property
    def dimension(self) -> int:
        return self.problem.scaling.dimension

    def pseudo_gradient(self, beta: Array, epsilon: float) -> Array:
        """-(1/N) sum of y x over the rows with 1 - y beta.x >= epsilon |beta|.|x|, one run per label."""
        summed = np.zeros(self.problem.plan.design.size)
        for label in LABELS:
            answers = self._run(self._gradient, beta, label, epsilon)
            summed -= label * gathered(self.problem.plan, answers)
        return self.problem.scaling.from_raw(summed) / self.problem.moments.n

    def value_low(self, beta: Array, epsilon: float) -> float:
        """F-hat: the loss of the moved rows, 1 - y beta.x - epsilon |beta|.|x|, as the area under its sketch.

        The paper reads that area off thresholds H_k at levels f_k, as the sum of f_k (H_k - H_{k+1}). Summed by parts
        it is the sum of the losses of what is in the sketch, so no list of thresholds has to be made."""
        total = 0.0
        for label in LABELS:
            answers = self._run(self._value, beta, label, epsilon)
            total += float(answers[EXCESS][EXCESS][0])
        return max(0.0, total) / self.problem.moments.n

    def _run(self, program: Program, beta: Array, label: int, epsilon: float) -> dict[str, Rows]:
        work, levels = self.problem.work, self.sketching.for_counts(epsilon)
        asked = {**of_label(self.problem.scaling, beta, label), SLACK: epsilon, LEVELS: levels}
        with work.clock.during("passes"):
            return work.run_and_drop(program, asked)


def of_label(scaling: Scaling, beta: Array, label: int) -> dict[str, object]:
    """Parameters of a count over the rows of one label, which are active if label * score is below the bound."""
    theta = scaling.to_raw(label * np.asarray(beta, dtype=float))
    return {THETA: theta, LABEL: float(label), BOUND: named().origin}


def far_sums(plan: Plan) -> Iterator[Statement]:
    """The sums of x over the far rows of one label."""
    yield from counted(plan, perturbed, Step(strict=False))
    for bag in plan.bags:
        yield from resolve(plan, bag.core, active_rows(bag.number), sums)
