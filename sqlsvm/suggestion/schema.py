"""The tables of a database as a suggestion sees them: columns, unique keys and foreign keys.

Foreign keys that no constraint declares, guessed from names, types and values.

A column is taken for one if its name says the table (customer_id or "customerId" for customers.id) or is the name of
that table's key, and its values are in a column there in which each value occurs once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, ForeignKey
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.terminal import amount


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
    keys: tuple[frozenset[str], ...] = ()  # the sets of columns that are declared unique
    made: tuple[Made, ...] = ()  # if the query makes it: this, and what it is made of

    @property
    def name(self) -> str:
        """A file is called without its folder and ending."""
        return Path(self.place.name).stem if "." in self.place.name else self.place.name

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


WITHIN = 0.95  # the share of the values that are in the other column: some rows of it may have been deleted
READ = 100_000  # rows of a table that are read for a guess
_GENERAL = {"id", "key", "code", "name", "no", "number", "uuid", "pk"}  # names of columns that say nothing of a table


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
    # of several guesses for the same columns, the one with a table that the columns name
    ranked = sorted(found, key=lambda key: not any(stem in plain(key.columns[-1]) for stem in stems(key.of.name)))
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


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def stems(table: str) -> set[str]:
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
        names = [name for _, name in own]
        values = sql.derived(sql.where(sql.select(sql.columns(names), sql.derived(rows, "r")), whole).distinct(), "v")
        other = [(exp.column(c, quoted=True), f"k{i}") for i, c in enumerate(keys)]
        there = sql.derived(sql.select(other, parent.place.copy()), "p")
        on = sql.same(names, "v", "p")
        sizes = [(sql.count(), "n"), (exp.Count(this=sql.column("k0", "p")), "inside")]
        found = self.engine.fetch(sql.join(sql.select(sizes, values), there, on, "left"))
        return float(found["n"][0]), float(found["inside"][0])


def _without_id(column: str) -> set[str]:
    stem = plain(column).removesuffix("id").removesuffix("key").removesuffix("no")
    return {stem, f"{stem}s", f"{stem}es", f"{stem[:-1]}ies"} if len(stem) > 1 else set()


@dataclass(frozen=True)
class Schema:
    """Tables, and how they refer to each other."""

    tables: tuple[Table, ...]
    foreign_keys: tuple[ForeignKey, ...]

    def table(self, place: exp.Table) -> Table:
        return next(table for table in self.tables if table.place == place)

    def refers(self, table: Table) -> list[ForeignKey]:
        """The foreign keys of a table."""
        return [key for key in self.foreign_keys if key.table == table.place]

    def referred(self, table: Table) -> list[ForeignKey]:
        """The foreign keys to it of others that the session can read."""
        return [key for key in self.foreign_keys if key.of == table.place and not self.table(key.table).made]


def read_schema(engine: Engine, name: str, only: Sequence[str] = ()) -> tuple[Schema, Table]:
    """All tables that one may be connected with, and that one. `only`: no others than these."""
    listed = engine.tables()
    place = found_table(engine, listed, name)
    declared = engine.foreign_keys()
    asked = [found_table(engine, listed, each) for each in only] or _near(place, listed, declared)
    tables = _described(engine, dict.fromkeys([place, *asked]))
    if place not in [table.place for table in tables]:
        engine.describe(exp.select("*").from_(place.copy()))  # says why it cannot be read
    places = {table.place for table in tables}
    known = [key for key in declared if key.table in places and key.of in places]
    schema = Schema(tables, (*known, *guessed(engine, tables, known)))
    return schema, schema.table(place)


def found_table(engine: Engine, listed: Sequence[exp.Table], name: str) -> exp.Table:
    """The table that a name means: its exact name, SQL for one, or a file, also in quotes as in FROM."""
    name = name[1:-1] if name.startswith("'") and name.endswith("'") else name
    exact = [table for table in listed if table.name == name]
    typed = _typed(engine, name)
    same = [table for table in listed if _is(engine, table, typed)] if typed else []
    if found := exact or same:
        return _first_on_path(engine, found, typed)
    file = exp.Table(this=exp.to_identifier(name, quoted=True))
    with suppress(EngineError):
        engine.describe(exp.select("*").from_(file.copy()))
        return file
    near = get_close_matches(name, [table.name for table in listed], n=3, cutoff=0.5)
    raise OptionError(f"there is no table {name}", hint=f"is it {' or '.join(near)}?" if near else None)


def _typed(engine: Engine, name: str) -> exp.Table | None:
    with suppress(SqlglotError, ValueError):
        table = parse_one(f"SELECT * FROM {name}", read=engine.dialect).find(exp.Table)
        if table and isinstance(table.this, exp.Identifier) and not table.alias:
            return table
    return None


def _is(engine: Engine, table: exp.Table, typed: exp.Table) -> bool:
    def means(one: exp.Expr | None, other: exp.Expr | None) -> bool:
        if not isinstance(one, exp.Identifier) or not isinstance(other, exp.Identifier):
            return other is None
        return engine.fold(one.name, True) == engine.fold(other.name, bool(other.quoted))

    return means(table.this, typed.this) and means(table.args.get("db"), typed.args.get("db"))


def _first_on_path(engine: Engine, found: Sequence[exp.Table], typed: exp.Table | None) -> exp.Table:
    bare = exp.Table(this=found[0].this.copy())
    bound = engine.bound(exp.select("*").from_(typed.copy() if typed else bare)).find(exp.Table)
    path = bound.db if bound and bound.db else "main"
    return min(found, key=lambda table: table.db != path)


def _near(place: exp.Table, listed: Sequence[exp.Table], declared: Sequence[ForeignKey]) -> list[exp.Table]:
    """Those of the same schema, and of others that foreign keys lead to; of a file, the files next to it."""
    if not place.db:
        path = Path(place.name)
        files = sorted(path.parent.glob(f"*{path.suffix}")) if path.suffix else []
        return [exp.Table(this=exp.to_identifier(str(file), quoted=True)) for file in files if file != path]
    connected = {at for key in declared for at in (key.table, key.of)}
    return [table for table in listed if table.db == place.db or table in connected]


def _described(engine: Engine, places: Iterable[exp.Table]) -> tuple[Table, ...]:
    """Without those that cannot be read."""
    found = list[Table]()
    for place in places:
        with suppress(EngineError):
            found.append(Table(place, engine.describe(exp.select("*").from_(place.copy()))))
    keys = engine.unique_keys([table.place for table in found])
    return tuple(
        Table(table.place, table.columns, tuple(_spelled(table, key) for key in unique))
        for table, unique in zip(found, keys, strict=True)
    )


def _spelled(table: Table, key: frozenset[str]) -> frozenset[str]:
    """A catalog may say the names in lower case."""
    return frozenset(column.name for column in table.columns if column.name in key or column.name.lower() in key)
