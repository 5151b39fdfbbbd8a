"""Our statements as the threads of DuckDB like them."""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

from sqlglot import exp

from sqlsvm import sql

PARTS, BLOCK = 8, 2048
"""A planner takes a part for a fifth of the table. So it takes eight parts for more than the table, and makes the hash
table of a join from the other side."""


def spelled(statement: exp.Expr) -> exp.Expr:
    if not _marked(statement):
        return statement
    made = statement.copy()
    for node in _marked(made):
        node.replace(_BY_MEANING[sql.meaning(node)](node))
    return made


def _marked(statement: exp.Expr) -> list[exp.Expr]:
    return [node for node in statement.find_all(exp.Table, exp.Window) if sql.meaning(node) in _BY_MEANING]


def _in_parts(table: exp.Expr) -> exp.Expr:
    """A thread reads 122,880 rows of a table or all, but each part of a union has a thread of its own."""
    number = exp.IntDiv(this=exp.column("rowid"), expression=sql.integer(BLOCK))
    part = exp.Mod(this=exp.paren(number), expression=sql.integer(PARTS))
    rows = exp.select("*").from_(exp.to_table(table.name))
    parts: Iterator[exp.Query] = (sql.where(rows.copy(), sql.equal(part.copy(), sql.integer(i))) for i in range(PARTS))
    return sql.derived(reduce(sql.union_all, parts), table.alias_or_name)


def _forwards(window: exp.Expr) -> exp.Expr:
    """From the current row to the last one of the opposite order. Another window may have that order too: then the rows
    are sorted once."""
    made = window.copy()
    for place in made.args["order"].expressions:
        place.set("desc", None)
        place.set("nulls_first", False)
    made.set("spec", exp.WindowSpec(kind="ROWS", start="CURRENT ROW", end="UNBOUNDED", end_side="FOLLOWING"))
    return made


_BY_MEANING: Mapping[object, Callable[[exp.Expr], exp.Expr]] = {
    sql.SLOWLY_READ: _in_parts,
    sql.BACKWARDS: _forwards,
}
