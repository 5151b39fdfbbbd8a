"""Text, SELECT and columns -> Parsed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlsvm.engine.base import Column
from sqlsvm.engine.languages import LANGUAGES
from sqlsvm.errors import QueryError
from sqlsvm.query.audited import apart
from sqlsvm.query.forms import part
from sqlsvm.query.ir import Feature, Fold, Parsed, Relation
from sqlsvm.query.joins import Joins, joins_of, left_joins
from sqlsvm.query.names import Scope
from sqlsvm.query.outputs import check_features, find, outputs
from sqlsvm.query.sources import Source


def feature_query(
    text: str,
    select: exp.Select,
    items: tuple[Source, ...],
    columns: Mapping[str, tuple[Column, ...]],
    fold: Fold,
    *,
    dialect: str,
    label: str | None = None,
    weight: str | None = None,
    categorical: Sequence[str] = (),
    top: Sequence[str] = (),
    audited: Sequence[str] = (),
) -> Parsed:
    """The query taken apart. `items` are its `sources`, and `columns` has those of each by its alias. The kind of each
    feature is "other", or "categorical" where that is forced, until `kinds` sets it. `audited`: the last outputs."""
    joins = joins_of(select, items, Scope(dialect, fold, columns, named=_named(select, dialect, fold)))
    found, compared = apart(outputs(select, joins.scope), audited)
    found = _limited(_forced_categorical(found, categorical, joins.scope), top, joins.scope)
    features, target, mass = _roles(found, joins.scope, label, weight)
    return Parsed(
        text=text,
        dialect=dialect,
        relations=tuple(_relation(source, joins) for source in items),
        equalities=tuple(joins.equalities),
        left_joins=left_joins(joins),
        features=features,
        label=target,
        weight=mass,
        audited=compared,
        spanning=tuple(joins.spanning),
    )


def _named(select: exp.Select, dialect: str, fold: Fold) -> dict[str, exp.Expr]:
    """What the names of outputs mean, where other outputs and conditions may use them."""
    named = [item for item in select.expressions if isinstance(item, exp.Alias)] if LANGUAGES[dialect].reuses else []
    return {fold(item.alias, bool(item.args["alias"].args.get("quoted"))): item.this for item in named}


def _roles(
    found: tuple[Feature, ...], scope: Scope, label: str | None, weight: str | None
) -> tuple[tuple[Feature, ...], Feature | None, Feature | None]:
    """The features, the label and the weight. Label and weight are not features."""
    target = find(label, "label", found, scope) if label is not None else None
    mass = find(weight, "weight", found, scope) if weight is not None else None
    if target and mass and target.name == mass.name:
        raise QueryError(f"{target.name} is both label and weight", hint="name two columns")
    features = tuple(f for f in found if f.name not in [role.name for role in (target, mass) if role])
    check_features(len(features))
    if not features:
        raise QueryError("the query returns no feature", hint="select at least one column besides label and weight")
    return features, target, mass


def _forced_categorical(features: tuple[Feature, ...], names: Sequence[str], scope: Scope) -> tuple[Feature, ...]:
    forced = [find(name, "categorical", features, scope) for name in names]
    return tuple(replace(f, kind="categorical") if f in forced else f for f in features)


def _limited(features: tuple[Feature, ...], limits: Sequence[str], scope: Scope) -> tuple[Feature, ...]:
    """With the numbers of `--top`, each written as city:50."""
    for name, _, number in (limit.rpartition(":") for limit in limits):
        limited = find(name, "top", features, scope)
        if limited.top:
            raise QueryError(f"{limited.name} has two limits", hint=f"keep one: --top {limited.name}:{number}")
        features = tuple(replace(f, top=int(number)) if f is limited else f for f in features)
    return features


def _relation(source: Source, joins: Joins) -> Relation:
    return Relation(
        alias=source.alias,
        table=".".join(source.path),
        source=source.expression,
        columns=joins.scope.columns[source.alias],
        filters=tuple(joins.filters[source.alias]),
        optional=tuple(joins.on[source.alias]) if source.alias in joins.optional else None,
        once=part(source.expression, joins.scope.dialect),
    )
