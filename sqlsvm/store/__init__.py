"""Where models are stored: the schema `sqlsvm` of a database, or a JSON file with one model."""

from os import PathLike

from sqlsvm.engine.base import Engine
from sqlsvm.store.base import Kept, Store, Stored
from sqlsvm.store.database import DatabaseStore
from sqlsvm.store.file import FileStore
from sqlsvm.store.journal import JournalStore

__all__ = ["Kept", "Store", "Stored", "open_store"]


def open_store(place: Engine | str | PathLike[str]) -> Store:
    """The store in an open database or in a file. Nothing is created before the first save."""
    if isinstance(place, str | PathLike):
        return FileStore(place)
    return DatabaseStore(place) if place.abilities.changes_rows else JournalStore(place)
