"""DuckDB with PostgreSQL beside it: each statement runs on both, and what they answer is compared. A query is read and
planned once, as DuckDB wants it, and a difference names its statement."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy import ma
from sqlglot import exp

from sqlsvm.engine.base import Engine, Parameters, Rows, Sent, StatementError, Text, Values
from sqlsvm.engine.duckdb import DuckDB

CLOSE = 1e-9
"""Sums are added in different orders."""


class Both(Text):
    theirs: Text


class Twin(DuckDB):
    abilities = replace(DuckDB.abilities, frequent=False)

    def __init__(self, other: Engine) -> None:
        super().__init__()
        self.other = other
        other.execute(_path("main"))

    def text(self, statement: Sent) -> Text:
        if isinstance(statement, Text):
            return statement
        if isinstance(statement, exp.Use):
            theirs = _path(statement.name)
        else:
            theirs = Text() if isinstance(statement, exp.Set) else self.other.text(statement.copy())
        both = Both(super().text(statement))
        both.theirs = theirs
        return both

    def execute(self, statement: Sent, parameters: Parameters = ()) -> None:
        text = self.text(statement)
        try:
            super().execute(text, parameters)
        except StatementError:
            self._refused(text, parameters)
            raise
        if theirs := _theirs(text):  # a setting of DuckDB is none of PostgreSQL
            self.other.execute(theirs, parameters)

    def fetch(self, statement: Sent, parameters: Parameters = ()) -> Rows:
        text = self.text(statement)
        try:
            rows = super().fetch(text, parameters)
        except StatementError:
            self._refused(text, parameters)
            raise
        self._compare(text, rows, self.other.fetch(_theirs(text), parameters))
        return rows

    def copy_in(self, table: exp.Table, columns: Mapping[str, Values]) -> None:
        self._alone().copy_in(table, columns)
        self.other.copy_in(table.copy(), columns)

    def _set(self, settings: Mapping[str, object]) -> None:
        self._alone()._set(settings)

    def _alone(self) -> DuckDB:
        """The session of DuckDB without the other one."""
        alone = DuckDB.__new__(DuckDB)
        alone.__dict__.update(self.__dict__)
        return alone

    def copy_out(self, query: exp.Query) -> Iterator[Rows]:
        blocks = [*super().copy_out(query.copy())]
        self._compare(self.text(query.copy()), _joined(blocks), _joined(self.other.copy_out(query.copy())))
        yield from blocks

    def _refused(self, text: Text, parameters: Parameters) -> None:
        """What one refuses the other refuses."""
        try:
            self.other.execute(_theirs(text), parameters)
        except StatementError:
            return
        raise AssertionError(f"only DuckDB refuses {text}")

    def _compare(self, text: Text, ours: Rows, theirs: Rows) -> None:
        if difference := differs(ours, theirs):
            raise AssertionError(f"{difference}\nDuckDB: {text}\nPostgreSQL: {_theirs(text)}")


def _path(schema: str) -> Text:
    """Names that no schema precedes are found where DuckDB finds them."""
    name = exp.to_identifier("public" if schema == "main" else schema, quoted=True).sql("postgres")
    return Text(f"SET search_path = {name}, pg_catalog")


def _theirs(text: Text) -> Text:
    return text.theirs if isinstance(text, Both) else text


def _joined(blocks: Iterable[Rows]) -> Rows:
    blocks = [*blocks]
    joined: Callable[..., Values] = ma.concatenate
    return {name: joined([block[name] for block in blocks]) for name in blocks[0]} if blocks else {}


def differs(ours: Rows, theirs: Rows) -> str | None:
    """What is different between two answers, whose rows may come in different orders."""
    if [*ours] != [*theirs]:
        return f"columns {[*ours]} and {[*theirs]}"
    one, other = ([*zip(*(map(_cell, values) for values in rows.values()), strict=True)] for rows in (ours, theirs))
    if len(one) != len(other):
        return f"{len(one)} rows and {len(other)} rows"
    if all(map(_alike, one, other)):
        return None
    pairs = zip(*(sorted(rows, key=_place) for rows in (one, other)), strict=True)
    return next((f"{a} and {b}" for a, b in pairs if not _alike(a, b)), None)


def _cell(value: object) -> object:
    if value is None or value is ma.masked:
        return float("nan")
    return float(value) if isinstance(value, int | float | np.number | np.bool_) else str(value)


def _alike(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return all(map(_equal, one, other))


def _equal(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= CLOSE * max(abs(a), abs(b), 1.0)
    return a == b


def _place(row: tuple[object, ...]) -> tuple[list[str], tuple[object, ...]]:
    """By numbers as they are where sums that were added in another order do not tell rows apart."""
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row], row
