"""The steps of a training once its data are open: choose what is auto, solve, measure without each fold, keep what was
found. They are the same on all rows of the join and on those of a group."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor, inf, log, sqrt
from time import perf_counter

import numpy as np

from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model, TrainedOn
from sqlsvm.model.plain import plain
from sqlsvm.model.several import start_of, together
from sqlsvm.options import Solver
from sqlsvm.plan.scaling import Moments
from sqlsvm.run.clock import Clock, Phase
from sqlsvm.run.data import Data
from sqlsvm.run.modelling import database_of, model_of
from sqlsvm.run.problems import OnFold, Problem, Problems, solver
from sqlsvm.run.resume import Continuation, objective
from sqlsvm.run.training import Training, choice_of
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.curvature import DENSE_UP_TO
from sqlsvm.solve.grain import ERROR_SHARE, adjusted
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Effort, GoingTogether, OnPass, Record, Solution, State
from sqlsvm.terminal import NOTE, duration

LONG = 10.0  # fewer seconds are not worth a line
TINY, MOST_FINER = 1e-16, 4.0
SLOWEST = 0.97  # if the gap hardly shrinks, nothing is known but how many passes are allowed


@dataclass(frozen=True)
class Passes:
    """How many passes are left, from `least` to `most`, and the seconds of one."""

    least: int
    most: int
    seconds: float

    @property
    def total(self) -> float:
        return (self.least + self.most) / 2 * self.seconds

    def at_most(self, passes: int) -> "Passes":
        return replace(self, least=min(self.least, passes), most=min(self.most, passes))

    def __str__(self) -> str:
        many = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        return f"{many} pass{'es' * (self.most > 1)} of {duration(self.seconds)}"


def usual_rate(solver: Solver, dimension: int) -> float:
    """What a pass usually leaves of the gap, as measured on many shapes."""
    if solver == "dane":
        return 0.05 if dimension <= DENSE_UP_TO else 0.3
    return 0.7 if solver == "bundle" else SLOWEST


def passes_left(record: Record, tol: float, rate: float) -> Passes:
    """After a pass that was not the last, if the others leave that share of the gap each. An infinite gap proves as
    little as one of 1."""
    needed = log(max(tol, TINY) / min(1.0, record.gap)) / log(rate)
    return Passes(max(1, floor(needed)), max(1, ceil(needed)), record.seconds * _finer(record, tol))


def _finer(record: Record, tol: float) -> float:
    """How much longer later passes take because they count more finely. The error falls with the square of the buckets,
    and the passes up to the finest take, in the mean, as the root of the buckets."""
    if not record.buckets:
        return 1.0
    error, wanted = record.objective_upper - record.objective, ERROR_SHARE * max(tol, TINY) * record.objective_upper
    return min(MOST_FINER, max(1.0, sqrt(adjusted(record.buckets, error, wanted) / record.buckets)))


@dataclass(frozen=True)
class Outlook:
    """What a training would take, by its first pass."""

    least: int
    most: int  # passes, with the first
    before: float  # seconds before the first pass
    seconds: float  # of all


def outlook(first: Record, before: float, tol: float, rate: float) -> Outlook:
    if first.gap <= tol:
        return Outlook(1, 1, before, before + first.seconds)
    left = passes_left(first, tol, rate)
    return Outlook(1 + left.least, 1 + left.most, before, before + first.seconds + left.total)


class Forecast:
    """Says once how long the rest will take, and again if it takes more than twice as long as was said."""

    def __init__(self, effort: Effort, rate: float) -> None:
        self.tol, self.usual = effort.tol, rate
        self._allowed = effort.max_passes
        self._before: Record | None = None
        self._said, self._end = 0.0, -inf

    def after(self, record: Record) -> str | None:
        """What to say after a pass, if anything."""
        before, self._before = self._before, record
        self._allowed -= 1
        if record.gap <= self.tol or not self._allowed:
            return None
        rate = self.usual if before is None else min(SLOWEST, max(self.usual, record.gap / before.gap))
        left = passes_left(record, self.tol, rate).at_most(self._allowed)
        end = perf_counter() + left.total
        if left.total < LONG or end < self._end + self._said:
            return None
        self._said, self._end = left.total, end
        return f"about {duration(left.total)} to go: {left}"


steps = logging.getLogger(__name__)
NOTHING: Mapping[str, Continuation] = {}

Told = Callable[[Model, str, Sequence[Array]], Model]


@dataclass(frozen=True)
class Making:
    """What is asked for, whichever rows it is trained on."""

    engine: Engine
    text: str
    trainings: Mapping[str, Training]
    known: TrainedOn
    continuations: Mapping[str, Continuation]
    start: Model | None  # where the first pass looks; of groups, that of the same group
    on_passes: Callable[[str], OnPass | None]
    on_fold: OnFold | None

    def models(self, data: Data, left_out: Moments | None = None) -> list[Model]:
        """One for each training."""
        problems, told = chosen(Problems(data, self.trainings))
        if next(iter(problems.trainings.values())).is_kernel:
            return [self._machine(problems, left_out)]
        found, models = dict[str, list[Array]](), dict[str, Model]()
        for name in problems.order:
            solutions = self._solved(problems, name, last=len(found) == len(self.trainings) - 1)
            found[name] = [solution.beta for solution in solutions]
            model = told(self._model(problems, name, solutions, left_out), name, found[name])
            models[name] = model if data.in_group else replace(model, phases=problems.clock.lap())
        if self.on_fold and next(iter(problems.trainings.values())).shares_folds:
            from sqlsvm.run.folding import in_folds

            models = in_folds(problems, found, self.on_fold).told(models)
            if not data.in_group:
                first, spent = models[next(iter(self.trainings))], sum(problems.clock.lap().values())
                models[first.name] = replace(first, phases={**first.phases, "folds": spent})
        return [models[name] for name in self.trainings]

    def _solved(self, problems: Problems, name: str, *, last: bool) -> list[Solution]:
        training, data, keeping = problems.trainings[name], problems.data, self.continuations.get(name)
        each, going = problems.each(training), self._told_of_passes(problems.clock, training, data, name)
        begins = None if problems.state(training.named_loss) else self._begins(each, training)
        if keeping:
            states = None if problems.state(training.named_loss) else self._states(keeping, each, training)
            going |= {"states": states, "on_states": partial(keeping.remember, group=plain(data.key.group))}
            begins = begins if states is None else None
        _begin(data, "solving")
        solutions = problems.solve(training, begins, **going)
        _begin(data, "finishing")
        if keeping:
            more = not last or any(other.unfinished for other in self.continuations.values()) or training.shares_folds
            more = more and bool(problems.state(training.named_loss))
            keeping.ended(solutions, more=more or data.in_group, group=data.key.group)
        return solutions

    def _told_of_passes(self, clock: Clock, training: Training, data: Data, name: str) -> GoingTogether:
        if data.in_group:
            return {}
        forecast = Forecast(training, usual_rate(training.solver, data.scaling.dimension))
        return {"on_pass": partial(_passed, clock, forecast, self.on_passes(name))}

    def _states(self, keeping: Continuation, each: Sequence[Problem], training: Training) -> list[State] | None:
        """Of the training that goes on."""
        datas, penalties = [problem.data for problem in each], [problem.penalty for problem in each]
        if datas[0].in_group:
            chose = "loss" in next(iter(self.trainings.values())).chooses
            return keeping.group(datas[0].key.group, datas, penalties, training.loss if chose else "")
        here = database_of(self.engine, datas[0].work.engine)
        return keeping.begin(datas, objective(here, self.text, training), penalties)

    def _begins(self, each: Sequence[Problem], training: Training) -> list[Array | None] | None:
        """The weights of a model as the first points; of each class, if it has the same classes. A solver may have gone
        its way before the first pass."""
        data = each[0].data
        if start := solver(training.solver).start:
            return [start(data, training, _looked)]
        if self.start is None:
            return None
        parts = _parts(self.start, data.key.group)
        if len(parts) != len(each):
            return [None] * len(each)
        datas = zip((problem.data for problem in each), parts, strict=True)
        return [data.scaling.to_scaled(start_of(data.plan, part)) for data, part in datas]

    def _model(self, problems: Problems, name: str, solutions: Sequence[Solution], left_out: Moments | None) -> Model:
        training = problems.trainings[name]
        each = zip(problems.each(training), solutions, strict=True)
        asked = self.engine, name, self.text, training, self.known
        threshold = problems.threshold(training, solutions[0].beta)
        parts = [model_of(*asked, *one, left_out, problems.some, threshold) for one in each]
        if len(self.trainings) > 1:
            found = zip(parts, solutions, problems.each(training), strict=True)
            parts = [_own(part, solution, problem.penalty) for part, solution, problem in found]
        model = together(parts, self.known.label_values)
        return model if problems.data.in_group else self.identified(model, problems.data)

    def identified(self, model: Model, data: Data) -> Model:
        """With the digests by which a later training knows that it would find the same."""
        keeping = self.continuations.get(model.name)
        if keeping is None or not model.converged:
            return model
        return replace(model, trained_on=replace(model.trained_on, digests=keeping.identified(data)))

    def _machine(self, problems: Problems, left_out: Moments | None) -> Model:
        """The weights are 0: they say which columns and categories there are."""
        ((name, training),) = problems.trainings.items()
        (problem,) = problems.each(training)
        data = problems.data
        problems.clock.begin("solving")
        learn = solver(training.solver).learn
        assert learn
        made = learn(data, training, self.on_passes(name))
        nothing = np.zeros(data.scaling.dimension)
        solution = Solution(nothing, made.certificate, tuple(made.history), made.converged, State.at(nothing))
        model = model_of(self.engine, name, self.text, training, self.known, problem, solution, left_out)
        return replace(made.put_into(model), phases=problems.clock.lap())


def chosen(problems: Problems) -> tuple[Problems, Told]:
    """With what is chosen where a training is auto, and what then tells its model of it."""
    if not any(training.reads_parts for training in problems.trainings.values()):
        return problems, lambda model, name, found: model
    from sqlsvm.run.choosing import settle

    with choice_of(problems.trainings, Exception):
        found = {name: settle(training, problems) for name, training in problems.trainings.items()}
    if better := next(filter(None, (each.helping for each in found.values())), None):
        raise better
    settled = problems.with_trainings({name: each.training for name, each in found.items()})
    return settled, lambda model, name, betas: found[name].told(model, [settled.place(beta) for beta in betas])


def spread(problems: Problems) -> Training:
    """The training, with the deviation of its scores on the sample if that says where classes meet."""
    (training,) = problems.trainings.values()
    if training.cut is None:
        return training
    from sqlsvm.run.choosing import fitted

    return replace(training, spread=problems.place(fitted(training, problems)).width)


def _begin(data: Data, phase: Phase) -> None:
    """Groups are one phase."""
    if not data.in_group:
        data.work.clock.begin(phase)


def _parts(start: Model, group: object) -> tuple[Model, ...]:
    """Of a model with groups that of the same group. Any other is where each group begins."""
    if group is None:
        return start.ungrouped_only("a training begins at one").parts
    if start.groups:
        each = zip(start.groups, start.parts, strict=True)
        return tuple(one for of, part in each if plain(of.value) == plain(group) for one in part.parts)
    return start.parts


def _own(model: Model, solution: Solution, penalty: Penalty) -> Model:
    """The same without the passes that were made for other models."""
    passes = zip(model.history, solution.state.strengths.tolist(), strict=True)
    history = tuple(record for record, strength in passes if strength == penalty.strength)
    return replace(model, history=history, passes=len(history), seconds=sum(record["seconds"] for record in history))


def _passed(clock: Clock, forecast: Forecast, on_pass: OnPass | None, record: Record) -> None:
    if on_pass:
        on_pass(record)
    if said := forecast.after(record):
        steps.log(NOTE, said)
    clock.begin("between_passes")


def _looked(rows: int) -> None:
    steps.info("looked at %s join rows", f"{rows:,}")
