"""A pass for several classes at once, over one bag: the join is scanned once, and each row of it gets the scores of all
classes that make a pass. Then it meets each class for which it counts. It is +1 for its own class. Sums are by class,
and by the categories of the row."""

from math import prod

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.resolve import CELLS, COUNT
from sqlsvm.compile.scores import Scoring, Vector, carried
from sqlsvm.compile.statement import Statement, statement
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
AT_ONCE = 20
"""Classes in one statement: of each the score is a column, in all rows."""


def can_share(plan: Plan) -> bool:
    """One bag, few weights, and categories with so few combinations that sums may be by them."""
    listed = all(d.listed for d in plan.design.dictionaries)
    few = listed and prod(len(d.categories) + 1 for d in plan.design.dictionaries) <= CELLS
    return plan.centre is None and few and plan.design.size <= MOST


def pass_together(plan: Plan, weighting: Weighting, classes: int) -> Statement:
    """SELECT m, the totals, SUM(c x) for each coordinate, SUM(c), by class and categories"""
    weighted = any(map(plan.weighted, range(len(plan.tree.nodes))))
    c, numbers = sql.column(COUNT, "r"), [number_column(d) for d in plan.design.dictionaries]
    origin = plan.design.target.origin(sql.column(CODE, "r"))
    sums: Named = [*weighting.totals(weighted, origin), (c, COUNT)]
    sums += [(sql.product(c, x.of("r")), x.column) for x in plan.design.coordinates]
    counted = sql.derived(sql.fenced(_counted(plan, weighting, weighted, classes)), "r")
    keys = sql.columns([MEMBER, *numbers], "r")
    return statement(TOGETHER, sql.grouped(keys, [(sql.sum_or_zero(value), name) for value, name in sums], counted))


def _counted(plan: Plan, weighting: Weighting, weighted: bool, classes: int) -> exp.Select:
    """SELECT m, x.., category numbers, sign * w * u AS c, what the weighting keeps FROM scored rows WHERE u <> 0"""
    rows = _scored(plan, classes)
    weight = sql.column("w") if weighted else None
    sign = sql.column("sign")
    z = Residual(plan.design.target.origin(sql.column(CODE)), sql.product(sign, "p"))
    factors = [sql.double(e) for e in (sign, *([weight] if weight else []))]
    made = sql.columns(n for n in rows.named_selects if n not in ("p", "sign", CODE, "w"))
    made += [(sql.product(*factors, *weighting.value(z)), COUNT), *weighting.kept(z, weight)]
    return sql.where(
        sql.select(made, sql.derived(sql.fenced(rows) if weighting.once else rows, "s")), weighting.counts(z)
    )


def _scored(plan: Plan, classes: int) -> exp.Select:
    """SELECT x.., category numbers, y, w, m, width, sign, p for each row of the join and each of the classes"""
    core, vectors = plan.bags[0].core, [Vector(f"p{k}", (k - 1) * plan.design.size) for k in range(1, classes + 1)]
    rows = Scoring(plan, whole=True, vectors=vectors).rows(core, (), carried(plan, core))
    dropped = {v.score for v in vectors} | {d.column for d in plan.design.dictionaries}
    made = sql.columns((n for n in rows.named_selects if n not in dropped), "r")
    made += [(d.listing(sql.integer, "r"), number_column(d)) for d in plan.design.dictionaries]
    is_own = sql.equal(sql.column(CODE, "r"), sql.column(MEMBER, "t"))
    sign = sql.case(is_own, 1, -1)
    own = sql.match(sql.column("j", "t"), enumerate((sql.column(v.score, "r") for v in vectors), 1))
    made += [*sql.columns([MEMBER, OWN_WIDTH], "t"), (sign, "sign"), (own, "p")]
    return sql.join(sql.select(made, sql.derived(sql.fenced(rows), "r")), sql.derived(_members(), "t"), ())


def _members() -> exp.Select:
    """SELECT m, width, the place j of each class that makes a pass, from arrays."""
    j = sql.column("j", "p")
    found: Named = [(sql.column("u", "p"), MEMBER), (sql.element(sql.array(WIDTHS), j), OWN_WIDTH), (j, "j")]
    return sql.fenced(sql.select(found, sql.items(sql.array(MEMBERS), "p", "u", "j")))
