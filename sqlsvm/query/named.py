"""What an option names. There is one rule for all of them: as spelled, else as the engine reads the unquoted name."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import OptionError, nearest
from sqlsvm.query.ir import Feature, FeatureQuery, Fold

T = TypeVar("T")


def meant(typed: str, known: Iterable[str], fold: Fold) -> str | None:
    """The name that a user means."""
    names = list(known)
    meanings = {fold(name, True): name for name in names}
    return typed if typed in names else meanings.get(fold(typed, False))


def named(flag: str, typed: str, known: Mapping[str, T], fold: Fold, lacks: str = "the query has no column") -> T:
    """What has that name."""
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
        hint = (
            "write the label as EXISTS (SELECT 1 FROM ... WHERE ...), which is a column of the table on the left; or "
        )
    remedy = f"{hint}take it into that relation: FROM (SELECT a.*, b.{name} FROM ... JOIN ...) AS {alias}"
    return OptionError(f"{flag}: {name} is not a column of {alias}, which has the label", hint=remedy)
