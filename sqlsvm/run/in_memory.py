"""Rows of the join in memory: how they are scaled, and the moments of a problem that has all its rows there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.joined import TIMES
from sqlsvm.compile.moments import multiplied
from sqlsvm.engine.base import Rows
from sqlsvm.options import Nulls, Scale
from sqlsvm.plan.design import OTHER, Coordinate, Design, Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments, Scaling, check_values
from sqlsvm.plan.target import CODE, Target
from sqlsvm.query.ir import ENTITY, MARKS, ROW, TIME
from sqlsvm.run.checks import check_rows
from sqlsvm.run.measuring import checked_products, without_flat
from sqlsvm.solve.arrays import Array, Indices, Mask, Singles
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.rows import SampleRows
from sqlsvm.solve.threads import fitting_threads

T = TypeVar("T", np.float32, np.float64)

GROWS = 2  # one of so many rows of the label's relation is for trees
AT_ONCE = 4096  # rows that are written column by column while they are in the processor's cache


@dataclass(frozen=True)
class Drawn:
    """Rows of the join with the codes of their labels: what these mean is up to each training."""

    rows: SampleRows
    codes: Array
    weights: Array
    optima: dict[int, dict[Any, Array]] = field(default_factory=dict)
    """What was found on them, by the code of the class that is +1."""
    clusters: Array | None = None
    """The number of the row of the label's relation that each is of, if that was asked for."""
    marks: Rows = field(default_factory=dict)  # what each tells of that row (rewrites/marks.py), if the plan says so

    def grows(self, before: float | None) -> Mask:
        """Which rows are for trees: those before a time; else of an entity all or none. The others choose how to
        train."""
        if before is not None:
            return np.asarray(self.marks[TIME] < before)
        return np.asarray(self.marks.get(ENTITY, self.marks[ROW]) % GROWS == 0.0)

    @property
    def middle(self) -> float | None:
        """The time before which there is about half of the rows of the label's relation, but not none."""
        if TIME not in self.marks:
            return None
        _, first = np.unique(self.marks[ROW], return_index=True)
        times = np.sort(self.marks[TIME][first])
        times = times[: np.count_nonzero(~np.isnan(times))]
        later = times[times > times[:1]]
        return float(max(times[len(times) // 2], later[0])) if len(later) else -inf

    def take(self, rows: Indices) -> "Drawn":
        marks = {name: values[rows] for name, values in self.marks.items()}
        return Drawn(self.rows.take(rows), self.codes[rows], self.weights[rows], marks=marks)

    def as_sample(self, target: Target, origin: float | None) -> Sample:
        """With their signs and origins; `origin` is the one that classes have."""
        signs, origins = target.as_rows(self.codes, origin or 0.0)
        return Sample(self.rows, signs, origins, self.weights, self.optima.setdefault(target.chosen, {}))


Samples = dict[tuple[int, int], Drawn]  # those that were read, by size and seed


def read_rows(scaling: Scaling, rows: Rows, weights: Array) -> Drawn:
    """Rows of the join that were read already, each with its weight."""
    numbers, ones, codes = Reader(scaling).read_once(rows, np.float64)
    return Drawn(SampleRows(numbers, ones, scaling.dimension), codes, weights, marks=marks_in(scaling, rows))


def marks_in(scaling: Scaling, rows: Rows, times: Indices | int = 1) -> Rows:
    """What rows tell of that of the label, and where their numbers are NULL."""
    found = {name: rows[name].astype(float).repeat(times) for name in MARKS if name in rows}
    if not found:
        return found
    nulls = (c.column for c in scaling.design.coordinates if c.role == "missing" and c.column in rows)
    return found | {name: (rows[name] > 0.0).repeat(times) for name in nulls}


def together(parts: Sequence[Drawn]) -> Drawn:
    each = ((part.rows.numbers, part.rows.ones, part.codes, part.weights) for part in parts)
    numbers, ones, codes, weights = (np.concatenate(arrays) for arrays in zip(*each, strict=True))
    marks = {name: np.concatenate([part.marks[name] for part in parts]) for name in parts[0].marks}
    return Drawn(SampleRows(numbers, ones, parts[0].rows.width), codes, weights, marks=marks)


class Reader:
    """Turns blocks of the answer into features: scaled numbers, then a 0/1 column for each category."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling, self.design, self.matrix = scaling, scaling.design, scaling.matrix

    def read(self, rows: Rows) -> tuple[Singles, Indices, Array]:
        """Numbers, places of ones, labels: each row as often as it was drawn."""
        times = rows[TIMES].astype(int)
        numbers, ones, labels = self.read_once(rows, np.float32)
        if (times == 1).all():
            return numbers, ones, labels
        return numbers.repeat(times, axis=0), ones.repeat(times, axis=0), labels.repeat(times)

    def read_once(self, rows: Rows, precision: type[T]) -> tuple[NDArray[T], Indices, Array]:
        return self._numbers(rows, precision), self._ones(rows), rows[CODE].astype(float)

    def _numbers(self, rows: Rows, precision: type[T]) -> NDArray[T]:
        constant = np.ones(len(rows[CODE]))
        columns = [rows.get(c.column, constant) for c in self.design.coordinates]
        found = np.empty((len(constant), len(self.matrix)), dtype=precision)
        terms = [[(row[index], columns[index]) for index in np.flatnonzero(row).tolist()] for row in self.matrix]
        for start in range(0, len(found), AT_ONCE):
            here = slice(start, start + AT_ONCE)
            for place, ((factor, column), *others) in enumerate(terms):
                value = factor * column[here]
                for factor, column in others:
                    value += factor * column[here]
                found[here, place] = value
        return found

    def _ones(self, rows: Rows) -> Indices:
        found = np.full((len(rows[CODE]), len(self.design.dictionaries)), self.scaling.dimension)
        for d in self.design.dictionaries:
            number = rows[number_column(d)].astype(float)
            (known,) = np.nonzero(~np.isnan(number))
            found[known, d.number] = number[known].astype(int) - 1 - self.scaling.unkept
        return found


def with_own_categories(design: Design, rows: Rows) -> tuple[Design, Rows]:
    """The design with the categories that these rows have, and the rows with their places there. Each feature keeps at
    least one category."""
    dictionaries, changed, offset = list[Dictionary](), dict(rows), len(design.coordinates)
    for d in design.dictionaries:
        places = rows[number_column(d)].astype(float) - d.offset - 1.0
        known = ~np.isnan(places)
        there = set(np.unique(places[known]).astype(int).tolist())
        named = [n for n in range(len(d.categories)) if n in there and d.categories[n] is not OTHER] or [0]
        kept = sorted(there | set(named)) if d.categories else []
        moved = np.full(len(d.categories), np.nan)
        moved[kept] = np.arange(len(kept)) + offset + 1.0
        own = np.full(len(places), np.nan)
        own[known] = moved[places[known].astype(int)]
        changed[number_column(d)] = own
        dictionaries.append(replace(d, offset=offset, categories=tuple(d.categories[n] for n in kept)))
        offset += len(kept)
    return replace(design, dictionaries=tuple(dictionaries)), changed


def moments_of(plan: Plan, rows: Rows, weights: Array) -> Moments:
    """All of them, with the products of terms of sums."""
    design, codes = plan.design, rows[CODE].astype(float)
    signs, _ = design.target.as_rows(codes, 0.0)
    negative = np.where(signs < 0.0, weights, 0.0)
    found = {name: np.zeros(design.size) for name in ("total", "squares", "largest", "negative")}
    columns = {c.index: _column(c, rows) for c in design.coordinates}
    there = weights > 0.0
    room = np.empty(len(codes))  # a new array for each would be new memory each time
    with np.errstate(all="ignore"):  # what is not finite is refused later
        for index, x in columns.items():
            found["total"][index], found["negative"][index] = weights @ x, negative @ x
            found["squares"][index] = weights @ np.multiply(x, x, out=room)
            found["largest"][index] = np.abs(x, out=room).max(initial=0.0, where=there)
    for d in design.dictionaries:
        places = rows[number_column(d)].astype(float)
        known = ~np.isnan(places)
        here, at = slice(d.offset, d.offset + len(d.categories)), places[known].astype(int) - 1 - d.offset
        found["total"][here] = np.bincount(at, weights[known], len(d.categories))
        found["negative"][here] = np.bincount(at, negative[known], len(d.categories))
        found["squares"][here], found["largest"][here] = found["total"][here], 1.0
    products = {
        (c.index, o.index): float(weights @ (columns[c.index] * columns[o.index]))
        for c, others in multiplied(design)
        for o in others
    }
    sums = found["total"], found["squares"], found["largest"], found["negative"]
    sizes = float(weights.sum()), float(negative.sum()) if design.target.signed else 0.0
    return Moments(*sizes, 0.0, *sums, _of_label(design, codes, weights), products, _of_codes(design, codes, weights))


def _of_label(design: Design, codes: Array, weights: Array) -> LabelMoments | None:
    if design.target.signed:
        return None
    with np.errstate(all="ignore"):
        return LabelMoments(float(weights @ codes), float(weights @ (codes * codes)))


def _of_codes(design: Design, codes: Array, weights: Array) -> tuple[float, ...]:
    return tuple(float(weights[codes == code].sum()) for code in range(1, design.target.classes + 1))


def _column(c: Coordinate, rows: Rows) -> Array:
    return np.ones(len(rows[CODE])) if c.role == "intercept" else rows[c.column].astype(float, copy=False)


def moments_in_memory(
    plan: Plan, rows: Rows, weights: Array, how: Scale, nulls: Nulls, *, by_class: bool = False
) -> Moments:
    """The moments that this scaling asks for, checked like those that the database counts."""
    with fitting_threads(len(plan.design.coordinates)):
        found = moments_of(plan, rows, weights)
    check_rows(plan, found)
    unknown = np.full(plan.design.size, np.nan)
    found = found if by_class else replace(found, total_negative=unknown)
    if how != "standard":
        found = replace(found, squares=unknown, products={})
    check_values(plan.design, found, nulls)
    return checked_products(plan, without_flat(plan, found, ends_in(rows))) if how == "standard" else found


def ends_in(rows: Rows) -> Callable[[Coordinate], tuple[float, float]]:
    """The least and the largest value of a coordinate. Zeros aside: a number that is missing is 0."""

    def ends(c: Coordinate) -> tuple[float, float]:
        x = _column(c, rows)
        x = x[x != 0.0]
        return (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)

    return ends


def class_weighted(target: Target, rows: Rows) -> Array:
    """The weights of rows that were read without those of the classes."""
    return np.asarray(rows[TIMES].astype(float) * _of_classes(target, rows))


def without_class_weights(target: Target, rows: Rows) -> Array:
    """The weights of rows that were read with those of the classes."""
    return np.asarray(rows[TIMES].astype(float) / _of_classes(target, rows))


def _of_classes(target: Target, rows: Rows) -> Array | float:
    if not target.weighted:
        return 1.0
    codes, weights = rows[CODE].astype(int), np.array(target.class_weights)
    return np.asarray(weights[codes - 1 if target.classes else (codes > 0).astype(int)])


def shifted(rows: Rows, by: float) -> Rows:
    """The rows with another centre of a label that is a number."""
    return {**rows, CODE: rows[CODE].astype(float) + by}
