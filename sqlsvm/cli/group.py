"""The command that all verbs belong to, and how a verb prints its answer."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from sqlsvm.cli.progress import rest
from sqlsvm.errors import OptionError, SqlsvmError, masked
from sqlsvm.files import replacing

READER_GONE = 141  # the exit code that a shell gives a program that SIGPIPE ended


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"sqlsvm {version('sqlsvm')}")
    except PackageNotFoundError:
        click.echo("sqlsvm, from a checkout that is not installed")
    context.exit()


@click.group(epilog="Database, query and options of a training can also be environment variables, such as SQLSVM_DSN.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli() -> None:
    """Linear support vector machines over the join of your tables, without building the join."""


def examples(*lines: str) -> str:
    return "\n".join(("\b", "Example:", *(f"  {line}" for line in lines)))


def show_answer(text: str) -> None:
    """Print a verb's answer."""
    with answering():
        print(masked(text), flush=True)


def show_either(as_json: bool, found: Callable[[], Any], drawn: Callable[[], str]) -> None:
    """The answer as JSON, or as text for a person."""
    show_answer(json.dumps(found(), indent=2, allow_nan=False) if as_json else drawn())


@contextmanager
def writing(place: str | Path, *, make_folder: bool = False) -> Iterator[TextIO]:
    """A file to write in place of `place`, which is replaced at the end."""
    try:
        if make_folder:
            Path(place).parent.mkdir(parents=True, exist_ok=True)
        with replacing(Path(place)) as out:
            yield out
    except OSError as error:
        raise OptionError(f"cannot write {place}", detail=str(error)) from error


@contextmanager
def answering() -> Iterator[None]:
    """Around writing to stdout. It is no error if the reader stops early, as `head` does."""
    rest()
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the rest of the buffer
        if isinstance(error, BrokenPipeError):
            raise SystemExit(READER_GONE) from None
        raise SqlsvmError("cannot write the answer", detail=str(error)) from error
