"""Columns are measured from their means over the join, where these are far from 0: so sums keep the digits in which
rows differ, and what rounding may do to them is a share of deviations. A constant is 0 then, and takes part in no sum.
The label is measured from its mean over the join, too."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import frexp, isfinite

import numpy as np

from sqlsvm.compile.prepare import node_table
from sqlsvm.engine.base import Rows
from sqlsvm.options import Scale
from sqlsvm.plan.design import Coordinate, Design
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments, flat, mean_of
from sqlsvm.plan.target import CODE, Numeric, centred_at
from sqlsvm.run.in_memory import ends_in, shifted
from sqlsvm.run.measuring import Ends, is_constant, read_ends
from sqlsvm.run.small import missing_tables
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.choosing import ONE
from sqlsvm.solve.threads import fitting_threads

FAR = 1e-6  # the variance, as a share of the mean square, of a feature whose deviation is a thousandth of its size
LARGE = 1e3  # a constant that is no larger does no harm
NEAR = 1e-3  # the mean of a label is 0 if it is at most this share of its deviation
DIGITS = 20  # the bits of a mean that are kept, as a share of the deviation
LAST = 2.0**-52  # numbers that differ by no more than this share of them differ in their last bit: they are the same
Origins = tuple[Mapping[int, float], Collection[int]]  # of coordinates; and which of them are constant
NONE: Origins = ({}, ())


def centred(work: Workspace, plan: Plan, found: Moments) -> Plan:
    """The plan with these origins. Its tables are made again."""
    far = flat(plan.design, found, FAR) if _has_constant(plan.design) else []
    origins, same = _origins(plan, found, _ends(work, plan, found, far)) if far else NONE
    made = _with(plan, origins, same, found.n, found.label)
    if made is not plan:
        moved = {plan.design.coordinates[index].relation for index in origins}
        moved |= {made.design.target.label.relation} if made.design.target is not plan.design.target else set()
        nodes = plan.copied & {plan.tree.node_of(relation) for relation in moved}
        work.drop([table for table in map(node_table, nodes) if table in work.tables])
        work.run(missing_tables(work, made))
    return made


def _ends(work: Workspace, plan: Plan, found: Moments, far: Sequence[Coordinate]) -> Ends:
    """Of what may be constant in the join, in the join. Of all others the ends in their relations will do."""
    flattest = {c.index: c for c in flat(plan.design, found)}
    return read_ends(work, plan, flattest.values(), [c for c in far if c.index not in flattest])


def centred_rows(plan: Plan, rows: Rows, weights: Array, scale: Scale) -> tuple[Plan, Rows]:
    """The same of rows in memory, whose label is from 0 on if it is a number: on the way over a centre that is far from
    them labels would lose digits."""
    design, before = plan.design, plan.design.target.centre
    if not (len(weights) and weights.sum() > 0.0 and _has_constant(design)):
        return plan, shifted(rows, -before) if before else rows
    origins, same = _origins_of_rows(plan, rows, weights) if scale == "standard" else NONE
    codes = rows[CODE].astype(float) - before
    label = None if design.target.signed else LabelMoments(float(weights @ codes), float(weights @ (codes * codes)))
    made = _with(plan, origins, same, float(weights.sum()), label)
    rows, after = dict(rows), made.design.target.centre
    for index, origin in origins.items():
        c = design.coordinates[index]
        there = 1.0 - rows[f"x{design.indicators[index]}"].astype(float) if index in design.indicators else 1.0
        rows[c.column] = (rows[c.column].astype(float) - origin * there) * (index not in same)
    return made, shifted(rows, -after) if after else rows


def _has_constant(design: Design) -> bool:
    return any(c.role == "intercept" for c in design.coordinates)


def _with(
    plan: Plan, origins: Mapping[int, float], same: Collection[int], n: float, label: LabelMoments | None
) -> Plan:
    design, target = plan.design.with_origins(origins, same) if origins else plan.design, plan.design.target
    centre = target.centre if label is None else _centre(target.centre, n, label)
    if isinstance(target, Numeric) and centre != target.centre and _has_constant(design):
        design = replace(design, target=centred_at(target.label, centre))
    return plan if design is plan.design else replace(plan, design=design)


def _centre(before: float, n: float, label: LabelMoments) -> float:
    """The mean over the join, where the codes are measured from another number."""
    if not (n > 0.0 and isfinite(label.squares) and isfinite(label.total)):
        return before
    mean = label.total / n
    deviation = max(label.squares / n - mean * mean, 0.0) ** 0.5
    if abs(mean) <= NEAR * deviation or not mean:
        return before
    grain = 2.0 ** (frexp(deviation or abs(mean))[1] - DIGITS)
    return float(round((before + mean) / grain) * grain)


def _origins(plan: Plan, found: Moments, ends: Ends) -> Origins:
    """Of the coordinates that are far from 0. That of a constant is the constant."""
    made, same = dict[int, float](), set[int]()
    for c in flat(plan.design, found, FAR):
        least, most = ends(c)
        origin = least if is_constant(least, most) else min(max(mean_of(plan.design, found, c), least), most)
        if abs(origin) > LARGE or not is_constant(least, most):
            made[c.index] = origin
            if most - least <= LAST * max(abs(least), abs(most)):
                same.add(c.index)
    return made, same


def _origins_of_rows(plan: Plan, rows: Rows, weights: Array) -> Origins:
    total, squares = (np.zeros(plan.design.size) for _ in range(2))
    with np.errstate(all="ignore"), fitting_threads(ONE):  # what is not finite is refused later
        for c in plan.design.coordinates:
            if c.role != "intercept":
                x = rows[c.column].astype(float, copy=False)
                total[c.index], squares[c.index] = weights @ x, weights @ (x * x)
    unknown = np.full(plan.design.size, np.nan)
    found = Moments(float(weights.sum()), 0.0, 0.0, total, squares, unknown, unknown)
    return _origins(plan, found, ends_in(rows)) if np.isfinite(squares).all() else NONE
