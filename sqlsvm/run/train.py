"""Training from end to end: open a problem, let a solver make passes, return a model with its certificate."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from sqlsvm import words
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.errors import OptionError
from sqlsvm.maps.mapped import Mapped
from sqlsvm.model.model import Model
from sqlsvm.options import DEFAULTS, LAMBDA, MACHINES
from sqlsvm.plan.scaling import Moments
from sqlsvm.plan.target import may_be_classes, numbers_in
from sqlsvm.query import FeatureQuery
from sqlsvm.rules import Facts, refuse, several_of
from sqlsvm.run.clock import Clock
from sqlsvm.run.data import Data
from sqlsvm.run.derived import reading
from sqlsvm.run.indicators import Helping
from sqlsvm.run.making import NOTHING, Making, chosen, spread
from sqlsvm.run.modelling import database_of, trained_on
from sqlsvm.run.offload import brought, copied
from sqlsvm.run.opening import labelled, opened, query_of
from sqlsvm.run.problems import OnFold, Problems
from sqlsvm.run.resume import Continuation, asked_for, digests, moved, objective
from sqlsvm.run.training import Training, choice_of, with_choice
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.solution import OnPass
from sqlsvm.terminal import NOTE, READING

steps = logging.getLogger(__name__)
NOTHING_ELSE: Facts = {}


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


OnRows = Callable[[Workspace, FeatureQuery, list[Model]], list[Model]]


def train_each(
    engine: Engine,
    text: str,
    trainings: Mapping[str, Training],
    on_passes: Callable[[str], OnPass | None] = lambda name: None,
    continuations: Mapping[str, Continuation] = NOTHING,
    start: Model | None = None,
    on_fold: OnFold | None = None,
    asked: Facts = NOTHING_ELSE,
    forget: Callable[[], None] = lambda: None,
    on_rows: OnRows | None = None,
) -> list[Model]:
    """A model for each training, by its name. They differ in the penalty or in the parameter of the loss, so they share
    one snapshot, moments, working tables and the sample; those with the same loss share their cuts, and have one
    continuation, if any. `on_passes` says who is told of the passes of a training, as it begins. The first pass looks
    at the weights of `start`. `on_fold` measures weights found without a fold, and `forget` drops what it found in a
    snapshot that is given up. `on_rows` gets the models while all rows are there, with those held out. `asked` is for
    the rules."""
    steps.info(READING)
    facts = facts_of(trainings := choosable(engine, trainings), asked, on_fold)
    trainings = with_start(engine, text, trainings, clock := Clock())

    def made(trainings: Mapping[str, Training], maps: tuple[Mapped, ...] = ()) -> list[Model]:
        for forgets in (forget, *(keeping.forget for keeping in continuations.values())):
            forgets()
        trainings = {name: each.offering for name, each in trainings.items()}
        training, before = next(iter(trainings.values())), maps or maps_before(text, trainings, continuations)
        with choice_of(trainings, StatementError):
            query = query_of(engine, text, training, before)
        clock.begin("reading")
        if offload := copied(engine, query, training.offload):
            clock.begin("copying")
        with brought(engine, query, offload) as (here, query), reading(here, query, clock) as (work, query):
            if training.by:
                from sqlsvm.run.groups import check_number

                check_number(work.engine, query)
            trainings, taken = of_label(work.engine, query, trainings)
            training = next(iter(trainings.values()))
            with work.scratch():
                with choice_of(trainings, StatementError):
                    to_come = len(trainings) * (1 + (training.folds or 0))
                    data, left_out = opened(work, query, training.ungrouped, to_come)
                refuse({**facts, "classes": data.plan.design.target.classes}, "label known")
                kept = NOTHING if training.solver in MACHINES else continuations
                known = trained_on(engine, text, data)
                making = Making(engine, text, trainings, known, kept, start, on_passes, on_fold)
                models = in_groups(making, data, left_out) if training.by else making.models(data, left_out)
            models = on_rows(work, query, models) if on_rows else models
            return [replace(model, notes=(*model.notes, *taken)) for model in models]

    maps, notes = tuple[Mapped, ...](), tuple[str, ...]()
    while True:
        try:
            models = with_choice(trainings, partial(made, maps=maps))
            return [replace(model, notes=(*model.notes, *notes)) for model in models]
        except Helping as better:
            steps.info("beginning again, %s", better.step)
            trainings = {name: better.of(each) for name, each in trainings.items()}
            maps, notes = better.maps, (*notes, better.note)


def of_label(
    engine: Engine, query: FeatureQuery, trainings: Mapping[str, Training]
) -> tuple[Mapping[str, Training], list[str]]:
    """With the loss of numbers, if the label is one and nothing says that it has classes; and what its user may not
    expect."""
    if not all(training.takes_numbers for training in trainings.values()):
        return trainings, []
    if not (values := numbers_in(engine, query)):
        return trainings, []
    said = f"{query.label and query.label.name} has {len(values)} values and is taken as a number"
    notes = [f"{said}; ⟦classes⟧ makes a class of each"] if may_be_classes(values) else []
    return {name: training.of_numbers() for name, training in trainings.items()}, notes


def in_groups(making: Making, data: Data, left_out: Moments | None) -> list[Model]:
    """A model for each group of rows. Class weights are those of each group."""
    from sqlsvm.run.groups import Grouping, Groups

    data.work.clock.begin("groups")
    first = next(iter(making.trainings.values()))
    if first.folds and first.time:
        data = replace(data, split=first.parts.split(data.plan.tree.query, data.work.facts))
    for name, keeping in making.continuations.items():
        here = database_of(making.engine, data.work.engine)
        keeping.begin_groups(data, objective(here, making.text, making.trainings[name]))
    models = [making.identified(model, data) for model in Grouping(making, Groups.of(data)).models(left_out)]
    phases = data.work.clock.lap()
    return [replace(model, phases=phases) for model in models]


def choosable(engine: Engine, trainings: Mapping[str, Training]) -> Mapping[str, Training]:
    """Where lambda cannot be chosen, it has its default if it was not named."""

    def able(training: Training) -> Training:
        copied = training.offload or not engine.abilities.spread
        if copied:
            return training
        return replace(training.with_default("Spark") if training.chooses else training, curves=False)

    found = {name: able(training) for name, training in trainings.items()}
    if why := next(iter(found.values())).unchosen:
        steps.log(NOTE, "note: lambda is %g, its default: none is chosen with %s", DEFAULTS[LAMBDA], words.said(why))
    return found


def settled_on(engine: Engine, text: str, training: Training) -> Training:
    """The training with what is chosen where it is auto, for those who train elsewhere."""
    able = choosable(engine, {"": training.naming_nulls})
    try:
        return with_choice(able, lambda trainings: _settled(engine, text, trainings))
    except Helping as better:
        return settled_on(engine, text, better.of(training))


def _settled(engine: Engine, text: str, trainings: Mapping[str, Training]) -> Training:
    (training,) = trainings.values()
    if not (training.chooses or training.takes_numbers):
        return training
    trainings = {"": (training := training.offering)}
    with choice_of(trainings, StatementError):
        query = query_of(engine, text, training)
        with reading(engine, query, Clock()) as (work, query):
            trainings, _ = of_label(work.engine, query, trainings)
            training = trainings[""]
            if not training.chooses:
                return training
            found, _ = chosen(Problems(opened(work, query, training)[0], trainings))
            return spread(found)


def facts_of(trainings: Mapping[str, Training], asked: Facts, on_fold: OnFold | None) -> Facts:
    """What is known before the query is read, if the rules let it pass."""
    training = next(iter(trainings.values()))
    facts = {**training.options, "several": several_of({name: t.options for name, t in trainings.items()}), **asked}
    if training.fold is not None:  # of a training that was let pass
        return facts
    refuse(facts)
    if training.folds and on_fold is None:
        hint = "RelationalSVC and sqlsvm.ask.validation.trained measure folds"
        raise OptionError("⟦folds⟧ trains models to be measured, and nothing here measures them", hint=hint)
    return facts


def with_start(engine: Engine, text: str, trainings: Mapping[str, Training], clock: Clock) -> Mapping[str, Training]:
    """The trainings with the time from which on rows are held out, in place of their share. In a snapshot of its own:
    what the offload copies depends on it."""
    training = next(iter(trainings.values()))
    if not training.is_open:
        return trainings
    query = labelled(engine, text, replace(training, map=()), (), offload=training.offload)
    with reading(engine, query, clock) as (work, query):
        from sqlsvm.run.folding import chosen_start  # a training that keeps no rows out does not need it

        start = chosen_start(work, query, training.holdout)
    return {name: replace(each, holdout=start) for name, each in trainings.items()}


def maps_before(
    text: str, trainings: Mapping[str, Training], continuations: Mapping[str, Continuation]
) -> tuple[Mapped, ...]:
    """Those of the trainings that are continued."""
    each = (keeping.maps(asked_for(text, trainings[name])) for name, keeping in continuations.items())
    return next(filter(None, each), ())


def changed(engine: Engine, text: str, training: Training, model: Model) -> str | None:
    """Why this training may find another model than the one that it found before; None if the rows are the same."""
    before = model.trained_on.digests
    if not before:
        return "its rows were not identified"
    query = query_of(engine, text, training, model.maps)
    with brought(engine, query, training.offload) as (here, query), reading(here, query) as (work, query):
        if database_of(engine, here) != model.engine:
            return f"this is {database_of(engine, here)}, and it was {model.engine}"
        return moved(before, dict(digests(here, opened(work, query, training.ungrouped)[0].query)))
