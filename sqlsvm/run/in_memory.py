"""A problem with all its rows in memory: its moments and its scaling come from them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.joined import TIMES
from sqlsvm.compile.moments import multiplied
from sqlsvm.engine.base import Rows
from sqlsvm.options import Nulls, Scale
from sqlsvm.plan.design import OTHER, Coordinate, Design, Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments, check_values
from sqlsvm.plan.target import CODE, Target
from sqlsvm.run.checks import check_rows
from sqlsvm.run.measuring import checked_products, without_flat
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.threads import fitting_threads


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
