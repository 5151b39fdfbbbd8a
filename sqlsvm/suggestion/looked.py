"""What a column is, by its first rows: an id, a number, a category, a date."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Values
from sqlsvm.query.names import is_id
from sqlsvm.suggestion.joined import Joined, Step, Value
from sqlsvm.times import DATES

READ = 20_000  # so many rows are looked at
FEW = 50  # most categories of a feature


@dataclass(frozen=True)
class Looked:
    """A column with its values in the first rows: numbers, seconds, or texts. NULL is nan or None."""

    value: Value
    values: Values
    is_key: bool = False  # is it in a key of its table?
    rows: int = 0  # different rows of its own table among them

    @property
    def kind(self) -> str:
        return self.value.column.kind

    @cached_property
    def missing(self) -> Values:
        """Which are NULL."""
        if self.values.dtype.kind == "f":
            return np.asarray(np.isnan(self.values))
        return np.fromiter((value is None for value in self.values), dtype=bool)

    @cached_property
    def known(self) -> Values:
        return np.asarray(self.values[~self.missing])

    @cached_property
    def common(self) -> list[tuple[object, float]]:
        """Its values with their shares of the rows, the most frequent first."""
        found, counts = np.unique(self.known, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [(found[at], float(counts[at] / max(len(self.values), 1))) for at in order]

    @property
    def why_not(self) -> str | None:
        """Why it is no feature of the row that it is in."""
        n, different = len(self.known), len(self.common)
        if self.is_key or (self.kind in ("numeric", "categorical") and is_id(self.value.column.name)):
            return "a key"
        if self.kind not in ("numeric", "boolean", "categorical", *DATES):
            return f"of type {self.value.column.type}"
        if n == 0 or (different < 2 and n == len(self.values)):
            return "always the same"
        if self.kind == "categorical" and different > 5 and (2 * different > n or different > max(0.8 * self.rows, 10)):
            return "a text of its own in most rows of its table"
        if self.kind == "categorical" and different > FEW:
            return f"more than {FEW} values"
        return "a number for each row" if self.numbers_rows else None

    @property
    def differs(self) -> bool:
        """Has each row a value of its own?"""
        return 0 < len(self.common) == len(self.values)

    @property
    def numbers_rows(self) -> bool:
        n, different = len(self.known), len(self.common)
        if self.kind != "numeric" or different < n or n < 20 or n < len(self.values):
            return False
        whole = bool(np.all(self.known == np.round(self.known)))
        return whole and float(self.known.max() - self.known.min()) + 1 == n


def looked(engine: Engine, rows: Joined, values: Sequence[Value]) -> list[Looked]:
    """Columns of a table and its lookups. Texts and numbers come as they are, dates as seconds."""
    keys = _keys(rows)
    outputs = [(_plain(value), f"c{n}") for n, value in enumerate(values)]
    if not outputs:
        return []
    found = engine.fetch(rows.select(outputs).limit(READ))
    columns = [_read(found[f"c{n}"], value) for n, value in enumerate(values)]
    at = {(value.alias, value.column.name): n for n, value in enumerate(values)}
    different = {step.alias: _different(columns, at, step) for step in rows.steps}
    return [
        Looked(value, found, (value.alias, value.column.name) in keys, different.get(value.alias, len(found)))
        for value, found in zip(values, columns, strict=True)
    ]


def _different(columns: Sequence[Values], at: Mapping[tuple[str, str], int], step: Step) -> int:
    """How many rows of a lookup are found; only of a key of one column."""
    place = at.get((step.alias, step.key.keys[0]))
    values = columns[place] if place is not None and len(step.key.keys) == 1 else np.zeros(0)
    return len(set(values.tolist()) - {None}) if values.dtype.kind == "O" else len(np.unique(values[~np.isnan(values)]))


def _keys(rows: Joined) -> set[tuple[str, str]]:
    steps = rows.steps
    tables = [(rows.alias, rows.table), *((step.alias, step.table) for step in steps)]
    unique = {(alias, column) for alias, table in tables for key in table.keys if len(key) == 1 for column in key}
    refers = {(step.source, column) for step in steps for column in step.key.columns}
    return unique | refers | {(step.alias, column) for step in steps for column in step.key.keys}


def _plain(value: Value) -> exp.Expression:
    """If its type is no feature: only whether it is NULL."""
    kind, own = value.column.kind, value.expression
    if kind == "categorical":
        return sql.text(own)
    if kind == "boolean":
        return sql.double(sql.by_truth(own, 1, 0))
    if kind == "numeric":
        return sql.double(own)
    return seconds(own) if kind in DATES else sql.double(sql.case(sql.not_null(own), 1))


def _read(values: Values, value: Value) -> Values:
    if value.column.kind == "categorical":
        return values.astype(object)
    return np.asarray(values, dtype=float)


def seconds(value: exp.Expression) -> exp.Expression:
    """Since 1970, as a double."""
    return sql.double(exp.Extract(this=exp.var("EPOCH"), expression=value.copy()))


def moment(value: Value) -> exp.Expression:
    """A time as a double: seconds since 1970, or the number that it is."""
    return seconds(value.expression) if value.column.kind in DATES else sql.double(value.expression)
