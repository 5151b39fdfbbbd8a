"""The database says of what type each output is; this says what kind of feature that makes."""

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
    """For each relation with outputs the SELECT of them, in order: its description gives their types."""
    return {r.alias: _probe(query, r.alias) for r in query.relations if any(True for _ in _outputs(query, r.alias))}


def _outputs(query: FeatureQuery, alias: str) -> Iterator[Feature]:
    return (f for f in query.outputs if f.relation == alias)


def _probe(query: FeatureQuery, alias: str) -> exp.Select:
    """Numbered columns: an output may be named by a whole expression, longer than a name can be."""
    named = [exp.alias_(f.expression.copy(), f"c{n}", quoted=True) for n, f in enumerate(_outputs(query, alias))]
    return exp.select(*named).from_(query.relation(alias).source.copy())


def with_kinds(query: FeatureQuery, described: Mapping[str, tuple[Column, ...]]) -> FeatureQuery:
    """The query with the kind of every feature settled. `described` is what the database said of each of `probes`."""
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
    """A character(n) is read as text from the start. The blanks that fill it up are no part of it, but who meets it
    elsewhere may have them: a driver and JSON keep them, a cast does not."""
    own = feature.expression
    expression = sql.text(own.copy()) if column.spelling == "padded" else own
    return replace(feature, kind="categorical", expression=expression, spelling=column.spelling)
