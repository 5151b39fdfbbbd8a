"""Rows of the join, or of one of its bags, as answers: y, x.., category numbers, and how often a row counts."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import by_category, number_column, placed
from sqlsvm.compile.moments import counts_of, messages_to
from sqlsvm.compile.prepare import codes_table, key, link_key
from sqlsvm.compile.scores import filled
from sqlsvm.compile.statement import Asked, Statement, asked, at_places, statement
from sqlsvm.plan.design import Dictionary
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.plan.target import CODE
from sqlsvm.solve.arrays import Array
from sqlsvm.sql import WIDEST

TIMES = "times"  # how often a row of the answer was drawn
CLUSTER = "cluster"  # which row of the label's relation it is of


def whole(plan: Plan, *, apart: bool = False) -> Statement | None:
    """SELECT times, y, x.., category numbers: each row of the join, in an order that is always the same. None if it is
    too wide for one answer. `apart`: also a number of the root's row."""
    if not is_narrow(plan):
        return None
    found = joined(plan, apart=apart)
    return statement(f"join {plan.label_node}", found.order_by(*map(sql.column, found.named_selects)))


def is_narrow(plan: Plan, *, apart: bool = True) -> bool:
    """Does a row of the join fit into one answer?"""
    widths = [len(values_of(plan, node)) for node, _ in drawn_nodes(plan, apart=apart)]
    return len(widths) == 1 or sum(widths) <= WIDEST


def joined(plan: Plan, *, apart: bool = False) -> exp.Select:
    """SELECT times, y, x.., category numbers, the part of a plan that keeps parts apart: each row of the join, with its
    weight as times. `apart`: also a number of the root's row."""
    root = plan.label_node
    own = [*sql.columns(plan.parts, "l"), *([(sql.any_number(), CLUSTER)] if apart else [])]
    found = met(plan, sql.also(_weighing(plan, root), own), root)
    also = [*plan.parts, *([CLUSTER] if apart else [])]
    return sql.also(found, sql.columns(also, "n")) if also else found


def keyed(plan: Plan, node: int) -> Statement:
    """SELECT k.., times, y, x.., category numbers, the part: the rows of a node without a NULL in a key."""
    name = _names(node, [node])[node]
    keys = _met_by(plan, node)
    columns = sql.columns([*keys, *(plan.parts if node == plan.label_node else ())], name)
    columns += [(sql.column("w", name), TIMES)] if plan.weighted(node) else []
    rows = sql.where(sql.select(columns, filled(plan, node, name)), *(sql.not_null(sql.column(k, name)) for k in keys))
    return statement(f"rows of {plan.tree.name(node)}", with_values(plan, rows, {node: name}))


def bag_rows(plan: Plan, bag: Bag) -> Statement:
    """SELECT times, g.., y, x.., category numbers: each row of a bag, with the codes of its links."""
    root, names = bag.core, _names(bag.core, bag.nodes)
    found = met(plan, _weighing(plan, root), root, bag.nodes)
    for v in plan.linked(bag.number):
        holder = next(names[node] for node in bag.nodes if v in plan.tree.variables_of(node))
        codes = codes_table(v)
        found = sql.also(found, [(sql.column("g", codes), link_key(v))])
        found = sql.join(found, sql.table(codes), [sql.equal(sql.column(key(v), holder), sql.column("k", codes))])
    return statement(f"rows of {plan.tree.name(root)}", found)


def _weighing(plan: Plan, root: int) -> exp.Select:
    """SELECT columns, w AS times FROM a node"""
    times = sql.column("w", "l") if plan.weighted(root) else sql.number(1)
    return sql.select([*sql.columns(root_columns(plan, root), "l"), (times, TIMES)], filled(plan, root, "l"))


def root_of(plan: Plan, *, apart: bool = False) -> int:
    """The node whose rows are drawn first."""
    return plan.label_node if apart else plan.core


def is_plain(plan: Plan) -> bool:
    """Is a row of the join a row of the root, and do all weigh the same?"""
    return is_met_once(plan, plan.core) and not has_weights(plan)


def has_weights(plan: Plan) -> bool:
    """May rows of the join weigh more than others?"""
    return any(plan.weighted(node) for node in range(len(plan.tree.nodes)))


def is_met_once(plan: Plan, root: int) -> bool:
    """Is a row of this node in one row of the join at most?"""
    return all(parent is None or parent.unique_at(node) for node, parent in plan.tree.down(root))


def drawn_nodes(plan: Plan, *, apart: bool = False) -> list[tuple[int, Edge | None]]:
    """The nodes from the root downwards, each with the edge to its parent. If neither a feature nor the label is at a
    node or below it, it does not matter which of its rows is drawn, so it is left out."""
    down = plan.tree.down(root_of(plan, apart=apart))
    needed = {n for n in range(len(plan.tree.nodes)) if n == plan.label_node or plan.featured(n) or plan.marks(n)}
    return [(n, p) for n, p in down if p is None or not needed.isdisjoint(plan.tree.beyond(n, p))]


def columns_of(plan: Plan, node: int) -> list[str]:
    """What the sample needs of a node. Its rows are sorted by these. Text is slow to compare, so it comes last."""
    edges = [e for _, e in drawn_nodes(plan) if e and node in (e.left, e.right)]
    names = [key(v) for v in sorted({v for e in edges for v in e.on})]
    return [*names, *values_of(plan, node)]


def values_of(plan: Plan, node: int) -> list[str]:
    categories = (d.column for d in plan.dictionaries(node))
    return [*([CODE] if node == plan.label_node else []), *_numbers(plan, node), *categories, *plan.marks(node)]


def _numbers(plan: Plan, node: int) -> list[str]:
    return [c.column for c in plan.coordinates(node) if c.role != "intercept"]


def root_columns(plan: Plan, root: int) -> list[str]:
    """What the answer needs of the root, and every key that joins others to it."""
    return list(dict.fromkeys([*_met_by(plan, root), *columns_of(plan, root)]))


def _met_by(plan: Plan, node: int) -> list[str]:
    """The keys that join a node to others, each once."""
    return list(dict.fromkeys(key(v) for e in plan.tree.edges_of(node) for v in e.on))


def met(plan: Plan, rows: exp.Select, root: int, nodes: Collection[int] | None = None) -> exp.Select:
    """SELECT times, x.., category numbers, y FROM rows of the root JOIN every other node, or these of them"""
    others = [(n, parent) for n, parent in plan.tree.down(root) if parent and (nodes is None or n in nodes)]
    names = _names(root, [root, *(node for node, _ in others)])
    weights = (sql.column("w", names[node]) for node, _ in others if plan.weighted(node))
    found = sql.select([(sql.product(sql.column(TIMES, "n"), *weights), TIMES)], sql.derived(rows, "n"))
    for node, parent in others:
        meet = sql.same(keys_of(parent), names[parent.other(node)], names[node])
        found = sql.join(found, filled(plan, node, names[node]), meet)
    return with_values(plan, found, names)


def _names(root: int, nodes: Iterable[int]) -> dict[int, str]:
    return {node: "n" if node == root else f"n{node}" for node in nodes}


def with_values(plan: Plan, found: exp.Select, names: Mapping[int, str]) -> exp.Select:
    """What each node, under its name there, adds to a row."""
    for node, name in names.items():
        if node == plan.label_node:
            found = sql.also(found, [(sql.column(CODE, name), CODE)])
        found = sql.also(found, sql.columns([*_numbers(plan, node), *plan.marks(node)], name))
        for d in plan.dictionaries(node):
            found, n = placed(found, d, name)
            found = sql.also(found, [(n, number_column(d))])
    return found


def keys_of(parent: Edge) -> list[str]:
    return [key(v) for v in parent.on]


# -- group by group ----------------------------------------------------------------------------------------------------


ROWS_BY_GROUP = "rows by group"


def sizes_by_group(plan: Plan, by: Dictionary) -> Asked[Array]:
    """The rows of the join with each category of this dictionary, which is at the label's node."""
    counts, root = counts_of(plan, apart=False), plan.label_node
    rows = counts.joined(root, [*sql.columns([by.column], "n"), (counts.total(root), "total")])
    counted = sql.totals(["total"], "t")
    found = by_category([(by, "n")], counted, sql.derived(rows, "t"), known=True)
    size, before = (len(by.categories),), messages_to(counts, {root})
    return asked("sizes of groups", found, lambda r: at_places(size, [r["n"] - by.offset], r["total"]), before)


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
