"""How many rows of each class are predicted as each class, with one bag: each row of the join is scored for all
classes, and the largest score wins. Of equal scores, that of the first class does. If the model has probabilities, what
they cost is added up too."""

from collections.abc import Callable, Sequence

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.joined import CLUSTER, TIMES, is_met_once, joined
from sqlsvm.compile.statement import Asked, asked, at_places, in_row, theta
from sqlsvm.engine.base import Rows
from sqlsvm.plan.parameters import SLOPES
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.solve.arrays import Array

BRIER, LOG_LOSS = "brier", "log_loss"
LEAST = 2.0**-52  # the log loss takes no probability for smaller
SMALLEST = 1e-150  # the square of less is an error in PostgreSQL, and 0 elsewhere
PREDICTED = "p"

Curve = Callable[[exp.Expression], exp.Expression]  # the probability at a score that is a column


def confusion(plan: Plan) -> Asked[Array]:
    """SELECT y, p, the number of rows. theta has the weights of all classes, one after the other."""
    rows, n = sql.derived(_predicted(plan), "t"), [(sql.total(TIMES), "n")]
    found = sql.grouped(sql.columns([CODE, PREDICTED]), n, rows)
    size = (plan.design.target.classes,) * 2
    return asked("classes and predictions", found, lambda r: at_places(size, [r[CODE], r[PREDICTED]], r["n"]))


def squares(plan: Plan, measures: int) -> Asked[Array]:
    """SELECT y, and for each measure the sum, over the rows of the label's relation, of the square of what each adds to
    it. The array has a number for each measure, each class and each prediction."""
    classes, names = plan.design.target.classes, [f"d{n}" for n in range(measures)]
    cell = sql.plus(sql.product(sql.minus(CODE, 1), classes), PREDICTED)
    slopes = (sql.element(sql.array(SLOPES), sql.plus(cell, n * classes**2)) for n in range(measures))
    adds = [(sql.product(TIMES, slope), name) for slope, name in zip(slopes, names, strict=True)]
    alone = is_met_once(plan, plan.label_node)
    kept = sql.columns([CODE, *([] if alone else [CLUSTER])])
    each = sql.select([*kept, *adds], sql.derived(_predicted(plan, apart=not alone), "t"))
    if not alone:
        each = sql.grouped(kept, sql.totals(names), sql.derived(each, "r"))
    sums = [(sql.total(sql.product(name, name)), name) for name in names]
    found = sql.grouped(sql.columns([CODE]), sums, sql.derived(each, "c"))

    def read(rows: Rows) -> Array:
        return at_places((classes, measures), [rows[CODE]], np.column_stack([rows[name] for name in names]))

    return asked("squares of what rows add", found, read)


def _predicted(plan: Plan, *, apart: bool = False) -> exp.Select:
    """SELECT y, times, p"""
    codes = range(1, plan.design.target.classes + 1)
    # CASE GREATEST(scores) WHEN first score THEN first value ... END
    scores = [sql.column(f"s{k}") for k in codes]
    largest = sql.match(sql.greatest(*scores), zip(scores, [*map(sql.integer, codes)], strict=True))
    kept = sql.columns([CODE, TIMES, *([CLUSTER] if apart else [])])
    return sql.select([*kept, (largest, PREDICTED)], sql.derived(sql.fenced(_scored(plan, apart=apart)), "s"))


def chances(plan: Plan, curves: Sequence[Curve]) -> Asked[dict[str, float]]:
    """SELECT the sums of the Brier score and of the log loss. The Brier score of a row is the sum of (p - 1)^2 for its
    class and of p^2 for the others; the probabilities of all classes add up to 1."""
    names = [f"q{k}" for k in range(1, len(curves) + 1)]
    scores = (sql.column(f"s{k}", "s") for k in range(1, len(curves) + 1))
    own = [(curve(s), name) for curve, s, name in zip(curves, scores, names, strict=True)]
    kept = sql.columns([CODE, TIMES], "s")
    rows = sql.select([*kept, *own], _fenced(_scored(plan), "s"))
    each = [sql.column(name, "q") for _, name in own]
    whole = sql.select([*sql.columns([CODE, TIMES, *names], "q"), (sql.plus(*each), "total")], _fenced(rows, "q"))
    total, alike = sql.column("total", "t"), sql.number(1.0 / len(curves))
    shares = [sql.case(sql.equal(total, 0.0), alike, sql.ratio(sql.column(name, "t"), total)) for name in names]
    named = [*sql.columns([CODE, TIMES], "t"), *zip(shares, names, strict=True)]
    each = [sql.column(name, "v") for name in names]
    squares = sql.plus(*(sql.case(sql.less(SMALLEST, q), sql.product(q, q), 0.0) for q in each))
    parts = [(sql.match(sql.column(CODE, "v"), enumerate(each, 1)), "share"), (squares, "square")]
    found = sql.select([*sql.columns([TIMES], "v"), *parts], _fenced(sql.select(named, _fenced(whole, "t")), "v"))
    times, p = sql.column(TIMES, "u"), sql.column("share", "u")
    cost = sql.plus(sql.minus("u.square", sql.product(2.0, p)), 1.0)
    at_least = exp.Greatest(this=p, expressions=[sql.number(LEAST)])
    within = exp.Least(this=at_least, expressions=[sql.number(1.0 - LEAST)])
    costs = [(exp.paren(cost), BRIER), (sql.negated(exp.Ln(this=within)), LOG_LOSS)]
    sums = [(sql.total(sql.product(times, value)), name) for value, name in costs]
    answer = sql.select(sums, _fenced(found, "u"))
    return asked("what the probabilities of classes cost", answer, in_row)


def _fenced(rows: exp.Select, alias: str) -> exp.Expr:
    return sql.derived(sql.fenced(rows), alias)


def _scored(plan: Plan, *, apart: bool = False) -> exp.Select:
    """SELECT y, times, the score of each class"""
    scores = [(_score(plan, k), f"s{k}") for k in range(1, plan.design.target.classes + 1)]
    kept = sql.columns([CODE, TIMES, *([CLUSTER] if apart else [])], "r")
    return sql.select([*kept, *scores], sql.derived(joined(plan, apart=apart), "r"))


def _score(plan: Plan, k: int) -> exp.Expression:
    """The score of class k, from the coordinates of a row of the join."""
    design = plan.design
    before = (k - 1) * design.size
    values = [sql.number(1) if c.role == "intercept" else sql.column(c.column, "r") for c in design.coordinates]
    terms = [sql.product(theta(sql.integer(before + i)), value) for i, value in enumerate(values, 1)]
    for d in design.dictionaries:
        place = sql.plus(sql.column(number_column(d), "r"), before)
        terms.append(sql.or_zero(theta(place)))
    return sql.plus(*terms) if terms else sql.number(0)
