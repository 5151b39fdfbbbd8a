"""The verbs on stored models: models, show, weights, drop, export."""

import json
import pickle
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli.group import answering, cli, examples, show_answer, show_either
from sqlsvm.cli.options import Refused, json_wanted, opened, option, together, trust_wanted
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.files import is_stdout, is_stream, replacing
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.store import Kept, Store, Stored


version_wanted = click.option(
    "--version", type=click.IntRange(1), metavar="N", help="Use version N instead of the newest."
)
model_wanted = click.argument("name", metavar="[MODEL]", required=False)
model_place = together(
    option("--dsn", metavar="URL", help="The database that keeps the model."),
    option("--model-file", metavar="FILE", help="The JSON file that keeps the model instead; a file holds one model."),
    trust_wanted,
)
file_wanted = option("--model-file", metavar="FILE", help="Read the model from this JSON file instead.")
rebind_wanted = click.option(
    "--rebind", is_flag=True, help="Look up the names in the query that you have stored again, on your path."
)
Wanted = Callable[[Any], Any]


@dataclass(frozen=True)
class Which:
    """The stored model that a command line means."""

    name: str | None
    dsn: str | None
    model_file: str | None
    version: int | None = None
    rebind: bool = False

    @contextmanager
    def store(self) -> Iterator["Store"]:
        """The place of the models. --model-file goes before $SQLSVM_DSN: a file is never meant by accident."""
        from sqlsvm.store import open_store

        if self.model_file:
            yield open_store(self.model_file)
            return
        with self.rows("--dsn URL, or set SQLSVM_DSN, or --model-file model.json") as engine:
            yield open_store(engine)

    @contextmanager
    def rows(self, hint: str = "--dsn URL, or set SQLSVM_DSN; the rows are read there") -> Iterator["Engine"]:
        """The database that the model is used on. It keeps the model too, unless a file does."""
        if not self.dsn:
            raise Refused("--dsn is missing", hint, click.get_current_context())
        if not self.model_file:
            _check_kept(self.dsn)
        with opened(self.dsn) as engine:
            yield engine

    def model(self) -> "Model":
        with self.store() as store:
            return self.model_of(store)

    def model_of(self, store: "Store") -> "Model":
        return store.load(_named(store, self.name), self.version)

    @contextmanager
    def model_and_rows(
        self, typed: Iterable[str] = (), files: Iterable[str] = ()
    ) -> Iterator[tuple["Model", "Engine"]]:
        """The session is confined to the files of the model's query, and to what the command line names."""
        from sqlsvm.model.stored_query import rebound
        from sqlsvm.store import open_store

        with self.rows() as engine:
            store = open_store(self.model_file or engine)
            model = self.model_of(store)
            engine.in_zone(model.trained_on.zone)  # before it is confined, and keeps its settings
            if self.rebind:
                store.rebind(model := rebound(engine, model))
            engine.confine([model.query, *typed], files)
            yield model, engine


def which(*place: Wanted, argument: Wanted = model_wanted) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command whose first argument is the model that the command line means."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def called(
            name: str | None,
            dsn: str | None,
            model_file: str | None,
            version: int | None,
            rebind: bool = False,
            **options: Any,
        ) -> Any:
            return command(Which(name, dsn, model_file, version, rebind), **options)

        return together(argument, *place, version_wanted)(called)

    return decorate


def _check_kept(dsn: str) -> None:
    """A model can only be in a database that exists. A wrong path must not make an empty one."""
    from sqlsvm.engine import absent, lasting

    if absent(dsn):
        raise OptionError(
            f"there is no database in {dsn}",
            hint="paths start at the current folder; sqlsvm train makes a database that is not there",
        )
    if not lasting(dsn):
        raise OptionError(
            f"{dsn} keeps no models: its data are gone after the command",
            hint=f"--model-file model.json keeps a model in a file; {dsn.partition(':')[0]}:PATH keeps everything",
        )


@cli.command(
    short_help="List the stored models.", epilog=examples("sqlsvm models --dsn postgresql://localhost/flights")
)
@model_place
@json_wanted
def models(dsn: str | None, model_file: str | None, as_json: bool) -> None:
    """List the stored models: every version, the newest first, with its certificate.

    If the JSON of a model is damaged or of a newer sqlsvm, the list says so in its row, and the exit code is 1.
    """
    from sqlsvm.show.models import draw_models

    with Which(None, dsn, model_file).store() as store:
        found = store.models()
    show_either(
        as_json, lambda: {"models": [stored.as_json() for stored in found]}, lambda: draw_models(found, sys.stdout)
    )
    if bad := [stored for stored in found if stored.error]:
        message = f"{len(bad)} of {len(found)} versions cannot be read"
        raise SqlsvmError(message, detail=bad[0].error, hint=_remedy(bad[0]))


def _remedy(bad: "Stored") -> str:
    return f"sqlsvm drop {shlex.quote(bad.name)} --version {bad.version} deletes it; train stores a new one"


@cli.command(
    short_help="Show a model and what is proven about it.",
    epilog=examples(
        "sqlsvm show late_flights",
        "sqlsvm show --model-file late.json --json",
        "sqlsvm show late_flights --sql > shorter.sql",
    ),
)
@which(model_place)
@click.option("--sql", "as_sql", is_flag=True, help="Print only its query, without the features whose weight is 0.")
@json_wanted
def show(wanted: Which, as_sql: bool, as_json: bool) -> None:
    """Show what a model was trained on, how, and what is proven about it.

    MODEL may be left out if there is only one. --json prints the whole model, as `train --json` does. In it, `scaling`
    has the centre and the width of each number, with which F can be computed: a feature is (x - centre) / width. The
    penalty counts `scaled_intercept`.
    """
    from sqlsvm.show.models import draw_model

    if as_sql and as_json:
        raise click.UsageError("--sql and --json exclude each other", click.get_current_context())
    model = wanted.model()
    if as_sql:
        from sqlsvm.model.shorter import shorter_query

        show_answer(shorter_query(model))
        return
    show_either(as_json, lambda: model.as_json(), lambda: draw_model(model, sys.stdout))


@cli.command(epilog=examples("sqlsvm weights late_flights --top 10"))
@which(model_place)
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the N weights with the most influence.")
@json_wanted
def weights(wanted: Which, top: int | None, as_json: bool) -> None:
    """Show the weights of a model, the most influential first.

    score = intercept + sum of weight * column. The scaled weight belongs to the feature as scaled for training, so it
    can be compared between features. MODEL may be left out if there is only one.
    """
    from sqlsvm.show.models import draw_weights, weights_as_json

    model = wanted.model().linear()
    show_either(as_json, lambda: weights_as_json(model, top), lambda: draw_weights(model, top, sys.stdout))


def _must_be_named(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """A model that is dropped must be named, even if there is only one."""
    if value is None and not context.resilient_parsing:
        raise Refused("MODEL is missing", "sqlsvm drop MODEL; sqlsvm models lists them", context)
    return value


@cli.command(epilog=examples("sqlsvm drop late_flights --version 3", "sqlsvm drop late_flights --yes"))
@which(model_place, argument=click.argument("name", metavar="MODEL", required=False, callback=_must_be_named))
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def drop(wanted: Which, yes: bool) -> None:
    """Delete a model, or one version of it.

    Without --version this deletes every version, the program that sqlsvm compile has stored, and what an unfinished
    training has left for --resume. A file that held the model is removed.
    """
    name, version = str(wanted.name), wanted.version
    with wanted.store() as store:
        kept = store.kept(name, version)  # before the question: there may be nothing to drop
        every = f"version {version}" if version else "every version"
        what = f'{_listed(kept, every)} of the model "{name}"'
        if not yes and not _agreed(what):
            show_answer("nothing was dropped")
            return
        dropped = store.drop(name, version)
    numbers = f"version{'s' * (len(dropped.versions) > 1)} {', '.join(str(n) for n in dropped.versions)}"
    show_answer(f"dropped {_listed(dropped, numbers)}")


def _listed(kept: "Kept", versions: str) -> str:
    """What is kept, in words."""
    there = {versions: kept.versions, "the program": kept.program, "the unfinished training": kept.state}
    *others, last = (thing for thing, is_there in there.items() if is_there)
    return f"{', '.join(others)} and {last}" if others else last


def _named(store: "Store", name: str | None) -> str:
    """The name may be left out if there is only one model."""
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
        raise OptionError(f"{what} is not dropped without a confirmation", hint="add --yes")
    return click.confirm(f"Drop {printable(what)}?", err=True)


def _json(model: "Model") -> bytes:
    return json.dumps(model.as_json(), indent=2, allow_nan=False).encode() + b"\n"


def _sql(model: "Model") -> bytes:
    from sqlsvm.model.predict import score_sql

    return score_sql(model).encode() + b"\n"


def _sklearn(model: "Model") -> bytes:
    from sqlsvm.model.to_sklearn import pipeline

    return pickle.dumps(pipeline(model))


def _onnx(model: "Model") -> bytes:
    from sqlsvm.model.to_onnx import graph

    found: bytes = graph(model).SerializeToString()
    return found


FORMATS: Mapping[str, Callable[["Model"], bytes]] = {"sklearn": _sklearn, "onnx": _onnx, "json": _json, "sql": _sql}
TEXTS = "json", "sql"


@cli.command(
    short_help="Write a model in a form that other programs read.",
    epilog=examples(
        "sqlsvm export late_flights --format onnx -o late.onnx",
        "sqlsvm export late_flights --format sklearn -o late.pkl",
        "sqlsvm export late_flights --format sql > score.sql",
    ),
)
@which(model_place)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), required=True, help="See above.")
@click.option("-o", "--output", metavar="FILE", help="The file; - is stdout, the default of json and sql.")
@click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
def export(wanted: Which, form: str, output: str | None, overwrite: bool) -> None:
    """Write a stored model.

    sklearn: a pickled pipeline for data frames with the columns of the features. Load a pickle only if you trust who
    has written it; that of a model with maps needs sqlsvm. onnx: a graph with an input for each feature, and the
    outputs score, label and, if the model has one, probability. json: everything, which --model-file reads. sql: the
    score as one expression.
    """
    if output is None and form not in TEXTS:
        raise click.UsageError(f"--format {form} writes no text: name a file with -o FILE.")
    write = FORMATS[form]
    content = write(wanted.model())
    if output is None or is_stdout(output):
        with answering():
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        return
    path = Path(output)
    if path.exists() and not is_stream(path) and not overwrite:
        raise OptionError(f"{path} exists already", hint="choose another name, or add --overwrite")
    try:
        with replacing(path) as out:
            out.buffer.write(content)
    except OSError as error:
        raise OptionError(f"cannot write {path}", detail=str(error)) from error
    show_answer(f"the model is in {printable(output)}")
