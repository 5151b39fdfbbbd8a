"""Foreign keys that no constraint declares, guessed from names, types and values.

A column is taken for one if its name says the table (customer_id or "customerId" for customers.id) or is the name of
that table's key, and its values are in a column there in which each value occurs once.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import product

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, ForeignKey
from sqlsvm.suggestion.table import Table
from sqlsvm.terminal import amount

WITHIN = 0.99
"""The share of the values that are in the other column."""
READ = 100_000
"""Rows of a table that are read for a guess."""
_GENERAL = {"id", "key", "code", "name", "no", "number", "uuid", "pk"}
"""Names of columns that say nothing of a table."""


def guessed(engine: Engine, tables: Sequence[Table], known: Sequence[ForeignKey]) -> list[ForeignKey]:
    taken = {(key.table, column) for key in known for column in key.columns}
    asked = _Asked(engine)
    found = list[ForeignKey]()
    for child, parent in product(tables, tables):
        if child is parent or any((key.table, key.of) == (child.place, parent.place) for key in known):
            continue
        for columns, keys in _named(child, parent):
            if not any((child.place, column) in taken for column in columns):
                found += asked.guess(child, columns, parent, keys)
    return _without_twice(found)


def _without_twice(found: list[ForeignKey]) -> list[ForeignKey]:
    """Of several guesses for the same columns, the one with a table that the columns name."""
    ranked = sorted(found, key=lambda key: not _says(key.columns[-1], key.of.name))
    kept = {(key.table, key.columns): key for key in reversed(ranked)}
    return [key for key in found if kept[key.table, key.columns] is key]


def _named(child: Table, parent: Table) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Columns of a table that by their names and types may refer to a key of another."""
    for column, key in product(child.columns, parent.columns):
        if _comparable(column, key) and _refers(column.name, parent.name, key.name):
            yield (column.name,), (key.name,)
    for key_columns in (key for key in parent.keys if len(key) > 1):
        keys = tuple(column.name for column in parent.columns if column.name in key_columns)
        if all((own := child.column(k)) and (other := parent.column(k)) and _comparable(own, other) for k in keys):
            yield keys, keys


def _comparable(column: Column, key: Column) -> bool:
    return column.kind == key.kind and column.kind in ("numeric", "categorical")


def _refers(column: str, table: str, key: str) -> bool:
    name, of = plain(column), plain(key)
    if name == of and of not in _GENERAL:
        return True
    return any(name.endswith(stem + of) or name == f"{stem}id" or name == stem for stem in stems(table)) and (
        of in _GENERAL or any(of.startswith(stem) for stem in stems(table))
    )


def _says(column: str, table: str) -> bool:
    return any(stem in plain(column) for stem in stems(table))


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def stems(table: str) -> set[str]:
    """The singular of a name, in a few ways."""
    name = plain(table)
    endings = {"ies": "y", "es": "", "s": ""}
    return {name, *(name.removesuffix(end) + new for end, new in endings.items() if name.endswith(end))} - {""}


class _Asked:
    """What the database was asked; uniqueness once for each key."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.unique = dict[tuple[str, tuple[str, ...]], bool]()

    def guess(
        self, child: Table, columns: tuple[str, ...], parent: Table, keys: tuple[str, ...]
    ) -> Iterator[ForeignKey]:
        if not self.is_unique(parent, keys) or self._is_own_id(child, columns):
            return
        values, inside = self._inside(child, columns, parent, keys)
        if values and inside >= WITHIN * values:
            said = f"by its name, and {amount(inside)} of {amount(values)} values are there"
            yield ForeignKey(child.place, columns, parent.place, keys, said)

    def _is_own_id(self, child: Table, columns: tuple[str, ...]) -> bool:
        """Does it number the rows of its own table, as resultId in sprint_results?"""
        ends = any(plain(child.name).endswith(stem) for stem in _without_id(columns[0]))
        return len(columns) == 1 and (ends or plain(columns[0]) in _GENERAL) and self.is_unique(child, columns)

    def is_unique(self, table: Table, columns: tuple[str, ...]) -> bool:
        at = table.place.sql(), columns
        if at not in self.unique:
            declared = any(key <= frozenset(columns) for key in table.keys)
            self.unique[at] = declared or self._is_found_unique(table, columns)
        return self.unique[at]

    def _is_found_unique(self, table: Table, columns: tuple[str, ...]) -> bool:
        if len(columns) > 1:
            return False
        value = exp.column(columns[0], quoted=True)
        first = sql.derived(exp.select(value).from_(table.place.copy()).limit(5000), "r")
        return all(self._different(rows, value) for rows in (first, table.place.copy()))  # most that repeat do so early

    def _different(self, rows: exp.Expr, value: exp.Column) -> bool:
        sizes = [(exp.Count(this=value.copy()), "n"), (sql.different(value), "d"), (sql.count(), "c")]
        found = self.engine.fetch(sql.select(sizes, rows))
        return bool(found["n"][0] == found["d"][0] == found["c"][0] > 0)

    def _inside(
        self, child: Table, columns: tuple[str, ...], parent: Table, keys: tuple[str, ...]
    ) -> tuple[float, float]:
        """How many values there are, and how many of them are in the other columns."""
        own = [(exp.column(c, quoted=True), f"k{i}") for i, c in enumerate(columns)]
        rows = sql.select(own, child.place.copy()).limit(READ)
        whole = sql.every(sql.not_null(sql.column(name)) for _, name in own)
        values = sql.derived(sql.where(sql.select(own_names(own), sql.derived(rows, "r")), whole).distinct(), "v")
        other = [(exp.column(c, quoted=True), f"k{i}") for i, c in enumerate(keys)]
        there = sql.derived(sql.select(other, parent.place.copy()), "p")
        on = sql.same([name for _, name in own], "v", "p")
        sizes = [(sql.count(), "n"), (exp.Count(this=sql.column("k0", "p")), "inside")]
        found = self.engine.fetch(sql.join(sql.select(sizes, values), there, on, "left"))
        return float(found["n"][0]), float(found["inside"][0])


def own_names(outputs: Sequence[tuple[exp.Expression, str]]) -> sql.Named:
    return sql.columns(name for _, name in outputs)


def _without_id(column: str) -> set[str]:
    stem = plain(column).removesuffix("id").removesuffix("key").removesuffix("no")
    return {stem, f"{stem}s", f"{stem}es", f"{stem[:-1]}ies"} if len(stem) > 1 else set()
