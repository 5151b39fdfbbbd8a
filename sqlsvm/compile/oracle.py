"""pass(theta, H): the statements of one cut.

With one bag a row of the core is a row of the join: keep the active ones, add up y x. With more, `messages` counts.
With one bag the sums g give N a_j = -g_j. With more, N a_j = -(g_j - n-_j) and N b = N- + (sum of y c), where n-_j, the
sum of x_j over the rows with y = -1, and N-, their number, do not depend on theta. Always R_low = b + a.theta.
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import TIE, Messages, scored_table, value_table
from sqlsvm.compile.prepare import key
from sqlsvm.compile.resolve import COUNT, resolve
from sqlsvm.compile.scores import Named, carried, fold_keys, inherited, scored
from sqlsvm.compile.statement import Statement, parameter, statement
from sqlsvm.plan import Bag, Plan

BUCKETS = "buckets"
BOUND = "bound"


def active_table(bag: int) -> str:
    """The rows of a core that are part of a counted join row, with the count c."""
    return f"sqlsvm_a{bag}"


def totals_name() -> str:
    return "totals"


def oracle_pass(plan: Plan) -> Iterator[Statement]:
    """Everything that one cut needs, in order."""
    if plan.centre is None:
        yield _active(plan, plan.bags[0])
    else:
        yield from _through_messages(plan)
    yield _totals(plan)
    for bag in plan.bags:
        yield from resolve(plan, bag.core, sql_table(active_table(bag.number)))


def _active(plan: Plan, bag: Bag) -> Statement:
    """SELECT what is carried, y * w AS c FROM scored rows WHERE y * p < bound"""
    rows = scored(plan, bag.core, fold_keys(plan, bag.core), carried(plan, bag.core))
    names = [n for n in rows.named_selects if n not in ("p", "y", "w")]
    weight = [sql.column("w")] if "w" in rows.named_selects else []
    counted = sql.product(sql.double(sql.column("y")), *weight)
    kept = sql.select([*((sql.column(n), n) for n in names), (counted, COUNT)], sql.derived(rows, "s"))
    margin = sql.product(sql.column("y"), sql.column("p"))
    return statement("active rows", kept.where(exp.LT(this=margin, expression=parameter(BOUND))), active_table(0))


def _through_messages(plan: Plan) -> Iterator[Statement]:
    messages = Messages(plan)
    for bag in plan.bags:
        yield _scored(plan, bag)
    yield from messages.forward()
    yield from messages.merge()
    if plan.method == "grid":
        yield messages.near(reach(plan))
        yield from (_rounding(bag) for bag in plan.bags if plan.scored(bag))
    yield from messages.backward()
    for bag in plan.bags:
        yield _counted(plan, messages, bag)


def reach(plan: Plan) -> int:
    """Totals this far from the hinge may be on the other side of it: each rounding errs by half a bucket at most."""
    blurred = sum(plan.scored(bag) for bag in plan.bags)
    return max(0, (blurred + 1) // 2 - 1)


def _scored(plan: Plan, bag: Bag) -> Statement:
    """The rows of a bag with keys, what is carried, p, and the shifted score s (with its tie o)."""
    links = {v for link in plan.links if bag.number in link.bags for v in link.edge.on}
    rows = scored(plan, bag.core, sorted(links | set(fold_keys(plan, bag.core))), carried(plan, bag.core))
    has_label = inherited(plan, bag.core, "y")
    names = [n for n in rows.named_selects if n != "w"]
    made: Named = [(sql.column(n), n) for n in names]
    made.append((sql.double(sql.column("w")) if "w" in rows.named_selects else sql.number(1), "w"))
    made.append((_shifted(plan, has_label), "s"))
    if has_label and plan.method == "exact":
        negative = exp.LT(this=sql.column("y"), expression=sql.integer(0))
        made.append((sql.case(negative, sql.integer(1), sql.integer(0)), TIE))
    name = f"scores of {plan.tree.name(bag.core)}"
    return statement(name, sql.select(made, sql.derived(rows, "s")), scored_table(bag.number))


def _shifted(plan: Plan, has_label: bool) -> exp.Expression:
    """s = p - y * bound; on the grid in whole buckets."""
    p, y = sql.column("p"), sql.column("y")
    if plan.method == "exact":
        shift = sql.product(y, parameter(BOUND))
        return exp.Sub(this=p, expression=shift) if has_label else p
    bucket = exp.cast(exp.Round(this=sql.product(p, parameter(BUCKETS))), exp.DType.BIGINT)
    threshold = exp.cast(exp.Ceil(this=sql.product(parameter(BOUND), parameter(BUCKETS))), exp.DType.BIGINT)
    return exp.Sub(this=bucket, expression=sql.product(y, threshold)) if has_label else bucket


def _rounding(bag: Bag) -> Statement:
    """The largest rounding error of a bag, in buckets: at most one half, none where scores lie on the grid."""
    exact = sql.product(sql.column("p"), parameter(BUCKETS))
    error = exp.Abs(this=exp.Sub(this=exp.Round(this=exact.copy()), expression=exact))
    made = sql.select([(sql.coalesce(sql.largest(error), sql.number(0)), "error")], sql_table(scored_table(bag.number)))
    return statement(f"rounding {bag.number}", made)


def _counted(plan: Plan, messages: Messages, bag: Bag) -> Statement:
    """Each row of a core with its count: the value of its state, times its own multiplicity."""
    core = bag.core
    names = [key(v) for v in fold_keys(plan, core)] + [name for _, name in carried(plan, core)]
    names += ["y"] if bag.number == messages.label_bag else []
    count = sql.product(sql.column("w", "r"), sql.column("v", "a"))
    made = sql.select([*((sql.column(n, "r"), n) for n in names), (count, COUNT)], sql_table(scored_table(bag.number)))
    same = [*messages.link_keys(bag.number), "s", *([TIE] if messages.tied(bag.number, 0) else [])]
    meet = [sql.equal(sql.column(n, "r"), sql.column(n, "a")) for n in same]
    values = exp.alias_(exp.to_table(value_table(bag.number, 0)), "a", table=True)
    name = f"counts of {plan.tree.name(core)}"
    return statement(name, sql.join(made, values, meet), active_table(bag.number))


def _totals(plan: Plan) -> Statement:
    """With one bag c is signed, and |c| adds up to the active weight; with more, c counts total < 0, and y signs it."""
    c = sql.column(COUNT, "r")
    if plan.centre is None:
        label = plan.bags[0].number
        weight: exp.Expression = exp.Abs(this=c)
    else:
        label = plan.bag_of(plan.label_node)
        weight = sql.product(sql.column("y", "r"), c)
    summed = sql.coalesce(sql.total(weight), sql.number(0))
    return statement(totals_name(), sql.select([(summed, "b")], sql_table(active_table(label))))


def sql_table(name: str) -> exp.Expr:
    return exp.alias_(exp.to_table(name), "r", table=True)
