"""Where models are kept: the schema `sqlsvm` of a database, or a JSON file that holds one model."""

from os import PathLike
from pathlib import Path

from sqlsvm.engine.base import Engine
from sqlsvm.store.base import Kept, Store, Stored
from sqlsvm.store.database import DatabaseStore
from sqlsvm.store.file import FileStore

__all__ = ["Kept", "Store", "Stored", "absent", "lasting", "open_store"]

_THROW_AWAY = ("duckdb:", "embedded:")
_IN_MEMORY = "duckdb::memory:"


def open_store(place: Engine | str | PathLike[str]) -> Store:
    """The store of an open database, or a file; nothing is made before the first save."""
    return FileStore(place) if isinstance(place, str | PathLike) else DatabaseStore(place)


def lasting(url: str) -> bool:
    """Whether a database outlives its session: a model that is stored in one that does not is gone at once.

    >>> lasting("duckdb:"), lasting("duckdb::memory:shop"), lasting("duckdb:shop.duckdb")
    (False, False, True)
    """
    return url not in _THROW_AWAY and not url.startswith(_IN_MEMORY)


def absent(url: str) -> bool:
    """Whether a URL names a place on this machine where nothing is yet. To open it would make a database there.

    >>> absent("embedded:no/such/shop"), absent("postgresql://localhost/shop"), absent("duckdb:")
    (True, False, False)
    """
    scheme, _, path = url.partition(":")
    return scheme in ("duckdb", "embedded") and lasting(url) and not Path(path).expanduser().exists()
