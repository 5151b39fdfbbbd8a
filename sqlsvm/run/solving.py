"""Solving one problem, or several that differ in the penalty, in the loss or in the class that is +1: these share the
sample, and those with the same loss and class share their cuts. A cut bounds the mean loss, so it does not know the
penalty."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

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


class Solving:
    def __init__(self, problem: Data, samples: Samples | None = None) -> None:
        self._problem = problem
        self._samples: Samples = {} if samples is None else samples
        self._states: dict[Loss, State] = {}
        self._known: Quadratic | None = None

    @property
    def clock(self) -> Clock:
        return self._problem.work.clock

    def of(self, loss: Loss) -> Data:
        """The problem with this loss."""
        return replace(self._problem, plan=replace(self._problem.plan, loss=loss))

    def state(self, loss: Loss) -> State | None:
        """All passes so far."""
        return self._states.get(loss)

    def know(self, loss: Loss, state: State) -> None:
        """Passes that were made elsewhere."""
        self._states[loss] = state

    def solve(
        self, training: Training, penalty: Penalty, start: Array | None = None, **going: Unpack[Going]
    ) -> Solution:
        """The first pass looks at `start`. Passes that are known do not count against max_passes."""
        loss, effort = training.problem.named_loss, self._begin(training, start, going)
        if training.solver == "descent":
            from sqlsvm.run.pseudo_oracle import PseudoJoinOracle
            from sqlsvm.solve import descent

            assert isinstance(penalty, L2)  # a training by descent has no other
            return descent.solve(PseudoJoinOracle(self._problem), penalty, effort, **going)
        if self.of(loss).plan.by_moments and self._problem.drawn is None and not going["state"]:
            from sqlsvm.solve import quadratic

            alone: Going = {"on_pass": going.get("on_pass")}  # its cuts are rounded in another way than those of passes
            solution = quadratic.solve(self._quadratic(loss), penalty, effort, **alone)
            self._known = replace(self._quadratic(loss), seconds=0.0)  # they are those of the first training
            if solution.converged:
                return solution
            going["state"] = State.at(solution.beta)  # rounding leaves a gap, and passes keep more digits
        run = self._run(training, penalty, effort, going)
        return self.keep(training, run.follow(proposals(training, run)))

    def drawn(self, training: Training) -> Drawn:
        """All rows of the join, if they are in memory, and else the sample that this training takes."""
        if self._problem.drawn is not None:
            return self._problem.drawn
        oracle, effort = (
            self._oracle(training.problem.named_loss, training.penalising.of(self._problem)),
            training.effort,
        )
        size = effort.sample or dane.rows_for(oracle)
        oracle.sample(size, effort.seed)
        return self._samples[size, effort.seed]

    def run(self, training: Training, penalty: Penalty, start: Array | None, **going: Unpack[Going]) -> Run[Oracle]:
        """What `solve` follows, to be followed together with others."""
        effort = self._begin(training, start, going)
        return self._run(training, penalty, effort, going)

    def keep(self, training: Training, solution: Solution) -> Solution:
        """For the trainings to come."""
        self.know(training.problem.named_loss, solution.state)
        return solution

    def _begin(self, training: Training, start: Array | None, going: Going) -> Effort:
        state = going.get("state")
        if state is None:  # one without passes still says where to begin
            state = self._states.get(training.problem.named_loss)
        if start is not None:
            state = State.at(start) if state is None else replace(state, start=start)
        going["state"] = state
        effort = training.effort
        passes = 1 if training.solver == "pegasos" else effort.max_passes  # it is there: one proves how good it is
        return replace(effort, max_passes=passes + (len(state) if state else 0))

    def _run(self, training: Training, penalty: Penalty, effort: Effort, going: Going) -> Run[Oracle]:
        return Run(self._oracle(training.problem.named_loss, penalty), penalty, effort, **going)

    def _oracle(self, loss: Loss, penalty: Penalty) -> Oracle:
        problem = self.of(loss)
        if problem.drawn is None:
            from sqlsvm.run.join_oracle import JoinOracle

            return JoinOracle(problem, samples=self._samples)
        rows = problem.drawn.as_sample(problem.plan.design.target, loss.origin)
        return RowsOracle(rows, loss, penalty, of_rows(problem, len(problem.drawn.codes)))

    def _quadratic(self, loss: Loss) -> "Quadratic":
        if self._known is None:
            from sqlsvm.run.second_moments import read_quadratic

            self._known = read_quadratic(self.of(loss))
        return self._known


def proposals(training: Training, run: Run[Any]) -> Iterator[Proposal]:
    return dane.proposals(run) if training.solver == "dane" else bundle.proposals(run)


class Each:
    """Each class against all others; or the problem itself, if its label has no more than two."""

    def __init__(self, problem: Data, samples: Samples | None = None) -> None:
        self._samples: Samples = {} if samples is None else samples
        self._each = [Solving(part, self._samples) for part in against_others(problem)]

    def of(self, loss: Loss) -> list[Data]:
        return [solving.of(loss) for solving in self._each]

    @property
    def some(self) -> Drawn | None:
        """Rows of the join, if a sample was drawn."""
        return next(iter(self._samples.values()), None)

    @property
    def clock(self) -> Clock:
        return self._each[0].clock

    def drawn(self, training: Training) -> Drawn:
        return self._each[0].drawn(training)

    def on(self, problem: Data) -> "Each":
        """For the same problem on some of its rows. A sample of all rows is good enough there: it proves nothing."""
        return Each(problem, self._samples)

    def state(self, loss: Loss) -> State | None:
        """All passes so far, for the first class; None if there were none."""
        return self._each[0].state(loss)

    def know(self, loss: Loss, state: State) -> None:
        """Passes that were made elsewhere, where there are no more than two classes."""
        self._each[0].know(loss, state)

    def known(self, loss: Loss) -> int:
        """How many there are."""
        return len(self.state(loss) or ())

    def solve(
        self,
        training: Training,
        penalties: Sequence[Penalty],
        starts: Sequence[Array | None] | None = None,
        **going: Unpack[GoingTogether],
    ) -> list[Solution]:
        starts = starts or [None] * len(self._each)
        known, on_pass, on_states = going.get("states"), going.get("on_pass"), going.get("on_states")
        own = going.get("own", False)
        states: list[State | None] = [*known] if known else [None] * len(self._each)
        if len(self._each) == 1:

            def on_state(state: State) -> None:
                if on_states:
                    on_states([state])

            alone: Going = {"on_pass": on_pass, "state": states[0], "on_state": on_state, "own": own}
            return [self._each[0].solve(training, penalties[0], starts[0], **alone)]
        from sqlsvm.run.together import passes_of

        asked = zip(self._each, penalties, starts, states, strict=True)
        runs = [solving.run(training, penalty, start, state=state, own=own) for solving, penalty, start, state in asked]
        going_on = [proposals(training, run) for run in runs]
        follow_together(runs, going_on, passes_of([run.oracle for run in runs]), on_pass, on_states)
        return [s.keep(training, run.solution()) for s, run in zip(self._each, runs, strict=True)]
