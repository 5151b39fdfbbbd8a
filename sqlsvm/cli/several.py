"""`train` with several values of an option: one training of several models."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli import progress
from sqlsvm.cli.group import show_either, writing
from sqlsvm.options import OPTIONS, Option
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlsvm.ask.scored import Measures
    from sqlsvm.cli.resuming import Keeper
    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.run.resume import Continuation, Saved
    from sqlsvm.run.training import Training
    from sqlsvm.show.several import Trained
    from sqlsvm.solve.solution import OnPass


@dataclass(frozen=True)
class Several:
    """Trainings that differ in one option, by the names of their models."""

    option: Option
    trainings: "Mapping[str, Training]"
    states: Mapping[str, str]
    """Their passes are kept under these names."""
    select: "Select | None"

    @classmethod
    def of(cls, name: str, option: Option, trainings: "Mapping[float, Training]", select: "Select | None") -> "Several":
        """Passes are of one loss, and each quantile is another."""
        named = {name_of(name, value): training for value, training in trainings.items()}
        return cls(option, named, {each: each if option.name == "quantile" else name for each in named}, select)

    @property
    def first(self) -> "Training":
        return next(iter(self.trainings.values()))


@dataclass(frozen=True)
class Select:
    """Which of several models is kept, and under what name."""

    by: str
    name: str
    simplest: bool = False
    """The one with the strongest penalty within one standard error of the best."""


def varied(options: Mapping[str, Any]) -> Option | None:
    """The option that has several values."""
    found = [OPTIONS[name] for name, value in options.items() if isinstance(value, tuple) and OPTIONS[name].several]
    if len(found) > 1:
        raise click.UsageError(f"{found[0].flag} and {found[1].flag} both have several values: give one of them one.")
    return found[0] if found else None


def each(option: Option | None, options: Mapping[str, Any]) -> Iterator[tuple[float, dict[str, float]]]:
    """Each value of it, with the option that is given by it; without such an option one training. Quantiles are in
    their order."""
    if option is None:
        yield 0.0, {}
        return
    values = options[option.name]
    yield from ((value, {option.name: value}) for value in (sorted(values) if option.name == "quantile" else values))


def name_of(name: str, value: float) -> str:
    """Of the model for one of the values."""
    return f"{name}_{value:.12g}"


def train_several(
    engine: "Engine",
    keeper: "Keeper",
    query: str,
    run: Several,
    before: "Mapping[str, Saved | None]",
    as_json: bool,
    pictures: str | None = None,
) -> "list[Model]":
    """With `select` only the model that it chooses is stored."""
    from sqlsvm.report import png
    from sqlsvm.show.several import as_json_list, draw_several

    if pictures:
        png.check()

    def stored(keeper: "Keeper", found: "list[Trained]") -> "list[Trained]":
        return [replace(each, model=keeper.saved(each.model)) if each.kept else each for each in found]

    left = {name: before.get(name) for name in run.states.values()}
    by, simplest = (run.select.by, run.select.simplest) if run.select else (None, False)
    with keeper.training(engine, left, partial(_found, query, run), stored) as (keeper, found):
        show_either(
            as_json,
            lambda: as_json_list(found),
            lambda: draw_several(found, run.option, by, simplest, keeper.said, sys.stdout),
        )
        if pictures:
            _draw(found, run.option, Path(pictures))
    return [t.model for t in found if t.kept]


def _found(query: str, run: Several, engine: "Engine", by_state: "Mapping[str, Continuation]") -> "list[Trained]":
    from sqlsvm.ask.crossings import crossings
    from sqlsvm.ask.selecting import means
    from sqlsvm.ask.validation import best_of_groups, trained
    from sqlsvm.show.several import Trained

    continuations = {name: by_state[state] for name, state in run.states.items()}
    asked = {"select": run.select.by if run.select else None}
    models = trained(engine, query, run.trainings, partial(_on_pass, run), continuations, asked=asked)
    measures: list[Measures | None] = [means(model.validation) or None for model in models]
    above: list[float | None] = [None] * len(models)
    if run.option.name == "quantile" and not models[0].groups:
        above[:-1] = crossings(engine, models, offload=run.first.offload)
    values = [value_of(run.option, training) for training in run.trainings.values()]
    chosen: int | None = None
    if run.select and models[0].groups and None not in measures:
        best = best_of_groups(models, run.select.by, values if run.select.simplest else None)
        models, measures = [*models, best], [*measures, means(best.validation)]
        values, above, chosen = [*values, nan], [*above, None], len(values)
    else:
        chosen = _chosen(models, measures, values, run.select)
    if run.select and chosen is not None:
        models[chosen] = replace(models[chosen], name=run.select.name)
    kept = range(len(models)) if chosen is None else [chosen]
    rows = zip(values, models, measures, above, strict=True)
    return [Trained(*row, selected=n == chosen, kept=n in kept) for n, row in enumerate(rows)]


def _draw(found: "Sequence[Trained]", option: Option, folder: Path) -> None:
    """Where they are is said on stderr: the answer may be JSON."""
    from sqlsvm.report import path_charts, png

    for name, chart in path_charts(found, option).items():
        path = folder / f"{name}.png"
        with writing(path, make_folder=True) as out:
            png.draw(chart, out.buffer)
        progress.say(f"{chart.title} is in {printable(str(path))}")


def _chosen(
    models: "Sequence[Model]", measures: "Sequence[Measures | None]", values: "Sequence[float]", select: Select | None
) -> int | None:
    from sqlsvm.ask.selecting import best, simplest

    if select is None or None in measures:
        return None
    if select.simplest:
        return simplest([model.validation for model in models], select.by, values)
    return best([m for m in measures if m], select.by)


def value_of(option: Option, training: "Training") -> float:
    return float(training.options[option.name])


def _on_pass(run: Several, name: str) -> "OnPass":
    from sqlsvm.show.training import pass_line

    progress.say(f"{run.option.said} {value_of(run.option, run.trainings[name]):g}")
    return lambda record: progress.say(pass_line(record))
