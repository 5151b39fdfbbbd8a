"""Keeping the passes of a training that does not finish, and continuing from them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from sqlsvm.cli import progress
from sqlsvm.cli.options import opened
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
    """The passes that an earlier training of that name has left."""
    from sqlsvm.run.resume import Saved

    if store is None:
        raise OptionError(
            "there is nothing to resume: no model is stored here", hint="--model-file keeps model and passes in a file"
        )
    found = store.load_state(name)
    return Saved.from_json(found, f'unfinished training of "{name}"') if found is not None else None


def finished(store: "Store", name: str, query: str, training: "Training") -> "Model":
    """The model of the same training, if that has converged. An error if there is none."""
    from sqlsvm.model.model import plain

    model = store.load(name) if any(stored.name == name for stored in store.models()) else None
    if model and model.converged and (model.query, plain(model.options)) == (query, plain(asdict(training))):
        say(f"nothing to resume: {name}, version {model.version}, had converged")
        return model
    raise OptionError(
        f'no unfinished training of "{name}" is kept here',
        hint="leave out --resume to begin one" if model is None else "leave out --resume to train the model anew",
    )


@dataclass(frozen=True)
class Keeper:
    """Where a training leaves its model, or its passes if it does not finish."""

    store: "Store | None"
    name: str
    place: str
    dsn: str | None = None
    """To connect again, if the connection is lost."""

    @contextmanager
    def outliving(self, continuation: "Continuation") -> Iterator[None]:
        """The passes are kept when something ends the training inside. The error goes on."""
        try:
            yield
        except (KeyboardInterrupt, EngineError):
            if continuation.last:
                self.keep(continuation.last)
            raise

    def keep(self, state: "Saved") -> None:
        if self.store is None:
            return
        try:
            self._save(self.store, state.as_json())
        except SqlsvmError as error:
            click.echo(f"warning: what was done so far could not be kept: {printable(error.message)}", err=True)
            return
        passes = "1 pass is" if state.passes == 1 else f"{state.passes} passes are"
        resumes = "goes on from there" if state.digests else "begins anew from their best weights"
        say(f"{passes} kept in {self.place}; the same command with --resume {resumes}")

    def _save(self, store: "Store", body: Mapping[str, Any]) -> None:
        from sqlsvm.store import open_store

        try:
            store.save_state(self.name, body)
        except EngineError:
            if self.dsn is None:
                raise
            with opened(self.dsn) as engine:
                open_store(engine).save_state(self.name, body)
