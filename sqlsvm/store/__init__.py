"""Where models are kept: the schema `sqlsvm` of a database, or a JSON file that holds one model."""

from os import PathLike

from sqlsvm.engine.base import Engine
from sqlsvm.store.base import Kept, Store, Stored
from sqlsvm.store.database import DatabaseStore
from sqlsvm.store.file import FileStore

__all__ = ["Kept", "Store", "Stored", "open_store"]


def open_store(place: Engine | str | PathLike[str]) -> Store:
    """The store of an open database, or a file; nothing is made before the first save."""
    return FileStore(place) if isinstance(place, str | PathLike) else DatabaseStore(place)
