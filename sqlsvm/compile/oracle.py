"""pass(theta, H): the statements of one cut.

With one bag a row of the core is a row of the join: keep the active ones and add up y x, or do both in one scan. The
sums g give N a_j = -g_j. With more bags `messages` counts, N a_j = -(g_j - n-_j) and N b = N- + (sum of y c). N- is
the number of rows with y = -1 and n-_j their sum of x_j. Both do not depend on theta. Always R_low = b + a.theta.

A pass for several classes at once, over one bag: the join is scanned once, and each row of it gets the scores of all
classes that make a pass. Then it meets each class for which it counts. It is +1 for its own class. Sums are by class,
and by the categories of the row.
"""

from collections.abc import Iterator
from math import ceil, floor, prod

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.lines import Lines
from sqlsvm.compile.messages import Messages
from sqlsvm.compile.resolve import AT_ONCE, CELLS, COUNT, readers, resolve, sums, sums_at_once, sums_name
from sqlsvm.compile.scores import Scoring, Vector, carried
from sqlsvm.compile.statement import Statement, statement, wanted
from sqlsvm.compile.tally import MIDDLE, Tally, active_rows, counted_rows, rounding
from sqlsvm.compile.weighting import OFFSET, STEP, Weighting, weighting_of
from sqlsvm.plan.parameters import MEMBERS, WIDTHS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.solve.loss import Loss
from sqlsvm.sql import Named

NEAR = "totals near 0"


def counting(plan: Plan, loss: Loss, width: float = 0.0) -> Weighting | Lines:
    """How a pass counts for this loss: by its slope, or by that of the loss that is smoothed by this width."""
    if plan.centre is None:
        return weighting_of(loss, width)
    if loss.is_step and not width:
        return STEP
    pieces = loss.near.loss
    return Lines(pieces.smoothed(width), pieces, plan.method == "grid")


def oracle_pass(plan: Plan, counted_by: Weighting | Lines | None = None) -> list[Statement]:
    """Everything that one cut needs, in order. Rows count by the slope of the plan's loss, or as asked for."""
    return wanted(_pass(plan, counted_by))


def _pass(plan: Plan, counted_by: Weighting | Lines | None) -> Iterator[Statement]:
    counted_by = counted_by or counting(plan, plan.loss)
    lines, weighting = (counted_by, STEP) if isinstance(counted_by, Lines) else (None, counted_by)
    labelled, even = lines is not None, is_even(plan, counted_by)
    tally = Tally(plan, signed=True, weighting=weighting, whole=plan.at_once, labelled=labelled, even=even)
    if plan.at_once:
        yield sums_at_once(plan, sql.derived(sql.fenced(tally.counted()), "r"), tally.totals())
        return
    yield from tally.met(_messages(plan, tally, lines))
    totals, home = [(_offset(plan), OFFSET)] if plan.centre else tally.totals(), plan.core

    def answer(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
        return sums(plan, node, counted, totals if node == home else None)

    for bag in plan.bags:
        if readers(plan, bag.core, answer, plan.featured) == 1:
            counted: exp.Expr = sql.derived(sql.fenced(tally.counted_rows(bag)), "r")
        else:
            yield tally.counts(bag)
            counted = active_rows(bag.number)
        yield from resolve(plan, bag.core, counted, answer)


def _offset(plan: Plan) -> exp.Expression:
    """With several bags c counts the total < 0, or is the sum of y u. The sign of its row signs it, and all rows with
    signs have one origin."""
    target, y = plan.design.target, sql.column(CODE, "r")
    return sql.product(target.sign(y) if target.signed else target.origin(y), sql.column(COUNT, "r"))


def _messages(plan: Plan, tally: Tally, lines: Lines | None) -> Iterator[Statement]:
    """The messages of several bags, and on the grid what rounding may have changed."""
    messages = Messages(plan, ties=tally.ties, rests=True)
    met = [*(lines.meet(messages) if lines else messages.merge())]
    if plan.method == "grid":
        far = reach(plan, even=tally.even)
        # residuals of the hinge as far as that from 0. If they are even, they are half a bucket below z
        around = [sql.select([(sql.integer(i), "z")]) for i in range(-floor(far), ceil(far) + 1)]
        near = lines.near(messages, int(far), NEAR) if lines else [messages.near(NEAR, around)]
        met += [*near, *(rounding(plan, bag) for bag in plan.bags if plan.scored(bag))]
    yield from messages.exchange(met)


def totals_name(plan: Plan) -> str:
    """The statement whose rows add up to the offset, and to the shortfall where a cut has one."""
    return AT_ONCE if plan.at_once else sums_name(plan.core)


def is_even(plan: Plan, counted_by: Weighting | Lines | None) -> bool:
    """On the grid, is a total of 0 where a bucket ends? The label's bag needs scores to round down, which differ, and
    the loss one place where its slope jumps."""
    nodes = plan.bags[plan.bag_of(plan.label_node)].nodes
    scores = any(c.role != "intercept" for node in nodes for c in plan.coordinates(node))
    differ = scores or any(map(plan.dictionaries, nodes))
    return plan.method == "grid" and differ and not isinstance(counted_by, Lines)


def reach(plan: Plan, *, even: bool) -> float:
    """Totals this far from 0 may be on the other side of it: each rounding errs by half a bucket at most. They are
    whole numbers of buckets, or halves if 0 is where one ends."""
    far = halves(plan)
    return max(1, far // 2) - MIDDLE if even else max(0, (far + 1) // 2 - 1)


def halves(plan: Plan) -> int:
    """Rounding may put a row of the join off by so many halves of a bucket: one for each score, two where buckets share
    it."""
    return sum(2 if bag.number in plan.shared else 1 for bag in plan.bags if plan.scored(bag))


def roundings(plan: Plan, *, even: bool) -> int:
    """Those that add to the error of counting. If a total of 0 is where a bucket ends, one score could be rounded alone
    and all rows would be counted on the right side."""
    return halves(plan) - even


TOGETHER = "sums of the classes"
MEMBER = "m"  # the code of the class that is +1
OWN_WIDTH = "width"
MOST = 300  # numbers in a vector of weights: each is a column here
CLASSES_AT_ONCE = 20  # classes in one statement: of each the score is a column, in all rows


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
    sums: Named = [(sql.sum_or_zero(value), name) for value, name in (*weighting.totals(weighted, origin), (c, COUNT))]
    sums += [(x.total("r", c), x.column) for x in plan.design.coordinates]
    sign, own = sql.column("sign"), plan.design.target.origin(sql.column(CODE))
    counted = sql.derived(sql.fenced(counted_rows(_scored(plan, classes), weighting, own, [sign], [])), "r")
    keys = sql.columns([MEMBER, *numbers], "r")
    return statement(TOGETHER, sql.grouped(keys, sums, counted))


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
