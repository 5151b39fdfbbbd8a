"""What a name in the query means, by the rules of the engine.

`fold` gives the meaning of an identifier, columns are looked up among those that the database described, and the result
is always `"alias"."real column name"`. sqlglot's `qualify` finds the same if all names are quoted first, but it has no
message that says which names are near (docs/internals.md).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import OptionError, QueryError, nearest
from sqlsvm.query.guards import Fragment
from sqlsvm.query.ir import Feature, FeatureQuery, Fold, gathered
from sqlsvm.query.sources import Source


@dataclass(frozen=True)
class Visible:
    """A column that `*` shows and that can be named without its relation."""

    alias: str
    column: Column
    name: str  # what its name means

    @property
    def reference(self) -> exp.Column:
        return exp.column(self.column.name, table=self.alias, quoted=True)


@dataclass(frozen=True)
class Shown:
    """Columns, also by what their names mean."""

    columns: tuple[Visible, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, list[Visible]]:
        return gathered((each.name, each) for each in self.columns)


@dataclass(frozen=True)
class Scope:
    """The relations that a condition or an output can use. `shown` has the columns of `*`: a column merged by USING or
    NATURAL appears once, as the one of the left side."""

    dialect: str
    fold: Fold
    columns: Mapping[str, tuple[Column, ...]]
    sources: tuple[Source, ...] = ()
    shown: Shown = field(default_factory=Shown)
    known: dict[str, Shown] = field(default_factory=dict)  # the columns of each relation, for all scopes of a query
    named: Mapping[str, exp.Expr] = field(default_factory=dict)
    """What the outputs are called, where an expression may use such a name. A column of this name comes first."""

    @property
    def visible(self) -> tuple[Visible, ...]:
        return self.shown.columns

    def of(self, source: Source) -> "Scope":
        return replace(self, sources=(source,), shown=self.own(source.alias))

    def own(self, alias: str) -> Shown:
        if alias not in self.known:
            columns = (Visible(alias, column, self.fold(column.name, True)) for column in self.columns[alias])
            self.known[alias] = Shown(tuple(columns))
        return self.known[alias]

    def with_(self, other: "Scope", merged: Iterable[str] = ()) -> "Scope":
        """Both sides of a join. The `merged` names come from this side, the left one."""
        names = set(merged)
        left, right = self.visible, other.visible
        if names:
            left = tuple(sorted(left, key=lambda v: v.name not in names))
            right = tuple(v for v in right if v.name not in names)
        return replace(self, sources=self.sources + other.sources, shown=Shown(left + right))

    def meaning(self, identifier: exp.Expr) -> str:
        return self.fold(identifier.name, bool(identifier.args.get("quoted")))

    def resolve(self, expression: exp.Expr) -> exp.Expression:
        """A copy in which every column is `"alias"."column"`: `Distance / 2` becomes `"f"."distance" / 2`."""
        if isinstance(expression, exp.Column):  # most outputs are one
            return self._resolved(expression)
        return expression.transform(lambda node: self._resolved(node) if isinstance(node, exp.Column) else node)

    def _resolved(self, column: exp.Column) -> exp.Expression:
        name = self.meaning(column.this) if isinstance(column.this, exp.Identifier) else ""
        if column.args.get("table") or name not in self.named or name in self.shown.by_name:
            return self.find(column).reference
        others = {other: value for other, value in self.named.items() if other != name}
        return exp.paren(replace(self, named=others).resolve(self.named[name]), copy=False)

    def find(self, column: exp.Column) -> Visible:
        """The one column that a name means."""
        if not isinstance(column.this, exp.Identifier):
            raise QueryError(f"{Fragment(column, self.dialect)} inside an expression", hint="name one column")
        return self._only(column, self.own(self.relation(column)) if column.args.get("table") else self.shown)

    def hides(self, column: exp.Column) -> bool:
        """Is the name one of here, so that it means nothing of a query around this one?"""
        if not column.args.get("table"):
            return self.meaning(column.this) in self.shown.by_name
        return self._relation(self._path(column)) is not None

    def relation(self, column: exp.Column) -> str:
        """The alias that the text before the last dot means: `f`, `flights`, `air.flights`."""
        path = self._path(column)
        if (found := self._relation(path)) is not None:
            return found
        shown = Fragment(column, self.dialect)
        known = [source.alias for source in self.sources]
        hint = self._as_field(column, path) or nearest(path[-1], known) or f"the relations here are {', '.join(known)}"
        raise QueryError(f"unknown relation {'.'.join(path)} in {shown}", hint=hint)

    def _path(self, column: exp.Column) -> tuple[str, ...]:
        return tuple(self.meaning(column.args[key]) for key in ("catalog", "db", "table") if column.args.get(key))

    def _relation(self, path: tuple[str, ...]) -> str | None:
        """`air.flights.x` means the relation written as `air.flights` or as `flights`, if it has no other alias."""
        for source in self.sources:
            shorter = min(len(path), len(source.path))
            is_tail = shorter > 0 and source.alias == path[-1] and path[-shorter:] == source.path[-shorter:]
            if path == (source.alias,) or (len(path) > 1 and is_tail):
                return source.alias
        return None

    def _as_field(self, column: exp.Column, path: tuple[str, ...]) -> str | None:
        """The hint for `addr.city` where addr is a column: without parentheses addr is read as a relation."""
        is_column = any(path[:-1] in ((), (v.alias,)) for v in self.shown.by_name.get(path[-1], ()))
        if not is_column or not isinstance(column.this, exp.Identifier):
            return None
        owner = column.args.get("db")
        whole = exp.Column(this=column.args["table"].copy(), table=owner.copy() if owner else None)
        field = exp.Dot(this=exp.paren(whole), expression=column.this.copy())
        return f"a field of a column is written {Fragment(field, self.dialect)}"

    def _only(self, column: exp.Column, candidates: Shown) -> Visible:
        shown, found = Fragment(column, self.dialect), candidates.by_name.get(self.meaning(column.this), [])
        if not found:
            raise QueryError(f"unknown column {shown}", hint=self._instead_of(column, candidates.columns))
        if len(found) > 1:
            owners = [v.alias for v in found]
            own = f"give the columns of {owners[0]} different names"
            said = f"column {shown} is ambiguous: it is in {' and '.join(owners)}"
            raise QueryError(said, hint=own if len(set(owners)) == 1 else f"write {owners[0]}.{shown}")
        return found[0]

    def _instead_of(self, column: exp.Column, candidates: tuple[Visible, ...]) -> str:
        wanted, names = self.meaning(column.this), [v.column.name for v in candidates]
        if not column.args.get("table") and wanted in [source.alias for source in self.sources]:
            return f"{wanted} is a relation: name one of its columns"
        return nearest(wanted, names) or f"the columns here are {', '.join(names[:8])}{', ...' * (len(names) > 8)}"


def distinct(names: Sequence[str], meaning: Callable[[str], str]) -> list[str]:
    """A second x is called x_2."""
    found: dict[str, str] = {}
    taken = {meaning(name) for name in names}
    for name in names:
        free, number = name, 1
        while meaning(free) in found or (number > 1 and meaning(free) in taken):
            number += 1
            free = f"{name}_{number}"
        found[meaning(free)] = free
    return list(found.values())


def relations_in(resolved: exp.Expr) -> list[str]:
    """The aliases that a resolved expression uses, in order of appearance."""
    return list(dict.fromkeys(column.table for column in resolved.find_all(exp.Column)))


def is_id(name: str) -> bool:
    """
    >>> [name for name in ("id", "customer_id", "customerId", "paid", "uuid", "grid", "order_no") if is_id(name)]
    ['id', 'customer_id', 'customerId', 'uuid']
    """
    return _last_word(name) in ("id", "uuid", "guid", "pk")


def names_something(name: str) -> bool:
    """Of a column that is a number: is it an id, or what else is called so?
    >>> [name for name in ("customerId", "order_no", "item_sk", "dayKey", "piano", "no") if names_something(name)]
    ['customerId', 'order_no', 'item_sk', 'dayKey']
    """
    return is_id(name) or (name != _last_word(name) and _last_word(name) in ("key", "no", "sk"))


def _last_word(name: str) -> str:
    return re.sub(r"([a-z])([A-Z][a-zA-Z]*)$", r"\1_\2", name).lower().rpartition("_")[2]


T = TypeVar("T")


def meant(typed: str, known: Iterable[str], fold: Fold) -> str | None:
    names = list(known)
    meanings = {fold(name, True): name for name in names}
    return typed if typed in names else meanings.get(fold(typed, False))


def named(flag: str, typed: str, known: Mapping[str, T], fold: Fold, lacks: str = "the query has no column") -> T:
    own = meant(typed, known, fold)
    if own is None:
        hint = nearest(typed, known) or f"there are {', '.join(list(known)[:20])}"
        raise OptionError(f"{flag}: {lacks} {typed}", hint=hint)
    return known[own]


def column_of(feature: str, columns: Mapping[str, T], fold: Fold | None = None, of: str = "") -> T:
    """The column of given rows that has the values of a feature. Last, it may differ in case only."""
    read: Fold = fold or (lambda name, quoted: name)
    known = {k.casefold(): c for k, c in columns.items()} | {read(k, True): c for k, c in columns.items()} | {**columns}
    for name in (feature, read(feature, True), feature.casefold()):
        if name in known:
            return known[name]
    hint = nearest(feature, columns) or "give each feature's name to a column, with SELECT ... AS"
    raise OptionError(f"the rows have no column {feature}{of}", hint=hint)


def output_named(query: FeatureQuery, flag: str, typed: str, fold: Fold) -> Feature | None:
    """A feature over the relation that has the label, unless that has its value as a column; an error if it is over
    others, or is the label or the weight."""
    roles = {"label": query.label, "weight": query.weight}
    for role, other in roles.items():
        if other and meant(typed, [other.name], fold):
            raise OptionError(f"{flag}: {other.name} is the {role}", hint="take another column")
    own = meant(typed, [f.name for f in query.features], fold)
    found = [f for f in query.features if f.name == own]
    if any(own in layer for layer in query.relation(query.label_relation).computed):
        return None
    if found and {f.relation for f in found} != {query.label_relation}:
        raise _elsewhere(query, flag, typed)
    return found[0] if found else None


def column_named(query: FeatureQuery, flag: str, typed: str, fold: Fold) -> Column:
    """A column of the relation that has the label."""
    alias = query.label_relation
    columns = {c.name: c for c in query.relation(alias).columns if not c.name.startswith(sql.WORKING)}
    others = (c.name for r in query.relations if r.alias != alias for c in r.columns)
    if not meant(typed, columns, fold) and meant(typed, others, fold):
        raise _elsewhere(query, flag, typed)
    return named(flag, typed, columns, fold, f"{alias}, which has the label, has no column")


def _elsewhere(query: FeatureQuery, flag: str, name: str) -> OptionError:
    alias, hint = query.label_relation, ""
    if alias in query.parents:  # the label says whether a LEFT JOIN finds a row
        exists = "EXISTS (SELECT 1 FROM ... WHERE ...)"
        hint = f"write the label as {exists}, which is a column of the table on the left; or "
    remedy = f"{hint}take it into that relation: FROM (SELECT a.*, b.{name} FROM ... JOIN ...) AS {alias}"
    return OptionError(f"{flag}: {name} is not a column of {alias}, which has the label", hint=remedy)
