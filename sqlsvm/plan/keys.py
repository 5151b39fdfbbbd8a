"""Checks of keys whose types or collations differ.

Counts travel in groups of equal keys, so keys that are equal in one relation must be equal to the same keys in any
other. A comparison that converts types can break this: 'a' and 'A' are one citext and two texts, 2^53 and 2^53 + 1 are
two integers and one double, 'CA' and 'CA ' are two varying texts and one padded text. Two collations can break it too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import DataError, QueryError
from sqlsvm.plan.catalog import Catalog
from sqlsvm.query import FeatureQuery, Term
from sqlsvm.query.ir import Variable, inner_variables

Held = tuple[Term, Column]


@dataclass(frozen=True)
class Rounded:
    """A key that is compared as a type that rounds or pads it. Different values must stay different."""

    type: str
    exact: tuple[Term, ...]

    def counts(self, query: FeatureQuery) -> exp.Select:
        """SELECT how many different values there are, and how many after rounding."""
        first, *others = (query.relation(t.relation).rows([(t.expression.copy(), "k")]) for t in self.exact)
        rows: exp.Query = first
        for other in others:
            rows = exp.union(rows, other, distinct=False)
        k = sql.column("k", "r")
        as_rounded = exp.cast(k.copy(), self.type, dialect=query.dialect)
        return sql.select([(sql.different(k), "exact"), (sql.different(as_rounded), "rounded")], sql.derived(rows, "r"))


def check_keys(catalog: Catalog) -> None:
    for pair in _pairs(catalog):
        if catalog.engine.composite(pair[1]):
            raise _composite(catalog, pair)
    for variable in inner_variables(catalog.query):
        held = _held(catalog, variable)
        if len({column.blur for _, column in held}) > 1:
            raise _blurred(catalog, held)
        if rounded := _rounded(catalog, held):
            _check_rounded(catalog, held, rounded)
    for pair in _pairs(catalog):
        if catalog.engine.own_equality(pair[1]):
            raise _own_equality(catalog, pair)


def check_relied(catalog: Catalog) -> None:
    """Inside the snapshot: the keys that the reading relied on must be unique in these rows too."""
    for key in catalog.query.relied:
        if not catalog.facts.of(key.relation).is_unique(key.terms):
            terms = ", ".join(t.expression.sql(catalog.query.dialect) for t in key.terms)
            said = f"the key {terms} is no longer unique: rows of {key.relation.alias} changed while the query was read"
            detail = "an output or a condition over several relations relies on this key"
            raise DataError(said, detail=detail, hint="run the command again")


def rounded_keys(catalog: Catalog) -> Iterator[Rounded]:
    """The keys whose values `check_keys` reads; a stored program checks them again."""
    return filter(None, (_rounded(catalog, _held(catalog, v)) for v in inner_variables(catalog.query)))


def _pairs(catalog: Catalog) -> Iterator[Held]:
    """All keys, those of LEFT JOINs too."""
    yield from ((term, catalog.of(term.relation).described(term)) for term in dict.fromkeys(catalog.query.terms))


def _held(catalog: Catalog, variable: Variable) -> list[Held]:
    return list(zip(variable.terms, catalog.held(variable), strict=True))


def _composite(catalog: Catalog, held: Held) -> QueryError:
    (key,) = _spelled(catalog, held)
    said = f"the key {key} is of the composite type {held[1].type}"
    detail = "if its fields are NULL it is NULL, and still equal to others"
    return QueryError(said, detail=detail, hint="join on its fields: (a.k).x = (b.k).x AND (a.k).y = (b.k).y")


def _own_equality(catalog: Catalog, held: Held) -> QueryError:
    (key,) = _spelled(catalog, held)
    hint = f"join on a type of the system, under which the same keys are equal: CAST({key} AS TEXT)"
    return QueryError(f"the key {key} is of the type {held[1].type}, which has an = of its own", hint=hint)


def _blurred(catalog: Catalog, held: Sequence[Held]) -> QueryError:
    blurred = next(pair for pair in held if pair[1].blur)
    other = next(pair for pair in held if pair[1].blur != blurred[1].blur)
    (ours, theirs), collation = _spelled(catalog, blurred, other), blurred[1].collation
    collated = f"compare them under one collation: {ours} {collation} = {theirs} {collation}"
    said = _are(catalog, blurred, other)
    detail = "keys that are equal in one way need not be equal in the other"
    return QueryError(said, detail=detail, hint=collated if collation else _cast(catalog, blurred, other, "text"))


def _rounded(catalog: Catalog, held: Sequence[Held]) -> Rounded | None:
    compared_as = catalog.engine.compared_as
    type = compared_as([column.type for _, column in held])
    return Rounded(type, tuple(term for term, column in held if compared_as([column.type, type]))) if type else None


def _check_rounded(catalog: Catalog, held: Sequence[Held], rounded: Rounded) -> None:
    found = catalog.engine.fetch(rounded.counts(catalog.query))
    if found["exact"][0] > found["rounded"][0]:
        exact = next(pair for pair in held if pair[0] in rounded.exact)
        other = next(pair for pair in held if catalog.engine.compared_as([exact[1].type, pair[1].type]))
        detail = f"they are compared as {rounded.type}, so two different keys would count as equal"
        raise DataError(_are(catalog, exact, other), detail=detail, hint=_cast(catalog, exact, other, rounded.type))


def _are(catalog: Catalog, *pairs: Held) -> str:
    names, kinds = _spelled(catalog, *pairs), [_kind(column) for _, column in pairs]
    return f"the keys {' and '.join(names)} are {' and '.join(kinds)}"


def _spelled(catalog: Catalog, *pairs: Held) -> list[str]:
    return [term.expression.sql(catalog.query.dialect) for term, _ in pairs]


def _kind(column: Column) -> str:
    return f"{column.type} {column.collation}" if column.collation else column.type


def _cast(catalog: Catalog, cast: Held, other: Held, as_type: str) -> str:
    ours, theirs = _spelled(catalog, cast, other)
    return f"compare them as one type: CAST({ours} AS {as_type}) = {theirs}"
