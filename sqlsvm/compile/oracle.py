"""pass(theta, H): the statements of one cut.

With one bag a row of the core is a row of the join: keep the active ones and add up y x, or do both in one scan. The
sums g give N a_j = -g_j. With more bags `messages` counts, N a_j = -(g_j - n-_j) and N b = N- + (sum of y c). N- is
the number of rows with y = -1 and n-_j their sum of x_j. Both do not depend on theta. Always R_low = b + a.theta.
"""

from collections.abc import Iterator
from math import ceil, floor

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.lines import Lines
from sqlsvm.compile.messages import Messages
from sqlsvm.compile.resolve import AT_ONCE, COUNT, readers, resolve, sums, sums_at_once, sums_name
from sqlsvm.compile.statement import Statement, wanted
from sqlsvm.compile.tally import MIDDLE, Tally, active_rows, rounding
from sqlsvm.compile.weighting import OFFSET, STEP, Weighting, weighting_of
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.solve.loss import Loss

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
        near = lines.near(messages, int(far), NEAR) if lines else [messages.near(NEAR, _around(far))]
        met += [*near, *(rounding(plan, bag) for bag in plan.bags if plan.scored(bag))]
    yield from messages.exchange(met)


def _around(reach: float) -> list[exp.Query]:
    """SELECT z, for residuals of the hinge as far as that from 0. If they are even, they are half a bucket below z."""
    return [sql.select([(sql.integer(i), "z")]) for i in range(-floor(reach), ceil(reach) + 1)]


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
