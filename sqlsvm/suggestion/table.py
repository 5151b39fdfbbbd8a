"""A table that the session can read, or that the query makes."""

from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from sqlsvm.engine.base import Column


@dataclass(frozen=True)
class Made:
    """A table of WITH, and what it is."""

    name: str
    query: exp.Query
    said: str


@dataclass(frozen=True)
class Table:
    place: exp.Table
    columns: tuple[Column, ...]
    keys: tuple[frozenset[str], ...] = ()
    """The sets of columns that are declared unique."""
    made: tuple[Made, ...] = ()
    """If the query makes it: this, and what it is made of."""

    @property
    def name(self) -> str:
        """A file is called without its folder and ending."""
        return Path(self.place.name).stem if "." in self.place.name else self.place.name

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)
