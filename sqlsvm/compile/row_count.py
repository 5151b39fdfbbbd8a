"""The paper's two counting problems, for one label at a time.

Row counting: for every feature and value the number of join rows of that label with label * score < bound.
Generalised row counting: for k = 0, 1, ... the largest threshold H_k such that at least f_k join rows of that label
have 1 - label * score >= H_k, where f_0 = 1, f_1, ... are given levels.

The driver sends theta multiplied by the label, so only the rows have to know which label it is.
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.compress import LEVELS_TABLE, levels_statement
from sqlsvm.compile.messages import Messages
from sqlsvm.compile.resolve import COUNT, resolve, value_counts
from sqlsvm.compile.scores import scored
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.tally import Tally, active_rows
from sqlsvm.plan.parameters import BOUND, BUCKETS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE

MARGINS = "sqlsvm_margins"
THRESHOLDS = "thresholds"


def row_count(plan: Plan) -> Iterator[Statement]:
    """A count for every feature and value."""
    tally = Tally(plan, signed=False)
    if plan.centre is None:
        yield tally.one_bag()
    else:
        messages = Messages(plan, ties=False)
        yield from tally.scores()
        yield from messages.forward()
        yield from messages.merge()
        yield from messages.backward()
        yield from tally.counts(messages)
    for bag in plan.bags:
        yield from resolve(plan, bag.core, active_rows(bag.number), value_counts)


def thresholds(plan: Plan) -> Iterator[Statement]:
    """SELECT f, the largest z = 1 - margin that at least f rows reach; NULL where there are fewer rows.

    The list of all margins is sorted by z downwards; `reached` counts the rows so far. A level's threshold is the z of
    the first entry whose count reaches it: after sorting levels among entries by count, the largest z that follows.
    """
    yield levels_statement()
    tally = Tally(plan, signed=False)
    if plan.centre is None:
        yield statement("margins", _margins_of_rows(plan), MARGINS)
    else:
        messages = Messages(plan, ties=False)
        yield from tally.scores()
        yield from messages.forward()
        yield statement("margins", _margins_of_messages(plan, messages), MARGINS)
    reached = sql.window(sql.total(sql.column(COUNT)), (), ["z"], running=True, descending=True)
    entries = sql.select([(reached, "at"), (sql.integer(1), "kind"), (sql.column("z"), "z")], exp.to_table(MARGINS))
    levels = sql.select(
        [(sql.column("f"), "at"), (sql.integer(0), "kind"), (sql.double(exp.null()), "z")],
        exp.to_table(LEVELS_TABLE),
    )
    both = exp.union(levels, entries, distinct=False)
    best = sql.window(sql.largest(sql.column("z")), (), ["at", "kind"], running=True, descending=True)
    ranked = sql.select([(sql.column("at"), "f"), (sql.column("kind"), "kind"), (best, "threshold")])
    found = sql.select(
        [(sql.column("f"), "f"), (sql.column("threshold"), "threshold")],
        sql.derived(ranked.from_(sql.derived(both, "b")), "r"),
    )
    at_levels = found.where(sql.equal(sql.column("kind"), sql.integer(0)))
    yield statement(THRESHOLDS, at_levels.order_by(sql.column("f")))


def _margins_of_rows(plan: Plan) -> exp.Select:
    rows = scored(plan, plan.bags[0].core)
    z = exp.Sub(this=sql.number(1), expression=sql.column("p"))
    size = sql.total(sql.double(sql.column("w"))) if "w" in rows.named_selects else sql.count()
    of_label = plan.design.target.is_chosen(sql.column(CODE))
    return sql.group(sql.select([(z, "z"), (size, COUNT)], sql.derived(rows, "s")).where(of_label), [z.copy()])


def _margins_of_messages(plan: Plan, messages: Messages) -> exp.Select:
    """A total is margin - bound; on the grid in buckets."""
    total = sql.plus(sql.column("s", "l"), sql.column("s", "r"))
    met = messages.across([(total, "total"), (sql.product(sql.column("c", "l"), sql.column("c", "r")), COUNT)])
    margin: exp.Expression = sql.plus(sql.double(sql.column("total")), sql.parameter(BOUND))
    if plan.method == "grid":
        whole = exp.Ceil(this=sql.product(sql.parameter(BOUND), sql.parameter(BUCKETS)))
        buckets = sql.plus(sql.double(sql.column("total")), whole)
        margin = exp.Div(this=exp.paren(buckets), expression=sql.parameter(BUCKETS))
    z = exp.Sub(this=sql.number(1), expression=exp.paren(margin))
    rows = sql.select([(z, "z"), (sql.total(sql.column(COUNT)), COUNT)], sql.derived(met, "m"))
    return sql.group(rows, [z.copy()])
