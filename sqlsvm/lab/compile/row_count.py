"""The paper's two counting problems, for one label at a time.

Row counting: for every feature and value the number of join rows of that label with label * score < bound.
Generalised row counting: for k = 0, 1, ... the largest threshold H_k such that at least f_k join rows of that label
have 1 - label * score >= H_k, where f_0 = 1, f_1, ... are given levels.

The driver sends theta multiplied by the label, so only the rows have to know which label it is.
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import Messages
from sqlsvm.compile.resolve import COUNT, resolve, value_counts
from sqlsvm.compile.scores import scored, weight_of
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.tally import Tally, active_rows
from sqlsvm.lab.compile.compress import LEVELS_TABLE, levels_statement
from sqlsvm.plan.parameters import BOUND, BUCKETS
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

MARGINS = "sqlsvm_margins"
THRESHOLDS = "thresholds"


def row_count(plan: Plan) -> Iterator[Statement]:
    """A count for every feature and value."""
    yield from Tally(plan, signed=False).active()
    for bag in plan.bags:
        yield from resolve(plan, bag.core, active_rows(bag.number), value_counts)


def thresholds(plan: Plan) -> Iterator[Statement]:
    """SELECT f, the largest z = 1 - margin that at least f rows reach; NULL where there are fewer rows.

    The list of all margins is sorted by z downwards; `reached` counts the rows so far. A level's threshold is the z of
    the first entry whose count reaches it: after sorting levels among entries by count, the largest z that follows.
    """
    yield levels_statement()
    if plan.centre is None:
        yield statement("margins", _margins_of_rows(plan), MARGINS)
    else:
        messages = Messages(plan, ties=False)
        yield from Tally(plan, signed=False).scores()
        yield from messages.forward()
        yield statement("margins", _margins_of_messages(plan, messages), MARGINS)
    reached = sql.window(sql.total(COUNT), (), ["z"], running=True, descending=True)
    entry: Named = [(reached, "at"), (sql.integer(1), "kind"), (sql.column("z"), "z")]
    level: Named = [(sql.column("f"), "at"), (sql.integer(0), "kind"), (sql.double(exp.null()), "z")]
    both = sql.union_all(sql.select(level, sql.table(LEVELS_TABLE)), sql.select(entry, sql.table(MARGINS)))
    best = sql.window(sql.largest("z"), (), ["at", "kind"], running=True, descending=True)
    ranked: Named = [(sql.column("at"), "f"), (sql.column("kind"), "kind"), (best, "threshold")]
    rows = sql.derived(sql.select(ranked, sql.derived(both, "b")), "r")
    found = sql.select(sql.columns(["f", "threshold"]), rows).where(sql.equal("kind", 0))
    yield statement(THRESHOLDS, found.order_by(sql.column("f")))


def _margins_of_rows(plan: Plan) -> exp.Select:
    rows = scored(plan, plan.bags[0].core)
    z = sql.minus(1.0, "p")
    size = sql.total(weight_of(rows)) if "w" in rows.named_selects else sql.count()
    found = sql.grouped([(z, "z")], [(size, COUNT)], sql.derived(rows, "s"))
    return found.where(plan.design.target.is_chosen(sql.column(CODE)))


def _margins_of_messages(plan: Plan, messages: Messages) -> exp.Select:
    """A total is margin - bound; on the grid in buckets."""
    total = sql.plus("l.s", "r.s")
    met = messages.across([(total, "total"), (sql.product("l.c", "r.c"), COUNT)])
    margin: exp.Expression = sql.plus(sql.double(sql.column("total")), sql.parameter(BOUND))
    if plan.method == "grid":
        whole = exp.Ceil(this=sql.product(sql.parameter(BOUND), sql.parameter(BUCKETS)))
        buckets = sql.plus(sql.double(sql.column("total")), whole)
        margin = sql.ratio(buckets, sql.parameter(BUCKETS))
    z = sql.minus(1.0, margin)
    return sql.grouped([(z, "z")], sql.totals([COUNT]), sql.derived(met, "m"))
