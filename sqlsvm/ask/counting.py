"""The paper's two counting queries for a given beta. `sqlsvm count` runs them; the paper's descent is built on them."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, log, nan
from typing import Any

import numpy as np

from sqlsvm.compile.evaluate import LONGEST_LIST, PAIRS, pairs, towards_centre
from sqlsvm.compile.levels import levels
from sqlsvm.compile.resolve import COUNT, category_name, resolve, value_counts, values_name
from sqlsvm.compile.row_count import THRESHOLDS, row_count, thresholds
from sqlsvm.compile.sketch import REACHED, counted, reached_levels
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import active_rows
from sqlsvm.engine.base import Rows
from sqlsvm.errors import OptionError, nearest
from sqlsvm.options import DEFAULTS
from sqlsvm.plan.design import OTHER, Design, Dictionary, without_other
from sqlsvm.plan.parameters import BOUND, BUCKETS, LEVELS, THETA
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Scaling
from sqlsvm.run.problem import Problem
from sqlsvm.run.pseudo_oracle import LABELS, Sketching, of_label, sketching
from sqlsvm.run.workspace import Program
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

BUCKETS_A_UNIT = 64
EPSILON: float = DEFAULTS["epsilon"]

MOST_LEVELS = 1e6
"""More thresholds are too many to read, and too many for a sketch."""

FORM = 'write {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}'

Given = Mapping[str, Any]
"""{"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}, or the JSON of a model."""


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


def read_beta(scaling: Scaling, given: Given) -> Array:
    """The vector of a beta that is given by names. A name that is left out has weight 0."""
    given = _of_model(given)
    weights = _weights(scaling.design, given)
    beta = np.zeros(scaling.dimension)
    for e in scaling.elements():
        if e.category is not None:
            others = given.get("other", {}).get(e.feature, 0.0)
            value = others if e.category is OTHER else weights.get(e.feature, {}).get(str(e.category), others)
        else:
            value = weights.get(e.feature, 0.0) if e.feature else given.get("intercept", 0.0)
        beta[e.place] = _number(e.feature or "intercept", value)
    return beta


def _of_model(given: Given) -> Given:
    """What `weights --json` and `show --json` print has a list of weights."""
    listed = given.get("weights") if isinstance(given, Mapping) else None
    names = {"feature", "category", "weight"}
    if not isinstance(listed, list) or not all(isinstance(e, Mapping) and e.keys() >= names for e in listed):
        return given
    weights: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for entry in listed:
        if entry["category"] is None:
            weights[entry["feature"]] = entry["weight"]
        elif isinstance(entry["category"], Mapping):
            others[entry["feature"]] = entry["weight"]
        else:
            weights.setdefault(entry["feature"], {})[str(entry["category"])] = entry["weight"]
    return {"intercept": given.get("intercept", 0.0), "weights": weights, "other": others}


def _weights(design: Design, given: Given) -> Mapping[str, Any]:
    """The weights, after all names are checked."""
    known = {"intercept", "weights", "other"}
    if not isinstance(given, Mapping) or not all(isinstance(given.get(n, {}), Mapping) for n in ("weights", "other")):
        raise OptionError("beta is not an object of weights by name", hint=FORM)
    for name in given.keys() - known:
        raise OptionError(f"beta has a {name}, which is neither the intercept nor the weights", hint=FORM)
    names = {c.feature for c in design.coordinates} | {d.feature for d in design.dictionaries}
    if "" not in names and given.get("intercept"):
        raise OptionError("beta has an intercept, which the features do not", hint="leave it out")
    weights: Mapping[str, Any] = given.get("weights", {})
    for name in (*weights, *given.get("other", {})):
        if not name or name not in names:
            close = nearest(name, sorted(names - {""}))
            raise OptionError(f"beta has a weight for {name}, which is not a feature", hint=close)
    for d in design.dictionaries:
        if not isinstance(weights.get(d.feature, {}), Mapping):
            raise OptionError(
                f"the weight of the categorical feature {d.feature} is one number",
                hint=f'write {{"{d.feature}": {{"VALUE": 0.1}}}}',
            )
        _check_known(d, weights.get(d.feature, {}))
    return weights


def _check_known(d: Dictionary, given: Mapping[str, Any]) -> None:
    """Of several values that share a place, none can have a weight of its own."""
    known = set(map(str, without_other(d.categories)))
    if d.categories[-1:] == (OTHER,):
        for category in given.keys() - known:
            raise OptionError(
                f"beta has a weight for the category {category} of {d.feature}, which is none of the top {d.top}",
                hint=f"leave out --top {d.feature}:{d.top}",
            )


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"the weight of {name} is not a number: {value!r}")
    if not isfinite(value):
        raise OptionError(f"the weight of {name} is not finite: {value}")
    return float(value)


def row_count_program(plan: Plan) -> tuple[Statement, ...]:
    """Row Counting for one label, with the plan's method."""
    if plan.method != "sketch":
        return tuple(row_count(plan))
    answers = (resolve(plan, bag.core, active_rows(bag.number), value_counts) for bag in plan.bags)
    return (*counted(plan), *(statement for answer in answers for statement in answer))


def row_counts(
    problem: Problem, beta: Array, bound: float = 1.0, buckets: int = BUCKETS_A_UNIT, epsilon: float = EPSILON
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


def generalised(problem: Problem, beta: Array, epsilon: float, buckets: int = BUCKETS_A_UNIT) -> Iterator[Threshold]:
    """The paper's Generalised Row Counting: thresholds at the levels f_k, which grow by a factor of 1 + epsilon."""
    is_sketch, negative = problem.plan.method == "sketch", problem.moments.n_negative
    rows_of = dict(zip(LABELS, (negative, problem.moments.n - negative), strict=True))
    _check_list(problem, beta)
    for rows in rows_of.values():
        _check_levels(epsilon, rows)
    program = Program(problem.work.engine, (reached_levels if is_sketch else thresholds)(problem.plan))
    finer = _sketching(problem, epsilon).for_thresholds(epsilon) if is_sketch else None
    for label, rows in rows_of.items():
        steps.info("counting the rows of the label %+d", label)
        f = levels(epsilon, rows)
        asked = {BUCKETS: float(buckets), LEVELS: f if finer is None else finer}
        answers = problem.work.run_and_drop(program, {**of_label(problem.scaling, beta, label), **asked})
        heights = _at_levels(answers[REACHED if is_sketch else THRESHOLDS], f)
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
            hint="take a larger one: --epsilon 0.1",
        )


def _check_list(problem: Problem, beta: Array) -> None:
    """Refuse a list that is too long: exact thresholds need a list of all pairs that meet at the centre."""
    plan, work = problem.plan, problem.work
    if plan.centre is None or plan.method != "exact":
        return
    given = {THETA: problem.scaling.to_raw(np.asarray(beta, dtype=float)), BOUND: 0.0}
    program = Program(work.engine, (*towards_centre(plan), pairs(plan)))
    met = float(work.run_and_drop(program, given)[PAIRS]["n"][0])
    if met > LONGEST_LIST:
        raise OptionError(
            f"exact thresholds would sort {met:.2g} pairs of scores",
            hint="--counting sketch keeps each within 1 + epsilon, --counting grid rounds the scores",
        )


def _sketching(problem: Problem, epsilon: float) -> Sketching:
    found = sketching(problem.work, problem.plan)
    _check_levels(epsilon / (2 * len(problem.plan.links)), found.largest)
    return found
