"""Keeping the passes of a training that does not finish, and continuing from them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from mmap import mmap
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqlsvm.cli import progress
from sqlsvm.cli.options import opened
from sqlsvm.errors import EngineError, OptionError, SqlsvmError, is_out_of_memory
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from sqlsvm.engine.base import Engine
    from sqlsvm.model.model import Model
    from sqlsvm.run.resume import Continuation, Saved
    from sqlsvm.run.training import Training
    from sqlsvm.store import Store

T = TypeVar("T")

RESERVE = 1 << 26
"""Bytes of address space that a training leaves free. It takes some to keep its passes when there is no more."""


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


def nothing_kept(name: str) -> str:
    return f'no unfinished training of "{name}" is kept here'


def finished(engine: "Engine", store: "Store", name: str, query: str, training: "Training") -> "Model | None":
    """The model of the same training on the same rows, if that has converged. Otherwise a note says why there is
    none."""
    from sqlsvm.model.plain import plain
    from sqlsvm.run.clock import Clock
    from sqlsvm.run.train import changed, with_start

    model = store.load(name) if any(stored.name == name for stored in store.models()) else None
    if model:
        training = with_start(engine, query, {name: training}, Clock())[name].like(model)
    chosen = next(filter(None, (model.chosen, *(of.chosen for of in model.groups))), None) if model else None
    if model and chosen and chosen.options == training.chooses:
        training = training.as_chosen(model)
    if not model or not model.converged or (model.typed, plain(model.options)) != (query, plain(training.kept)):
        say(f"{nothing_kept(name)}: it is trained from the start")
        return None
    had = f"{name}, version {model.version}, had converged"
    if why := changed(engine, query, training, model):
        say(f"training from the start: {had}, but {why}")
        return None
    say(f"nothing to resume: {had}, and the rows are the same")
    return model


@dataclass(frozen=True)
class Keeper:
    """Where trainings leave their passes if they do not finish, by the name under which these are kept."""

    store: "Store | None"
    place: str
    dsn: str | None = None  # to connect again, if the connection is lost

    @property
    def said(self) -> str:
        """Of a model that was stored."""
        from sqlsvm.engine import lasting

        if self.store is None:
            return "not kept"
        return f"kept in {self.place}" if lasting(self.place) else "kept until this database goes"

    @contextmanager
    def outliving(self, continuations: "Mapping[str, Continuation]") -> Iterator[None]:
        """The passes are kept when something ends the trainings inside. The error goes on."""
        reserve = mmap(-1, RESERVE)
        try:
            yield
        except BaseException as error:
            starved = is_out_of_memory(error)  # asked before there is memory again
            reserve.close()
            if starved or isinstance(error, KeyboardInterrupt | EngineError):
                states = {name: each.last or each.before for name, each in continuations.items()}
                self.keep({name: state for name, state in states.items() if state})
            if starved and not isinstance(error, SqlsvmError):
                raise MemoryError from error
            raise

    def saved(self, model: "Model") -> "Model":
        """With its version, if there is a place for it."""
        return replace(model, version=self.store.save(model)) if self.store else model

    def on(self, engine: "Engine") -> "Keeper":
        """The same on another connection. A file needs none."""
        from sqlsvm.store import open_store
        from sqlsvm.store.database import DatabaseStore

        return replace(self, store=open_store(engine)) if isinstance(self.store, DatabaseStore) else self

    @contextmanager
    def training(
        self,
        engine: "Engine",
        before: "Mapping[str, Saved | None]",
        work: "Callable[[Engine, Mapping[str, Continuation]], T]",
        stored: "Callable[[Keeper, T], T]",
    ) -> "Iterator[tuple[Keeper, T]]":
        """What the work found, as it was stored, and the keeper that has it. If the server is restarted meanwhile, the
        work goes on from the passes so far, on a new connection. They are kept until the answer is given."""
        from sqlsvm.run.resume import Continuation, outlasting

        dsn, kept = self.dsn, {name: Continuation(state, say) for name, state in before.items()}
        opens = None if dsn is None else lambda: opened(dsn)
        with ExitStack() as connections:
            with self.outliving(kept):
                engine, found = outlasting(engine, opens, kept, connections, lambda on: work(on, kept), say)
                keeper = self.on(engine)
                found = stored(keeper, found)
            try:
                yield keeper, found
            finally:  # also if the reader of the answer has gone
                keeper.close(kept)

    def close(self, continuations: "Mapping[str, Continuation]") -> None:
        """All passes are kept if a training did not converge: the same command goes on with all trainings."""
        if any(each.unfinished for each in continuations.values()):
            self.keep({name: each.last for name, each in continuations.items() if each.last})
        elif self.store:
            for name in continuations:
                self.store.drop_state(name)

    def keep(self, states: "Mapping[str, Saved]") -> None:
        if self.store is None or not states:
            return
        try:
            for name, state in states.items():
                self._save(self.store, name, state.as_json())
        except SqlsvmError as error:
            click.echo(f"warning: what was done so far could not be kept: {printable(error.message)}", err=True)
            return
        number = sum(state.passes for state in states.values())
        passes = "1 pass is" if number == 1 else f"{number} passes are"
        identified = all(state.digests for state in states.values())
        resumes = "goes on from there" if identified else "begins anew from their best weights"
        say(f"{passes} kept in {self.place}; the same command with --resume {resumes}")

    def _save(self, store: "Store", name: str, body: Mapping[str, Any]) -> None:
        from sqlsvm.store import open_store

        try:
            store.save_state(name, body)
        except EngineError:
            if self.dsn is None:
                raise
            with opened(self.dsn) as engine:
                open_store(engine).save_state(name, body)
