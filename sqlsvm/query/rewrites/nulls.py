"""`--nulls drop`: without the rows in which a feature, the label or the weight is NULL."""

from sqlsvm import sql
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import FeatureQuery


def without_nulls(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    for f in query.outputs:
        query = query.where(f.relation, sql.not_null(query.relation(f.relation).presence(f.expression)))
    return query
