"""Whose rows the label tells of: those of its own relation, or, if it has a value where a LEFT JOIN finds no row, those
that look for it: COALESCE(c.churned, FALSE), c.id IS NOT NULL."""

from dataclasses import replace

from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import FeatureQuery


def told(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    if query.label is None or (alias := query.label.relation) not in query.parents:
        return query
    if not facts.is_known_of_nothing(query.relation(alias), query.label.value):
        return query
    while alias in query.parents:
        alias = query.parents[alias]
    return replace(query, tells_of=alias)
