"""`--nulls`: without the rows in which a feature, the label or the weight is NULL, or the label alone."""

from dataclasses import replace
from math import nan

from sqlsvm import sql
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import FeatureQuery


def without_nulls(query: FeatureQuery, facts: Facts) -> FeatureQuery:
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
