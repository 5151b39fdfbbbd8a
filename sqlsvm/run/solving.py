"""Solving one problem, or several that differ in the penalty or in the loss: these share the sample, and those with the
same loss share their cuts. A cut bounds the mean loss, so it does not know the penalty."""

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from sqlsvm.run.join_oracle import WHOLE, JoinOracle, Samples
from sqlsvm.run.problem import Problem
from sqlsvm.run.pseudo_oracle import PseudoJoinOracle
from sqlsvm.run.second_moments import read_quadratic
from sqlsvm.solve import bundle, dane, descent, quadratic
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.penalty import L2, Penalty
from sqlsvm.solve.quadratic import Quadratic
from sqlsvm.solve.solution import Going, Solution, State

if TYPE_CHECKING:
    from sqlsvm.run.train import Training


class Solving:
    def __init__(self, problem: Problem, samples: Samples | None = None) -> None:
        self._problem = problem
        self._samples: Samples = {} if samples is None else samples
        self._states: dict[Loss, State] = {}
        """All passes so far."""
        self._known: Quadratic | None = None

    def of(self, loss: Loss) -> Problem:
        """The problem with this loss."""
        return replace(self._problem, plan=replace(self._problem.plan, loss=loss))

    def on(self, problem: Problem) -> "Solving":
        """For the same problem on some of its rows. A sample of all rows is good enough there: it proves nothing. A
        join that was read whole does, so each reads its own."""
        return Solving(problem, {asked: found for asked, found in self._samples.items() if asked[1] != WHOLE})

    def known(self, loss: Loss) -> int:
        """How many passes were made for it so far."""
        return len(self._states.get(loss, ()))

    def solve(
        self, training: "Training", penalty: Penalty, start: Array | None = None, **going: Unpack[Going]
    ) -> Solution:
        """The first pass looks at `start`. Passes that are known do not count against max_passes."""
        loss = training.problem.named_loss
        state = self._states.get(loss) if going.get("state") is None else going.get("state")
        if start is not None:
            state = State.at(start) if state is None else replace(state, start=start)
        effort = training.effort
        effort = replace(effort, max_passes=effort.max_passes + (len(state) if state else 0))
        going["state"] = state
        if training.solver == "descent":
            assert isinstance(penalty, L2)  # a training by descent has no other
            return descent.solve(PseudoJoinOracle(self._problem), penalty, effort, **going)
        if self.of(loss).plan.by_moments and not state:
            alone: Going = {"on_pass": going.get("on_pass")}  # its cuts are rounded in another way than those of passes
            solution = quadratic.solve(self._quadratic(loss), penalty, effort, **alone)
            self._known = replace(self._quadratic(loss), seconds=0.0)  # they are those of the first training
            if solution.converged:
                return solution
            going["state"] = State.at(solution.beta)  # rounding leaves a gap, and passes keep more digits
        chosen = dane.solve if training.solver == "dane" else bundle.solve
        solution = chosen(JoinOracle(self.of(loss), samples=self._samples), penalty, effort, **going)
        self._states[loss] = solution.state
        return solution

    def _quadratic(self, loss: Loss) -> Quadratic:
        if self._known is None:
            self._known = read_quadratic(self.of(loss))
        return self._known
