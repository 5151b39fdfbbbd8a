"""The rows of the join, group by group: one scan reads all groups. And how many there are."""

from collections.abc import Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import by_category, number_column
from sqlsvm.compile.joined import is_narrow, joined
from sqlsvm.compile.moments import counts_of, messages_to
from sqlsvm.compile.statement import Asked, Statement, asked, placed, statement
from sqlsvm.plan.design import Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.solve.arrays import Array

ROWS_BY_GROUP = "rows by group"


def sizes_by_group(plan: Plan, by: Dictionary) -> Asked[Array]:
    """The rows of the join with each category of this dictionary, which is at the label's node."""
    counts, root = counts_of(plan, apart=False), plan.label_node
    rows = counts.joined(root, [*sql.columns([by.column], "n"), (counts.total(root), "total")])
    counted = sql.columns(["total"], "t")
    found = by_category([(by, "n")], counted, sql.derived(rows, "t"), known=True)
    size, before = (len(by.categories),), messages_to(counts, {root})
    return asked("sizes of groups", found, lambda r: placed(size, [r["n"] - by.offset], r["total"]), before)


def rows_by_group(plan: Plan, by: Dictionary, without: Sequence[int] = (), *, apart: bool = False) -> Statement | None:
    """SELECT times, y, x.., category numbers in the order of the numbers of this dictionary, without some of them and
    without the rows that have none. None if that is too wide for one answer. `apart`: also a number of the row of the
    label's relation."""
    if not is_narrow(plan):
        return None
    found, n = joined(plan, apart=apart), sql.column(number_column(by))
    rows = sql.select(sql.columns(found.named_selects, "j"), sql.derived(found, "j"))
    conditions: list[exp.Expression] = [sql.not_null(n)]
    if without:
        listed = exp.In(this=n, expressions=[sql.integer(number) for number in without])
        conditions.append(exp.not_(listed))
    return statement(ROWS_BY_GROUP, sql.where(rows, *conditions).order_by(n))
