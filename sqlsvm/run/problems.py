"""A set of problems on the same rows: for each training, and for each class of the label against all others.

The trainings differ in the penalty or in the loss. All problems share the sample, and those with the same loss and
class share their cuts: a cut bounds the mean loss, so it does not know the penalty.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from sqlsvm.run.classes import against_others
from sqlsvm.run.clock import Clock
from sqlsvm.run.data import Data
from sqlsvm.run.drawn import Drawn, Samples
from sqlsvm.run.rounding import of_rows
from sqlsvm.run.training import Training
from sqlsvm.solve import bundle, dane
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.penalty import L2, Penalty
from sqlsvm.solve.rows_oracle import RowsOracle
from sqlsvm.solve.run import Proposal, Run, follow_together
from sqlsvm.solve.solution import Effort, Going, GoingTogether, Solution, State

if TYPE_CHECKING:
    from sqlsvm.solve.quadratic import Quadratic

NONE: Mapping[str, Training] = {}

OnFold = Callable[[Data, Mapping[str, list[Array]]], None]
"""It gets the rows of a fold, and the raw weights of each training without them: one vector, or one for each class."""


class Key(NamedTuple):
    """Problems with the same one share their cuts."""

    code: int
    """Of the class that is +1; 0 if there are no more than two."""
    loss: Loss


@dataclass(frozen=True)
class Problem:
    """A vector of weights that is looked for."""

    data: Data
    """Its plan says which class is +1, and what the loss is."""
    penalty: Penalty

    @property
    def key(self) -> Key:
        plan = self.data.plan
        return Key(plan.design.target.chosen, plan.loss)


class Problems:
    def __init__(self, data: Data, trainings: Mapping[str, Training] = NONE) -> None:
        self.data, self.trainings = data, trainings
        self._samples: Samples = {}
        self._classes = against_others(data)
        self._states: dict[Key, State] = {}
        self._moments: Quadratic | None = None

    def with_trainings(self, trainings: Mapping[str, Training]) -> "Problems":
        """Others on the same rows."""
        found = copy(self)
        found.trainings = trainings
        return found

    def on(self, data: Data) -> "Problems":
        """Those on some of the rows, with a sample of their own: what is measured elsewhere must not have been seen."""
        return Problems(data, self.trainings)

    @property
    def order(self) -> dict[str, Training]:
        """Those with the strongest and the weakest penalty first, then the others from strong to weak: the cuts of both
        ends prove much of what is between them."""
        each = self.trainings
        strong = sorted(each, key=lambda name: each[name].penalising.strengths, reverse=True)
        return {name: each[name] for name in (*strong[:1], *strong[-1:], *strong)}

    def of(self, loss: Loss) -> list[Data]:
        """The data of each class, with this loss."""
        return [replace(each, plan=replace(each.plan, loss=loss)) for each in self._classes]

    def each(self, training: Training) -> list[Problem]:
        """Those of a training: one for each class, or one."""
        return [Problem(data, training.penalising.of(data)) for data in self.of(training.problem.named_loss)]

    @property
    def clock(self) -> Clock:
        return self.data.work.clock

    # -- what they share -----------------------------------------------------------------------------------------------

    @property
    def some(self) -> Drawn | None:
        """Rows of the join, if a sample was drawn."""
        return next(iter(self._samples.values()), None)

    def drawn(self, training: Training) -> Drawn:
        """All rows of the join, if they are in memory, and else the sample that this training takes."""
        if self.data.drawn is not None:
            return self.data.drawn
        oracle, effort = self._oracle(self.each(training)[0]), training.effort
        size = effort.sample or dane.rows_for(oracle)
        oracle.sample(size, effort.seed)
        return self._samples[size, effort.seed]

    def state(self, loss: Loss) -> State | None:
        """All passes so far, for the first class; None if there were none."""
        return self._states.get(Key(self._classes[0].plan.design.target.chosen, loss))

    def know(self, loss: Loss, state: State) -> None:
        """Passes that were made elsewhere, where there are no more than two classes."""
        self._states[Key(0, loss)] = state

    # -- solving -------------------------------------------------------------------------------------------------------

    def solve(
        self, training: Training, starts: Sequence[Array | None] | None = None, **going: Unpack[GoingTogether]
    ) -> list[Solution]:
        """A solution for each class. The first pass looks at the start. Passes that are known do not count against
        max_passes."""
        problems = self.each(training)
        nothing: list[None] = [None] * len(problems)
        given = zip(problems, starts or nothing, going.get("states") or nothing, strict=True)
        states = [self._state(*each) for each in given]
        on_pass, on_states, own = going.get("on_pass"), going.get("on_states"), going.get("own", False)
        if len(problems) > 1:
            from sqlsvm.run.together import passes_of

            asked = zip(problems, states, strict=True)
            runs = [self._run(training, problem, {"state": state, "own": own}) for problem, state in asked]
            going_on = [proposals(training, run) for run in runs]
            follow_together(runs, going_on, passes_of([run.oracle for run in runs]), on_pass, on_states)
            return [self._keep(*each) for each in zip(problems, (run.solution() for run in runs), strict=True)]

        def on_state(state: State) -> None:
            if on_states:
                on_states([state])

        return [self._alone(training, problems[0], {"on_pass": on_pass, "on_state": on_state, "own": own}, states[0])]

    def _alone(self, training: Training, problem: Problem, going: Going, state: State | None) -> Solution:
        effort = _effort(training, state)
        if training.solver == "descent":
            from sqlsvm.lab.run.pseudo_oracle import PseudoJoinOracle
            from sqlsvm.lab.solve import descent

            assert isinstance(problem.penalty, L2)  # a training by descent has no other
            going["state"] = state
            return descent.solve(PseudoJoinOracle(self.data), problem.penalty, effort, **going)
        if problem.data.plan.by_moments and self.data.drawn is None and not state:
            solution = self._by_moments(problem, effort, going)
            if solution.converged:
                return solution
            state = State.at(solution.beta)  # rounding leaves a gap, and passes keep more digits
        run = self._run(training, problem, {"state": state, **going})
        return self._keep(problem, run.follow(proposals(training, run)))

    def _by_moments(self, problem: Problem, effort: Effort, going: Going) -> Solution:
        """Its cuts are rounded in another way than those of passes, so they are not kept."""
        from sqlsvm.run.second_moments import read_quadratic
        from sqlsvm.solve import quadratic

        known = self._moments or read_quadratic(problem.data)
        self._moments = replace(known, seconds=0.0)  # they are those of the first training
        return quadratic.solve(known, problem.penalty, effort, on_pass=going.get("on_pass"))

    def _state(self, problem: Problem, start: Array | None, state: State | None) -> State | None:
        if state is None:  # one without passes still says where to begin
            state = self._states.get(problem.key)
        if start is None:
            return state
        return State.at(start) if state is None else replace(state, start=start)

    def _run(self, training: Training, problem: Problem, going: Going) -> Run[Oracle]:
        return Run(self._oracle(problem), problem.penalty, _effort(training, going["state"]), **going)

    def _keep(self, problem: Problem, solution: Solution) -> Solution:
        """For the trainings to come."""
        self._states[problem.key] = solution.state
        return solution

    def _oracle(self, problem: Problem) -> Oracle:
        data = problem.data
        if data.drawn is None:
            from sqlsvm.run.join_oracle import JoinOracle

            return JoinOracle(data, samples=self._samples)
        loss = data.plan.loss
        rows = data.drawn.as_sample(data.plan.design.target, loss.origin)
        return RowsOracle(rows, loss, problem.penalty, of_rows(data, len(data.drawn.codes)))


def _effort(training: Training, state: State | None) -> Effort:
    effort = training.effort
    passes = 1 if training.solver == "pegasos" else effort.max_passes  # it is there: one proves how good it is
    return replace(effort, max_passes=passes + (len(state) if state else 0))


def proposals(training: Training, run: Run[Any]) -> Iterator[Proposal]:
    return dane.proposals(run) if training.solver == "dane" else bundle.proposals(run)
