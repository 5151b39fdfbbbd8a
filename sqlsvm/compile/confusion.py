"""How many rows of each class are predicted as each class, with one bag: each row of the join is scored for all
classes, and the largest score wins. Of equal scores, that of the first class does. If the model has probabilities, what
they cost is added up too."""

from collections.abc import Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.joined import CLUSTER, TIMES, is_met_once, joined
from sqlsvm.compile.statement import Statement, statement, theta
from sqlsvm.model.probability import Probability
from sqlsvm.model.score import chance
from sqlsvm.plan.parameters import SLOPES
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE

CONFUSION = "classes and predictions"
SQUARES = "squares of what rows add"
CHANCES = "what the probabilities of classes cost"
BRIER, LOG_LOSS = "brier", "log_loss"
LEAST = 2.0**-52
"""The log loss takes no probability for smaller."""
PREDICTED = "p"


def confusion(plan: Plan) -> Statement:
    """SELECT y, p, the number of rows. theta has the weights of all classes, one after the other."""
    keys = sql.columns([CODE, PREDICTED])
    counted = sql.grouped(keys, [(sql.total(sql.column(TIMES)), "n")], sql.derived(_predicted(plan), "t"))
    return statement(CONFUSION, counted)


def squares(plan: Plan, measures: int) -> Statement:
    """SELECT y, and for each measure the sum, over the rows of the label's relation, of the square of what each adds to
    it. The array has a number for each measure, each class and each prediction."""
    classes, names = plan.design.target.classes, [f"d{n}" for n in range(measures)]
    before = exp.paren(sql.minus(sql.column(CODE), sql.integer(1)))
    cell = sql.plus(sql.product(before, sql.integer(classes)), sql.column(PREDICTED))
    slopes = (sql.element(sql.array(SLOPES), sql.plus(cell, sql.integer(n * classes**2))) for n in range(measures))
    adds = [(sql.product(sql.column(TIMES), slope), name) for slope, name in zip(slopes, names, strict=True)]
    alone = is_met_once(plan, plan.label_node)
    kept = sql.columns([CODE, *([] if alone else [CLUSTER])])
    each = sql.select([*kept, *adds], sql.derived(_predicted(plan, apart=not alone), "t"))
    if not alone:
        each = sql.grouped(kept, [(sql.total(sql.column(name)), name) for name in names], sql.derived(each, "r"))
    sums = [(sql.total(sql.product(sql.column(name), sql.column(name))), name) for name in names]
    return statement(SQUARES, sql.grouped(sql.columns([CODE]), sums, sql.derived(each, "c")))


def _predicted(plan: Plan, *, apart: bool = False) -> exp.Select:
    """SELECT y, times, p"""
    codes = range(1, plan.design.target.classes + 1)
    largest = first_of_the_largest([sql.column(f"s{k}") for k in codes], [*map(sql.integer, codes)])
    kept = sql.columns([CODE, TIMES, *([CLUSTER] if apart else [])])
    return sql.select([*kept, (largest, PREDICTED)], sql.derived(sql.fenced(_scored(plan, apart=apart)), "s"))


def chances(plan: Plan, curves: Sequence[Probability]) -> Statement:
    """SELECT the sums of the Brier score and of the log loss. The Brier score of a row is the sum of (p - 1)^2 for its
    class and of p^2 for the others; the probabilities of all classes add up to 1."""
    own = [(chance(p, sql.column(f"s{k}", "s")), f"q{k}") for k, p in enumerate(curves, 1)]
    kept = sql.columns([CODE, TIMES], "s")
    rows = sql.select([*kept, *own], sql.derived(sql.fenced(_scored(plan)), "s"))
    each = [sql.column(name, "q") for _, name in own]
    branches = [exp.If(this=sql.integer(k), true=q.copy()) for k, q in enumerate(each, 1)]
    squares = sql.plus(*(sql.product(q.copy(), q.copy()) for q in each))
    totals = [
        (sql.plus(*each), "total"),
        (squares, "squares"),
        (exp.Case(this=sql.column(CODE, "q"), ifs=branches), "own"),
    ]
    whole = sql.select([*sql.columns([TIMES], "q"), *totals], sql.derived(sql.fenced(rows), "q"))
    total, alike = sql.column("total", "t"), sql.number(1.0 / len(curves))
    is_none = sql.equal(total, sql.number(0))
    share = sql.case(is_none, alike, exp.Div(this=sql.column("own", "t"), expression=total.copy()))
    square = exp.Div(this=sql.column("squares", "t"), expression=exp.paren(sql.product(total.copy(), total.copy())))
    shares = [(share, "share"), (sql.case(is_none.copy(), alike.copy(), square), "square")]
    found = sql.select([*sql.columns([TIMES], "t"), *shares], sql.derived(sql.fenced(whole), "t"))
    times, p = sql.column(TIMES, "u"), sql.column("share", "u")
    cost = sql.plus(sql.minus(sql.column("square", "u"), sql.product(sql.number(2), p)), sql.number(1))
    within = exp.Least(
        this=exp.Greatest(this=p.copy(), expressions=[sql.number(LEAST)]), expressions=[sql.number(1.0 - LEAST)]
    )
    costs = [(exp.paren(cost), BRIER), (exp.Neg(this=exp.Ln(this=within)), LOG_LOSS)]
    sums = [(sql.total(sql.product(times.copy(), value)), name) for value, name in costs]
    return statement(CHANCES, sql.select(sums, sql.derived(sql.fenced(found), "u")))


def _scored(plan: Plan, *, apart: bool = False) -> exp.Select:
    """SELECT y, times, the score of each class"""
    scores = [(_score(plan, k), f"s{k}") for k in range(1, plan.design.target.classes + 1)]
    kept = sql.columns([CODE, TIMES, *([CLUSTER] if apart else [])], "r")
    return sql.select([*kept, *scores], sql.derived(joined(plan, apart=apart), "r"))


def first_of_the_largest(scores: list[exp.Expression], values: list[exp.Expression]) -> exp.Expression:
    """CASE GREATEST(scores) WHEN first score THEN first value ... END"""
    largest = sql.greatest(*(s.copy() for s in scores))
    branches = [exp.If(this=s, true=v) for s, v in zip(scores, values, strict=True)]
    return exp.Case(this=largest, ifs=branches)


def _score(plan: Plan, k: int) -> exp.Expression:
    """The score of class k, from the coordinates of a row of the join."""
    design = plan.design
    before = (k - 1) * design.size
    terms = [sql.product(theta(sql.integer(before + c.index + 1)), c.of("r")) for c in design.coordinates]
    for d in design.dictionaries:
        place = sql.plus(sql.column(number_column(d), "r"), sql.integer(before))
        terms.append(sql.or_zero(theta(place)))
    return sql.plus(*terms) if terms else sql.number(0)
