"""The join as an oracle for the solvers: each pass through the database gives a cut."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.oracle import NEAR, oracle_pass, reach, totals_name
from sqlsvm.compile.resolve import COUNT, category_name, cells, sums_name
from sqlsvm.compile.tally import rounding_name
from sqlsvm.compile.weighting import OFFSET, SHORTFALL, Ramp, weighting
from sqlsvm.engine.base import Rows
from sqlsvm.plan.parameters import BOUND, BUCKETS, THETA, WIDTH
from sqlsvm.plan.plan import Plan
from sqlsvm.run.clock import Phase
from sqlsvm.run.problem import Problem
from sqlsvm.run.rounding import rounding
from sqlsvm.run.sampling import drawn_sample, whole_join
from sqlsvm.run.workspace import Program
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Cut, Sample
from sqlsvm.solve.rounding import Rounding

Answers = Mapping[str, Rows]


class JoinOracle:
    """R(beta) over the virtual join, on scaled features, by relational passes."""

    def __init__(self, problem: Problem, loss: Loss | None = None, phase: Phase = "passes") -> None:
        self.problem = problem
        self.plan = problem.plan
        self.loss = loss or problem.plan.loss
        self.phase = phase

    @property
    def dimension(self) -> int:
        return self.problem.scaling.dimension

    @property
    def join_rows(self) -> float:
        return self.problem.moments.n

    @property
    def exact(self) -> bool:
        return self.plan.method == "exact"

    @property
    def soft(self) -> bool:
        """With one bag a pass reads every row of the join, and can count a part of it."""
        return self.plan.centre is None and bool(self.loss.knots)

    @cached_property
    def rounding(self) -> Rounding:
        return rounding(self.problem)

    @cached_property
    def program(self) -> Program:
        return Program(self.problem.work.engine, oracle_pass(self.plan, weighting(self.loss)))

    @cached_property
    def _soft_program(self) -> Program:
        return Program(self.problem.work.engine, oracle_pass(self.plan, Ramp()))

    def pass_(self, beta: Array, buckets: int | None, width: float = 0.0) -> Cut:
        h, theta = float(buckets or 1), self.problem.scaling.to_raw(np.asarray(beta, dtype=float))
        parameters = {THETA: theta, BOUND: self.loss.origin, BUCKETS: h, WIDTH: width}
        work = self.problem.work
        with work.clock.during(self.phase):
            answers = work.run_and_drop(self._soft_program if width else self.program, parameters)
        slope, offset = self._cut(answers)
        slope = self.problem.scaling.from_raw(slope)
        error = 0.0 if self.exact else self._error(answers, h)
        blur = float(answers[totals_name(self.plan)][SHORTFALL].sum()) / self.join_rows if width else 0.0
        return Cut(slope, offset, offset + float(slope @ beta) + blur, error, None if self.exact else buckets, width)

    def sample(self, size: int, seed: int) -> Sample:
        return drawn_sample(self.problem, size, seed)

    def whole(self, most: int) -> Sample | None:
        return whole_join(self.problem, most) if self.plan.centre else None

    def _cut(self, answers: Answers) -> tuple[Array, float]:
        moments, b = self.problem.moments, float(answers[totals_name(self.plan)][OFFSET].sum())
        g = sums(self.plan, answers)
        if self.plan.centre is None:
            return -g / moments.n, b / moments.n
        return (moments.total_negative - g) / moments.n, (moments.n_negative + b) / moments.n

    def _error(self, answers: Answers, h: float) -> float:
        """E = (1/N) sum over |total| < delta of (delta - |total|), delta the sum of what was really rounded away."""
        blurred = [bag for bag in self.plan.bags if self.plan.scored(bag)]
        delta = sum(float(answers[rounding_name(bag)]["error"][0]) for bag in blurred)
        if delta > reach(self.plan) + 1:  # a score beyond all buckets: `near` has too few rows, but |error| <= delta
            return delta / h
        near = answers[NEAR]
        slack = np.maximum(0.0, delta - np.abs(near["total"].astype(float)))
        return float(slack @ near[COUNT].astype(float)) / h / self.join_rows


def sums(plan: Plan, answers: Answers) -> Array:
    """The sum for every coordinate, from the answer that has its column."""
    g = np.zeros(plan.design.size)
    columns = {name: values for rows in answers.values() for name, values in rows.items()}
    for c in plan.design.coordinates:
        g[c.index] = columns[c.column].sum()
    for node in range(len(plan.tree.nodes)):
        together = cells(plan.dictionaries(node))
        for d in plan.dictionaries(node):
            name, column = (sums_name(node), number_column(d)) if d in together else (category_name(d), "n")
            places = answers[name][column].astype(float)
            known = ~np.isnan(places)
            np.add.at(g, places[known].astype(int) - 1, answers[name][COUNT][known])
    return g
