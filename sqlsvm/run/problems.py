"""A set of problems on the same rows: for each training, and for each class of the label against all others.

The trainings differ in the penalty or in the loss. All problems share the sample, and those with the same loss and
class share their cuts: a cut bounds the mean loss, so it does not know the penalty.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Unpack

from sqlsvm.model.model import Model
from sqlsvm.options import Solver as Name
from sqlsvm.run.clock import Clock
from sqlsvm.run.data import Data, Key, against_others
from sqlsvm.run.in_memory import Drawn, Samples
from sqlsvm.run.rounding import of_rows
from sqlsvm.run.training import Training
from sqlsvm.solve import bundle, dane
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.between import between
from sqlsvm.solve.choosing import Place
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Oracle
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.rows_oracle import RowsOracle
from sqlsvm.solve.run import Passes, Proposal, Run, follow_together, passed
from sqlsvm.solve.solution import Effort, Going, GoingTogether, OnPass, Record, Solution, State

if TYPE_CHECKING:
    from sqlsvm.solve.quadratic import Quadratic


LAB = "sqlsvm.lab.run.solvers"


class Machine(Protocol):
    """What was learned of a sample, and what is proven about it there."""

    @property
    def certificate(self) -> Certificate: ...
    @property
    def history(self) -> Sequence[Record]: ...
    @property
    def converged(self) -> bool: ...
    def put_into(self, model: Model) -> Model: ...


@dataclass(frozen=True)
class Solver:
    proposals: Callable[[Run[Any]], Iterator[Proposal]] | None = None
    """Where it wants passes, whose cuts prove what it finds."""
    start: Callable[[Data, Training, Callable[[int], None]], Array] | None = None
    """Where it is without any: one pass then proves how good that is. It says how many rows it has looked at."""
    solve: Callable[[Data, Penalty, Effort, Going], Solution] | None = None  # it goes its own way
    learn: Callable[[Data, Training, OnPass | None], Machine] | None = None  # with a kernel


SOLVERS: dict[Name, Solver] = {"dane": Solver(dane.proposals), "bundle": Solver(bundle.proposals)}


def solver(name: Name) -> Solver:
    if name not in SOLVERS:
        import_module(LAB)
    return SOLVERS[name]


NONE: Mapping[str, Training] = {}

GAP, MOST_GAP = 3.0, 1e-2
"""With 7 penalties on the shop of the demo, no measure of a fold then moves by more than 0.2 of its standard error."""


class Weighed(NamedTuple):
    """What a training has found: it is measured on other rows."""

    thetas: Sequence[Array]  # raw weights: one vector, or one for each class
    training: Training  # in which nothing is auto any more
    threshold: float = 0.0  # of the scores. The loss of the training knows none.


OnFold = Callable[[Data, Mapping[str, Weighed]], None]
"""It gets the rows of a fold, and what each training has found without them."""


@dataclass(frozen=True)
class Problem:
    """A vector of weights that is looked for."""

    data: Data  # its plan says which class is +1, and what the loss is
    penalty: Penalty

    @property
    def key(self) -> Key:
        plan = self.data.plan
        return self.data.key._replace(code=plan.design.target.chosen, loss=plan.loss)


class Problems:
    def __init__(self, data: Data, trainings: Mapping[str, Training] = NONE) -> None:
        self.data, self.trainings = data, trainings
        self._samples: Samples = {}
        self._classes = against_others(data)
        self._states: dict[Key, State] = {}
        self._seen: dict[Key, int] = {}
        """How many of the first passes were made at points that have seen rows which are left out here."""
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
        return [Problem(data, training.penalising.of(data)) for data in self.of(training.named_loss)]

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
        oracle, effort = self._oracle(self.each(training)[0]), training
        size = effort.sample or dane.rows_for(oracle)
        oracle.sample(size, effort.seed)
        return self._samples[size, effort.seed]

    def state(self, loss: Loss) -> State | None:
        """All passes so far, for the first class; None if there were none."""
        return self._states.get(self._key(loss))

    def know(self, loss: Loss, state: State) -> None:
        """Passes that were made elsewhere, where there are no more than two classes."""
        key = self._key(loss)
        self._states[key], self._seen[key] = state, len(state)

    def _key(self, loss: Loss) -> Key:
        """Of the first class."""
        return self.data.key._replace(code=self._classes[0].plan.design.target.chosen, loss=loss)

    def place(self, beta: Array) -> Place:
        """That of the scores of weights. The mean is that of all rows, if the rows of each category were counted."""
        data, drawn = self.data, self.data.drawn or self.some
        if drawn is None:
            drawn = self.drawn(next(iter(self.trainings.values())))
        mean = float(data.scaling.from_raw(data.moments.total / data.moments.n) @ beta)
        return Place.of(drawn.rows.scores(beta), drawn.weights, mean if isfinite(mean) else None)

    def threshold(self, training: Training, beta: Array) -> float:
        """The score from which on a row is of the positive class."""
        return 0.0 if training.cut is None else self.place(beta).score(training.cut)

    # -- solving -------------------------------------------------------------------------------------------------------

    def solve(
        self, training: Training, starts: Sequence[Array | None] | None = None, **going: Unpack[GoingTogether]
    ) -> list[Solution]:
        """A solution for each class. The first pass looks at the start. Passes that are known do not count against
        max_passes."""
        problems, on_pass, on_states = self.each(training), going.get("on_pass"), going.get("on_states")
        nothing: list[None] = [None] * len(problems)
        given = zip(problems, starts or nothing, going.get("states") or nothing, strict=True)
        states = [self._state(*each) for each in given]
        if own := solver(training.solver).solve:
            told: Going = {"on_pass": on_pass, "state": states[0], "on_state": on_states and (lambda s: on_states([s]))}
            return [own(self.data, problems[0].penalty, self._effort(training, states[0]), told)]
        if len(problems) == 1 and self.data.plan.by_moments and self.data.drawn is None and not states[0]:
            solution = self._by_moments(training, problems[0], on_pass)
            if solution.converged:
                return [solution]
            states = [State.at(solution.beta)]  # rounding leaves a gap, and passes keep more digits
        runs = [self._run(training, *each) for each in zip(problems, states, strict=True)]
        known = {problem.key for problem, run in zip(problems, runs, strict=True) if self._is_known(problem, run)}
        follow_together(runs, [proposals(training, run) for run in runs], _passes(runs), on_pass, on_states)
        solutions = [run.solution() for run in runs]
        each = zip(problems, solutions, strict=True)
        self._states |= {problem.key: found.state for problem, found in each if problem.key not in known}
        return solutions

    def _is_known(self, problem: Problem, run: Run[Oracle]) -> bool:
        """Do the passes that were made for other trainings in this fold prove enough for a point between them? Then the
        run is at that point."""
        if not self._counts_in_fold:
            return False
        if found := between(run):
            run.observe(found)
        return found is not None

    def _state(self, problem: Problem, start: Array | None, state: State | None) -> State | None:
        if state is None:  # one without passes still says where to begin
            state = self._states.get(problem.key)
        if start is None:
            return state
        return State.at(start) if state is None else replace(state, start=start)

    def _effort(self, training: Training, state: State | None = None) -> Effort:
        effort = training.effort
        passes = 1 if solver(training.solver).start else effort.max_passes
        rows = effort.sample or (dane.sample_size(self.data.scaling.dimension) if self._counts_in_fold else None)
        made = passes + (len(state) if state else 0)
        return replace(effort, tol=max(effort.tol, self._enough), max_passes=made, sample=rows)

    @property
    def _counts_in_fold(self) -> bool:
        """Rows in memory cost no pass."""
        return self.data.key.fold is not None and self.data.drawn is None

    @property
    def _enough(self) -> float:
        """A gap below this tells nothing. What a fold measures is off by about one over the root of the rows of the
        label's relation."""
        if not self._counts_in_fold:
            return 0.0
        rows = self.data.catalog.rows(self.data.query.label_relation)
        return min(MOST_GAP, GAP / sqrt(max(1.0, rows)))

    def _run(self, training: Training, problem: Problem, state: State | None) -> Run[Oracle]:
        """The passes that folds share have seen the rows of the fold, so a training there has a point of its own."""
        effort, own = self._effort(training, state), self.data.key.fold is not None
        seen = self._seen.get(problem.key, 0)
        return Run(self._oracle(problem), problem.penalty, effort, state=state, own=own, seen=seen)

    def _by_moments(self, training: Training, problem: Problem, on_pass: OnPass | None) -> Solution:
        """Its cuts are rounded in another way than those of passes, so they are not kept."""
        from sqlsvm.run.join_oracle import read_quadratic
        from sqlsvm.solve import quadratic

        known = self._moments or read_quadratic(problem.data)
        self._moments = replace(known, seconds=0.0)  # they are those of the first training
        return quadratic.solve(known, problem.penalty, self._effort(training), on_pass=on_pass)

    def _oracle(self, problem: Problem) -> Oracle:
        data = problem.data
        if data.drawn is None:
            from sqlsvm.run.join_oracle import JoinOracle

            return JoinOracle(data, samples=self._samples)
        loss = data.plan.loss
        rows = data.drawn.as_sample(data.plan.design.target, loss.origin)
        return RowsOracle(rows, loss, problem.penalty, of_rows(data, len(data.drawn.codes)))


def _passes(runs: Sequence[Run[Oracle]]) -> Passes:
    """How these runs make their passes: those of several classes may share a scan."""
    oracles = [run.oracle for run in runs]
    if len(oracles) == 1 or isinstance(oracles[0], RowsOracle):
        return lambda asked: {n: passed(oracles[n], proposal) for n, proposal in asked.items()}
    from sqlsvm.run.join_oracle import JoinOracle, OfClasses

    return OfClasses([oracle for oracle in oracles if isinstance(oracle, JoinOracle)])


def proposals(training: Training, run: Run[Any]) -> Iterator[Proposal]:
    found = solver(training.solver).proposals
    assert found
    return found(run)
