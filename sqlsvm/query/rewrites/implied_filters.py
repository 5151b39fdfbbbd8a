"""The filters that equalities imply: a.x = b.k AND a.y = b.k implies a.x = a.y, because a row of a with another y meets
no row of b."""

from sqlsvm import sql
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import FeatureQuery
from sqlsvm.query.variables import inner_variables


def implied_filters(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    for variable in inner_variables(query):
        for alias in variable.holders:
            first, *others = variable.at(alias)
            if others:
                equal = (sql.equal(first.expression.copy(), other.expression.copy()) for other in others)
                query = query.where(alias, *equal)
    return query
