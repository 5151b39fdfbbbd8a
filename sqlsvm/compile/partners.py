"""Which foreign keys of the label's node always find their row.

Along a foreign key a message up says 1 for every key that is there, so all that it does is to drop the rows without a
partner. Where there are none of these, it need not be met: what goes down elsewhere does without it, and if all keys
are such, that is a GROUP BY of the label's node alone, and m dimensions take m scans instead of m (m - 1) joins. Most
foreign keys are such, and to look costs little: how often each key occurs is mostly the message down itself, and few
keys are left to be looked up.
"""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts, down_table
from sqlsvm.compile.prepare import key
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.join_tree import Edge
from sqlsvm.plan import Plan

PARTNERS = "keys without a partner"


def lost(child: int) -> str:
    """The column of the answer: how many keys of the label's node find no row of a child."""
    return f"lost{child}"


def foreign(plan: Plan) -> tuple[tuple[int, Edge], ...]:
    """What the label's node points to by keys, with all behind it, so that a row there counts once."""
    root = plan.label_node
    parents = {node: edge for node, edge in plan.tree.down(root) if edge}
    once = {node for node, edge in parents.items() if edge.on and edge.unique_at(node) and not plan.weighted(node)}
    edges = {edge.other(root): edge for edge in plan.tree.edges_of(root)}
    return tuple((child, edge) for child, edge in edges.items() if once.issuperset(plan.tree.beyond(child, edge)))


def partners(plan: Plan, counts: Counts) -> Iterator[Statement]:
    """For each key how often it occurs: the message down, if no other drops a row. Then who lacks a partner."""
    alone = counts.without(edge.other(plan.label_node) for edge in plan.tree.edges_of(plan.label_node))
    for child, edge in foreign(plan):
        name = f"keys of {counts.tree.name(plan.label_node)} for {counts.tree.name(child)}"
        yield Statement(name, alone.down(child, edge), down_table(child))
    if found := [(_lost(counts, child, edge), lost(child)) for child, edge in foreign(plan)]:
        yield statement(PARTNERS, sql.select(found))


def missing(plan: Plan, counts: Counts, program: Iterable[Statement]) -> Iterator[Statement]:
    """A program by these counts without the messages that looking for partners has made already."""
    made = {down_table(child) for child, edge in foreign(plan) if not counts.meets(edge.other(child), child)}
    yield from (s for s in program if s.table not in made)


def _lost(counts: Counts, child: int, edge: Edge) -> exp.Subquery:
    """(SELECT COUNT(*) FROM keys LEFT JOIN the rows of a child WHERE there is none)"""
    keys, found = down_table(child), "u"
    meet = [sql.equal(sql.column(key(v), keys), sql.column(key(v), found)) for v in edge.on]
    rows = sql.select([(sql.count(), "n")], exp.to_table(keys))
    rows = sql.join(rows, sql.derived(counts.entries(child, edge), found), meet, "left")
    return sql.where(rows, sql.is_null(sql.column("c", found))).subquery(copy=False)
