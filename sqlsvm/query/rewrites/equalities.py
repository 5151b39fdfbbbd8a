"""Rules about equalities."""

from dataclasses import replace
from math import nan

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Equality, FeatureQuery, Term, inner_variables
from sqlsvm.query.rewrites.kinds import plain


def plain_keys(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Plain texts where both sides are of a type that ignores case: then equal keys are equal texts."""
    if not any(column.spelling == "caseless" for r in query.relations for column in r.columns):
        return query

    def column(term: Term) -> Column:
        return facts.columns(query.relation(term.relation), [term.expression])[0]

    def plained(equality: Equality) -> Equality:
        left, right = (column(term) for term in (equality.left, equality.right))
        if not left.spelling == right.spelling == "caseless":
            return equality
        sides = (equality.left, left), (equality.right, right)
        return Equality(*(Term(term.relation, plain(term.expression, column)) for term, column in sides))

    def all_plained(equalities: tuple[Equality, ...]) -> tuple[Equality, ...]:
        return tuple(map(plained, equalities))

    joins = tuple(replace(j, equalities=all_plained(j.equalities)) for j in query.left_joins)
    return replace(query, equalities=all_plained(query.equalities), left_joins=joins)


def implied_filters(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """a.x = b.k AND a.y = b.k implies a.x = a.y, because a row of a with another y meets no row of b."""
    for variable in inner_variables(query):
        for alias in variable.holders:
            first, *others = variable.at(alias)
            if others:
                equal = (sql.equal(first.expression.copy(), other.expression.copy()) for other in others)
                query = query.where(alias, *equal)
    return query


def without_nulls(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """`--nulls drop`: without the rows in which one of them is NULL."""
    for f in query.outputs:
        query = query.where(f.relation, sql.not_null(query.relation(f.relation).presence(f.expression)))
    return query


def with_label(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Without the rows whose label is NULL, if it asks for that, and with their number."""
    if not (query.labelled_only and query.label):
        return query
    label, relation = query.label, query.relation(query.label.relation)
    is_found = relation.optional is None or facts.is_known_of_nothing(relation, label.expression)
    out = facts.nulls(relation, label.expression) if is_found else nan
    if not out:
        return query
    return replace(query.where(label.relation, sql.not_null(label.expression.copy())), unlabelled=out)


def told(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Whose rows the label tells of: those of its own relation, or, if it has a value where a LEFT JOIN finds no row,
    those that look for it: COALESCE(c.churned, FALSE), c.id IS NOT NULL."""
    if query.label is None or (alias := query.label.relation) not in query.parents:
        return query
    if not facts.is_known_of_nothing(query.relation(alias), query.label.value):
        return query
    while alias in query.parents:
        alias = query.parents[alias]
    return replace(query, tells_of=alias)
