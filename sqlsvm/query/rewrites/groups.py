"""The column whose values are groups, with a model each."""

from dataclasses import replace

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import QueryError, nearest
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import Feature, FeatureQuery, Fold
from sqlsvm.query.names import meant
from sqlsvm.query.rewrites.kinds import plain, remedy
from sqlsvm.times import TIMES


def by_column(name: str) -> Rule:
    """The column is set apart, as a category. It is an output of the query of that name; else a column of the label's
    relation. An output is no feature then: it is the same in all rows of a group."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        fold = facts.engine.fold
        assert query.label is not None
        for role, other in (("label", query.label), ("weight", query.weight)):
            if other and meant(name, [other.name], fold):
                raise QueryError(f"--by: {other.name} is the {role}", hint="groups are the values of another column")
        own = meant(name, [f.name for f in query.features], fold)
        found = [f for f in query.features if f.name == own]
        if not found:
            return replace(query, by=_of_table(query, name, fold))
        if {f.relation for f in found} != {query.label.relation}:
            raise _elsewhere(query, name)
        if time := query.times.get(found[0].name):
            hint = "select it as text, or a part of it: EXTRACT(YEAR FROM ...)"
            raise QueryError(f"--by: {found[0].name} is of type {time}", hint=hint)
        rest = tuple(f for f in query.features if f not in found)
        return replace(query, features=rest, by=replace(found[0], kind="categorical", top=None))

    return rule


def grouped(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """The column is the last feature."""
    return replace(query, features=(*query.features, query.by), by=None) if query.by else query


def _of_table(query: FeatureQuery, name: str, fold: Fold) -> Feature:
    assert query.label is not None
    alias = query.label.relation
    columns = {c.name: c for c in query.relation(alias).columns if not c.name.startswith(sql.WORKING)}
    column = columns.get(meant(name, columns, fold) or "")
    if column is None:
        if meant(name, (c.name for r in query.relations for c in r.columns), fold):
            raise _elsewhere(query, name)
        hint = nearest(name, columns)
        raise QueryError(f"--by: {alias}, which has the label, has no column {name}", hint=hint)
    _check(column, query.dialect)
    own = sql.named(column.name, alias)
    return Feature(column.name, alias, plain(own, column), "categorical", column.spelling, exact=own)


def _check(column: Column, dialect: str) -> None:
    if column.kind == "other" or column.kind in TIMES:
        raise QueryError(f"--by: {column.name} is of type {column.type}", hint=remedy(column, dialect))


def _elsewhere(query: FeatureQuery, name: str) -> QueryError:
    assert query.label is not None
    alias = query.label.relation
    return QueryError(
        f"--by: {name} is not a column of {alias}, which has the label",
        hint=f"take it into that relation: FROM (SELECT a.*, b.{name} FROM ... JOIN ...) AS {alias}",
    )
