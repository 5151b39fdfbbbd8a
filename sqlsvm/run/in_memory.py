"""A problem of which all rows are in memory: its moments and its scaling come from them."""

from dataclasses import replace

import numpy as np

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.moments import multiplied
from sqlsvm.compile.sample import TIMES
from sqlsvm.engine.base import Rows
from sqlsvm.options import Scale
from sqlsvm.plan.design import OTHER, Coordinate, Design, Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments, scaling
from sqlsvm.plan.target import CODE
from sqlsvm.run.measuring import checked_products, without_flat
from sqlsvm.run.problem import Problem, check_rows
from sqlsvm.run.sampling import Drawn, read_rows
from sqlsvm.solve.arrays import Array


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
    design = plan.design
    codes = rows[CODE].astype(float)
    negative = np.where(codes < 0.0, weights, 0.0)
    found = {name: np.zeros(design.size) for name in ("total", "squares", "largest", "negative")}
    columns = {c.index: _column(c, rows) for c in design.coordinates}
    for index, x in columns.items():
        found["total"][index], found["squares"][index] = weights @ x, weights @ (x * x)
        found["largest"][index], found["negative"][index] = np.abs(x).max(initial=0.0), negative @ x
    for d in design.dictionaries:
        places = rows[number_column(d)]
        known = ~np.isnan(places)
        here, at = slice(d.offset, d.offset + len(d.categories)), places[known].astype(int) - 1 - d.offset
        found["total"][here] = np.bincount(at, weights[known], len(d.categories))
        found["negative"][here] = np.bincount(at, negative[known], len(d.categories))
        found["squares"][here], found["largest"][here] = found["total"][here], 1.0
    signed = design.target.signed
    label = None if signed else LabelMoments(float(weights @ codes), float(weights @ (codes * codes)))
    products = {
        (c.index, o.index): float(weights @ (columns[c.index] * columns[o.index]))
        for c, others in multiplied(design)
        for o in others
    }
    sums = found["total"], found["squares"], found["largest"], found["negative"]
    return Moments(float(weights.sum()), float(negative.sum()) if signed else 0.0, 0.0, *sums, label, products)


def _column(c: Coordinate, rows: Rows) -> Array:
    return np.ones(len(rows[CODE])) if c.role == "intercept" else rows[c.column].astype(float)


def of_rows(problem: Problem, plan: Plan, rows: Rows, how: Scale) -> tuple[Problem, Drawn]:
    """The problem on these rows alone, with the categories that they have, and the rows with all weights. The target of
    the plan says what they are measured against."""
    target = plan.design.target
    weights = rows[TIMES].astype(float)
    if target.signed and target.class_weights != (1.0, 1.0):
        negative, positive = target.class_weights
        weights = weights * np.where(rows[CODE].astype(float) < 0.0, negative, positive)
    found = moments_of(plan, rows, weights)
    check_rows(plan, found)

    def ends(c: Coordinate) -> tuple[float, float]:
        x = _column(c, rows)
        return float(x.min()), float(x.max())

    if how == "standard":
        found = checked_products(plan, without_flat(plan, found, ends))
    else:
        found = replace(found, squares=np.full(plan.design.size, np.nan), products={})
    own = replace(problem, plan=plan, moments=found, scaling=scaling(plan.design, found, how))
    return own, read_rows(own, rows, weights)


def shifted(rows: Rows, by: float) -> Rows:
    """The rows with another centre of a label that is a number."""
    return {**rows, CODE: rows[CODE].astype(float) + by}
