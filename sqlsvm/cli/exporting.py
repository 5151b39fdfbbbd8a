"""The verb export: a stored model in a form that other programs read."""

import json
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlsvm.cli.group import answering, cli, examples, show_answer
from sqlsvm.cli.stored import Which, model_place, which
from sqlsvm.errors import OptionError
from sqlsvm.files import is_stdout, is_stream, replacing
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.model.model import Model


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
