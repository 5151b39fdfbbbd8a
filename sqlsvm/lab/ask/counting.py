"""The paper's two counting queries for a given beta. `sqlsvm count` runs them; the paper's descent is built on them."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log, nan

import numpy as np

from sqlsvm.compile.evaluate import pairs, towards_centre
from sqlsvm.compile.resolve import COUNT, category_name, resolve, value_counts, values_name
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import active_rows
from sqlsvm.engine.base import Rows
from sqlsvm.errors import OptionError
from sqlsvm.lab.compile.sketch import THRESHOLDS, counted, levels, row_count, thresholds
from sqlsvm.lab.run.pseudo_oracle import LABELS, Sketching, of_label, sketching
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.design import Design
from sqlsvm.plan.parameters import BOUND, BUCKETS, LEVELS, THETA
from sqlsvm.plan.plan import Plan
from sqlsvm.run.data import Data
from sqlsvm.run.workspace import Program
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

BUCKETS_A_UNIT = 64
EPSILON: float = DEFAULTS["epsilon"]

MOST_LEVELS = 1e6  # more thresholds are too many to read, and too many for a sketch


@dataclass(frozen=True)
class Count:
    """How many join rows of a label have this value and label * score < bound."""

    feature: str
    value: object
    label: int
    count: float


@dataclass(frozen=True)
class Threshold:
    """The largest h such that at least `count` join rows of a label have 1 - label * score >= h."""

    label: int
    k: int
    count: float
    threshold: float


def row_count_program(plan: Plan) -> tuple[Statement, ...]:
    """Row Counting for one label, with the plan's method."""
    if plan.method != "sketch":
        return tuple(row_count(plan))
    answers = (resolve(plan, bag.core, active_rows(bag.number), value_counts) for bag in plan.bags)
    return (*counted(plan), *(statement for answer in answers for statement in answer))


def row_counts(
    problem: Data, beta: Array, bound: float = 1.0, buckets: int = BUCKETS_A_UNIT, epsilon: float = EPSILON
) -> Iterator[Count]:
    """The paper's Row Counting for every feature, value and label. Only sketches use epsilon."""
    for name in problem.query.sums:
        hint = "leave it out of the query, or use --generalized"
        raise OptionError(f"rows are counted by the values of columns, and {name} adds up several", hint=hint)
    program = Program(problem.work.engine, row_count_program(problem.plan))
    parameters: dict[str, object] = {BOUND: float(bound), BUCKETS: float(buckets)}
    if problem.plan.method == "sketch":
        parameters[LEVELS] = _sketching(problem, epsilon).for_counts(epsilon)
    for label in LABELS:
        steps.info("counting the rows of the label %+d", label)
        answers = problem.work.run_and_drop(program, {**of_label(problem.scaling, beta, label), **parameters})
        yield from _counts(problem.plan.design, answers, label)


def _counts(design: Design, answers: Mapping[str, Rows], label: int) -> Iterator[Count]:
    for c in design.coordinates:
        if c.role == "value":
            rows = answers[values_name(c)]
            for value, count in zip(rows["value"].astype(float), rows[COUNT], strict=True):
                if count > 0:
                    yield Count(c.feature, None if value != value else float(value), label, float(count))
    for d in design.dictionaries:
        rows = answers[category_name(d)]
        for n, count in zip(rows["n"].astype(float), rows[COUNT], strict=True):
            if count > 0:
                yield Count(d.feature, None if n != n else d.categories[int(n) - 1 - d.offset], label, float(count))


def generalised(problem: Data, beta: Array, epsilon: float, buckets: int = BUCKETS_A_UNIT) -> Iterator[Threshold]:
    """The paper's Generalised Row Counting: thresholds at the levels f_k, which grow by a factor of 1 + epsilon."""
    is_sketch, negative = problem.plan.method == "sketch", problem.moments.n_negative
    rows_of = dict(zip(LABELS, (negative, problem.moments.n - negative), strict=True))
    _check_list(problem, beta)
    for rows in rows_of.values():
        _check_levels(epsilon, rows)
    program = Program(problem.work.engine, tuple(thresholds(problem.plan)))
    finer = _sketching(problem, epsilon).for_counts(epsilon, more=1) if is_sketch else None
    for label, rows in rows_of.items():
        steps.info("counting the rows of the label %+d", label)
        f = levels(epsilon, rows)
        asked = {BUCKETS: float(buckets), LEVELS: f if finer is None else finer}
        answers = problem.work.run_and_drop(program, {**of_label(problem.scaling, beta, label), **asked})
        heights = _at_levels(answers[THRESHOLDS], f)
        for k, (count, h) in enumerate(zip(f, heights, strict=True)):
            if h == h:
                yield Threshold(label, k, float(count), float(h))


def _at_levels(found: Rows, f: Array) -> Array:
    """A sketch has its own, finer levels, and its counts are lower bounds. So at least f_k rows reach its threshold
    for the first level >= f_k. There is none if all rows that it counted are fewer."""
    reached, heights = found["f"].astype(float), found["threshold"].astype(float)
    return np.append(heights, nan)[np.searchsorted(reached, f)]


def _check_levels(epsilon: float, rows: float) -> None:
    """All counts up to 1/epsilon are levels; above, levels grow by a factor of 1 + epsilon."""
    if min(rows, (1 + log(max(1.0, epsilon * rows))) / epsilon) > MOST_LEVELS:
        raise OptionError(
            f"an epsilon of {epsilon:g} makes more than {MOST_LEVELS:,.0f} levels of {rows:.2g} rows",
            hint="take a larger one: ⟦epsilon 0.1⟧",
        )


def _check_list(problem: Data, beta: Array) -> None:
    """Refuse a list that is too long: exact thresholds need a list of all pairs that meet at the centre."""
    plan, work = problem.plan, problem.work
    if plan.centre is None or plan.method != "exact":
        return
    given = {THETA: problem.scaling.to_raw(np.asarray(beta, dtype=float)), BOUND: 0.0}
    with work.scratch():
        work.run(towards_centre(plan), given)
        met = work.ask(pairs(plan), given)
    if met > work.engine.sizes.listed:
        raise OptionError(
            f"exact thresholds would sort {met:.2g} pairs of scores",
            hint="⟦counting sketch⟧ keeps each within 1 + epsilon, ⟦counting grid⟧ rounds the scores",
        )


def _sketching(problem: Data, epsilon: float) -> Sketching:
    found = sketching(problem.work, problem.plan)
    _check_levels(epsilon / (2 * len(problem.plan.links)), found.largest)
    return found
