"""FeatureQuery + data -> Design: the coordinates of the vector theta that the compiled SQL multiplies rows by.

SQL sees raw columns only. Scaling, centring and the mean for a missing number are linear, so the driver does them as
a change of variables (`Scaling`): theta = T'beta goes in, and the counted sums that come out are multiplied by T. A
number that can be NULL has a second coordinate, 1 where it is NULL. A category has one coordinate for each value. A
dictionary holds these values and joins like any other foreign key; if there are few values, CASE tells them apart.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import cached_property
from itertools import count
from typing import Final, Literal

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Kind, Values
from sqlsvm.errors import DataError
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.target import Target
from sqlsvm.query import Feature, FeatureQuery, Term
from sqlsvm.query.facts import EARLY, LARGE
from sqlsvm.query.rows import met_rows_of
from sqlsvm.solve.arrays import Array
from sqlsvm.times import TIMES

Role = Literal["intercept", "value", "missing"]


class Other(Enum):
    """In place of a category: every value that is none of the most frequent ones."""

    OTHER = "(other)"

    def __str__(self) -> str:
        return str(self.value)


OTHER: Final = Other.OTHER
NOWHERE: Mapping[str, float] = {}

FEW = 16  # for one row, this many comparisons take as long as one look into a hash table


@dataclass(frozen=True)
class Coordinate:
    """theta[index] multiplies `value`, a number computed from one relation."""

    index: int
    relation: str
    feature: str
    role: Role
    value: exp.Expression
    origin: float = 0.0  # what is subtracted from the number in it
    nullable: bool = False  # the next coordinate is then 1 where it is NULL, and it counts as 0

    @property
    def column(self) -> str:
        return f"x{self.index}"

    def raw(self, table: str) -> exp.Expression:
        """Its value in the rows of a table, NULL for nothing. Only numbers have a column there: a NULL in it is what
        the next coordinate tells."""
        if self.role == "intercept":
            return sql.number(1)
        return sql.case(self._is_null(table), 1.0) if self.role == "missing" else sql.column(self.column, table)

    def of(self, table: str) -> exp.Expression:
        """The same with 0 for nothing."""
        if self.role == "missing":
            return sql.case(self._is_null(table), 1.0, 0.0)
        return sql.or_zero(self.raw(table)) if self.nullable else self.raw(table)

    def total(self, table: str, *factors: exp.Expression) -> exp.Expression:
        """SUM(factors * value). A filter is sooner tested than a product with a CASE is made."""
        if self.role == "missing":
            return sql.or_zero(sql.total_where(sql.product(*factors), self._is_null(table)))
        return sql.sum_or_zero(sql.product(*factors, self.raw(table)))

    def _is_null(self, table: str) -> exp.Expression:
        return sql.is_null(sql.column(f"x{self.index - 1}", table))


@dataclass(frozen=True)
class Dictionary:
    """The values of a categorical feature; the i-th of them has the place n = offset + i in theta, counted from 1. With
    `top` or `rare` they are known when the table is made. If there are more values, the last place is theirs: OTHER."""

    number: int
    relation: str
    feature: str
    value: exp.Expression
    offset: int
    categories: tuple[object, ...]
    through: frozenset[str] = frozenset()
    """Relations in which the keys of a row must be: values that are only in other rows are left out."""
    listed: bool = False  # CASE tells the values apart: it needs no join with a table, and the scan can run in parallel
    top: int | None = None  # how many values have a place of their own; None if all have
    rare: int = 0  # values in fewer rows of the join have no place of their own

    @property
    def limited(self) -> bool:
        """Does the table tell which values have a place of their own?"""
        return self.top is not None or self.rare > 0

    def listing(
        self, say: Callable[[int], exp.Expression], table: str, default: exp.Expression | None = None
    ) -> exp.Expression:
        """CASE v WHEN category THEN say(n) ... END."""
        v, named = sql.column(self.column, table), without_other(self.categories)
        cases = ((exp.convert(c), say(n)) for n, c in enumerate(named, self.offset + 1))
        if len(named) == len(self.categories):
            return sql.match(v, cases, default)
        return sql.case(sql.not_null(v), sql.match(v, cases, say(self.offset + len(self.categories))), default)

    @property
    def column(self) -> str:
        """The category itself, in the relation."""
        return f"v{self.number}"

    @property
    def table(self) -> str:
        return f"sqlsvm_d{self.number}"


@dataclass(frozen=True)
class Design:
    """The parts of a row of the join: a target, a weight, coordinates, categories."""

    target: Target
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

    @cached_property
    def indicators(self) -> dict[int, int]:
        """For the coordinate of each number that can be NULL, the next one, which is 1 where it is."""
        return {c.index - 1: c.index for c in self.coordinates if c.role == "missing"}

    @cached_property
    def numbers(self) -> dict[str, tuple[Coordinate, ...]]:
        """The coordinates that add up to each number: one, or one for each term of a sum."""
        found: dict[str, tuple[Coordinate, ...]] = {}
        for c in self.coordinates:
            if c.role == "value":
                found[c.feature] = (*found.get(c.feature, ()), c)
        return found

    def with_origins(self, origins: Mapping[int, float], constants: Collection[int] = ()) -> "Design":
        """The numbers less these. A missing one is 0 still, and so are these constants."""

        def less(c: Coordinate) -> Coordinate:
            if c.index not in origins:
                return c
            nothing = sql.case(sql.not_null(c.value.copy()), 0.0) if c.nullable else sql.number(0.0)
            less = exp.paren(sql.minus(c.value.copy(), sql.number(origins[c.index])))
            value = nothing if c.index in constants else less
            return replace(c, value=value, origin=c.origin + origins[c.index])

        return replace(self, coordinates=tuple(map(less, self.coordinates)))

    def at_origins(self, known: Mapping[str, float]) -> "Design":
        """With those of a model, where there is an intercept."""
        firsts = {terms[0].index: known[name] for name, terms in self.numbers.items() if known.get(name)}
        return self.with_origins(firsts) if firsts and self.constant is not None else self

    def origin(self, feature: str) -> float:
        return sum((c.origin for c in self.numbers.get(feature, ())), 0.0)

    def moved(self, theta: Array, way: float = 1.0, known: Mapping[str, float] = NOWHERE) -> Array:
        """The theta that gives the same scores to numbers from 0 on, or less the origins that are known, of one for
        numbers less their own; with -1 the reverse. The difference of two origins that are near is exact."""
        found = theta.copy()
        for feature, terms in self.numbers.items():
            if shift := sum((c.origin for c in terms), -known.get(feature, 0.0)):
                first = terms[0].index
                moved = way * theta[first] * shift
                found[self.constant] -= moved
                if first in self.indicators:
                    found[self.indicators[first]] += moved
        return found

    @property
    def constant(self) -> int | None:
        """The index of the intercept; None without one."""
        return next((c.index for c in self.coordinates if c.role == "intercept"), None)

    def without_features(self) -> "Design":
        """For what depends on the label and the weight alone."""
        return replace(self, coordinates=(_intercept(self.target.label),), dictionaries=())


def design(catalog: Catalog, target: Target, *, intercept: bool = True, any_nulls: bool = False) -> Design:
    """The coordinates of a query. This reads its categories and counts its NULLs; with `any_nulls` every number but a
    sum is ready for those that may come later, and terms of sums are only for those in rows that do not join."""
    query = catalog.query
    ready = frozenset(
        f for f in query.features if any_nulls and f.name not in query.sums and not catalog.is_never_null(f)
    )
    missing = ready | _missing(catalog, [f for f in query.features if f not in ready])
    coordinates = tuple(_coordinates(target.label, query, missing, intercept))
    dictionaries: list[Dictionary] = []
    offset = len(coordinates)
    for number, f in enumerate(f for f in query.features if f.kind == "categorical"):
        found, through = _categories(catalog, f), _larger(catalog, f.relation)
        made = Dictionary(number, f.relation, f.name, f.expression, offset, found, through, _few(found), f.top, f.rare)
        dictionaries.append(replace(made, categories=(), listed=False) if made.limited else made)
        offset += len(found)
    return Design(target, query.weight, coordinates, tuple(dictionaries))


def with_top(made: Design, found: Mapping[int, tuple[object, ...]]) -> Design:
    """The design with the categories that were found for some dictionaries. The places of later ones move."""
    dictionaries: list[Dictionary] = []
    offset = len(made.coordinates)
    for d in made.dictionaries:
        own = found.get(d.number, d.categories)
        listed = _few(without_other(own)) if d.number in found else d.listed
        dictionaries.append(replace(d, offset=offset, categories=own, listed=listed))
        offset += len(own)
    return replace(made, dictionaries=tuple(dictionaries))


def without_other(categories: tuple[object, ...]) -> tuple[object, ...]:
    return categories[:-1] if categories[-1:] == (OTHER,) else categories


def as_categories(values: Values) -> tuple[object, ...]:
    return tuple(values.tolist())


def _missing(catalog: Catalog, features: Sequence[Feature]) -> frozenset[Feature]:
    """Those with NULLs. For a LEFT JOINed relation this counts the row that stands for no match too. The columns of
    a map are NULL in the same rows, so one of them is looked at."""
    names = {f.name for f in features}
    made = [[name for name in each.formulas if name in names] for each in catalog.query.maps]
    first = {name: columns[0] for columns in made for name in columns}
    nulls = catalog.nulls_in_join([f for f in features if first.get(f.name, f.name) == f.name])
    known = {(f.relation, f.name): n for f, n in nulls.items()}
    return frozenset(f for f in features if known[f.relation, first.get(f.name, f.name)])


def _coordinates(
    label: Feature, query: FeatureQuery, missing: frozenset[Feature], intercept: bool
) -> Iterator[Coordinate]:
    index = count()
    if intercept:
        yield _intercept(label, next(index))
    for f in (f for f in query.features if f.kind != "categorical"):
        value, has_nulls = as_number(f.expression, f.kind), f in missing
        yield Coordinate(next(index), f.relation, f.name, "value", value, nullable=has_nulls)
        if has_nulls:
            is_missing = sql.case(sql.is_null(f.expression), 1.0, 0.0)
            yield Coordinate(next(index), f.relation, f.name, "missing", is_missing)


def _intercept(label: Feature, index: int = 0) -> Coordinate:
    return Coordinate(index, label.relation, "", "intercept", sql.number(1))


def as_number(value: exp.Expression, kind: Kind) -> exp.Expression:
    """A number as a double; a boolean as 1 or 0; a time in its unit."""
    if kind in TIMES:
        return TIMES[kind].number(value)
    if kind == "boolean":
        return sql.by_truth(value, 1.0, 0.0)
    return sql.double(value.copy())


def _few(categories: Sequence[object]) -> bool:
    """Are there few, of types that every dialect writes the same way?"""
    return 0 < len(categories) <= FEW and all(type(c) in (str, int) for c in categories)


def _categories(catalog: Catalog, feature: Feature) -> tuple[object, ...]:
    values = _values(catalog, feature)
    if check := {"O": _check_collation, "f": _check_digits}.get(values.dtype.kind):
        check(catalog, feature)
    return as_categories(values)


def _values(catalog: Catalog, feature: Feature) -> Values:
    """If the first rows of large relations meet few values, and no row of the feature's relation has others, all rows
    of the large ones are not looked at."""
    through = _larger(catalog, feature.relation)

    def read(through: Collection[str], most: int | None = None) -> Values:
        return catalog.engine.fetch(dictionary_values(catalog, feature, through, most))["v"]

    if any(catalog.rows(alias) > LARGE for alias in through) and not catalog.engine.rates.slow_to_start:
        early = read(through, EARLY)
        if len(early) <= FEW and np.array_equal(early, every := read(())):
            return every
    return read(through)


def _check_collation(catalog: Catalog, feature: Feature) -> None:
    """Where a collation makes texts equal, any of them may be the one that is listed, and outside of this database
    nothing tells which others it stands for. For citext this is known."""
    collation = catalog.of(feature.relation).described(Term(feature.relation, feature.expression)).collation
    if collation:
        own = feature.expression.sql(catalog.query.dialect)
        said = f"the categories of {feature.name} are compared under {collation}, which makes different texts equal"
        hint = f'compare the texts exactly, here in lower case: lower({own}) COLLATE "C" AS {feature.name}'
        raise DataError(said, hint=hint)


def _check_digits(catalog: Catalog, feature: Feature) -> None:
    """Decimals are read as doubles. One with more digits would get another name, and two could get the same."""
    query = dictionary_values(catalog, feature, _larger(catalog, feature.relation))
    (column,) = catalog.engine.describe(query)
    if column.type in catalog.engine.abilities.inexact:
        return
    texts = catalog.engine.fetch(sql.select([(sql.text(sql.column("v")), "v")], sql.derived(query, "d")))["v"]
    exact = ((text, Decimal(text)) for text in texts.tolist())
    lost = next((text for text, value in exact if value.is_finite() and value != Decimal(repr(float(text)))), None)
    if lost is not None:
        own = feature.expression.sql(catalog.query.dialect)
        said = f"the category {lost} of {feature.name} has more digits than a double"
        hint = f"write CAST({own} AS text) AS {feature.name}, or AS bigint where all of them are integers"
        raise DataError(said, detail=f"it would be read as {float(lost)!r}, and so might other categories", hint=hint)


def _larger(catalog: Catalog, alias: str) -> frozenset[str]:
    """The relations that have as many rows as this one. Of a dimension many rows may be in no row of the join. To look
    for the same in a smaller relation costs more, and hardly leaves a category out."""
    rows = catalog.rows(alias)
    return frozenset(r.alias for r in catalog.query.relations if r.alias != alias and catalog.rows(r.alias) >= rows)


def dictionary_values(
    catalog: Catalog, feature: Feature, through: Collection[str], most: int | None = None
) -> exp.Query:
    """SELECT DISTINCT value, in a fixed order, without NULL, and mostly without values of no join row."""
    rows = met_rows_of(catalog.query, feature.relation, through, [(feature.expression.copy(), "v")], most)
    return sql.distinct(sql.derived(rows, "r")).order_by(sql.column("v"))
