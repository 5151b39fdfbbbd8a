"""Counting the join without making it: one message up and one down along every edge of the tree.

A message over an edge says, for each value of the shared key, how many rows of the sub-join behind it carry that value.
Upwards:    up(key)   = SUM over the child's rows r with that key of w(r) * product of what came up from its children.
At a node:  total(r)  = w(r) * product of all messages that arrive = the number of join rows that r is part of.
Downwards:  down(key) = SUM over the parent's rows r with that key of w(r) * product of all other messages that arrive.
Rows without a partner meet no message and drop out: the survivors have a total.

In a message up over a unique key each row of the child is an entry. Nothing is added up, so it is not made but read in
place, as a sub-query. PostgreSQL can run a query in parallel if it reads no working table.

The root is the label's node. If the rows with y = -1 are counted apart too, the messages down carry their number `neg`
next to the count c.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import Name, key, node_table
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.join_tree import Edge, JoinTree
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

up_table: Name = "sqlsvm_up{}".format  # the messages from a node to its parent
down_table: Name = "sqlsvm_down{}".format  # and the other way
total_table: Name = "sqlsvm_total{}".format  # rows that survive, with the number of join rows that each is part of


@dataclass(frozen=True)
class Counts:
    """The messages of a tree; the caller says what its nodes are read from."""

    tree: JoinTree
    rows: Callable[[int], exp.Expr] = lambda node: sql.table(node_table(node), "n")
    """A node as an item of FROM, called n."""
    weighted: Callable[[int], bool] = lambda node: True  # do its rows have a column w?
    is_negative: Callable[[exp.Expression], exp.Expression] | None = None
    """Does the code of a row say that its sign is -1? The root's rows have it."""
    apart: bool = False  # do the messages down carry neg?
    parts: Sequence[str] = ()  # columns of the root: messages down are kept apart by them
    factors: Mapping[str, exp.Expression] = field(default_factory=dict)
    """Numbers by which each row of the root counts more often, from its columns. They may be negative. The messages
    down carry such a count for each, under its name."""
    nested: bool = False  # is a message up a sub-query where it is read, and no table?
    needless: frozenset[str] = frozenset()  # messages that say 1 to every row that they arrive at. They are not joined.

    def of(self, node: int, factors: Mapping[str, exp.Expression]) -> "Counts":
        """The same from a root whose rows count as often as each of these says."""
        return replace(self, tree=self.tree.rerooted(node), factors=factors)

    def without(self, children: Iterable[int]) -> "Counts":
        """The same, where the messages up from these children are known to say 1 to every row."""
        return replace(self, needless=self.needless | frozenset(map(up_table, children)))

    def messages(self) -> Iterator[Statement]:
        order = list(self.tree.down())
        for node, parent in reversed(order):
            if parent and not parent.unique_at(node):
                yield statement(f"count up from {self.tree.name(node)}", self._up(node, parent), up_table(node))
        for node, parent in order:
            if parent:
                yield statement(f"count down to {self.tree.name(node)}", self.down(node, parent), down_table(node))

    def joined(self, node: int, outputs: Named, but: str | None = None) -> exp.Select:
        """SELECT outputs FROM node n JOIN every message that arrives there, except one."""
        found = sql.select(outputs, self.rows(node))
        for edge, table in self._arriving(node, but):
            found = sql.join(found, self._message(node, edge, table), sql.same(map(key, edge.on), "n", table))
        return found

    def _message(self, node: int, edge: Edge, table: str) -> exp.Expr:
        """What arrives over an edge, as an item of FROM."""
        child = edge.other(node)
        if table == up_table(child) and edge.unique_at(child):
            return sql.derived(self.entries(child, edge), table)
        if self.nested:
            return sql.derived(self._up(child, edge), table)
        return sql.table(table)

    def meets(self, node: int, but: str) -> bool:
        """Do other messages than that one arrive at a node?"""
        return bool(self._arriving(node, but))

    def parted(self, node: int) -> Named:
        """The columns that say which part a row is counted for, where `joined` puts it."""
        return sql.columns(self.parts, "n" if node == self.tree.root else down_table(node))

    def times(self, node: int, name: str, but: str | None = None) -> exp.Expression:
        if node == self.tree.root:
            return self.total(node, but, more=[self.factors[name]])
        return self.total(node, but, from_above=name)

    def total(
        self, node: int, but: str | None = None, *, from_above: str = "c", more: Sequence[exp.Expression] = ()
    ) -> exp.Expression:
        """In how many join rows a row takes part, where `joined` puts it; by this column of the message down."""
        weight, down = [sql.double(sql.column("w", "n"))] if self.weighted(node) else [], down_table(node)
        weight += more
        counts = [sql.column(from_above if table == down else "c", table) for _, table in self._arriving(node, but)]
        return sql.product(*weight, *counts)

    def negative(self, node: int, but: str | None = None) -> exp.Expression:
        """In how many of those the sign is -1."""
        if node == self.tree.root:
            assert self.is_negative is not None
            return sql.case(self.is_negative(sql.column(CODE, "n")), self.total(node, but), 0.0)
        return self.total(node, but, from_above="neg")

    def _arriving(self, node: int, but: str | None = None) -> list[tuple[Edge, str]]:
        parent = self.tree.above[node]
        found = [(e, up_table(e.other(node))) for e in self.tree.edges_of(node) if e is not parent]
        found += [(parent, down_table(node))] if parent else []
        return [(edge, table) for edge, table in found if table != but and table not in self.needless]

    def _up(self, node: int, parent: Edge) -> exp.Select:
        """SELECT key, SUM(w * children) AS c FROM node JOIN children GROUP BY key"""
        return self._sent(node, parent, [(self.total(node, down_table(node)), "c")], down_table(node))

    def entries(self, node: int, parent: Edge) -> exp.Select:
        """SELECT key, w * children AS c FROM node JOIN children, where no two rows have the same key"""
        size = (self.total(node, down_table(node)), "c")
        return self.joined(node, [*sql.columns(map(key, parent.on), "n"), size], down_table(node))

    def down(self, node: int, parent: Edge) -> exp.Select:
        """SELECT key, SUM(w * all others) AS c FROM parent JOIN all others GROUP BY key"""
        above, came = parent.other(node), up_table(node)
        sizes = [(self.total(above, came), "c"), *([(self.negative(above, came), "neg")] if self.apart else [])]
        if self.factors:
            sizes = [(self.times(above, name, came), name) for name in self.factors]
        return self._sent(above, parent, sizes, came, self.parted(above))

    def _sent(self, node: int, over: Edge, sizes: Named, but: str, more: Named | None = None) -> exp.Select:
        """GROUP BY key; without a key one row, or none if there is nothing to count."""
        keys = [*sql.columns(map(key, over.on), "n"), *(more or [])]
        sums = [(sql.total(size), name) for size, name in sizes]
        found = self.joined(node, [*keys, *sums], but)
        return sql.group(found, [k for k, _ in keys]) if keys else found.having(sql.not_null(sums[0][0]))


def count_pass(tree: JoinTree) -> Iterator[Statement]:
    """All messages over merged nodes, then at every node the surviving rows with their totals."""
    counts = Counts(tree)
    yield from counts.messages()
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("n"))
    for node, _ in tree.down():
        found = counts.joined(node, [(counts.total(node), "total")])
        yield Statement(f"totals of {tree.name(node)}", found.select(everything), total_table(node))
