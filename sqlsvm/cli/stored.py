"""The verbs on stored models: models, show, weights, drop."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from sqlsvm.cli.group import cli, examples, show_answer, show_either
from sqlsvm.cli.options import Missing, json_wanted, option, together
from sqlsvm.errors import OptionError

if TYPE_CHECKING:
    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.store import Kept, Store

model_place = together(
    option("--dsn", metavar="URL", help="The database that keeps the model."),
    option("--model-file", metavar="FILE", help="The JSON file that keeps the model instead; a file holds one model."),
)
version_wanted = click.option(
    "--version", type=click.IntRange(1), metavar="N", help="Use version N instead of the newest."
)
model_wanted = click.argument("name", metavar="[MODEL]", required=False)


@contextmanager
def model_store(dsn: str | None, model_file: str | None) -> Iterator["Store"]:
    """Where the options say that models are. A file is never meant by accident, so it goes before $SQLSVM_DSN."""
    from sqlsvm.engine import connect
    from sqlsvm.store import open_store

    if model_file:
        yield open_store(model_file)
        return
    if not dsn:
        hint = "--dsn URL, or set SQLSVM_DSN, or --model-file model.json"
        raise Missing("--dsn is missing", hint, click.get_current_context())
    _check_kept(dsn)
    with connect(dsn) as engine:
        yield open_store(engine)


def stored_model(name: str | None, dsn: str | None, model_file: str | None, version: int | None) -> "Model":
    with model_store(dsn, model_file) as store:
        return store.load(named(store, name), version)


@contextmanager
def model_and_rows(
    name: str | None, dsn: str | None, model_file: str | None, version: int | None
) -> Iterator[tuple["Model", "Engine"]]:
    """A stored model, and the database that it is to be used on: the one that keeps it, unless a file does."""
    from sqlsvm.engine import connect
    from sqlsvm.store import open_store

    if not dsn:
        hint = "--dsn URL, or set SQLSVM_DSN; the rows are read there"
        raise Missing("--dsn is missing", hint, click.get_current_context())
    if not model_file:
        _check_kept(dsn)
    with connect(dsn) as engine:
        store = open_store(model_file or engine)
        yield store.load(named(store, name), version), engine


def _check_kept(dsn: str) -> None:
    """Who asks for a model means a database that is there; a wrong path must not make an empty one."""
    from sqlsvm.engine import absent, lasting

    if absent(dsn):
        raise OptionError(
            f"there is no database in {dsn}",
            hint="paths start at the current folder; sqlsvm train makes a database that is not there",
        )
    if not lasting(dsn):
        raise OptionError(
            f"{dsn} keeps no models: it is gone with the command that uses it",
            hint=f"--model-file model.json keeps a model beside it; {dsn.partition(':')[0]}:PATH keeps everything",
        )


@cli.command(
    short_help="List the stored models.", epilog=examples("sqlsvm models --dsn postgresql://localhost/flights")
)
@model_place
@json_wanted
def models(dsn: str | None, model_file: str | None, as_json: bool) -> None:
    """List the stored models: every version, the newest first, with its certificate."""
    from sqlsvm.show.models import draw_models

    with model_store(dsn, model_file) as store:
        found = store.models()
    show_either(
        as_json, lambda: {"models": [stored.as_json() for stored in found]}, lambda: draw_models(found, sys.stdout)
    )


@cli.command(
    short_help="Show a model and what is proven about it.",
    epilog=examples("sqlsvm show late_flights", "sqlsvm show --model-file late.json --json"),
)
@model_wanted
@model_place
@version_wanted
@json_wanted
def show(name: str | None, dsn: str | None, model_file: str | None, version: int | None, as_json: bool) -> None:
    """Show what a model was trained on, how, and what is proven about it.

    MODEL may be left out if there is only one. --json prints the whole model, as `train --json` does.
    """
    from sqlsvm.show.models import draw_model

    model = stored_model(name, dsn, model_file, version)
    show_either(as_json, lambda: model.as_json(), lambda: draw_model(model, sys.stdout))


@cli.command(epilog=examples("sqlsvm weights late_flights --top 10"))
@model_wanted
@model_place
@version_wanted
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the N weights with the most influence.")
@json_wanted
def weights(
    name: str | None, dsn: str | None, model_file: str | None, version: int | None, top: int | None, as_json: bool
) -> None:
    """Show the weights of a model, the most influential first.

    score = intercept + sum of weight * column. The scaled weight belongs to the feature as scaled for training, so it
    can be compared between features. MODEL may be left out if there is only one.
    """
    from sqlsvm.show.models import draw_weights, weights_as_json

    model = stored_model(name, dsn, model_file, version)
    show_either(as_json, lambda: weights_as_json(model, top), lambda: draw_weights(model, top, sys.stdout))


def _named(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """What is dropped is named, even where there is only one."""
    if value is None and not context.resilient_parsing:
        raise Missing("MODEL is missing", "sqlsvm drop MODEL; sqlsvm models lists them", context)
    return value


@cli.command(epilog=examples("sqlsvm drop late_flights --version 3", "sqlsvm drop late_flights --yes"))
@click.argument("name", metavar="MODEL", required=False, callback=_named)
@model_place
@version_wanted
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def drop(name: str, dsn: str | None, model_file: str | None, version: int | None, yes: bool) -> None:
    """Delete a model, or one version of it.

    Without --version this deletes every version, the program that sqlsvm compile has stored, and what an unfinished
    training has left for --resume. A file that held the model is removed.
    """
    with model_store(dsn, model_file) as store:
        kept = store.kept(name, version)  # so that nobody is asked about what is not there
        every = f"version {version}" if version else "every version"
        what = f'{_listed(kept, every)} of the model "{name}"'
        if not yes and not _agreed(what):
            show_answer("nothing was dropped")
            return
        dropped = store.drop(name, version)
    numbers = f"version{'s' * (len(dropped.versions) > 1)} {', '.join(str(n) for n in dropped.versions)}"
    show_answer(f"dropped {_listed(dropped, numbers)}")


def _listed(kept: "Kept", versions: str) -> str:
    """What there is, in words."""
    there = {versions: kept.versions, "the program": kept.program, "the unfinished training": kept.state}
    *others, last = (thing for thing, is_there in there.items() if is_there)
    return f"{', '.join(others)} and {last}" if others else last


def named(store: "Store", name: str | None) -> str:
    """The model that is meant: where there is only one it need not be named."""
    if name is not None:
        return name
    names = sorted({stored.name for stored in store.models()})
    if len(names) == 1:
        return names[0]
    if not names:
        raise OptionError("no model is stored here", hint="sqlsvm train stores one; is the place right?")
    raise OptionError("which model?", hint=f"stored are {', '.join(names)}")


def _agreed(what: str) -> bool:
    from sqlsvm.terminal import printable

    if not sys.stdin.isatty():
        raise OptionError(f"not dropping {what} without being asked to", hint="add --yes")
    return click.confirm(f"Drop {printable(what)}?", err=True)
