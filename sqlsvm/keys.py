"""Keys of two kinds. A count travels by groups of equal keys, so what is equal within a relation has to be equal to the
same elsewhere. That may not be so where a comparison turns one type into the other: 'a' and 'A' are one citext and two
texts, 2^53 and 2^53 + 1 two whole numbers and one double, 'CA' and 'CA ' two varying texts and one padded. Nor where
two collations meet: the one that takes 'a' for 'A' decides.
"""

from collections.abc import Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.catalog import Catalog
from sqlsvm.engine.base import Column
from sqlsvm.errors import DataError, QueryError
from sqlsvm.query import Term
from sqlsvm.query.variables import join_variables

Held = tuple[Term, Column]


def check_keys(catalog: Catalog) -> None:
    for variable in join_variables(catalog.query):
        if not variable.match:
            held = list(zip(variable.terms, catalog.held(variable), strict=True))
            if len({column.blur for _, column in held}) > 1:
                raise _blurred(catalog, held)
            if len({column.type for _, column in held}) > 1:
                _check_rounded(catalog, held)


def _blurred(catalog: Catalog, held: Sequence[Held]) -> QueryError:
    blurred = next(pair for pair in held if pair[1].blur)
    other = next(pair for pair in held if pair[1].blur != blurred[1].blur)
    return QueryError(
        _are(catalog, blurred, other),
        detail="two that are equal as the one need not be equal as the other",
        hint=_cast(catalog, blurred, other, "text") if _by_type(blurred[1]) else _collate(catalog, blurred, other),
    )


def _check_rounded(catalog: Catalog, held: Sequence[Held]) -> None:
    """Keys that a comparison rounds, or pads, must not be the same then."""
    engine = catalog.engine
    rounded = engine.compared_as([column.type for _, column in held])
    if rounded is None:
        return
    exact = [pair for pair in held if engine.compared_as([pair[1].type, rounded])]
    rows = catalog.own_rows(exact[0][0].relation, (exact[0][0],))
    for term, _ in exact[1:]:
        rows = exp.union(rows, catalog.own_rows(term.relation, (term,)), distinct=False)
    k = sql.column("k0")
    as_rounded = exp.cast(k.copy(), rounded, dialect=engine.dialect)
    kinds = [(_different(k), "exact"), (_different(as_rounded), "rounded")]
    found = engine.fetch(sql.select(kinds, sql.derived(rows, "r")))
    if found["exact"][0] > found["rounded"][0]:
        other = next(pair for pair in held if engine.compared_as([exact[0][1].type, pair[1].type]))
        raise DataError(
            _are(catalog, exact[0], other),
            detail=f"they are compared as {rounded}, and so some that are not the same are equal",
            hint=_cast(catalog, exact[0], other, rounded),
        )


def _different(expression: exp.Expression) -> exp.Expression:
    return exp.Count(this=exp.Distinct(expressions=[expression]))


def _are(catalog: Catalog, *pairs: Held) -> str:
    names, kinds = _spelled(catalog, *pairs), [_kind(column) for _, column in pairs]
    return f"the keys {' and '.join(names)} are {' and '.join(kinds)}"


def _spelled(catalog: Catalog, *pairs: Held) -> list[str]:
    return [term.expression.sql(catalog.query.dialect) for term, _ in pairs]


def _by_type(column: Column) -> bool:
    return column.blur in (None, column.type)


def _kind(column: Column) -> str:
    return column.type if _by_type(column) else f"{column.type} {column.blur}"


def _cast(catalog: Catalog, cast: Held, other: Held, as_type: str) -> str:
    ours, theirs = _spelled(catalog, cast, other)
    return f"compare them as one type: CAST({ours} AS {as_type}) = {theirs}"


def _collate(catalog: Catalog, collated: Held, other: Held) -> str:
    ours, theirs = _spelled(catalog, collated, other)
    return f"compare them under one collation: {ours} {collated[1].blur} = {theirs} {collated[1].blur}"
