"""The place of theta for a category: by CASE if there are few, else from the table of the dictionary."""

from collections.abc import Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts
from sqlsvm.compile.prepare import Output, node_rows
from sqlsvm.plan.design import Dictionary
from sqlsvm.plan.join_tree import JoinTree


def placed(found: exp.Select, d: Dictionary, rows: str) -> tuple[exp.Select, exp.Expression]:
    """A SELECT from rows with categories, and their place n there; NULL for a row without a category."""
    if d.listed:
        return found, d.listing(sql.integer, rows)
    table, same = in_table(d, rows)
    return sql.join(found, table, same, "left"), place_in_table(d, rows)


def in_table(d: Dictionary, rows: str) -> tuple[exp.Expr, list[exp.Expression]]:
    """The table of a dictionary, and what it is joined on."""
    return sql.table(d.table), [sql.equal(sql.column("v", d.table), sql.column(d.column, rows))]


def place_in_table(d: Dictionary, rows: str) -> exp.Expression:
    """The row of the table without a value has the place of all others."""
    n = sql.column("n", d.table)
    if not d.limited:
        return n
    v, others = sql.column("v", "o"), sql.select([(sql.column("n", "o"), "n")], sql.table(d.table, "o"))
    found = sql.coalesce(n, sql.where(others, sql.is_null(v)).subquery(copy=False))
    return sql.case(sql.not_null(sql.column(d.column, rows)), found)


def most_frequent(tree: JoinTree, d: Dictionary) -> exp.Select:
    """SELECT the values v that are in the most rows of the join, or in enough; if there are more, one NULL for these. A
    row counts once, whatever it weighs. Of values in as many rows the first in their order is taken."""
    node, own = tree.node_of(d.relation), [Output(d.relation, d.value, d.column)]

    def rows(n: int) -> exp.Expr:
        return sql.derived(node_rows(tree, n, own), "n")

    counts = Counts(tree.rerooted(node), rows, lambda n: False, nested=True)
    v = sql.column(d.column, "n")
    counted = counts.joined(node, [(v, "v"), (sql.total(counts.total(node)), "c")])
    counted = sql.group(sql.where(counted, sql.not_null(v)), [v])
    by_count = exp.Ordered(this=sql.column("c"), desc=True, nulls_first=False)
    order = exp.Order(expressions=[by_count, exp.Ordered(this=sql.column("v"), nulls_first=False)])
    rank = exp.Window(this=exp.RowNumber(), order=order)
    if d.top is None:
        return sql.select([(_unless_rare(d), "v")], sql.derived(counted, "c")).distinct()
    known = _unless_rare(d) if d.rare else sql.column("v")
    ranked = sql.derived(sql.select([(known, "v"), (rank, "r")], sql.derived(counted, "c")), "r")
    r = sql.column("r")
    is_top = sql.at_most(r, d.top)
    found = sql.select([(sql.case(is_top, "v"), "v")], ranked)
    found = sql.where(found, sql.at_most(r, d.top + 1))
    return found.distinct() if d.rare else found


def _unless_rare(d: Dictionary) -> exp.Expression:
    """NULL for a value in few rows."""
    return sql.case(sql.at_least("c", d.rare), "v")


def by_category(
    numbers: Sequence[tuple[Dictionary, str]],
    added: Sequence[tuple[exp.Expression, str]],
    rows: exp.Expr,
    parts: Sequence[str] = (),
    known: bool = False,
) -> exp.Select:
    """SELECT these sums, n FROM rows GROUP BY n, for the place n of each of these dictionaries, under its name; grouped
    by the categories themselves first, as g. n is NULL for a row without a category; if `known`, no such row counts.
    With parts, all is by them, too."""
    values = sql.columns([*(d.column for d, _ in numbers), *parts], rows.alias_or_name)
    grouped = sql.grouped(values, added, rows)
    found = sql.select(sql.columns([*(name for _, name in added), *parts], "g"), sql.derived(grouped, "g"))
    for d, name in numbers:
        found, n = placed(found, d, "g")
        found = sql.also(found, [(n, name)])
    found = sql.where(found, *(sql.not_null(sql.column(d.column, "g")) for d, _ in numbers if known))
    if not any(d.limited for d, _ in numbers):
        return found
    places = sql.columns([*(name for _, name in numbers), *parts])
    sums = sql.totals(n for _, n in added)
    return sql.grouped(places, sums, sql.derived(found, "p"))


def number_column(d: Dictionary) -> str:
    """What the place is called where rows have several."""
    return f"n{d.number}"
