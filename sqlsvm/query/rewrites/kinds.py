"""The kind of each feature, from the type that the database reports for its output."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Kind
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import QueryError
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import Feature, FeatureQuery
from sqlsvm.times import TIMES, TimeKind

_HINTS = {
    r"\]$": "take its elements out one by one: x[1] AS x1, x[2] AS x2",
    r"^struct": "take its fields out one by one: (x).city AS city",
    "interval|date|time": "turn it into a number: EXTRACT(EPOCH FROM ...)",
    "json": "take a field out of it and cast it: CAST(x ->> 'field' AS double precision)",
}

_ANY_HINT = "cast it to a number, a boolean or text"


def remedy(column: Column, dialect: str) -> str:
    """What to write instead of a column of another kind."""
    hints = (*LANGUAGES[dialect].remedies.items(), *_HINTS.items())
    return next((hint for type, hint in hints if re.search(type, column.type.lower())), _ANY_HINT)


def kinds(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Of every feature. A category is a text that is the same for all values that are equal."""
    found: dict[Feature, Column] = {}
    by_relation: dict[str, list[Feature]] = {}
    for feature in query.outputs:
        by_relation.setdefault(feature.relation, []).append(feature)
    for alias, own in by_relation.items():
        found |= zip(own, facts.columns(query.relation(alias), [f.expression for f in own]), strict=True)

    _check_types(query, found)
    times: dict[str, TimeKind] = {}

    def kinded(feature: Feature, role: str) -> Feature:
        column = found[feature]
        feature = replace(feature, kind=_kind(feature, column, role, query.dialect), spelling=column.spelling)
        if feature.kind in TIMES:  # from here on a number; the text still has the time
            times[feature.name] = cast(TimeKind, feature.kind)
            number = TIMES[feature.kind].number(feature.expression)
            return replace(feature, expression=number, kind="numeric", own=feature.typed)
        if feature.kind != "categorical" or (role != "feature" and column.spelling != "caseless"):
            return feature
        return replace(feature, expression=plain(feature.expression, column), exact=feature.value)

    return replace(
        query,
        features=tuple(kinded(feature, "feature") for feature in query.features),
        label=kinded(query.label, "label") if query.label else None,
        weight=kinded(query.weight, "weight") if query.weight else None,
        audited=tuple(kinded(column, "audited column") for column in query.audited),
        times=times,
    )


def _check_types(query: FeatureQuery, found: Mapping[Feature, Column]) -> None:
    """All that cannot be used are named at once."""
    roles = {query.label: "label", query.weight: "weight"} | dict.fromkeys(query.audited, "audited column")
    unusable = [(f"{roles.get(f, 'feature')} {f.name}", c) for f, c in found.items() if c.kind == "other"]
    if unusable:
        (first, column), *others = unusable
        more = "; ".join(f"{name} is of type {c.type}: {remedy(c, query.dialect)}" for name, c in others)
        hint = remedy(column, query.dialect)
        raise QueryError(f"{first} is of type {column.type}", detail=f"and {more}" if more else None, hint=hint)


def _kind(feature: Feature, column: Column, role: str, dialect: str) -> Kind:
    if role == "weight" and column.kind != "numeric":
        raise QueryError(f"weight {feature.name} is of type {column.type}", hint="a weight is a number")
    if role == "audited column" and column.kind not in ("numeric", "boolean", *TIMES):
        hint = f"compare it with a value: fair:{feature.name} = 'VALUE':0.01"
        raise QueryError(f"{role} {feature.name} is of type {column.type}", hint=hint)
    forced = feature.kind == "categorical" and role != "weight"
    if forced and column.kind in TIMES:
        hint = f"cast it to text in the query: CAST(... AS text) AS {feature.name}"
        raise QueryError(f"{feature.name} is of type {column.type}, which has no categories", hint=hint)
    kind: Kind = "categorical" if forced else column.kind
    if feature.top and (role != "feature" or kind != "categorical"):
        as_names = f"if its numbers are names: --categorical {feature.name}"
        said = f"{role} {feature.name} has no categories to choose the top {feature.top} of"
        raise QueryError(said, hint=as_names if kind == "numeric" and role == "feature" else "leave out its --top")
    return kind


def plain(value: exp.Expression, column: Column) -> exp.Expression:
    """A value as a text that is the same for all that are equal to it. A cast to text drops the blanks that pad a
    character(n), but drivers and JSON keep them. Two values of citext are equal if their lower cases are the same."""
    if column.spelling == "exact":
        return value
    text = sql.text(value.copy())
    if column.spelling == "padded":
        return text
    return exp.Lower(this=exp.Collate(this=text, expression=exp.to_identifier("default", quoted=True)))
