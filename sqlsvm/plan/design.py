"""FeatureQuery + data -> Design: the coordinates of the vector theta that the compiled SQL multiplies rows by.

SQL sees raw columns only. Scaling, centring and the mean for a missing number are linear, so they are a change of
variables on the driver's side (`Scaling`): theta = T'beta going in, T times the counted sums coming out. A missing
number is a coordinate of its own, 1 where it is NULL; a category is one coordinate for each of its values, reached
through a dictionary that joins like any other foreign key, so nothing is ever widened into columns. Few are told apart
by CASE instead.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.errors import DataError
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.target import Binary
from sqlsvm.query import Feature, FeatureQuery

Role = Literal["intercept", "value", "missing"]

FEW = 16
"""As many comparisons take a row about as long as one look into a hash table."""


@dataclass(frozen=True)
class Coordinate:
    """theta[index] multiplies `value`, a number computed from one relation."""

    index: int
    relation: str
    feature: str
    role: Role
    value: exp.Expression

    @property
    def column(self) -> str:
        return f"x{self.index}"

    def of(self, table: str) -> exp.Expression:
        """Its value in the rows of a table; the constant 1 is no column of any."""
        return sql.number(1) if self.role == "intercept" else sql.column(self.column, table)


@dataclass(frozen=True)
class Dictionary:
    """The values of a categorical feature; the i-th of them has the place n = offset + i in theta, counted from 1."""

    number: int
    relation: str
    feature: str
    value: exp.Expression
    offset: int
    categories: tuple[object, ...]
    listed: bool = False
    """Few enough to be told apart by CASE: there is no table to be met, and a scan may run in parallel."""

    def listing(
        self, say: Callable[[int], exp.Expression], table: str, default: exp.Expression | None = None
    ) -> exp.Expression:
        """CASE v WHEN category THEN what is said of its n ... END."""
        cases = [exp.If(this=exp.convert(c), true=say(n)) for n, c in enumerate(self.categories, self.offset + 1)]
        return exp.Case(this=sql.column(self.column, table), ifs=cases, default=default)

    @property
    def column(self) -> str:
        """The category itself, in the relation."""
        return f"v{self.number}"

    @property
    def table(self) -> str:
        return f"sqlsvm_d{self.number}"


@dataclass(frozen=True)
class Design:
    """What a row of the join is made of: a target, a weight, coordinates, categories."""

    target: Binary
    weight: Feature | None
    coordinates: tuple[Coordinate, ...]
    dictionaries: tuple[Dictionary, ...]

    @property
    def weighted(self) -> bool:
        """Do some rows count more than others?"""
        return self.weight is not None or self.target.weighted

    @property
    def size(self) -> int:
        return len(self.coordinates) + sum(len(d.categories) for d in self.dictionaries)

    def at(self, relations: Iterable[str]) -> tuple[Coordinate, ...]:
        held = set(relations)
        return tuple(c for c in self.coordinates if c.relation in held)

    def dictionaries_at(self, relations: Iterable[str]) -> tuple[Dictionary, ...]:
        held = set(relations)
        return tuple(d for d in self.dictionaries if d.relation in held)


def design(catalog: Catalog, target: Binary, *, intercept: bool = True, any_nulls: bool = False) -> Design:
    """The coordinates of a query, after a look at its categories and its NULLs; with `any_nulls` every number is ready
    for NULLs that are not there yet."""
    query = catalog.query
    missing = dict.fromkeys((f.name for f in query.features), 1.0) if any_nulls else _missing(catalog)
    coordinates = tuple(_numbered(_coordinates(target.label, query, missing, intercept)))
    dictionaries: list[Dictionary] = []
    offset = len(coordinates)
    for feature in query.features:
        if feature.kind == "categorical":
            found = Dictionary(len(dictionaries), feature.relation, feature.name, feature.expression, offset, ())
            categories = _categories(catalog, feature)
            dictionaries.append(replace(found, categories=categories, listed=_few(categories)))
            offset += len(dictionaries[-1].categories)
    return Design(target, query.weight, coordinates, tuple(dictionaries))


def drop_nulls(query: FeatureQuery) -> FeatureQuery:
    """The query without the rows in which a feature, the label or the weight is NULL: what `--nulls drop` means."""
    for f in query.outputs:
        query = query.where(f.relation, sql.not_null(f.expression))
    return query


def _missing(catalog: Catalog) -> dict[str, float]:
    """NULLs per feature; a feature of a LEFT JOINed relation has one more in the row that stands for no match."""
    found: dict[str, float] = {}
    for relation in catalog.query.relations:
        features = [f for f in catalog.query.features if f.relation == relation.alias]
        found |= catalog.nulls_in_join(relation.alias, features) if features else {}
    return found


def _coordinates(
    label: Feature, query: FeatureQuery, missing: dict[str, float], intercept: bool
) -> Iterator[Coordinate]:
    if intercept:
        yield Coordinate(0, label.relation, "", "intercept", sql.number(1))
    for f in query.features:
        if f.kind == "categorical":
            continue
        value = _number(f)
        if missing.get(f.name):
            yield Coordinate(0, f.relation, f.name, "value", sql.or_zero(value))
            yield Coordinate(
                0, f.relation, f.name, "missing", sql.case(sql.is_null(f.expression), sql.number(1), sql.number(0))
            )
        else:
            yield Coordinate(0, f.relation, f.name, "value", value)


def _numbered(coordinates: Iterable[Coordinate]) -> Iterator[Coordinate]:
    for index, coordinate in enumerate(coordinates):
        yield replace(coordinate, index=index)


def _number(feature: Feature) -> exp.Expression:
    if feature.kind == "boolean":
        return sql.by_truth(feature.expression, sql.number(1), sql.number(0))
    return sql.double(feature.expression.copy())


def _few(categories: Sequence[object]) -> bool:
    """Few, and spelled alike in every language."""
    return 0 < len(categories) <= FEW and all(type(c) in (str, int) for c in categories)


def _categories(catalog: Catalog, feature: Feature) -> tuple[object, ...]:
    values = catalog.engine.fetch(dictionary_values(catalog, feature))["v"]
    if values.dtype.kind == "O":
        _check_collation(catalog, feature)
    if values.dtype.kind == "f":
        _check_digits(catalog, feature)
    return tuple(v.item() if isinstance(v, np.generic) else v for v in values)


def _check_collation(catalog: Catalog, feature: Feature) -> None:
    """Of texts that a collation takes for one another any may be the one that is listed, and outside of this database
    nothing says which others it stands for. Of citext that is known."""
    collation = catalog.column(dictionary_values(catalog, feature)).collation
    if collation:
        own = feature.expression.sql(catalog.query.dialect)
        raise DataError(
            f"the categories of {feature.name} are compared under {collation}, which takes some for one another",
            hint=f'spell them alike, and tell others apart: lower({own}) COLLATE "C" AS {feature.name}',
        )


def _check_digits(catalog: Catalog, feature: Feature) -> None:
    """Decimals are read as doubles. One that no double is would go by another name elsewhere, and two might by one."""
    query = dictionary_values(catalog, feature)
    (column,) = catalog.engine.describe(query)
    if column.type in catalog.engine.abilities.inexact:
        return
    texts = catalog.engine.fetch(sql.select([(sql.text(sql.column("v")), "v")], sql.derived(query, "d")))["v"]
    lost = next((text for text in texts.tolist() if not _is_double(text)), None)
    if lost is not None:
        own = feature.expression.sql(catalog.query.dialect)
        raise DataError(
            f"the category {lost} of {feature.name} has more digits than a double",
            detail=f"it would be read as {float(lost)!r}, and others might be too",
            hint=f"write CAST({own} AS text) AS {feature.name}, or AS bigint where all of them are integers",
        )


def _is_double(text: str) -> bool:
    """Is a decimal what its double is written as?"""
    exact = Decimal(text)
    return not exact.is_finite() or exact == Decimal(repr(float(text)))


def dictionary_values(catalog: Catalog, feature: Feature) -> exp.Query:
    """SELECT DISTINCT value, in a fixed order, NULL aside."""
    rows = catalog.rows_of(feature.relation, [(feature.expression.copy(), "v")])
    return sql.distinct(sql.derived(rows, "r")).order_by(sql.column("v"))
