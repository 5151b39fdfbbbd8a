"""pass(theta, H): the statements of one cut.

With one bag a row of the core is a row of the join: keep the active ones and add up y x, or do both in one scan. The
sums g give N a_j = -g_j. With more bags `messages` counts, N a_j = -(g_j - n-_j) and N b = N- + (sum of y c). N- is
the number of rows with y = -1 and n-_j their sum of x_j. Both do not depend on theta. Always R_low = b + a.theta.
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import Messages
from sqlsvm.compile.resolve import AT_ONCE, COUNT, resolve, sums, sums_at_once, sums_name
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import Tally, active_rows, rounding
from sqlsvm.compile.weighting import OFFSET, Weighting, weighting
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE

NEAR = "totals near 0"


def oracle_pass(plan: Plan, counted_by: Weighting | None = None) -> Iterator[Statement]:
    """Everything that one cut needs, in order. Rows count by the slope of the loss, or as asked for."""
    tally = Tally(plan, signed=True, weighting=counted_by or weighting(plan.loss), whole=plan.at_once)
    if plan.at_once:
        yield sums_at_once(plan, sql.derived(sql.fenced(tally.counted()), "r"), tally.totals())
        return
    yield from tally.active(_counting(plan, tally))
    # With several bags c counts the total < 0, and the sign of its row signs it.
    sign, c = plan.design.target.sign(sql.column(CODE, "r")), sql.column(COUNT, "r")
    totals, home = [(sql.product(sign, c), OFFSET)] if plan.centre else tally.totals(), _home(plan)

    def answer(plan: Plan, node: int, counted: exp.Expr) -> Iterator[Statement]:
        return sums(plan, node, counted, totals if node == home else None)

    for bag in plan.bags:
        yield from resolve(plan, bag.core, active_rows(bag.number), answer)


def _counting(plan: Plan, tally: Tally) -> Iterator[Statement]:
    """The messages of several bags, and on the grid what rounding may have changed."""
    messages = Messages(plan, ties=tally.ties)
    rounded = (rounding(bag) for bag in plan.bags if plan.scored(bag))
    yield from messages.exchange([messages.near(reach(plan), NEAR), *rounded] if plan.method == "grid" else ())


def totals_name(plan: Plan) -> str:
    """The statement whose rows add up to the offset, and to the shortfall where a cut has one."""
    return AT_ONCE if plan.at_once else sums_name(_home(plan))


def _home(plan: Plan) -> int:
    """The core whose rows know their label."""
    return plan.tree.core(plan.label_node)


def reach(plan: Plan) -> int:
    """Totals this far from 0 may be on the other side of it: each rounding errs by half a bucket at most."""
    blurred = sum(plan.scored(bag) for bag in plan.bags)
    return max(0, (blurred + 1) // 2 - 1)
