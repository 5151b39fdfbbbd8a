"""Which feature is at fault when the database cannot compute a value: its message does not say so."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.errors import DataError
from sqlsvm.plan.scaling import odd_squares
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.rows import rows_of

LARGE, SMALL = 1e100, 1e-150
"""The squares of larger numbers may overflow when they are added up; those of smaller ones are 0 in a double."""


@contextmanager
def naming_features(engine: Engine, query: FeatureQuery) -> Iterator[None]:
    """An error about a value names the feature. This goes around the transaction, because PostgreSQL answers no query
    in a transaction that has failed."""
    try:
        yield
    except StatementError as error:
        if error.kind == "value":
            _blame(engine, query, error)
        raise


def _blame(engine: Engine, query: FeatureQuery, error: StatementError) -> None:
    """Raise an error about the first feature that fails by itself, if there is one. A condition that fails is none."""
    for relation in query.relations:
        own = [f for f in query.features if f.relation == relation.alias]
        if own and _computed(engine, query, relation.alias, sql.integer(1)) is not None:
            for feature in own:
                _check(engine, query, feature, error)


def _check(engine: Engine, query: FeatureQuery, feature: Feature, error: StatementError) -> None:
    numeric = feature.kind == "numeric"
    own = feature.expression.copy()
    value = exp.Abs(this=sql.double(own)) if numeric else sql.case(sql.is_null(own), 0, 1)
    ends = _computed(engine, query, feature.relation, value)
    if ends is None:
        raise _not_computed(feature, error) from error
    if numeric and ends["largest"] > LARGE:
        raise odd_squares(feature.name, "large", "/ 1e100") from error
    if numeric and 0.0 < ends["least"] < SMALL:
        raise odd_squares(feature.name, "small", "* 1e100") from error


def _computed(engine: Engine, query: FeatureQuery, alias: str, value: exp.Expression) -> dict[str, float] | None:
    """The least value, zeros aside, and the largest, over all rows of a relation; None if one cannot be computed. For a
    constant PostgreSQL would read one row, if it did not have to count."""
    v = sql.column("v")
    least = sql.smallest(exp.Nullif(this=v, expression=sql.integer(0)))
    ends = [(least, "least"), (sql.largest(v.copy()), "largest"), (sql.count(), "rows")]
    rows = sql.derived(rows_of(query, alias, [(value, "v")]), "r")
    try:
        return {name: float(values[0]) for name, values in engine.fetch(sql.select(ends, rows)).items()}
    except StatementError:
        return None


def _not_computed(feature: Feature, error: StatementError) -> DataError:
    why = "it is computed before the join, also in rows that the join leaves out"
    return DataError(
        f"feature {feature.name} cannot be computed in every row of {feature.relation}: {error.message}",
        detail=f"{error.detail}; {why}" if error.detail else why,
        hint=f"leave such rows out in a sub-query: FROM (SELECT * FROM ... WHERE ...) AS {feature.relation}; "
        "or write NULLIF(..., 0), or CASE WHEN ... END",
    )
