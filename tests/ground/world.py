"""A small database with a feature query over it: what is in the tables, what is asked, and how it is typed."""

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from sqlglot import exp

from sqlsvm.engine.base import Engine
from sqlsvm.query import Equality, Feature, LeftJoin
from tests.ground import surface
from tests.typed import look_in, typed

Value = int | float | str | bool | Decimal | None
Form = Literal["table", "view", "subquery", "cte"]
JoinStyle = Literal["on", "using", "natural", "cross", "comma"]

_serial = itertools.count(1)


@dataclass(frozen=True)
class TableColumn:
    name: str
    type: str


@dataclass(frozen=True)
class Table:
    """The first column is the row's identity: a unique integer that the query does not use, except by a star."""

    name: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Value, ...], ...]
    unique: tuple[tuple[str, ...], ...] = ()
    """Declared UNIQUE constraints. Data may be unique without saying so."""

    @property
    def row_id(self) -> str:
        return self.columns[0].name


@dataclass(frozen=True)
class Item:
    """One item of FROM. Expressions are over `alias`, qualified and quoted."""

    alias: str
    table: str
    form: Form = "table"
    form_name: str = ""
    """The name of the view or of the CTE."""
    form_filter: exp.Expression | None = None
    """WHERE of the view, sub-query or CTE, over the table's bare columns."""
    schema_typed: bool = True
    """Whether the user types `schema.table`, or leaves it to the search path."""
    join: JoinStyle = "on"
    """What the user would like to type; `surface` falls back to ON where it would not be legal."""
    filters: tuple[exp.Expression, ...] = ()
    filters_in_on: bool = False
    late_filters: tuple[exp.Expression, ...] = ()
    star: bool = False


@dataclass(frozen=True)
class Typing:
    """Habits of the user's fingers, the same all through one query."""

    shout: bool = False
    """SHOUT what needs no quotes: it folds to the same name."""
    bare: bool = False
    """Leave out the alias where a column name is unambiguous."""
    terse: bool = False
    """No AS, no alias where the table's own name will do, no AS name where the column has that name."""


@dataclass(frozen=True, repr=False)
class World:
    """Tables, and a query over them in the vocabulary of `sqlsvm.query`. `repr` is a script to paste into psql."""

    tables: tuple[Table, ...]
    items: tuple[Item, ...]
    equalities: tuple[Equality, ...]
    left_joins: tuple[LeftJoin, ...]
    features: tuple[Feature, ...]
    label: Feature | None
    cyclic: bool = False
    label_first: bool = True
    typing: Typing = Typing()
    schema: str = "ground"

    @cached_property
    def table_of(self) -> dict[str, Table]:
        by_name = {t.name: t for t in self.tables}
        return {i.alias: by_name[i.table] for i in self.items}

    @cached_property
    def optional(self) -> frozenset[str]:
        """Aliases of the relations that are LEFT JOINed."""
        return frozenset(j.relation for j in self.left_joins)

    def item(self, alias: str) -> Item:
        return next(i for i in self.items if i.alias == alias)

    def row_id(self, alias: str) -> exp.Expression:
        return exp.column(self.table_of[alias].row_id, table=alias, quoted=True)

    @property
    def outputs(self) -> tuple[Feature, ...]:
        """The select list in order: the features with the label before or after them."""
        label = (self.label,) if self.label else ()
        return label + self.features if self.label_first else self.features + label

    def query(self, dialect: str) -> str:
        """The feature query as a user would type it."""
        return surface.query(self).sql(dialect=dialect)

    def select(self, outputs: Sequence[exp.Expr]) -> exp.Select:
        """The same FROM and WHERE with another select list, of canonical expressions."""
        return surface.query(self, outputs)

    def source(self, alias: str) -> exp.Expression:
        """The relation by itself, as it can stand in FROM."""
        return surface.standalone(self, self.item(alias))

    def create(self, engine: Engine) -> "World":
        """The same world, now in a fresh schema of that database which is first on the search path."""
        live = replace(self, schema=f"{self.schema}_{os.getpid()}_{next(_serial)}")
        for statement in surface.creation(live):
            typed(engine, statement)
        look_in(engine, live.schema)
        return live

    def drop(self, engine: Engine) -> None:
        engine.execute(surface.dropping(self.schema))

    @contextmanager
    def created(self, engine: Engine) -> Iterator["World"]:
        """`with world.created(engine) as live:` and the schema is gone afterwards."""
        live = self.create(engine)
        try:
            yield live
        finally:
            live.drop(engine)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For hypothesis, which would rather print the fields."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        statements = [*surface.creation(self), surface.query(self)]
        return "".join(f"\n{s.sql(dialect='postgres')};" for s in statements)


@contextmanager
def noted(note: str) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(note)
        raise
