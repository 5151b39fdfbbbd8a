"""The kind of each feature, from the type that the database reports for its output."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Kind
from sqlsvm.errors import QueryError
from sqlsvm.query.ir import Feature, FeatureQuery

_HINTS = {
    r"\]$": "take its elements out one by one: x[1] AS x1, x[2] AS x2",
    r"^struct": "take its fields out one by one: (x).city AS city",
    "interval": "turn it into a number: EXTRACT(EPOCH FROM ...)",
    "date": "turn it into a number: EXTRACT(EPOCH FROM ...), or into parts: EXTRACT(MONTH FROM ...)",
    "time": "turn it into a number: EXTRACT(EPOCH FROM ...), or into parts: EXTRACT(HOUR FROM ...)",
    "json": "take a field out of it and cast it: CAST(x ->> 'field' AS double precision)",
}

_ANY_HINT = "cast it to a number, a boolean or text"


def probes(query: FeatureQuery) -> dict[str, exp.Select]:
    """For each relation with outputs a SELECT of them, in order. Its description gives their types."""
    return {alias: _probe(query, alias) for alias in dict.fromkeys(f.relation for f in query.outputs)}


def _outputs(query: FeatureQuery, alias: str) -> Iterator[Feature]:
    return (f for f in query.outputs if f.relation == alias)


def _probe(query: FeatureQuery, alias: str) -> exp.Select:
    """The columns get numbers as names: the name of an output can be an expression that is too long for a name."""
    named = [exp.alias_(f.expression.copy(), f"c{n}", quoted=True) for n, f in enumerate(_outputs(query, alias))]
    return exp.select(*named).from_(query.relation(alias).source.copy())


def with_kinds(query: FeatureQuery, described: Mapping[str, tuple[Column, ...]]) -> FeatureQuery:
    """The query with the kind of every feature. `described` has the database's description of each of `probes`."""
    found: dict[Feature, Column] = {}
    for alias, columns in described.items():
        found |= dict(zip(_outputs(query, alias), columns, strict=True))

    def kinded(feature: Feature, role: str) -> Feature:
        kind = _kind(feature, found[feature], role)
        is_category = role == "feature" and kind == "categorical"
        return _category(feature, found[feature]) if is_category else replace(feature, kind=kind)

    return replace(
        query,
        features=tuple(kinded(feature, "feature") for feature in query.features),
        label=kinded(query.label, "label") if query.label else None,
        weight=kinded(query.weight, "weight") if query.weight else None,
    )


def _kind(feature: Feature, column: Column, role: str) -> Kind:
    if column.kind == "other":
        hint = next((hint for type, hint in _HINTS.items() if re.search(type, column.type.lower())), _ANY_HINT)
        raise QueryError(f"{role} {feature.name} is of type {column.type}", hint=hint)
    if role == "weight" and column.kind != "numeric":
        raise QueryError(f"weight {feature.name} is of type {column.type}", hint="a weight is a number")
    forced = feature.kind == "categorical" and role != "weight"
    return "categorical" if forced else column.kind


def _category(feature: Feature, column: Column) -> Feature:
    """A character(n) is always read as text, without the blanks that pad it: a cast drops them, but drivers and JSON
    keep them."""
    own = feature.expression
    expression = sql.text(own.copy()) if column.spelling == "padded" else own
    return replace(feature, kind="categorical", expression=expression, spelling=column.spelling)
