"""pass(theta, H): the statements of one cut.

With one bag a row of the core is a row of the join: keep the active ones and add up y x, or do both in one scan. With
more, `messages` counts.
With one bag the sums g give N a_j = -g_j. With more, N a_j = -(g_j - n-_j) and N b = N- + (sum of y c), where n-_j, the
sum of x_j over the rows with y = -1, and N-, their number, do not depend on theta. Always R_low = b + a.theta.
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import Messages
from sqlsvm.compile.resolve import AT_ONCE, COUNT, resolve, sums, sums_at_once, sums_name
from sqlsvm.compile.scores import Named
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import BLUR, Tally, active_rows, rounding
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE

NEAR = "near the hinge"


def oracle_pass(plan: Plan, soft: bool = False) -> Iterator[Statement]:
    """Everything that one cut needs, in order. A soft one, for one bag only, counts rows near the hinge in part."""
    tally = Tally(plan, signed=True, whole=plan.at_once)
    totals, home = _totals(plan, tally.blur() if soft else None), _home(plan)
    if plan.centre is not None:
        messages = Messages(plan, ties=tally.ties)
        yield from tally.scores()
        yield from messages.forward()
        yield from messages.merge()
        if plan.method == "grid":
            yield messages.near(reach(plan), NEAR)
            yield from (rounding(bag) for bag in plan.bags if plan.scored(bag))
        yield from messages.backward()
        yield from tally.counts(messages)
    else:
        active = tally.soft() if soft else tally.active()
        if plan.at_once:
            yield sums_at_once(plan, sql.derived(sql.fenced(active), "r"), totals)
            return
        yield tally.kept(active)

    def answer(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
        return sums(plan, node, counted, totals if node == home else None)

    for bag in plan.bags:
        yield from resolve(plan, bag.core, active_rows(bag.number), answer)


def totals_name(plan: Plan) -> str:
    """The statement whose rows add up to `b`, and to the blur of a soft pass."""
    return AT_ONCE if plan.at_once else sums_name(_home(plan))


def _home(plan: Plan) -> int:
    """The core whose rows know their label."""
    return plan.tree.core(plan.label_node)


def reach(plan: Plan) -> int:
    """Totals this far from the hinge may be on the other side of it: each rounding errs by half a bucket at most."""
    blurred = sum(plan.scored(bag) for bag in plan.bags)
    return max(0, (blurred + 1) // 2 - 1)


def _totals(plan: Plan, blur: exp.Expression | None) -> Named:
    """With one bag c is signed, and |c| adds up to the active weight; with more, c counts total < 0, and y signs it."""
    c = sql.column(COUNT, "r")
    sign = plan.design.target.sign(sql.column(CODE, "r"))
    weight: exp.Expression = exp.Abs(this=c) if plan.centre is None else sql.product(sign, c)
    return [(weight, "b"), *([(blur, BLUR)] if blur else [])]
