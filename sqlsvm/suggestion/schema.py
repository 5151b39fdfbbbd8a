"""The tables of a database as a suggestion sees them: columns, unique keys and foreign keys."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlsvm.engine.base import Engine, ForeignKey
from sqlsvm.errors import EngineError, OptionError
from sqlsvm.suggestion.guess import guessed
from sqlsvm.suggestion.table import Table


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
