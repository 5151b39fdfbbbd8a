"""Audited columns as features: their covariances with the others are measured."""

from dataclasses import replace

from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import FeatureQuery

OUTPUT = "fair:{}"


def widened(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """The audited columns are the last numbers among the features."""
    named = tuple(replace(f, name=OUTPUT.format(f.name)) for f in query.audited)
    return replace(query, features=(*query.features, *named), audited=())
