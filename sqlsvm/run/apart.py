"""Trainings that each leave out one part of the rows, and share their passes.

A pass over all rows keeps its sums apart. Those of all parts but one, added up, are the cut of the training without
that part. So a pass that one training asks for is a pass of each of them.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from sqlsvm.run.join_oracle import JoinOracle, Samples
from sqlsvm.run.problem import Problem
from sqlsvm.run.workspace import Answers, of_parts
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.solution import State

MOST = 1_000_000
"""Sums that a pass may have: they stay in memory."""


def can_share(problem: Problem, parts: int) -> bool:
    """One bag and one vector of weights. Over several bags, messages would have to be kept apart, and would be as long
    as those of a pass for each part."""
    plan = problem.plan
    few = parts * plan.design.size <= MOST
    return plan.centre is None and not plan.design.target.classes and not plan.by_moments and few


@dataclass(frozen=True)
class Made:
    """A pass over all rows, and the strength of the penalty for which it was made."""

    point: Array
    width: float
    strength: float
    seconds: float
    answers: Answers


class Shared:
    """All passes so far. The plan of the problem keeps sums apart."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._oracles: dict[Loss, JoinOracle] = {}
        self._made: dict[Loss, list[Made]] = {}

    def make(self, loss: Loss, point: Array, width: float, strength: float) -> Answers:
        if loss not in self._oracles:
            of_loss = replace(self._problem, plan=replace(self._problem.plan, loss=loss))
            self._oracles[loss] = JoinOracle(of_loss)
        began = perf_counter()
        answers = self._oracles[loss].asked(point, None, width)
        self._made.setdefault(loss, []).append(Made(point, width, strength, perf_counter() - began, answers))
        return answers

    def made(self, loss: Loss) -> list[Made]:
        return self._made.get(loss, [])

    def follow(self, loss: Loss, state: State) -> None:
        """Make the passes of a training of all rows again, but for those that were made."""
        known = self.made(loss)
        for point, cut, _, strength in state.passes():
            if not any(made.width == cut.width and np.array_equal(made.point, point) for made in known):
                self.make(loss, point, cut.width, strength)


@dataclass(frozen=True)
class Without:
    """The training that leaves out this part."""

    shared: Shared
    part: int

    def of(self, answers: Answers) -> Answers:
        return of_parts(answers, lambda parts: parts != self.part)

    def oracle(self, problem: Problem, samples: Samples, strength: float) -> "WithoutPart":
        return WithoutPart(problem, samples, self, strength)

    def state(self, oracle: JoinOracle) -> State:
        """All passes so far as its own."""
        made = self.shared.made(oracle.loss)
        cuts = [oracle.cut(self.of(each.answers), each.point, None, each.width) for each in made]
        seconds, strengths = [each.seconds for each in made], [each.strength for each in made]
        return State.of([each.point for each in made], cuts, seconds, strengths)


class WithoutPart(JoinOracle):
    """For a penalty of this strength."""

    def __init__(self, problem: Problem, samples: Samples, without: Without, strength: float) -> None:
        super().__init__(problem, samples=samples)
        self._without, self._strength = without, strength

    def asked(self, beta: Array, buckets: int | None, width: float = 0.0) -> Answers:
        return self._without.of(self._without.shared.make(self.loss, beta, width, self._strength))
