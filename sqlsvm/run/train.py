"""Training from end to end: open a problem, let a solver make passes, return a model with its certificate."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sqlsvm.compile.moments import needed
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import Model, TrainedOn
from sqlsvm.model.raw import start_of
from sqlsvm.model.several import together
from sqlsvm.options import MACHINES, OPTIONS, Scale
from sqlsvm.plan.constraints import audited
from sqlsvm.plan.scaling import Moments
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts as Known
from sqlsvm.query.rewrites import rewritten
from sqlsvm.rules import Facts, refuse, several_of
from sqlsvm.run.clock import Clock
from sqlsvm.run.data import Data, prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.forecast import Forecast, usual_rate
from sqlsvm.run.holdout import counted_part, prepared_part
from sqlsvm.run.measuring import read_moments
from sqlsvm.run.modelling import database_of, model_of, trained_on
from sqlsvm.run.notes import at_random
from sqlsvm.run.offload import brought, copied
from sqlsvm.run.opening import labelled
from sqlsvm.run.resume import Continuation, digests, moved
from sqlsvm.run.solving import Each
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import GoingTogether, OnPass, Record, Solution, State
from sqlsvm.terminal import NOTE

steps = logging.getLogger(__name__)
NOTHING: Mapping[str, Continuation] = {}
NOTHING_ELSE: Facts = {}

OnFold = Callable[[Data, Mapping[str, list[Array]]], None]
"""It gets the rows of a fold, and the raw weights of each training without them: one vector, or one for each class."""


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
    asked: Facts = NOTHING_ELSE,
) -> list[Model]:
    """A model for each training, by its name. They differ in the penalty or in the parameter of the loss, so they share
    one snapshot, moments, working tables and the sample; those with the same loss share their cuts, and have one
    continuation, if any. `on_passes` says who is told of the passes of a training, as it begins. The first pass looks
    at the weights of `start`. `on_fold` measures weights found without a fold. `asked` is for the rules."""
    facts = facts_of(trainings, asked, on_fold)
    trainings = with_share(engine, text, trainings, clock := Clock())
    training = next(iter(trainings.values()))
    query = query_of(engine, text, training, maps_before(text, trainings, continuations))
    clock.begin("reading")
    if offload := copied(engine, query, training.offload):
        clock.begin("copying")
    with brought(engine, query, offload) as (here, query), reading(here, query, clock) as (work, query):
        if training.problem.by:
            return [groups_model(engine, text, trainings, work, query, continuations, start)]
        problem, left_out = opened(work, query, training)
        refuse({**facts, "classes": problem.plan.design.target.classes}, "label known")
        continuations = NOTHING if training.solver in MACHINES else continuations
        solving, models, laps = Each(problem), dict[str, Model](), dict[str, dict[str, float]]()
        known, found = trained_on(engine, text, problem), dict[str, list[Array]]()
        trainings, told = settled(trainings, solving)
        if training.is_kernel:
            return [kernel_model(engine, next(iter(trainings)), text, training, problem, known, left_out, on_passes)]
        for name, training in in_order(trainings).items():
            problems = solving.of(loss := training.problem.named_loss)
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
            each = zip(problems, penalties, solutions, strict=True)
            parts = [model_of(engine, name, text, training, *one, known, left_out, solving.some) for one in each]
            if len(trainings) > 1:
                parts = [_own(*each) for each in zip(parts, solutions, penalties, strict=True)]
            models[name] = told(_identified(together(parts, known.label_values), keeping, problem), name)
            laps[name] = clock.lap()
        if on_fold and training.folds:
            models = _marked(models, *in_folds(problem, solving, trainings, found, on_fold), training.folds)
            laps[next(iter(trainings))]["folds"] = sum(clock.lap().values())
    return [replace(models[name], phases=laps[name]) for name in trainings]


def settled(
    trainings: Mapping[str, Training], solving: Each
) -> tuple[Mapping[str, Training], Callable[[Model, str], Model]]:
    """The trainings with what is chosen where they are auto, and what then tells their models of it."""
    if not any(training.chooses for training in trainings.values()):
        return trainings, lambda model, name: model
    from sqlsvm.run.choosing import settle

    found = {name: settle(training, solving) for name, training in trainings.items()}
    return {name: each.training for name, each in found.items()}, lambda model, name: found[name].told(model)


def settled_on(engine: Engine, text: str, training: Training) -> Training:
    """The training with what is chosen where it is auto, for those who train elsewhere."""
    if not training.chooses:
        return training
    query = query_of(engine, text, training)
    with reading(engine, query, Clock()) as (work, query):
        found, _ = settled({training.problem.label or "": training}, Each(opened(work, query, training)[0]))
    return next(iter(found.values()))


def facts_of(trainings: Mapping[str, Training], asked: Facts, on_fold: OnFold | None) -> Facts:
    """What is known before the query is read, if the rules let it pass."""
    training = next(iter(trainings.values()))
    facts = {**training.options, "several": several_of({name: t.options for name, t in trainings.items()}), **asked}
    refuse(facts)
    if training.folds and on_fold is None:
        hint = "RelationalSVC and sqlsvm.ask.validation.trained measure folds"
        raise OptionError("--folds trains models to be measured, and nothing here measures them", hint=hint)
    return facts


def in_order(trainings: Mapping[str, Training]) -> dict[str, Training]:
    """Those with the strongest and the weakest penalty first, then the others from strong to weak: the cuts of both
    ends prove much of what is between them."""
    strong = sorted(trainings, key=lambda name: (trainings[name].lam, trainings[name].l1), reverse=True)
    return {name: trainings[name] for name in (*strong[:1], *strong[-1:], *strong)}


def with_share(engine: Engine, text: str, trainings: Mapping[str, Training], clock: Clock) -> Mapping[str, Training]:
    """The same trainings with the share of the rows to hold out that --holdout auto chooses, or with the time from
    which on they are the latest. In a snapshot of its own: what the offload copies depends on it."""
    training = next(iter(trainings.values()))
    if not training.is_open:
        return trainings
    from sqlsvm.run.holdout_size import chosen_share, chosen_start

    is_start, offload = isinstance(training.holdout, float), training.offload
    query = labelled(engine, text, replace(training.problem, map=()), (), offload=offload)
    with (
        nullcontext((engine, query)) if is_start else brought(engine, query, offload) as (here, query),
        reading(here, query, clock) as (work, query),
    ):
        chosen = chosen_start if is_start else chosen_share
        share = chosen(work, query, training.problem, training.holdout)
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
    if training.chooses:
        from sqlsvm.query.rewrites.marks import telling

        query = rewritten(query, Known(engine), telling(training.split_by))
    check_plan(query, training)
    if training.is_random and (said := at_random(query, Known(engine))):
        steps.log(NOTE, "note: %s", said)
    return query


def check_plan(query: FeatureQuery, training: Training) -> None:
    """What the query itself does not go with."""
    optional = query.label_relation if query.label_relation in query.parents else None
    refuse(training.options | {"sums": next(iter(query.sums), None), "optional": optional}, "plan known")


def begins_of(problems: Sequence[Data], training: Training, start: Model | None) -> list[Array | None] | None:
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


def kernel_model(
    engine: Engine,
    name: str,
    text: str,
    training: Training,
    problem: Data,
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

    ((name, training),) = trainings.items()
    check_number(work.engine, query)
    problem, left_out = opened(work, query, replace(training, problem=replace(training.problem, class_weight="none")))
    refuse(training.options | {"classes": problem.plan.design.target.classes}, "label known")
    known = trained_on(engine, text, problem)
    work.clock.begin("groups")
    if keeping := continuations.get(name):
        keeping.begin_groups(problem, objective(database_of(engine, work.engine), text, training))
    model = Grouping(engine, name, text, training, known, keeping, start).model(Groups.of(problem), left_out)
    return _identified(replace(model, phases=work.clock.lap()), keeping, problem)


def _identified(model: Model, keeping: Continuation | None, problem: Data) -> Model:
    """With the digests by which a later training knows that it would find the same."""
    if keeping is None or not model.converged:
        return model
    return replace(model, trained_on=replace(model.trained_on, digests=keeping.identified(problem)))


def changed(engine: Engine, text: str, training: Training, model: Model) -> str | None:
    """Why this training may find another model than the one that it found before; None if the rows are the same."""
    before = model.trained_on.digests
    if not before:
        return "its rows were not identified"
    query = query_of(engine, text, training, model.maps)
    if training.problem.by:
        training = replace(training, problem=replace(training.problem, class_weight="none"))
    with brought(engine, query, training.offload) as (here, query), reading(here, query) as (work, query):
        if database_of(engine, here) != model.engine:
            return f"this is {database_of(engine, here)}, and it was {model.engine}"
        return moved(before, dict(digests(here, opened(work, query, training)[0].query)))


def _looked(rows: int) -> None:
    steps.info("looked at %s join rows", f"{rows:,}")


def in_folds(
    problem: Data,
    solving: Each,
    trainings: Mapping[str, Training],
    found: Mapping[str, list[Array]],
    on_fold: OnFold,
) -> tuple[Counter[str], list[DataError]]:
    """The same trainings without each fold, from what they found on all rows. Returns in how many folds the training of
    each name has not converged, and why folds were left out."""
    from sqlsvm.query.rewrites.split import Folds
    from sqlsvm.run.apart import Made, of_these
    from sqlsvm.run.folding import folded

    training = next(iter(trainings.values()))
    folds = Folds(training.folds or 0, training.effort.seed, training.split_by, training.gap)
    by_class = training.problem.intercept == "free"
    rows = folded(problem, folds, needed(problem.plan, training.problem.scale, by_class=by_class))
    begun: dict[Loss, list[Made]] = {}
    unproven, missed = Counter[str](), list[DataError]()
    for loss in dict.fromkeys(each.problem.named_loss for each in trainings.values()):
        points = [beta for name, each in trainings.items() if each.problem.named_loss == loss for beta in found[name]]
        if state := solving.state(loss):
            begun[loss] = rows.begin(loss, state, points)

    def one(fold: int) -> None:
        weights: dict[str, list[Array]] = {}
        with rows.without(fold) as rest:
            here = solving.on(rest)
            for loss, made in begun.items():
                if made:
                    here.know(loss, of_these(rest, loss, made, rows.rounds[fold].trains))
            for name, training in in_order(trainings).items():
                loss = training.problem.named_loss
                penalties = [training.penalising.of(each) for each in here.of(loss)]
                begins = None if begun.get(loss) or rest.drawn else found[name]
                solutions = here.solve(training, penalties, begins, own=True)
                unproven[name] += not all(solution.converged for solution in solutions)
                weights[name] = [problem.scaling.to_raw(solution.beta) for solution in solutions]
        with rows.within(fold) as part:
            on_fold(part, weights)

    for fold in range(len(rows.rounds)):
        steps.info("training without fold %s of %s", fold + 1, len(rows.rounds))
        try:
            one(fold)
        except DataError as error:  # the models are proven, and the other folds measure them
            missed.append(error)
    return unproven, missed


def _marked(
    models: Mapping[str, Model], unproven: Counter[str], missed: Sequence[DataError], folds: int
) -> dict[str, Model]:
    """With notes, if trainings without a fold have not converged, or folds were left out."""

    def notes(name: str) -> Iterator[str]:
        if unproven[name]:
            said = f"the training without a fold has not converged in {unproven[name]} of {folds} folds"
            yield f"{said}: the measures are of what it had reached; try more --max-passes"
        if missed:
            few = "" if folds - len(missed) > 1 else ", and there are no measures"
            said = f"{len(missed)} of {folds} folds could not be measured{few}"
            yield f"{said}: {missed[0].message}; {missed[0].hint or 'use fewer folds'}"

    return {name: replace(model, notes=(*model.notes, *notes(name))) for name, model in models.items()}


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


def opened(work: Workspace, query: FeatureQuery, training: Training) -> tuple[Data, Moments | None]:
    """The problem to train on, and the sizes of the part that is held out."""
    holdout, left_out = training.held, None
    effort = training.effort if training.solver == "dane" and not training.problem.by else None
    if holdout is None:
        problem = prepared(work, query, training.problem, effort=effort)
    else:
        target = training.problem.target(work.engine, query)
        left_out = counted_part(work, query, training.problem, holdout, "holdout", target)
        problem = prepared_part(work, query, training.problem, holdout, "train", effort, target)
    return descending(problem, training.problem.scale) if training.solver == "descent" else problem, left_out


def descending(problem: Data, scale: Scale) -> Data:
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
