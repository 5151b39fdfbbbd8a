"""Training from end to end: open a problem, let a solver make passes, return a model with its certificate."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from sqlsvm.compile.moments import needed
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.kernel.machine import Machine
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import Model, TrainedOn
from sqlsvm.model.raw import start_of
from sqlsvm.model.several import together
from sqlsvm.options import DEFAULTS, MACHINES, NUMBER_LOSSES, OPTIONS, ProbabilityMethod, Scale, Solver, check
from sqlsvm.plan.constraints import audited, given
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.scaling import Moments
from sqlsvm.query import FeatureQuery
from sqlsvm.run.clock import NOTE, Clock
from sqlsvm.run.forecast import Forecast, usual_rate
from sqlsvm.run.holdout import Holdout, counted_part, marked, prepared_part
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.modelling import database_of, model_of, trained_on
from sqlsvm.run.offload import brought, copied
from sqlsvm.run.opening import labelled
from sqlsvm.run.penalising import Penalising
from sqlsvm.run.problem import Problem, prepared
from sqlsvm.run.resume import Continuation
from sqlsvm.run.solving import Each
from sqlsvm.run.workspace import Workspace, workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss, custom
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Effort, GoingTogether, OnPass, Record, Solution, State

steps = logging.getLogger(__name__)
NOTHING: Mapping[str, Continuation] = {}

OnFold = Callable[[Problem, Mapping[str, list[Array]]], None]
"""It gets the rows of a fold, and the raw weights of each training without them: one vector, or one for each class."""


@dataclass(frozen=True)
class Training:
    """How to train."""

    problem: ProblemOptions
    lam: float = DEFAULTS["lam"]
    l1: float = DEFAULTS["l1"]
    solver: Solver = DEFAULTS["solver"]
    effort: Effort = field(default_factory=Effort)
    holdout: float | str | None = DEFAULTS["holdout"]
    """The share of the rows of the label's relation that is kept out of the training, or how to choose it;
    `effort.seed` selects them."""
    probability: ProbabilityMethod | None = DEFAULTS["probability"]
    folds: int | None = DEFAULTS["folds"]
    """`effort.seed` makes them, too."""
    fold_by: str | None = DEFAULTS["fold_by"]
    offload: bool | None = DEFAULTS["offload"]
    machine: Machine = field(default_factory=Machine)

    def __post_init__(self) -> None:
        check(self)
        self._check_machine()
        if self.solver == "descent" and self.problem.scale == "standard":
            raise OptionError("descent needs features in [-1, 1]", hint="use --scale maxabs")
        if self.solver == "descent" and self.problem.counting == "grid":
            hint = "use --counting sketch, or exact"
            raise OptionError("descent needs counts within a factor, and the grid gives none", hint=hint)
        if self.solver == "descent" and self.problem.loss != DEFAULTS["loss"]:
            raise OptionError(f"descent minimises the hinge, not {self.problem.loss}", hint="use --solver dane")
        if self.solver == "descent" and not self.penalising.is_plain:
            what = "neither --l1 nor --constrain, and penalises the intercept"
            raise OptionError(f"descent has {what}", hint="use --solver dane")
        if self.probability and self.problem.loss in NUMBER_LOSSES:
            raise OptionError("--probability is of two classes", hint=f"--loss {self.problem.loss} is for numbers")
        if self.probability and not (self.holdout or self.folds):
            hint = "add --folds 5, or --holdout 0.2"
            raise OptionError("--probability needs rows that the training has not seen", hint=hint)
        if self.folds and self.holdout:
            raise OptionError("--folds and --holdout both leave out rows to measure the model", hint="give one of them")
        if isinstance(self.holdout, str) and (self.is_kernel or self.problem.loss in NUMBER_LOSSES):
            what = f"kernel {self.machine.kernel or 'machine'}" if self.is_kernel else f"loss {self.problem.loss}"
            raise OptionError(
                f"--holdout {self.holdout} is for accuracies of linear models, not for the {what}",
                hint="say how many rows to keep out: --holdout 0.2",
            )
        if self.folds and any(map.startswith("net:") for map in self.problem.map):
            hint = "measure it with --holdout 0.2: the network then learns without those rows"
            raise OptionError("--folds takes no --map net, which has learned from the labels of all folds", hint=hint)
        if self.fold_by and not self.folds:
            raise OptionError("--fold-by says which rows stay together in --folds", hint="add --folds 5")
        if self.folds and self.solver == "descent":
            raise OptionError("descent takes no --folds: it begins each training at 0", hint="use --solver dane")
        if self.problem.by:
            self._check_groups()
        if self.solver != "descent" and self.problem.counting == "sketch":
            hint = "use --solver descent, or --counting grid"
            raise OptionError("sketched counts prove nothing: they are no cuts", hint=hint)

    def _check_groups(self) -> None:
        """What a model for each group does not go with."""
        if self.solver not in ("dane", "bundle"):
            raise OptionError(f"{self.solver} trains no groups", hint="use --solver dane, or leave out --by")
        if self.folds or self.probability:
            what = "--folds" if self.folds else "--probability"
            hint = "measure the groups with --holdout 0.2, or train one of them alone, with WHERE"
            raise OptionError(f"--by takes no {what}", hint=hint)
        if isinstance(self.holdout, str):
            raise OptionError(f"--by takes no --holdout {self.holdout}", hint="say how many rows: --holdout 0.2")
        if audited(self.problem.constrain):
            hint = "train one group alone, with WHERE"
            raise OptionError("--by takes no fair: constraint, whose covariance is over all rows", hint=hint)

    def _check_machine(self) -> None:
        """What kernel machines and Pegasos are not for."""
        if self.solver not in MACHINES:
            if self.machine != Machine():
                hint = "add --solver kernel, or leave out the options of kernels"
                raise OptionError(f"{self.solver} has no kernel, no gamma and no cache", hint=hint)
            return
        if self.problem.loss != DEFAULTS["loss"]:
            raise OptionError(f"{self.solver} minimises the hinge, not {self.problem.loss}", hint="use --solver dane")
        if self.l1 or self.problem.constrain:
            raise OptionError(f"{self.solver} has neither --l1 nor --constrain", hint="use --solver dane")
        if self.is_kernel and self.problem.map:
            raise OptionError("a kernel takes no --map: it sees the columns as they are", hint="leave out one of them")
        if self.folds or self.probability:
            what = "neither --folds nor --probability: it learns from a sample"
            raise OptionError(f"{self.solver} takes {what}", hint="measure it with --holdout 0.2")
        if self.solver == "pegasos" and self.problem.intercept == "free":
            hint = "use --intercept yes, or --solver kernel"
            raise OptionError("pegasos penalises the intercept, or has none", hint=hint)
        if self.solver == "pegasos" and not self.machine.kernel and self.machine != Machine():
            raise OptionError("pegasos without a kernel makes a linear model", hint="add --kernel rbf")

    @property
    def is_kernel(self) -> bool:
        """Is the model a sum over support vectors?"""
        return self.solver == "kernel" or bool(self.machine.kernel)

    @classmethod
    def of(cls, **options: Any) -> "Training":
        """Each option is a field here, of the effort, or of the problem. Files of constraints and losses are read."""
        options["constrain"] = given(options.get("constrain", ()))
        options["pieces"] = custom.given(options.get("pieces", ()))
        groups = cls, Effort, Machine
        own, effort, machine = ({f.name: options.pop(f.name) for f in fields(k) if f.name in options} for k in groups)
        return cls(ProblemOptions(**options), effort=Effort(**effort), machine=Machine(**machine), **own)

    @property
    def options(self) -> dict[str, Any]:
        """All of them, by name."""
        own = {name: value for name, value in vars(self).items() if name in OPTIONS}
        return vars(self.problem) | vars(self.effort) | vars(self.machine) | own

    @property
    def penalising(self) -> Penalising:
        return Penalising(self.lam, self.l1, self.problem.intercept == "free", self.problem.constrain)

    @property
    def held(self) -> Holdout | None:
        return None if self.holdout is None else Holdout(float(self.holdout), self.effort.seed)


def train(
    engine: Engine,
    name: str,
    text: str,
    training: Training,
    on_pass: OnPass | None = None,
    continuation: Continuation | None = None,
    start: Model | None = None,
    on_fold: OnFold | None = None,
) -> Model:
    """Train on one snapshot of the data. The database is left as it was."""
    continuations = {name: continuation} if continuation else {}
    (model,) = train_each(engine, text, {name: training}, lambda name: on_pass, continuations, start, on_fold)
    return model


def train_each(
    engine: Engine,
    text: str,
    trainings: Mapping[str, Training],
    on_passes: Callable[[str], OnPass | None] = lambda name: None,
    continuations: Mapping[str, Continuation] = NOTHING,
    start: Model | None = None,
    on_fold: OnFold | None = None,
) -> list[Model]:
    """A model for each training, by its name. They differ in the penalty or in the parameter of the loss, so they share
    one snapshot, moments, working tables and the sample; those with the same loss share their cuts. `on_passes` says
    who is told of the passes of a training, as it begins. Trainings that share their cuts have the same continuation,
    if they have one. The first pass looks at the weights of `start`. `on_fold` measures the weights that each training
    finds without a fold."""
    trainings = with_share(engine, text, trainings, clock := Clock())
    training = next(iter(trainings.values()))
    query = query_of(engine, text, training, maps_before(text, trainings, continuations))
    clock.begin("reading")
    if offload := copied(engine, query, training.offload):
        clock.begin("copying")
    with brought(engine, query, offload) as (here, query), workspace(here, clock) as work:
        if training.problem.by:
            return [groups_model(engine, text, trainings, work, query, continuations, start)]
        problem, left_out = opened(work, query, training)
        check_classes(problem, training)
        if training.solver in MACHINES:
            continuations = NOTHING
        solving, models, laps = Each(problem), dict[str, Model](), dict[str, dict[str, float]]()
        facts, found = trained_on(engine, text, problem), dict[str, list[Array]]()
        if training.is_kernel:
            return [kernel_model(engine, next(iter(trainings)), text, training, problem, facts, left_out, on_passes)]
        for name, training in in_order(trainings).items():
            loss = training.problem.named_loss
            problems = solving.of(loss)
            forecast = Forecast(training.effort, usual_rate(training.solver, problem.scaling.dimension))
            going: GoingTogether = {"on_pass": partial(_passed, clock, forecast, on_passes(name))}
            begins = begins_of(problems, training, start)
            penalties = [training.penalising.of(each) for each in problems]
            if keeping := continuations.get(name):
                described = objective(database_of(engine, here), text, training)
                states = None if solving.known(loss) else keeping.begin(problems, described, penalties)
                going |= {"states": states, "on_states": keeping.remember}
                begins = begins if states is None else None
            clock.begin("solving")
            solutions = solving.solve(training, penalties, begins, **going)
            found[name] = [solution.beta for solution in solutions]
            clock.begin("finishing")
            if keeping:
                more = len(found) < len(trainings) or any(each.unfinished for each in continuations.values())
                keeping.ended(solutions, more=(more or bool(training.folds)) and solving.known(loss) > 0)
            asked = zip(problems, penalties, solutions, strict=True)
            parts = [model_of(engine, name, text, training, *each, facts, left_out, solving.some) for each in asked]
            if len(trainings) > 1:
                parts = [_own(*each) for each in zip(parts, solutions, penalties, strict=True)]
            models[name], laps[name] = together(parts, facts.label_values), clock.lap()
        if on_fold and training.folds:
            models = _marked(models, in_folds(problem, solving, trainings, found, on_fold), training.folds)
            laps[next(iter(trainings))]["folds"] = sum(clock.lap().values())
    return [replace(models[name], phases=laps[name]) for name in trainings]


def in_order(trainings: Mapping[str, Training]) -> dict[str, Training]:
    """Those with the strongest and the weakest penalty first, then the others from strong to weak: the cuts of both
    ends prove much of what is between them."""
    strong = sorted(trainings, key=lambda name: (trainings[name].lam, trainings[name].l1), reverse=True)
    return {name: trainings[name] for name in (*strong[:1], *strong[-1:], *strong)}


def with_share(engine: Engine, text: str, trainings: Mapping[str, Training], clock: Clock) -> Mapping[str, Training]:
    """The same trainings with the share of rows to hold out that --holdout auto chooses, in a snapshot of its own: what
    the offload copies depends on it."""
    training = next(iter(trainings.values()))
    if not isinstance(training.holdout, str):
        return trainings
    from sqlsvm.run.holdout_size import chosen_share

    query = labelled(engine, text, training.problem, (), offload=training.offload)
    with brought(engine, query, training.offload) as (here, query), workspace(here, clock) as work:
        share = chosen_share(work, query, training.problem, training.holdout)
    return {name: replace(each, holdout=share) for name, each in trainings.items()}


def maps_before(
    text: str, trainings: Mapping[str, Training], continuations: Mapping[str, Continuation]
) -> tuple[Mapped, ...]:
    """Those of the trainings that are continued."""
    each = (keeping.maps(asked_for(text, trainings[name])) for name, keeping in continuations.items())
    return next(filter(None, each), ())


def query_of(engine: Engine, text: str, training: Training, known: tuple[Mapped, ...] = ()) -> FeatureQuery:
    """With its maps, if they are not known, and with a mark for the rows that are held out."""
    maps, held = known or training.effort.seed, training.held
    query = labelled(engine, text, training.problem, maps, offload=training.offload, held=held)
    if training.solver == "descent":
        check_bounded(query)
    return marked(query, held) if held else query


def begins_of(problems: Sequence[Problem], training: Training, start: Model | None) -> list[Array | None] | None:
    """The weights of a model as the first points; of each class, if it has the same classes. Pegasos has gone its way
    before the first pass."""
    if training.solver == "pegasos":
        from sqlsvm.run.machine import streamed

        return [streamed(problems[0], 2.0 * training.lam, training.effort, _looked)]
    if start is None:
        return None
    parts = start.ungrouped_only("a training begins at one").parts
    if len(parts) != len(problems):
        return [None] * len(problems)
    return [each.scaling.to_scaled(start_of(each.plan, part)) for each, part in zip(problems, parts, strict=True)]


def check_classes(problem: Problem, training: Training) -> None:
    """Refuse what is for two classes, if the label has more."""
    target = problem.plan.design.target
    if training.solver == "descent":
        target.must_be_one("descent trains two", "use --solver dane")
    if training.solver in MACHINES:
        target.must_be_one(f"{training.solver} trains two", "use --solver dane")


def kernel_model(
    engine: Engine,
    name: str,
    text: str,
    training: Training,
    problem: Problem,
    known: TrainedOn,
    left_out: Moments | None,
    on_passes: Callable[[str], OnPass | None],
) -> Model:
    """Its objective has half of the strength before the square of the norm. The weights are 0: they say which columns
    and categories there are."""
    from sqlsvm.run.machine import learned

    effort, intercept = training.effort, training.problem.intercept
    problem.work.clock.begin("solving")
    on_pass = on_passes(name)
    made = learned(problem, training.machine, training.solver, 2.0 * training.lam, intercept, effort, on_pass)
    nothing = np.zeros(problem.scaling.dimension)
    solution = Solution(nothing, made.certificate, made.history, made.converged, State.at(nothing))
    penalty = training.penalising.of(problem)
    model = made.put_into(model_of(engine, name, text, training, problem, penalty, solution, known, left_out))
    return replace(model, phases=problem.work.clock.lap())


def groups_model(
    engine: Engine,
    text: str,
    trainings: Mapping[str, Training],
    work: Workspace,
    query: FeatureQuery,
    continuations: Mapping[str, Continuation],
    start: Model | None,
) -> Model:
    """A model for each group of rows. Class weights are those of each group. A group begins at the weights that `start`
    has for it."""
    from sqlsvm.run.grouping import Grouping
    from sqlsvm.run.groups import Groups, check_number

    if len(trainings) > 1:
        raise OptionError("--by trains a model for each group already", hint="give one value of each option")
    ((name, training),) = trainings.items()
    check_number(work.engine, query)
    problem, left_out = opened(work, query, replace(training, problem=replace(training.problem, class_weight="none")))
    known = trained_on(engine, text, problem)
    work.clock.begin("groups")
    if keeping := continuations.get(name):
        keeping.begin_groups(problem, objective(database_of(engine, work.engine), text, training))
    model = Grouping(engine, name, text, training, known, keeping, start).model(Groups.of(problem), left_out)
    return replace(model, phases=work.clock.lap())


def _looked(rows: int) -> None:
    steps.info("looked at %s join rows", f"{rows:,}")


def in_folds(
    problem: Problem,
    solving: Each,
    trainings: Mapping[str, Training],
    found: Mapping[str, list[Array]],
    on_fold: OnFold,
) -> Counter[str]:
    """The same trainings without each fold, from what they found on all rows. Returns in how many folds the training of
    each name has not converged."""
    from sqlsvm.run.apart import Made, without
    from sqlsvm.run.folding import Folds, folded

    training = next(iter(trainings.values()))
    folds = Folds(training.folds or 0, training.effort.seed, training.fold_by)
    by_class = training.problem.intercept == "free"
    rows = folded(problem, folds, needed(problem.plan, training.problem.scale, by_class=by_class))
    begun: dict[Loss, list[Made]] = {}
    unproven = Counter[str]()
    for loss in dict.fromkeys(each.problem.named_loss for each in trainings.values()):
        points = [beta for name, each in trainings.items() if each.problem.named_loss == loss for beta in found[name]]
        if state := solving.state(loss):
            begun[loss] = rows.begin(loss, state, points)
    for fold in range(folds.number):
        steps.info("training without fold %s of %s", fold + 1, folds.number)
        weights: dict[str, list[Array]] = {}
        with rows.without(fold) as rest:
            here = solving.on(rest)
            for loss, made in begun.items():
                if made:
                    here.know(loss, without(rest, loss, made, fold))
            for name, training in in_order(trainings).items():
                loss = training.problem.named_loss
                penalties = [training.penalising.of(each) for each in here.of(loss)]
                begins = None if begun.get(loss) or rest.drawn else found[name]
                solutions = here.solve(training, penalties, begins)
                unproven[name] += not all(solution.converged for solution in solutions)
                weights[name] = [problem.scaling.to_raw(solution.beta) for solution in solutions]
        with rows.within(fold) as part:
            on_fold(part, weights)
    return unproven


def _marked(models: Mapping[str, Model], unproven: Counter[str], folds: int) -> dict[str, Model]:
    """With a note, if trainings without a fold have not converged."""

    def note(name: str) -> str:
        said = f"the training without a fold has not converged in {unproven[name]} of {folds} folds"
        return f"{said}: the measures are of what it had reached; try more --max-passes"

    return {name: replace(m, notes=(*m.notes, note(name))) if unproven[name] else m for name, m in models.items()}


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


def opened(work: Workspace, query: FeatureQuery, training: Training) -> tuple[Problem, Moments | None]:
    """The problem to train on, and the sizes of the part that is held out."""
    holdout, left_out = training.held, None
    effort = training.effort if training.solver == "dane" and not training.problem.by else None
    if holdout is None:
        problem = prepared(work, query, training.problem, effort=effort)
    else:
        left_out = counted_part(work, query, training.problem, holdout, "holdout")
        problem = prepared_part(work, query, training.problem, holdout, "train", effort)
    return descending(problem, training.problem.scale) if training.solver == "descent" else problem, left_out


def descending(problem: Problem, scale: Scale) -> Problem:
    """The paper's bounds need features in [-1, 1], and counts within a factor, which a grid does not give."""
    plan = problem.plan
    if scale == "none":
        largest = read_moments(problem.work, plan, frozenset({"largest"})).largest
        for c in plan.design.coordinates:
            if largest[c.index] > 1.0:
                raise DataError(
                    f"feature {c.feature} reaches {largest[c.index]:g}, and descent needs features in [-1, 1]",
                    hint="use --scale maxabs",
                )
    return replace(problem, plan=replace(plan, method="sketch") if plan.method == "grid" else plan)


def check_bounded(query: FeatureQuery) -> None:
    """The paper bounds |beta|.|x| from the tables; of a sum only the terms are there."""
    for name in query.sums:
        hint = "use --solver dane, or a column for each relation"
        raise OptionError(f"descent needs features of one relation, and {name} adds up several", hint=hint)


def objective(database: str, text: str, training: Training) -> dict[str, Any]:
    """All but the rows that the cuts of a training depend on."""
    return {"database": database, **asked_for(text, training)}


def asked_for(text: str, training: Training) -> dict[str, Any]:
    """Dane and bundle share their cuts, for any penalty. Descent has steps of its own. Rows in which an audited column
    is NULL may be left out. Maps may depend on the seed."""
    descends = training.solver == "descent"
    shared = {"objective", "steps"} if descends else {"objective"}
    found = {OPTIONS[name].said: value for name, value in training.options.items() if OPTIONS[name].changes in shared}
    seed = training.effort.seed if training.holdout or training.problem.map else None
    solver = "descent" if descends else "dane or bundle"
    columns = audited(training.problem.constrain)
    found |= {"fair to": columns} if columns else {}
    return {"query": text, **found, "seed": seed, "solver": solver}
