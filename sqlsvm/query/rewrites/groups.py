"""The column whose values are groups, with a model each."""

from dataclasses import replace

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import QueryError
from sqlsvm.query.facts import Facts, Rule
from sqlsvm.query.ir import Feature, FeatureQuery, Fold
from sqlsvm.query.named import column_named, output_named
from sqlsvm.query.rewrites.kinds import plain, remedy
from sqlsvm.times import TIMES


def by_column(name: str) -> Rule:
    """The column is set apart, as a category. It is an output of the query of that name; else a column of the label's
    relation. An output is no feature then: it is the same in all rows of a group."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        fold = facts.engine.fold
        assert query.label is not None
        found = output_named(query, "--by", name, fold)
        if found is None:
            return replace(query, by=_of_table(query, name, fold))
        if time := query.times.get(found.name):
            hint = "select it as text, or a part of it: EXTRACT(YEAR FROM ...)"
            raise QueryError(f"--by: {found.name} is of type {time}", hint=hint)
        return replace(query.without(found.name), by=replace(found, kind="categorical", top=None, rare=0))

    return rule


def grouped(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """The column is the last feature."""
    return replace(query, features=(*query.features, query.by), by=None) if query.by else query


def _of_table(query: FeatureQuery, name: str, fold: Fold) -> Feature:
    assert query.label is not None
    alias = query.label.relation
    column = column_named(query, "--by", name, fold)
    _check(column, query.dialect)
    own = sql.named(column.name, alias)
    return Feature(column.name, alias, plain(own, column), "categorical", column.spelling, exact=own)


def _check(column: Column, dialect: str) -> None:
    if column.kind == "other" or column.kind in TIMES:
        raise QueryError(f"--by: {column.name} is of type {column.type}", hint=remedy(column, dialect))
