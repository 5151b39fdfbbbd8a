"""What every store does, and how it complains."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from sqlsvm.errors import OptionError, nearest
from sqlsvm.model.model import Model, plain

NONE = "none is stored here; sqlsvm train stores one"


@dataclass(frozen=True)
class Stored:
    """A line of the listing: a version of a model without its weights."""

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

    def as_json(self) -> dict[str, Any]:
        renamed = {"name": "model", "lam": "lambda"}
        found = {renamed.get(name, name): plain(value) for name, value in vars(self).items()}
        return {**found, "created_at": self.created_at.isoformat()}


@dataclass(frozen=True)
class Kept:
    """What there is under a name: the versions of a model, the program that PostgreSQL trains it by, what an unfinished
    training has left. Each may be there without the others."""

    versions: tuple[int, ...] = ()
    program: bool = False
    state: bool = False


class Store(Protocol):
    """Versions are numbered 1, 2, ... under each name. Names are any text but the empty one."""

    def check(self, name: str) -> None:
        """Complain now if a model of that name could not be saved: training it may take long."""

    def save(self, model: Model) -> int:
        """Keep a model as the newest version of its name; the number it got."""

    def load(self, name: str, version: int | None = None) -> Model:
        """A version, or the newest one."""

    def models(self) -> tuple[Stored, ...]:
        """Every version of every model, by name, the newest first."""

    def kept(self, name: str, version: int | None = None) -> Kept:
        """What `drop` would forget; an error where that is nothing."""

    def drop(self, name: str, version: int | None = None) -> Kept:
        """Forget a version and nothing else, or all that is kept under the name. What that was, or an error and nothing
        is forgotten."""

    def save_state(self, name: str, state: Mapping[str, Any]) -> None:
        """Keep what a training of that name needs to be resumed, in place of what was kept before."""

    def load_state(self, name: str) -> Mapping[str, Any] | None:
        """What was kept; None where nothing was."""

    def drop_state(self, name: str) -> None:
        """Forget it, if there is any."""


def check_name(name: str) -> None:
    """A name reaches the database only as a value, so all that it must be is text that can be stored."""
    if not name or "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
        hint = "use any text of at least one character, without NUL"
        raise OptionError(f"a model cannot be named {name!r}", hint=hint)


def ordered(listing: Iterable[Stored]) -> tuple[Stored, ...]:
    """Not by the database, whose collation is its own."""
    return tuple(sorted(listing, key=lambda stored: (stored.name, -stored.version)))


def unknown(name: str, version: int | None, listing: Sequence[Stored]) -> OptionError:
    """No such model; or no such version of it."""
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
