"""The verb train: a query in, a model and its proof out; or several, one for each value of an option."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli import progress
from sqlsvm.cli.group import cli, examples, show_either, writing
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
from sqlsvm.cli.resuming import Keeper, finished, nothing_kept, say, state_of
from sqlsvm.errors import EngineError, OptionError, SqlsvmError, masked, redacted
from sqlsvm.measures import DECIDING
from sqlsvm.options import OPTIONS, Option
from sqlsvm.rules import named
from sqlsvm.terminal import READING, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlsvm.ask.scored import Measures
    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.run.resume import Continuation, Saved
    from sqlsvm.run.training import Training
    from sqlsvm.show.several import Trained
    from sqlsvm.solve.solution import OnPass
    from sqlsvm.store import Store

NOT_CONVERGED = 3


@dataclass(frozen=True)
class Select:
    """Which of several models is kept, and under what name."""

    by: str
    name: str
    simplest: bool = False  # the one with the strongest penalty within one standard error of the best


@dataclass(frozen=True)
class Wanted:
    """Trainings of a query that differ in at most one option, by the names of their models."""

    query: str
    trainings: "Mapping[str, Training]"
    option: Option | None = None  # in which they differ
    states: Mapping[str, str] = field(default_factory=dict)
    """Where passes are kept under another name: they are of one loss, and each quantile is another."""
    select: Select | None = None
    start: "Model | None" = None
    pictures: str | None = None

    @property
    def first(self) -> "Training":
        return next(iter(self.trainings.values()))

    @property
    def stored(self) -> list[str]:
        """The names of the models that are stored."""
        return [self.select.name] if self.select else [*self.trainings]

    def kept_as(self, name: str) -> str:
        return self.states.get(name, name)

    def value(self, name: str) -> float:
        return float(self.trainings[name].options[self.option.name]) if self.option else 0.0


def option_of(options: Mapping[str, Any]) -> Option | None:
    """The option that has several values."""
    found = [OPTIONS[name] for name, value in options.items() if isinstance(value, tuple) and OPTIONS[name].several]
    if len(found) > 1:
        raise click.UsageError(f"{found[0].flag} and {found[1].flag} both have several values: give one of them one.")
    return found[0] if found else None


def each(option: Option | None, options: Mapping[str, Any], name: str) -> "dict[str, Training]":
    """A training for each value of it, under the name of its model; without such an option one. Quantiles are in their
    order."""
    if option is None:
        return {name: training_of(**options)}
    values = options[option.name]
    values = sorted(values) if option.name == "quantile" else values
    return {f"{name}_{value:.12g}": training_of(**{**options, option.name: value}) for value in values}


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
    varied = option_of(options)
    options = named(options, several=varied and f"⟦{varied.name}⟧")
    refuse_typed(
        options,
        several=varied and f"⟦{varied.name}⟧",
        select=select,
        one_standard_error=simplest or None,
        png=pictures,
        model_file=model_file,
        resume=resume or None,
        work_schema=place().get("work_schema"),
        **{"from": start},
    )
    trainings = each(varied, options, name)
    states = {} if varied is None or varied.name == "quantile" else dict.fromkeys(trainings, name)
    chosen = Select(select, name, simplest) if select else None
    wanted = Wanted(query, trainings, varied, states, chosen, pictures=pictures)
    look_ahead(dsn, query, "sqlsvm.show.training")
    with opened(dsn) as engine:
        store = _store(engine, dsn, model_file)
        if store:
            for kept in wanted.stored:
                _check(store, kept)
        else:
            click.echo(
                f"note: the model will not be kept: {redacted(dsn)} does not last; --model-file keeps one", err=True
            )
        if wanted.first.as_of:
            from sqlsvm.ask.leaks import check_leaks

            check_leaks(engine, query, wanted.first)
        wanted = replace(wanted, start=_start(store, start) if start else None)
        keeper = Keeper(store, model_file or engine.url, dsn)
        before = {state: state_of(store, state) for state in map(wanted.kept_as, trainings)} if resume else {}
        if store and before and not any(before.values()):
            if varied:
                say(f"{nothing_kept(next(iter(before)))}: the models are trained from the start")
            elif model := finished(engine, store, name, query, wanted.first):
                _answer(model, f"kept in {keeper.place}", as_json)
                return 0
        models = train_and_keep(engine, keeper, wanted, before, as_json)
        if store and not as_json and not varied:
            _say_next(models[0], model_file, engine.url)
        return code_of(*models)


def train_and_keep(
    engine: "Engine",
    keeper: Keeper,
    wanted: Wanted,
    before: "Mapping[str, Saved | None] | None" = None,
    as_json: bool = False,
) -> "list[Model]":
    """The models that are kept. The answer is given even where one could not be stored."""
    if wanted.pictures:
        from sqlsvm.report import png

        png.check()

    def stored(keeper: Keeper, found: "list[Trained]") -> "list[Trained]":
        try:
            return [replace(each, model=keeper.saved(each.model)) if each.kept else each for each in found]
        except SqlsvmError:
            _answers(wanted, found, "not kept", as_json)
            raise

    left = {state: (before or {}).get(state) for state in map(wanted.kept_as, wanted.trainings)}
    with keeper.training(engine, left, partial(_found, wanted), stored) as (keeper, found):
        _answers(wanted, found, keeper.said, as_json)
        models = [each.model for each in found if each.kept]
        for model in models:
            for note in model.notes:
                say(f"{model.name}: {note}" if wanted.option else note)
            if not model.converged:
                _warn(model, wanted.first, f" of {printable(model.name)}" if wanted.option else "")
    return models


def _found(wanted: Wanted, engine: "Engine", by_state: "Mapping[str, Continuation]") -> "list[Trained]":
    """What measures is imported only where the training asks for it: a small training must be quick."""
    from sqlsvm.run.clock import whole
    from sqlsvm.show.several import Trained

    first, option, select = wanted.first, wanted.option, wanted.select
    trained: Any
    if first.folds or first.probability or first.holdout:
        from sqlsvm.ask.validation import trained
    else:
        from sqlsvm.run.train import train_each as trained
    continuations = {name: by_state[wanted.kept_as(name)] for name in wanted.trainings}
    asked = {"select": select and select.by}
    told = partial(_on_pass, wanted)
    models = trained(engine, wanted.query, wanted.trainings, told, continuations, wanted.start, asked=asked)
    models = whole(models, progress.STARTED)
    if option is None:
        return [Trained(0.0, models[0], None, None, selected=False)]
    measures: list[Measures | None] = [
        {name: measure.mean for name, measure in model.validation.items()} or None for model in models
    ]
    above: list[float | None] = [None] * len(models)
    if option.name == "quantile" and not models[0].groups:
        from sqlsvm.ask.evaluate import crossings

        above[:-1] = crossings(engine, models, offload=first.offload)
    values, chosen = [*map(wanted.value, wanted.trainings)], None
    if select and None not in measures:
        from sqlsvm.ask import validation

        if models[0].groups:
            best = validation.best_of_groups(models, select.by, values if select.simplest else None)
            models, measures, above = [*models, best], [*measures, validation.means(best.validation)], [*above, None]
            values, chosen = [*values, nan], len(values)
        elif select.simplest:
            chosen = validation.simplest([model.validation for model in models], select.by, values)
        else:
            chosen = validation.best([known for known in measures if known], select.by)
        models[chosen] = replace(models[chosen], name=select.name)
    kept = range(len(models)) if chosen is None else [chosen]
    rows = zip(values, models, measures, above, strict=True)
    return [Trained(*row, selected=n == chosen, kept=n in kept) for n, row in enumerate(rows)]


def _on_pass(wanted: Wanted, name: str) -> "OnPass":
    from sqlsvm.show.training import pass_line

    if wanted.option:
        progress.say(f"{wanted.option.said} {wanted.value(name):g}")
    return lambda record: progress.say(pass_line(record))


def _answers(wanted: Wanted, found: "Sequence[Trained]", place: str, as_json: bool) -> None:
    if wanted.option is None:
        _answer(found[0].model, place, as_json)
        return
    from sqlsvm.show.several import as_json_list, draw_several

    by, simplest = (wanted.select.by, wanted.select.simplest) if wanted.select else (None, False)
    drawn = partial(draw_several, found, wanted.option, by, simplest, place, sys.stdout)
    show_either(as_json, lambda: as_json_list(found), drawn)
    if wanted.pictures:
        _draw(found, wanted.option, Path(wanted.pictures))


def _answer(model: "Model", place: str, as_json: bool) -> None:
    from sqlsvm.show.training import draw_training

    show_either(as_json, model.as_json, lambda: draw_training(model, place, sys.stdout))


def _draw(found: "Sequence[Trained]", option: Option, folder: Path) -> None:
    """Where they are is said on stderr: the answer may be JSON."""
    from sqlsvm.report import path_charts, png

    for name, chart in path_charts(found, option).items():
        path = folder / f"{name}.png"
        with writing(path, make_folder=True) as out:
            png.draw(chart, out.buffer)
        progress.say(f"{chart.title} is in {printable(str(path))}")


def code_of(*models: "Model") -> int:
    return 0 if all(model.converged for model in models) else NOT_CONVERGED


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


def _say_next(model: "Model", model_file: str | None, url: str) -> None:
    """The places are options only where the commands would not find them by themselves."""
    places = {"--dsn": url if typed("dsn") else None, "--model-file": model_file}
    options = [word for option, place in places.items() if place for word in (option, place)]
    named = shlex.join([model.name, *options])
    drawn = "" if model.support else f", sqlsvm report {named} draws it"
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
