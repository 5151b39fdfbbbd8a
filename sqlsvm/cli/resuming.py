"""What becomes of a training that does not finish, and of one that goes on from there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from sqlsvm.cli import progress
from sqlsvm.errors import EngineError, OptionError, SqlsvmError
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.model.model import Model
    from sqlsvm.run.resume import Continuation, Saved
    from sqlsvm.run.train import Training
    from sqlsvm.store import Store


def say(text: str) -> None:
    progress.say(f"note: {printable(text)}")


def state_of(store: "Store | None", name: str) -> "Saved | None":
    """What an earlier training of that name has left."""
    from sqlsvm.run.resume import Saved

    if store is None:
        raise OptionError(
            "there is nothing to resume: no model is kept here", hint="--model-file keeps state and model"
        )
    found = store.load_state(name)
    return Saved.from_json(found) if found else None


def finished(store: "Store", name: str, query: str, training: "Training") -> "Model":
    """The model that the same training has come to: nothing of it is left to do. An error if there is none."""
    from sqlsvm.model.model import plain

    model = store.load(name) if any(stored.name == name for stored in store.models()) else None
    if model and model.converged and (model.query, plain(model.options)) == (query, plain(asdict(training))):
        say(f"nothing to resume: {name}, version {model.version}, had converged")
        return model
    raise OptionError(
        f'no unfinished training of "{name}" is kept here',
        hint="leave out --resume to begin one" if model is None else "leave out --resume to train the model anew",
    )


@contextmanager
def outliving(
    store: "Store | None", name: str, continuation: "Continuation", dsn: str | None, place: str
) -> Iterator[None]:
    """Whatever ends the training inside, its passes are kept. The error goes on its way."""
    try:
        yield
    except (KeyboardInterrupt, EngineError):
        if store and continuation.last:
            keep(store, name, continuation.last, dsn, place)
        raise


def keep(store: "Store", name: str, state: "Saved", dsn: str | None, place: str) -> None:
    """By another connection where the first one was lost."""
    from sqlsvm.engine import connect
    from sqlsvm.store import open_store

    body = state.as_json()
    try:
        try:
            store.save_state(name, body)
        except EngineError:
            if dsn is None:
                raise
            with connect(dsn) as engine:
                open_store(engine).save_state(name, body)
    except SqlsvmError as error:
        click.echo(f"warning: what was done so far could not be kept: {printable(error.message)}", err=True)
        return
    passes = "1 pass is" if state.passes == 1 else f"{state.passes} passes are"
    resumes = "goes on from there" if state.digests else "begins anew from their best weights"
    say(f"{passes} kept in {place}; the same command with --resume {resumes}")
