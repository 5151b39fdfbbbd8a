"""Which foreign keys of the label's node always find their row.

Along a foreign key a message up says 1 for every key that exists. It only drops the rows without a partner. If there
are none, no other message needs to join it. If this holds for all keys, each message down is a GROUP BY of the label's
node alone: m dimensions take m scans instead of m (m - 1) joins. This is the common case. To look costs little where
many rows share a key: the count of each key mostly is the message down, and only these few keys are looked up.
"""

from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts, down_table, up_table
from sqlsvm.compile.moments import measured_at
from sqlsvm.compile.prepare import key
from sqlsvm.compile.statement import Asked, Statement, statement
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import Plan

Children = Mapping[int, Edge]
"""Nodes that the root points to."""


def looked(plan: Plan, measured: frozenset[str]) -> Children:
    """The children to look at: those to which something is sent."""
    at, foreign = measured_at(plan, measured), plan.foreign.items()
    return {c: edge for c, edge in foreign if c in plan.looked and not at.isdisjoint(plan.tree.beyond(c, edge))}


def partners(counts: Counts, children: Children) -> Asked[set[int]]:
    """The children whose row each key finds."""
    return Asked(_looking(counts, children), lambda rows: {c for c in children if not rows[f"lost{c}"][0]}, keeps=True)


def _looking(counts: Counts, children: Children) -> Iterator[Statement]:
    """How often each key occurs: the message down, if no other drops a row. Then the keys without a partner."""
    tree = counts.tree
    alone = counts.without(edge.other(tree.root) for edge in tree.edges_of(tree.root))
    for child, edge in children.items():
        name = f"keys of {tree.name(tree.root)} for {tree.name(child)}"
        yield statement(name, alone.down(child, edge), down_table(child))
    if found := [(_lost(counts, child, edge), f"lost{child}") for child, edge in children.items()]:
        yield statement("keys without a partner", sql.select(found))


def missing(counts: Counts, children: Children, program: Iterable[Statement]) -> Iterator[Statement]:
    """A program by these counts without the messages that looking for partners has made already."""
    made = {down_table(child) for child in children if not counts.meets(counts.tree.root, up_table(child))}
    yield from (s for s in program if s.table not in made)


def _lost(counts: Counts, child: int, edge: Edge) -> exp.Subquery:
    """(SELECT COUNT(*) FROM keys LEFT JOIN the rows of a child WHERE there is none)"""
    keys, found = down_table(child), "u"
    rows, meet = sql.select([(sql.count(), "n")], sql.table(keys)), sql.same(map(key, edge.on), keys, found)
    rows = sql.join(rows, sql.derived(counts.entries(child, edge), found), meet, "left")
    return sql.where(rows, sql.is_null(sql.column("c", found))).subquery(copy=False)
