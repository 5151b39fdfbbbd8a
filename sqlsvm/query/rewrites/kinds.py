"""The kind of each feature, from the type of its output; and rules about equalities, sums and NULL."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import cast

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Kind, StatementError
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import FormError, QueryError
from sqlsvm.query.facts import Facts
from sqlsvm.query.guards import Fragment
from sqlsvm.query.ir import Equality, Feature, FeatureQuery, Term, gathered, inner_variables
from sqlsvm.query.names import relations_in
from sqlsvm.query.rewrites.meet import met
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
    for alias, own in gathered((feature.relation, feature) for feature in query.outputs).items():
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
        as_names = f"if its numbers are names: ⟦categorical {feature.name}⟧"
        said = f"{role} {feature.name} has no categories to choose the top {feature.top} of"
        raise QueryError(said, hint=as_names if kind == "numeric" and role == "feature" else "leave out its ⟦top⟧")
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
            query = variable.one_at(alias, query)
    return query


def without_nulls(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """`--nulls drop`: without the rows in which one of them is NULL."""
    for f in query.outputs:
        query = query.where(f.relation, sql.not_null(query.relation(f.relation).presence(f.expression)))
    return query


def with_label(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Without the rows whose label is NULL, if it asks for that, and with their number."""
    if not (query.labelled_only and query.label):
        return query
    label, relation = query.label, query.relation(query.label.relation)
    is_found = relation.optional is None or facts.is_known_of_nothing(relation, label.expression)
    out = facts.nulls(relation, label.expression) if is_found else nan
    if not out:
        return query
    return replace(query.where(label.relation, sql.not_null(label.expression.copy())), unlabelled=out)


def told(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """Whose rows the label tells of: those of its own relation, or, if it has a value where a LEFT JOIN finds no row,
    those that look for it: COALESCE(c.churned, FALSE), c.id IS NOT NULL."""
    if query.label is None or (alias := query.label.relation) not in query.parents:
        return query
    if not facts.is_known_of_nothing(query.relation(alias), query.label.value):
        return query
    while alias in query.parents:
        alias = query.parents[alias]
    return replace(query, tells_of=alias)
