"""FeatureQuery + data -> Design: the coordinates of the vector theta that the compiled SQL multiplies rows by.

SQL sees raw columns only. Scaling, centring and the mean for a missing number are linear, so they are a change of
variables on the driver's side (`Scaling`): theta = T'beta going in, T times the counted sums coming out. A missing
number is a coordinate of its own, 1 where it is NULL; a category is one coordinate for each of its values, reached
through a dictionary that joins like any other foreign key, so nothing is ever widened into columns. Few are told apart
by CASE instead.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.catalog import Catalog
from sqlsvm.engine.base import Values
from sqlsvm.errors import DataError
from sqlsvm.query import Feature, FeatureQuery

Nulls = Literal["error", "mean", "drop"]
Scale = Literal["standard", "maxabs", "none"]
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
    """What a row of the join is made of: label +1 or -1, a weight, coordinates, categories."""

    label: Feature
    sign: exp.Expression
    weight: Feature | None
    class_weights: tuple[float, float]
    coordinates: tuple[Coordinate, ...]
    dictionaries: tuple[Dictionary, ...]
    class_parameters: bool = False
    """The class weights are parameters of every statement: a stored program knows them only when it runs."""

    @property
    def class_weighted(self) -> bool:
        return self.class_parameters or self.class_weights != (1.0, 1.0)

    def class_factors(self) -> tuple[exp.Expression, exp.Expression]:
        """How much a row of each class counts: negative, positive."""
        if self.class_parameters:
            return sql.parameter("weight_negative"), sql.parameter("weight_positive")
        negative, positive = self.class_weights
        return sql.number(negative), sql.number(positive)

    @property
    def size(self) -> int:
        return len(self.coordinates) + sum(len(d.categories) for d in self.dictionaries)

    def columns(self) -> list[tuple[str, object]]:
        """(feature, category) of each coordinate; None for a number, "" for the intercept."""
        named: list[tuple[str, object]] = [(c.feature, None) for c in self.coordinates]
        return named + [(d.feature, category) for d in self.dictionaries for category in d.categories]

    def at(self, relations: Iterable[str]) -> tuple[Coordinate, ...]:
        held = set(relations)
        return tuple(c for c in self.coordinates if c.relation in held)

    def dictionaries_at(self, relations: Iterable[str]) -> tuple[Dictionary, ...]:
        held = set(relations)
        return tuple(d for d in self.dictionaries if d.relation in held)


def design(
    catalog: Catalog,
    sign: exp.Expression,
    *,
    intercept: bool = True,
    class_weights: tuple[float, float] = (1.0, 1.0),
    any_nulls: bool = False,
) -> Design:
    """The coordinates of a query, after a look at its categories and its NULLs; with `any_nulls` every number is ready
    for NULLs that are not there yet."""
    query = catalog.query
    assert query.label is not None
    missing = dict.fromkeys((f.name for f in query.features), 1.0) if any_nulls else _missing(catalog)
    coordinates = tuple(_numbered(_coordinates(query, missing, intercept)))
    dictionaries: list[Dictionary] = []
    offset = len(coordinates)
    for feature in query.features:
        if feature.kind == "categorical":
            found = Dictionary(len(dictionaries), feature.relation, feature.name, feature.expression, offset, ())
            categories = _categories(catalog, feature)
            dictionaries.append(replace(found, categories=categories, listed=_few(categories)))
            offset += len(dictionaries[-1].categories)
    return Design(query.label, sign, query.weight, class_weights, coordinates, tuple(dictionaries))


def check_values(design: Design, moments: "Moments", nulls: Nulls) -> None:
    """NaN and infinity have no place in a model; a NULL only where it was said what to do with it."""
    for c in design.coordinates:
        if not np.isfinite(moments.total[c.index]):
            raise DataError(
                f"feature {c.feature} is NaN or infinite in some rows of the join",
                hint=f"leave those rows out in WHERE, or write NULLIF({c.feature}, 'NaN')",
            )
        if np.isinf(moments.squares[c.index]):  # NaN where they were not asked for
            raise DataError(
                f"feature {c.feature} has numbers whose squares no double can hold",
                hint=f"divide it in the query: {c.feature} / 1e100, or leave such rows out in WHERE",
            )
        if nulls == "error" and c.role == "missing" and moments.total[c.index] > 0:
            raise DataError(
                f"feature {c.feature} is NULL in {moments.total[c.index]:,.0f} rows of the join",
                hint="say what that means: --nulls mean (the mean of the others) or --nulls drop (leave the row out)",
            )


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


def _coordinates(query: FeatureQuery, missing: dict[str, float], intercept: bool) -> Iterator[Coordinate]:
    assert query.label is not None
    if intercept:
        yield Coordinate(0, query.label.relation, "", "intercept", sql.number(1))
    for f in query.features:
        if f.kind == "categorical":
            continue
        value = _number(f)
        if missing.get(f.name):
            yield Coordinate(0, f.relation, f.name, "value", sql.coalesce(value, sql.number(0)))
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
    if column.type in catalog.engine.inexact:
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
    v = sql.column("v")
    return exp.select("v").distinct().from_(sql.derived(rows, "r")).where(sql.not_null(v)).order_by(v.copy())


# -- scaling -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """Of every coordinate over the join: the sums of x and x^2, the largest |x|, the sum for y = -1."""

    n: float
    n_negative: float
    n_unlabelled: float
    total: Values
    squares: Values
    largest: Values
    total_negative: Values


@dataclass(frozen=True)
class Scaling:
    """The linear map between the features that are trained on and the raw coordinates.

    Feature j is (x_j - centre_j) / width_j, where a missing x_j is the mean of the others. With beta for features,
    theta = to_raw(beta) gives the same scores on raw coordinates; from_raw maps counted sums back.
    """

    kept: Values
    """Coordinates that are features of their own: all but the indicators of missing values."""
    matrix: Values
    """T: features x coordinates, dense for numbers; categories pass through."""

    def to_raw(self, beta: Values) -> Values:
        d = self.matrix.shape[1]
        return (
            np.concatenate([self.matrix.T @ beta[: self.matrix.shape[0]], beta[self.matrix.shape[0] :]]) if d else beta
        )

    def to_scaled(self, theta: Values) -> Values:
        """The beta whose to_raw is theta, but for what a missing value weighs: that follows from the others."""
        rows = len(self.kept)
        numbers = np.linalg.solve(self.matrix[:, self.kept].T, theta[self.kept])
        return np.concatenate([numbers, theta[self.matrix.shape[1] :]]) if rows else theta

    def from_raw(self, sums: Values) -> Values:
        d = self.matrix.shape[1]
        return np.concatenate([self.matrix @ sums[:d], sums[d:]])


FLAT = 1e-10
"""Of a feature that varies by less than 10^-5 of its size the square is this much of it."""


def flat(design: Design, moments: Moments) -> list[Coordinate]:
    """Features that are constant, or as good as constant beside their size."""
    missing = _missing_places(design)

    def is_flat(c: Coordinate) -> bool:
        mean, present = _mean(moments, c, missing)
        squares = moments.squares[c.index]
        return bool(squares > 0.0 and squares - present * mean * mean <= FLAT * squares)

    return [c for c in design.coordinates if c.role == "value" and is_flat(c)]


def _missing_places(design: Design) -> dict[str, int]:
    return {c.feature: c.index for c in design.coordinates if c.role == "missing"}


def _mean(moments: Moments, c: Coordinate, missing: Mapping[str, int]) -> tuple[float, float]:
    """The mean of the numbers that are there, and how many there are."""
    present = moments.n - (moments.total[missing[c.feature]] if c.feature in missing else 0.0)
    return moments.total[c.index] / present if present > 0 else 0.0, present


def scaling(design: Design, moments: Moments, how: Scale) -> Scaling:
    """T such that feature = T raw. Centring needs the constant, so without an intercept nothing is centred."""
    numbers = design.coordinates
    constant = next((c.index for c in numbers if c.role == "intercept"), None)
    missing = _missing_places(design)
    kept = [c for c in numbers if c.role != "missing"]
    matrix = np.zeros((len(kept), len(numbers)))
    for row, c in enumerate(kept):
        matrix[row, c.index] = 1.0
        if c.role == "intercept":
            continue
        mean, present = _mean(moments, c, missing)
        if c.feature in missing:
            matrix[row, missing[c.feature]] = mean
        if how == "maxabs":
            matrix[row] /= max(moments.largest[c.index], abs(mean) if present < moments.n else 0.0) or 1.0
        if how == "standard":
            variance = (moments.squares[c.index] - present * mean * mean) / moments.n
            noise = 1e-12 * moments.squares[c.index] / moments.n  # what the subtraction leaves of a constant
            matrix[row] /= np.sqrt(variance) if variance > noise else 1.0
            if constant is not None:
                matrix[row, constant] -= mean * matrix[row, c.index]
    return Scaling(np.array([c.index for c in kept], dtype=int), matrix)
