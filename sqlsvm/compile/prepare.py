"""The nodes of a join tree as plain relations: k<v> for every join variable, the outputs asked for, a multiplicity w.

A node of several relations (a cycle, joined up front) is the join of its members on the variables they share.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.plan.join_tree import JoinTree
from sqlsvm.query import FeatureQuery
from sqlsvm.query.rows import rows_of
from sqlsvm.sql import Named


@dataclass(frozen=True)
class Output:
    """An expression over one relation, and the name that it gets."""

    relation: str
    expression: exp.Expression
    name: str


Name = Callable[[int], str]  # of what has a number

key: Name = "k{}".format  # a join variable
link_key: Name = "g{}".format  # one of a many-to-many edge, coded as a number: what travels in messages
codes_table: Name = "sqlsvm_g{}".format
node_table: Name = "sqlsvm_n{}".format


def prepare_merged(tree: JoinTree, outputs: Sequence[Output]) -> Iterator[Statement]:
    """Every node as a working table whose equal rows are merged into a multiplicity w."""
    yield from prepare_derived(tree.query)
    for node in range(len(tree.nodes)):
        rows = node_rows(tree, node, outputs)
        merged = sql.grouped(sql.columns(rows.named_selects), [(sql.count(), "w")], sql.derived(rows, "r"))
        yield Statement(f"rows of {tree.name(node)}", merged, node_table(node))


def node_rows(tree: JoinTree, node: int, outputs: Sequence[Output]) -> exp.Query:
    """SELECT k0, ..., outputs over one node."""
    first, *others = tree.nodes[node]
    if not others:
        return relation_rows(tree, first, outputs)
    joined = sql.select([], sql.derived(relation_rows(tree, first, outputs), _member(tree, first)))
    home = dict.fromkeys(relation_keys(tree, first), first)
    todo = others
    while todo:
        alias = next((a for a in todo if home.keys() & set(relation_keys(tree, a))), todo[0])
        keys, name = relation_keys(tree, alias), _member(tree, alias)
        on = [sql.equal(sql.column(k, _member(tree, home[k])), sql.column(k, name)) for k in keys if k in home]
        joined = sql.join(joined, sql.derived(relation_rows(tree, alias, outputs), name), on)
        home = {**dict.fromkeys(keys, alias), **home}
        todo = [a for a in todo if a != alias]
    picked: Named = [(sql.column(k, _member(tree, home[k])), k) for k in sorted(home)]
    wanted = [o for o in outputs if o.relation in tree.nodes[node]]
    return sql.also(joined, [*picked, *((sql.column(o.name, _member(tree, o.relation)), o.name) for o in wanted)])


def _member(tree: JoinTree, alias: str) -> str:
    """A safe name for a member of a node: the user's aliases may hold anything."""
    return f"r{[r.alias for r in tree.query.relations].index(alias)}"


def relation_keys(tree: JoinTree, alias: str) -> list[str]:
    return [key(v.index) for v in tree.held(alias)]


def relation_rows(tree: JoinTree, alias: str, outputs: Sequence[Output]) -> exp.Query:
    """SELECT k0, ..., outputs over one relation."""
    columns: Named = [(v.at(alias)[0].expression.copy(), key(v.index)) for v in tree.held(alias)]
    columns += [(o.expression.copy(), o.name) for o in outputs if o.relation == alias]
    return rows_of(tree.query, alias, columns or [(sql.integer(1), "one")])


def prepare_derived(query: FeatureQuery) -> Iterator[Statement]:
    """The working tables that a query reads."""
    yield from (Statement(each.said, each.rows, each.table) for each in query.derived)
