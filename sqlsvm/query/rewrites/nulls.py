"""Rules about NULL: rows in which a feature, the label or the weight is NULL, and labels that tell of it."""

from dataclasses import replace
from math import nan

from sqlsvm import sql
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import FeatureQuery


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
