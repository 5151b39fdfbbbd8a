"""Sums that are not equal to the sum of their terms as doubles: they are computed where their relations meet."""

from collections.abc import Iterator

from sqlsvm.engine.base import StatementError
from sqlsvm.errors import FormError
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Feature, FeatureQuery
from sqlsvm.query.rewrites.kinds import remedy
from sqlsvm.query.rewrites.meet import met
from sqlsvm.query.sums import check_sum, sum_probes


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
        raise FormError(
            f"the terms of {term.name} over {term.relation} are no numbers: {error.message}",
            hint="turn each term into a number: EXTRACT(EPOCH FROM ...)",
        ) from error
    if column.kind != "numeric":
        said = f"the term of {term.name} over {term.relation} is of type {column.type}"
        raise FormError(said, hint=remedy(column, query.dialect))
