"""How many rows of each class are predicted as each class, with one bag: each row of the join is scored for all
classes, and the largest score wins. Of equal scores, that of the first class does."""

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.sample import TIMES, joined
from sqlsvm.compile.statement import Statement, statement, theta
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE

CONFUSION = "classes and predictions"
PREDICTED = "p"


def confusion(plan: Plan) -> Statement:
    """SELECT y, p, the number of rows. theta has the weights of all classes, one after the other."""
    classes = plan.design.target.classes
    scores = [(_score(plan, k), f"s{k}") for k in range(1, classes + 1)]
    rows = sql.select([*sql.columns([CODE, TIMES], "r"), *scores], sql.derived(joined(plan), "r"))
    largest = first_of_the_largest([sql.column(name) for _, name in scores], [*map(sql.integer, range(1, classes + 1))])
    seen = sql.select([*sql.columns([CODE, TIMES]), (largest, PREDICTED)], sql.derived(sql.fenced(rows), "s"))
    keys = sql.columns([CODE, PREDICTED])
    counted = sql.grouped(keys, [(sql.total(sql.column(TIMES)), "n")], sql.derived(seen, "t"))
    return statement(CONFUSION, counted)


def first_of_the_largest(scores: list[exp.Expression], values: list[exp.Expression]) -> exp.Expression:
    """CASE GREATEST(scores) WHEN first score THEN first value ... END"""
    first, *others = scores
    largest = exp.Greatest(this=first.copy(), expressions=[s.copy() for s in others])
    branches = [exp.If(this=s, true=v) for s, v in zip(scores, values, strict=True)]
    return exp.Case(this=largest, ifs=branches)


def _score(plan: Plan, k: int) -> exp.Expression:
    """Of class k, from the coordinates of a row of the join."""
    design = plan.design
    before = (k - 1) * design.size
    terms = [sql.product(theta(sql.integer(before + c.index + 1)), c.of("r")) for c in design.coordinates]
    for d in design.dictionaries:
        place = sql.plus(sql.column(number_column(d), "r"), sql.integer(before))
        terms.append(sql.or_zero(theta(place)))
    return sql.plus(*terms) if terms else sql.number(0)
