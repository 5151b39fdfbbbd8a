"""Rules about equalities."""

from dataclasses import replace

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Equality, FeatureQuery, Term
from sqlsvm.query.rewrites.kinds import plain
from sqlsvm.query.variables import inner_variables


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
