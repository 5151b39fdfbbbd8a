"""Sums that are not equal to the sum of their terms as doubles: they are computed where their relations meet."""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, StatementError
from sqlsvm.errors import FormError
from sqlsvm.query.facts import Facts
from sqlsvm.query.guards import Fragment
from sqlsvm.query.ir import Feature, FeatureQuery
from sqlsvm.query.names import relations_in
from sqlsvm.query.rewrites.kinds import remedy
from sqlsvm.query.rewrites.meet import met


def whole_sums(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    return met(query, facts, dict(_no_sums(query, facts)))


def _no_sums(query: FeatureQuery, facts: Facts) -> Iterator[tuple[str, FormError]]:
    """Sums that are not equal to the sum of their terms as doubles, each with the error for that."""
    for feature, probe in sum_probes(query):
        try:
            for term in query.sums[feature.name]:
                _check_term(query, term, facts)
            check_sum(feature, facts.engine.describe(probe), facts.engine.abilities.single, query.dialect)
        except FormError as error:
            yield feature.name, error


def _check_term(query: FeatureQuery, term: Feature, facts: Facts) -> None:
    try:
        (column,) = facts.columns(query.relation(term.relation), [term.expression])
    except StatementError as error:  # a date can be subtracted, but has no minus of its own
        fact = f"the terms of {term.name} over {term.relation} are no numbers: {error.message}"
        raise FormError(fact, hint="turn each term into a number: EXTRACT(EPOCH FROM ...)") from error
    if column.kind != "numeric":
        said = f"the term of {term.name} over {term.relation} is of type {column.type}"
        raise FormError(said, hint=remedy(column, query.dialect))


_WHOLE = frozenset(("smallint", "integer", "bigint"))  # the types of PostgreSQL for which / drops the remainder


def sum_probes(query: FeatureQuery) -> Iterator[tuple[Feature, exp.Select]]:
    """For each sum a SELECT of it, and of the divisions in it that use several relations."""
    for terms in query.sums.values():
        whole = terms[0].typed
        asked = [whole, *_divisions(whole)]
        first, *others = (query.relation(term.relation).source.copy() for term in terms)
        probe = sql.select([(node.copy(), f"c{n}") for n, node in enumerate(asked)], first)
        for other in others:
            probe = sql.join(probe, other, [])
        yield terms[0], probe


def _divisions(whole: exp.Expression) -> list[exp.Div]:
    return [node for node in whole.find_all(exp.Div) if len(relations_in(node)) > 1]


def check_sum(feature: Feature, described: Sequence[Column], single: str, dialect: str) -> None:
    """Terms are added up as doubles. Refuse a sum that the database rounds in another way."""
    whole, *quotients = described
    for node, quotient in zip(_divisions(feature.typed), quotients, strict=True):
        if quotient.type in _WHOLE:
            said = f"the division {Fragment(node, dialect)} of feature {feature.name} drops the remainder"
            raise FormError(said, hint=f"divide by {sql.double(node.expression.copy()).sql(dialect)}")
    if whole.type == single:
        exact = " and ".join(sql.double(column).sql(dialect) for column in feature.typed.find_all(exp.Column))
        raise FormError(f"the sum {feature.name} is rounded to the type {single}", hint=f"write {exact}")
