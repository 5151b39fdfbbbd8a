"""What a map is asked to do, and the facts about its columns that become its constants.

Facts are read from the rows of the relation that meet its conditions, each once, before anything is planned. A row
counts once here, however many join rows it is in: to count those takes a plan, and a knot or a landmark need not be
anywhere exactly. Principal components are of the join: they are read by messages along its tree (run/components.py).
So are the examples that a network learns from: they are drawn (run/mapping.py).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Kind, StatementError, Values
from sqlsvm.errors import DataError, OptionError, only_finite
from sqlsvm.options import MAP_FORMS
from sqlsvm.query import Feature, FeatureQuery
from sqlsvm.query.names import named

if TYPE_CHECKING:
    from sqlsvm.neural.training import Examples

Array = NDArray[np.float64]

MEDIAN_OF = 500  # rows whose distances have the median that gamma follows from
_ARGUMENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?|constant|linear")


@dataclass(frozen=True)
class Axes:
    """Principal components of the numbers of a query over its join: the sums of loading * (column - mean)."""

    columns: tuple[str, ...]
    means: tuple[float, ...]
    loadings: tuple[tuple[float, ...], ...]  # for each component one of each column


AxesOf = Callable[[int], Axes]  # at most so many components, those with the largest variance
ExamplesOf = Callable[[Sequence[Feature], int], "Examples"]
"""Values of some columns in at most so many rows of the join, with their labels."""


@dataclass(frozen=True)
class LabelledRows:
    """Rows of the join with their labels."""

    columns: Mapping[str, Values]  # numbers, nan for NULL, and categories, None for NULL
    kinds: Mapping[str, Kind]
    bags: Sequence[Sequence[str]]  # the columns of each, that of the label first
    y: Array  # -1 and 1 of two classes, or a column for each of several; a number of deviation 1
    signed: bool
    grows: NDArray[np.bool_]  # which rows are for trees. The others say how many are good.
    before: float | None  # the time of the first that are not, if rows have times
    whole: bool  # are they all rows of the join?

    def is_category(self, name: str) -> bool:
        return self.kinds[name] == "categorical"


LabelledOf = Callable[[Sequence[Feature], int], LabelledRows]
"""Values of some columns in at most twice so many rows, of which half choose how to train."""


@dataclass(frozen=True)
class OfJoin:
    """What maps may ask of the join."""

    axes: AxesOf
    examples: ExamplesOf
    labelled: LabelledOf


@dataclass(frozen=True)
class Asked:
    """One --map, on a query and its data."""

    engine: Engine
    query: FeatureQuery
    seed: int
    map: str  # as it was typed
    join: OfJoin

    @property
    def kind(self) -> str:
        return self.map.partition(":")[0]

    # -- what was typed ------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, list[str]]:
        """The name of a column or a table, and the arguments after it. A name may have a colon."""
        names, arguments = self.map.split(":")[1:], list[str]()
        if not is_named(self.map):
            return "", names
        most = MAP_FORMS[self.kind].count(":") - 1
        while len(names) > 1 and len(arguments) < most and _ARGUMENT.fullmatch(names[-1]):
            arguments.insert(0, names.pop())
        return ":".join(names), arguments

    def refusal(self, why: str, hint: str | None = None) -> OptionError:
        return OptionError(f"⟦map {self.map}⟧: {why}", hint=hint or f"write {MAP_FORMS[self.kind]}")

    def whole(self, place: int, name: str, low: int, high: int, default: int | None = None) -> int:
        """An argument that is a whole number."""
        arguments = self.parts[1]
        if place >= len(arguments) and default is not None:
            return default
        if place >= len(arguments):
            raise self.refusal(f"{name} is missing")
        if not arguments[place].isdigit() or not low <= int(arguments[place]) <= high:
            raise self.refusal(f"{name} must be a whole number from {low} to {high}, not {arguments[place]}")
        return int(arguments[place])

    def gamma(self, place: int) -> float | None:
        """An argument that is a number above 0; None if it is not there."""
        arguments = self.parts[1]
        if place >= len(arguments):
            return None
        try:
            found = float(arguments[place])
        except ValueError:
            found = 0.0
        if not found > 0.0:
            raise self.refusal(f"GAMMA must be a number above 0, not {arguments[place]}")
        return found

    # -- its columns ---------------------------------------------------------------------------------------------------

    def number(self) -> Feature:
        """The column, which is a number."""
        found = self._column()
        if found.kind != "numeric":
            other = f"⟦map hash:{found.name}:16⟧ is for categories" if found.kind == "categorical" else None
            what = "has categories" if found.kind == "categorical" else "is true or false"
            raise self.refusal(f"{found.name} is no number, it {what}", other or "a boolean has two values already")
        return found

    def category(self) -> Feature:
        found = self._column()
        if found.kind != "categorical":
            raise self.refusal(f"{found.name} has no categories", f"⟦categorical {found.name}⟧ makes some of numbers")
        if found.spelling != "exact":
            hint = f"select it as text: CAST({found.name} AS text) AS {found.name}"
            raise self.refusal(f"{found.name} is of a type with texts that differ and are equal", hint)
        if found.top:
            raise self.refusal(f"{found.name} has a ⟦top⟧ as well", "a hash is for all of its categories: use one")
        return found

    def _column(self) -> Feature:
        by_name = {f.name: f for f in self.query.features}
        found = named(f"⟦map {self.map}⟧", self.parts[0], by_name, self.engine.fold, "the query has no feature")
        if found.name in self.query.sums:
            hint = "give each relation an output column of its own"
            raise self.refusal(f"{found.name} adds up columns of several relations", hint)
        return found

    def numbers(self) -> list[Feature]:
        """The outputs of the table that are numbers, without those that are constant: they tell no rows apart."""
        aliases = {r.table.split(".")[-1]: r.alias for r in self.query.relations if r.table}
        aliases |= {r.alias: r.alias for r in self.query.relations}
        alias = named(f"⟦map {self.map}⟧", self.parts[0], aliases, self.engine.fold, "the query has no relation")
        found = numbers_of(self.query, alias)
        if not found:
            raise self.refusal(f"the query selects no number of {alias}", "select the columns that it is to combine")
        _, means, deviations = self._measured(found)
        kept = [c for c, mean, by in zip(found, means, deviations, strict=True) if not _is_constant(mean, by)]
        if not kept:
            raise DataError(f"⟦map {self.map}⟧: all numbers of {alias} are constant", hint="leave out the map")
        return kept

    # -- facts ---------------------------------------------------------------------------------------------------------

    def quantiles(self, column: Feature, shares: Sequence[float]) -> list[float]:
        """Values of the column with these shares of the rows below, each value once."""
        rows = self._spread([column])[0]
        values = sql.grouped([(sql.column("x0"), "x")], [(sql.count(), "c")], self._rows([column]))
        found = self._fetch(sql.at_ranks(values, [1 + round(share * (rows - 1)) for share in shares]))
        return sorted({float(value[0]) for value in found.values()})

    def spread(self, columns: Sequence[Feature]) -> tuple[Array, Array]:
        """The mean and the deviation of each column. No deviation is 0."""
        return self._spread(columns)[1:]

    def _spread(self, columns: Sequence[Feature]) -> tuple[int, Array, Array]:
        rows, means, deviations = self._measured(columns)
        for column, mean, deviation in zip(columns, means, deviations, strict=True):
            self._check(column, mean, deviation)
        return rows, means, deviations

    def _measured(self, columns: Sequence[Feature]) -> tuple[int, Array, Array]:
        names = [f"x{n}" for n in range(len(columns))]
        means: sql.Named = [(exp.Avg(this=sql.column(x)), f"m{x}") for x in names]
        deviations: sql.Named = [(exp.StddevPop(this=sql.column(x)), f"d{x}") for x in names]
        answer = self._fetch(sql.select([*means, *deviations, (sql.count(), "n")], self._rows(columns)))
        *found, rows = (float(value[0]) for value in answer.values())
        if not rows:
            named = " and ".join(column.name for column in columns)
            raise DataError(f"⟦map {self.map}⟧: no row of {columns[0].relation} has a value in {named}")
        return int(rows), *np.array(found).reshape(2, -1)

    def _check(self, column: Feature, mean: float, deviation: float) -> None:
        if not np.isfinite(mean) or not np.isfinite(deviation):
            hint = only_finite(column.name)
            raise DataError(f"⟦map {self.map}⟧: {column.name} is NaN or infinite in some rows", hint=hint)
        if _is_constant(mean, deviation):
            raise DataError(f"⟦map {self.map}⟧: {column.name} is constant", hint="leave out the map, or the column")

    def points(self, columns: Sequence[Feature], number: int) -> Array:
        """Different rows of these columns, in an order that the seed decides; at most so many."""
        names = [f"x{n}" for n in range(len(columns))]
        rows = exp.select(*names).distinct().from_(self._rows(columns), copy=False)
        text = exp.Concat(expressions=[sql.integer(self.seed), *(sql.text(sql.column(x)) for x in names)], safe=True)
        place = [exp.MD5(this=text), *map(sql.column, names)]
        chosen = sql.select(sql.columns(names), sql.derived(rows, "d")).order_by(*place, copy=False).limit(number)
        return np.array(list(self._fetch(chosen).values()), dtype=float).T

    def scaled_points(self, columns: Sequence[Feature], number: int) -> tuple[Array, Array, Array]:
        """The same on columns of mean 0 and deviation 1, with the means and the deviations."""
        means, deviations = self.spread(columns)
        return (self.points(columns, number) - means) / deviations, means, deviations

    def median_gamma(self, points: Array) -> float:
        """1 / (2 d^2) for the median distance d of two of the points."""
        few = points[:MEDIAN_OF]
        above = np.triu_indices(len(few), 1)
        return float(0.5 / np.median(squared_distances(few, few)[above]))

    def different(self, column: Feature, most: int | None = None) -> int:
        """How many values the column has, counted up to `most`."""
        value = self.query.relation(column.relation).rows([(column.expression.copy(), "v")])
        distinct = sql.distinct(sql.derived(value, "r"))
        rows = sql.derived(distinct.limit(most) if most else distinct, "d")
        return int(self.engine.fetch(sql.select([(sql.count(), "n")], rows))["n"][0])

    def _rows(self, columns: Sequence[Feature]) -> exp.Subquery:
        """x0, x1, ... over the rows of the relation in which none of them is NULL."""
        outputs = [(sql.double(c.expression.copy()), f"x{n}") for n, c in enumerate(columns)]
        there = [sql.not_null(c.expression) for c in columns]
        return sql.derived(sql.where(self.query.relation(columns[0].relation).rows(outputs), *there), "r")

    def _fetch(self, query: exp.Query) -> dict[str, Any]:
        try:
            return dict(self.engine.fetch(query))
        except StatementError as error:
            if error.kind != "value":
                raise
            hint = "change the size of the column in the query, or leave such rows out in WHERE"
            raise DataError(f"⟦map {self.map}⟧: {error.message}", detail=error.detail, hint=hint) from error

    def _named(self, columns: Sequence[Feature]) -> str:
        return " and ".join(column.name for column in columns)


def _is_constant(mean: float, deviation: float) -> bool:
    return deviation <= 1e-12 * abs(mean)


def is_named(map: str) -> bool:
    """Is it of one column or of one table?"""
    return any(what in MAP_FORMS.get(map.partition(":")[0], "") for what in ("COLUMN", "TABLE"))


def columns_of(maps: Sequence[str]) -> list[str]:
    """What may be the columns, or tables, that are named: the names may have colons."""
    parts = [map.split(":")[1:] for map in maps if is_named(map)]
    return [":".join(part[:n]) for part in parts for n in range(1, len(part) + 1)]


def numbers_of(query: FeatureQuery, alias: str) -> list[Feature]:
    """The outputs of one relation that are numbers, but no terms of sums."""
    own = (f for f in query.features if f.relation == alias and f.kind == "numeric")
    return [f for f in own if f.name not in query.sums]


def squared_distances(a: Array, b: Array) -> Array:
    found: Array = np.square(a[:, None, :] - b[None, :, :]).sum(axis=2)
    return found
