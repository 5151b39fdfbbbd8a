"""The verb train: a query in, a model and its proof out."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli import progress, several
from sqlsvm.cli.group import cli, examples, show_either
from sqlsvm.cli.options import (
    declared,
    json_wanted,
    models_database,
    opened,
    option,
    place,
    query_wanted,
    refuse_typed,
    together,
    typed,
)
from sqlsvm.cli.resuming import Keeper, finished, say, state_of, states_of
from sqlsvm.errors import EngineError, OptionError, SqlsvmError, masked, redacted
from sqlsvm.measures import DECIDING
from sqlsvm.options import OPTIONS
from sqlsvm.rules import named
from sqlsvm.terminal import READING, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.run.resume import Continuation, Saved
    from sqlsvm.run.training import Training
    from sqlsvm.solve.solution import Record
    from sqlsvm.store import Store

NOT_CONVERGED = 3

name_wanted = option("--name", metavar="MODEL", default="model", show_default=True, help="The name of the model.")
place_wanted = together(
    name_wanted,
    option("--model-file", metavar="FILE", help="Keep the model in this JSON file, not in the database."),
    option("--resume", is_flag=True, help="Continue a training of that name that was interrupted or did not converge."),
    option("--from", "start", metavar="MODEL", help="Begin at the weights of this stored model: its newest version."),
    option(
        "--select",
        metavar="MEASURE",
        type=click.Choice(DECIDING),
        help="With several values of --lambda or --l1: keep only the model that is the best by this on rows that it "
        "has not seen, of --folds or --holdout.",
    ),
    option("--png", "pictures", metavar="DIR", help="With several values: also draw the models against them, as PNG."),
    option(
        "--one-standard-error",
        "simplest",
        is_flag=True,
        help="With --select and --folds: keep the model with the strongest penalty that is at most one standard error "
        "worse than the best.",
    ),
)


@cli.command(
    short_help="Train a model on the rows of a query, with a proof.",
    epilog=examples(
        "sqlsvm train --query features.sql --label late --name late_flights",
        "sqlsvm train --query features.sql --label late --lambda 1e-3 --class-weight balanced",
        "sqlsvm train --query features.sql --label late --name late_flights --resume",
        "sqlsvm train --query features.sql --label late --name late_flights --from late_flights",
        "sqlsvm train --query features.sql --label late --lambda 1e-1:1e-5:13 --folds 5 --select auc",
        "sqlsvm train --query features.sql --label delay --loss quantile --quantile 0.05,0.5,0.95",
        "sqlsvm train --query features.sql --label late --by carrier --name late_by_carrier",
        "sqlsvm train --offload --query features.sql --label late",
        "sqlsvm train --dsn duckdb: --query features.sql --label late --model-file late.json",
    ),
)
@models_database
@query_wanted
@declared("train")
@place_wanted
@json_wanted
def train(
    dsn: str,
    query: str,
    name: str,
    model_file: str | None,
    resume: bool,
    start: str | None,
    select: str | None,
    simplest: bool,
    pictures: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Train a linear support vector machine on the rows of a query, without computing the join.

    Each pass prints a line to stderr. The gap is a proof: no weights have an objective below (1 - gap) times that of
    the model. If the gap stays above --tol, the model is still stored, and the exit code is 3.

    A training that is interrupted or does not converge is stored next to the models, and --resume continues it. No pass
    is repeated if query, options and rows are the same; --lambda, --tol, --counting and --max-passes may differ.
    Otherwise the new training starts from the best weights so far. A training that has converged is left as it is.
    Several trainings go on together, and values may be added.

    Several values of --lambda, --l1 or --quantile make a model each, called MODEL_VALUE, in one training: it reads the
    sample once, and each pass helps all models of the same loss.
    """
    from sqlsvm.run.ahead import look_ahead

    progress.begin(READING)
    varied = several.varied(options)
    options = named(options, several=varied and varied.flag)
    refuse_typed(
        options,
        several=varied and varied.flag,
        select=select,
        one_standard_error=simplest or None,
        png=pictures,
        model_file=model_file,
        resume=resume or None,
        work_schema=place().get("work_schema"),
        **{"from": start},
    )
    trainings = {value: training_of(**options | given) for value, given in several.each(varied, options)}
    training = next(iter(trainings.values()))
    look_ahead(dsn, query, "sqlsvm.show.training")
    with opened(dsn) as engine:
        store = _store(engine, dsn, model_file)
        if store:
            for kept in [several.name_of(name, value) for value in trainings] if varied and not select else [name]:
                _check(store, kept)
        else:
            click.echo(
                f"note: the model will not be kept: {redacted(dsn)} does not last; --model-file keeps one", err=True
            )
        if training.as_of:
            from sqlsvm.ask.leaks import check_leaks

            check_leaks(engine, query, training)
        keeper = Keeper(store, model_file or engine.url, dsn)
        if varied:
            wanted = several.Select(select, name, simplest) if select else None
            run = several.Several.of(name, varied, trainings, wanted)
            left = states_of(store, list(run.states.values())) if resume else {}
            models = several.train_several(engine, keeper, query, run, left, as_json, pictures)
            return _code(models, training)
        begun = _start(store, start) if start else None
        before = state_of(store, name) if resume else None
        model = finished(engine, store, name, query, training) if resume and store and before is None else None
        if model:
            _answer(model, f"kept in {keeper.place}", as_json)
            return 0
        model = train_and_keep(engine, keeper, name, query, training, before, as_json, begun)
        if store and not as_json:
            _say_next(model, model_file, engine.url)
        return code_of(model)


def train_and_keep(
    engine: "Engine",
    keeper: Keeper,
    name: str,
    query: str,
    training: "Training",
    before: "Saved | None" = None,
    as_json: bool = False,
    start: "Model | None" = None,
) -> "Model":
    """The answer is given even where the model could not be stored."""

    def work(on: "Engine", kept: "Mapping[str, Continuation]") -> "Model":
        (model,) = _trained(on, query, {name: training}, kept, start)
        return model

    def stored(keeper: Keeper, model: "Model") -> "Model":
        try:
            return keeper.saved(model)
        except SqlsvmError:
            _answer(model, "not kept", as_json)
            raise

    with keeper.training(engine, {name: before}, work, stored) as (keeper, model):
        _answer(model, keeper.said, as_json)
        for note in model.notes:
            say(note)
        if not model.converged:
            _warn(model, training)
    return model


def _trained(
    engine: "Engine",
    query: str,
    trainings: "Mapping[str, Training]",
    continuations: "Mapping[str, Continuation]",
    start: "Model | None",
) -> "list[Model]":
    """What measures is imported only where the training asks for it: a small training must be quick."""
    from sqlsvm.run.clock import whole
    from sqlsvm.run.train import train_each

    asked = next(iter(trainings.values()))
    if not (asked.folds or asked.probability or asked.holdout):
        models = train_each(engine, query, trainings, lambda name: on_pass, continuations, start)
        return whole(models, progress.STARTED)
    from sqlsvm.ask.validation import trained

    return whole(trained(engine, query, trainings, lambda name: on_pass, continuations, start), progress.STARTED)


def code_of(*models: "Model") -> int:
    return 0 if all(model.converged for model in models) else NOT_CONVERGED


def on_pass(record: "Record") -> None:
    from sqlsvm.show.training import pass_line

    progress.say(pass_line(record))


def training_of(**options: Any) -> "Training":
    from sqlsvm.run.training import Training

    for name, value in options.items():
        if value is None and (other := OPTIONS[name].descent) is not None:
            options[name] = other if options["solver"] == "descent" else OPTIONS[name].default
    return Training.of(**options)


def _store(engine: "Engine", dsn: str, model_file: str | None) -> "Store | None":
    """None if the database is gone after this command."""
    from sqlsvm.engine import lasting
    from sqlsvm.store import open_store

    if model_file:
        return open_store(model_file)
    return open_store(engine) if lasting(dsn) else None


def _start(store: "Store | None", name: str) -> "Model":
    if store is None:
        raise OptionError(f"there is no model {name} to begin at: this database keeps none")
    model = store.load(name)
    say(f"beginning at the weights of {name}, version {model.version}")
    return model


def _check(store: "Store", name: str) -> None:
    try:
        store.check(name)
    except EngineError as error:
        hint = "--model-file model.json keeps the model in a file"
        hint = f"{hint}; {error.hint}" if error.hint else hint
        raise EngineError(error.message, detail=error.detail, hint=hint) from error


def _answer(model: "Model", place: str, as_json: bool) -> None:
    from sqlsvm.show.training import draw_training

    show_either(as_json, lambda: model.as_json(), lambda: draw_training(model, place, sys.stdout))


def _code(models: "Sequence[Model]", training: "Training") -> int:
    """Several models: each prints its own part."""
    for model in models:
        for note in model.notes:
            say(f"{model.name}: {note}")
        if not model.converged:
            _warn(model, training, f" of {printable(model.name)}")
    return code_of(*models)


def _say_next(model: "Model", model_file: str | None, url: str) -> None:
    """The places are options only where the commands would not find them by themselves."""
    places = {"--dsn": url if typed("dsn") else None, "--model-file": model_file}
    options = [word for option, place in places.items() if place for word in (option, place)]
    named = shlex.join([model.name, *options])
    drawn = "" if model.groups or model.support else f", sqlsvm report {named} draws it"
    click.echo(masked(f"next: sqlsvm evaluate {named} measures it{drawn}"), err=True)


def _warn(model: "Model", training: "Training", which: str = "") -> None:
    click.echo(f"warning: not converged: the gap{which} is {model.gap:.2g} and should be {training.tol:g}", err=True)
    click.echo(f"HINT: {_better(model, training)}", err=True)


def _better(model: "Model", training: "Training") -> str:
    if training.solver == "descent" or (training.solver == "pegasos" and not training.is_kernel):
        return "--solver dane proves more"
    if training.buckets and model.objective_upper - model.objective > model.objective - model.lower_bound:
        return "a larger --buckets, or none, so that each pass has as many as it needs"
    if model.passes < training.max_passes and not model.family:
        return "a larger --tol" if training.scale == "standard" else "--scale standard, or a larger --tol"
    more = "a larger --max-passes or --tol"
    return more if training.scale == "standard" else f"--scale standard, or {more}"
