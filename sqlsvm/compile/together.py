"""A pass for several classes at once, over one bag: each row of the join meets the weights of all classes that make a
pass, so the join is scanned once. It is +1 for its own class. Sums are by class, and by the categories of the row."""

from collections.abc import Iterator
from math import prod

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.resolve import CELLS, COUNT
from sqlsvm.compile.sample import TIMES, joined
from sqlsvm.compile.statement import Statement, statement, theta
from sqlsvm.compile.weighting import Residual, Weighting
from sqlsvm.plan.parameters import MEMBERS, WIDTHS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

TOGETHER = "sums of the classes"
MEMBER = "m"
"""The code of the class that is +1."""
OWN_WIDTH = "width"
MOST = 300
"""Numbers in a vector of weights: each is a column here."""


def can_share(plan: Plan) -> bool:
    """One bag, few weights, and categories with so few combinations that sums may be by them."""
    listed = all(d.listed for d in plan.design.dictionaries)
    few = listed and prod(len(d.categories) + 1 for d in plan.design.dictionaries) <= CELLS
    return plan.centre is None and few and plan.design.size <= MOST


def pass_together(plan: Plan, weighting: Weighting) -> Statement:
    """SELECT m, the totals, SUM(c x) for each coordinate, SUM(c), by class and categories"""
    weighted = any(map(plan.weighted, range(len(plan.tree.nodes))))
    c, numbers = sql.column(COUNT, "r"), [number_column(d) for d in plan.design.dictionaries]
    origin = plan.design.target.origin(sql.column(CODE, "r"))
    sums: Named = [*weighting.totals(weighted, origin), (c, COUNT)]
    sums += [(sql.product(c.copy(), x.of("r")), x.column) for x in plan.design.coordinates]
    counted = sql.derived(sql.fenced(_counted(plan, weighting, weighted)), "r")
    keys = sql.columns([MEMBER, *numbers], "r")
    return statement(TOGETHER, sql.grouped(keys, [(sql.sum_or_zero(value), name) for value, name in sums], counted))


def _counted(plan: Plan, weighting: Weighting, weighted: bool) -> exp.Select:
    """SELECT m, x.., category numbers, sign * w * u AS c, what the weighting keeps FROM scored rows WHERE u <> 0"""
    rows = _scored(plan)
    weight = sql.column(TIMES) if weighted else None
    sign = sql.column("sign")
    z = Residual(plan.design.target.origin(sql.column(CODE)), sql.product(sign, sql.column("p")))
    factors = [sql.double(e) for e in (sign, *([weight] if weight else []))]
    made = sql.columns(n for n in rows.named_selects if n not in ("p", "sign", CODE, TIMES))
    made += [(sql.product(*factors, *weighting.value(z)), COUNT), *weighting.kept(z, weight)]
    return sql.where(sql.select(made, sql.derived(sql.fenced(rows), "s")), weighting.counts(z))


def _scored(plan: Plan) -> exp.Select:
    rows = joined(plan)
    is_own = sql.equal(sql.column(CODE, "r"), sql.column(MEMBER, "t"))
    sign = sql.case(is_own, sql.integer(1), exp.Neg(this=sql.integer(1)))
    made = [*sql.columns(rows.named_selects, "r"), *sql.columns([MEMBER, OWN_WIDTH], "t"), (sign, "sign")]
    scored = sql.select([*made, (sql.plus(*_terms(plan)), "p")], sql.derived(rows, "r"))
    return sql.join(scored, sql.derived(_thetas(plan), "t"), ())


def _terms(plan: Plan) -> Iterator[exp.Expression]:
    for x in plan.design.coordinates:
        yield sql.product(sql.column(_weight(x.index + 1), "t"), x.of("r"))
    for d in plan.design.dictionaries:
        places = range(d.offset + 1, d.offset + len(d.categories) + 1)
        branches = [exp.If(this=sql.integer(n), true=sql.column(_weight(n), "t")) for n in places]
        yield exp.Case(this=sql.column(number_column(d), "r"), ifs=branches, default=sql.number(0))


def _weight(place: int) -> str:
    return f"t{place}"


def _thetas(plan: Plan) -> exp.Select:
    """SELECT m, width, t1, t2, ... for each class that makes a pass, from arrays."""
    size, j = plan.design.size, sql.column("j", "p")
    before = exp.paren(sql.product(exp.paren(sql.minus(j, sql.integer(1))), sql.integer(size)))
    found: Named = [(sql.column("u", "p"), MEMBER), (sql.element(sql.array(WIDTHS), j.copy()), OWN_WIDTH)]
    found += [(theta(sql.plus(before.copy(), sql.integer(n))), _weight(n)) for n in range(1, size + 1)]
    return sql.fenced(sql.select(found, sql.items(sql.array(MEMBERS), "p", "u", "j")))
