"""The interface of all stores, and their error messages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Protocol

from sqlsvm.errors import OptionError, nearest
from sqlsvm.model.model import Model
from sqlsvm.model.plain import plain

NONE = "none is stored here; sqlsvm train stores one"


@dataclass(frozen=True)
class Stored:
    """One version of a model, without its weights, as in the list of models."""

    name: str
    version: int
    created_at: datetime
    engine: str
    query: str
    label: str
    lam: float
    solver: str
    counting: str
    join_rows: float
    passes: int
    seconds: float
    objective: float
    objective_upper: float
    lower_bound: float
    gap: float
    converged: bool
    weighted: bool
    unseen: Mapping[str, Any] | None = None
    error: str | None = None  # why the model cannot be read

    def as_json(self) -> dict[str, Any]:
        renamed = {"name": "model", "lam": "lambda"}
        found = {renamed.get(name, name): plain(value) for name, value in vars(self).items()}
        return {**found, "created_at": self.created_at.isoformat()}


LISTED = tuple(field.name for field in fields(Stored) if field.name not in ("created_at", "error"))
"""What the list has from the model itself."""


@dataclass(frozen=True)
class Kept:
    """What is stored under a name: versions of a model, a program for PostgreSQL, the state of an unfinished training.
    Each can exist without the others."""

    versions: tuple[int, ...] = ()
    program: bool = False
    state: bool = False


class Store(Protocol):
    """Versions are numbered 1, 2, ... under each name. A name is any text that is not empty."""

    def check(self, name: str) -> None:
        """Raise an error if a model of that name cannot be saved. This is called before a long training."""

    def save(self, model: Model) -> int:
        """Store a model as the newest version of its name, and return the number of the version."""

    def load(self, name: str, version: int | None = None) -> Model:
        """The version, by default the newest."""

    def rebind(self, model: Model) -> None:
        """Store another query and other names of a version. Only the role that has stored it may do this."""
        raise OptionError("this place keeps no names to look up again", hint="leave out --rebind")

    def models(self) -> tuple[Stored, ...]:
        """Every version of every model, ordered by name, the newest version first."""

    def kept(self, name: str, version: int | None = None) -> Kept:
        """What `drop` would delete. An error if there is nothing."""

    def drop(self, name: str, version: int | None = None) -> Kept:
        """Delete a version, or without a version everything under the name. Return what was deleted; an error if there
        is nothing."""

    def save_state(self, name: str, state: Mapping[str, Any]) -> None:
        """Store what a later run needs to resume a training. It replaces an older state of that name."""

    def load_state(self, name: str) -> Mapping[str, Any] | None:
        """The stored state, or None."""

    def drop_state(self, name: str) -> None:
        """Delete the stored state, if there is one."""


def without_weights(found: Mapping[str, Any], where: str) -> Model:
    """A model with its first weight only, without maps and support vectors, for lists: to read 100,000 weights takes a
    quarter of a second."""
    weights, found = found.get("weights"), {**found, "support": None, "maps": []}
    if isinstance(weights, list):
        found = {**found, "weights": weights[:1]}
    for several in ("classes", "groups"):
        if isinstance(parts := found.get(several), list):
            found = {**found, several: [{**c, "weights": []} if isinstance(c, dict) else c for c in parts]}
    return Model.from_json(found, where)


def check_name(name: str) -> None:
    """A name is only ever a value in a statement, so any text that can be stored is allowed."""
    if not name or "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
        hint = "use any text of at least one character, without NUL"
        raise OptionError(f"a model cannot be named {name!r}", hint=hint)


def ordered(listing: Iterable[Stored]) -> tuple[Stored, ...]:
    """Sorted here, because databases differ in their collations."""
    return tuple(sorted(listing, key=lambda stored: (stored.name, -stored.version)))


def unknown(name: str, version: int | None, listing: Sequence[Stored]) -> OptionError:
    """The error for a model or a version that does not exist."""
    versions = sorted(stored.version for stored in listing if stored.name == name)
    if versions and version is not None:
        return OptionError(
            f'model "{name}" has no version {version}', hint=f"it has {', '.join(str(n) for n in versions)}"
        )
    names = sorted({stored.name for stored in listing})
    return OptionError(f'there is no model "{name}"', hint=nearest(name, names) or _few(names))


def _few(names: Sequence[str], most: int = 10) -> str:
    if not names:
        return NONE
    return f"stored are {', '.join(names[:most])}" + (" and others" if len(names) > most else "")
