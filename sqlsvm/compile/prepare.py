"""The nodes of a join tree as plain relations: k<v> for every join variable, the outputs asked for, a multiplicity w.

After this step there are only inner joins on equally named columns. Two rewrites make it so:

LEFT JOIN. The optional relation gets one more row, all NULL, for "no match". Its rows are numbered from 1, that row is
number 0, and the parent looks the number up: COALESCE(number, 0). The parent meets exactly one row of it, for any
key, so an inner join on the number is the LEFT JOIN. It needs the optional relation to be unique on its key: with
two matches the parent would have to carry two numbers.

A node of several relations (a cycle, joined up front) is the join of its members on the variables they share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.plan.join_tree import JoinTree
from sqlsvm.query.rows import no_match
from sqlsvm.query.variables import Variable
from sqlsvm.sql import Named


@dataclass(frozen=True)
class Output:
    """An expression over one relation, and the name that it gets."""

    relation: str
    expression: exp.Expression
    name: str


def key(variable: int) -> str:
    return f"k{variable}"


def link_key(variable: int) -> str:
    """A join variable of a many-to-many edge, coded as a number: what travels in messages."""
    return f"g{variable}"


def codes_table(variable: int) -> str:
    return f"sqlsvm_g{variable}"


def node_table(node: int) -> str:
    return f"sqlsvm_n{node}"


def match_table(variable: Variable) -> str:
    return f"sqlsvm_match{variable.index}"


def prepare_merged(tree: JoinTree, outputs: Sequence[Output]) -> Iterator[Statement]:
    """Every node as a working table whose equal rows are merged into a multiplicity w."""
    yield from prepare_matches(tree, outputs)
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
    relation = tree.query.relation(alias)
    own = next((v for v in tree.held(alias) if v.match and v.match.relation == alias), None)
    if own is None:
        found = _from_source(tree, alias, _columns(tree, alias, outputs))
        return sql.where(found, *(f.copy() for f in (*relation.filters, *relation.late_filters)))
    names = [key(own.index), *(name for _, name in _columns(tree, alias, outputs))]
    return sql.select(sql.columns(names), sql.table(match_table(own))).where(sql.column("keep"))


def prepare_matches(tree: JoinTree, outputs: Sequence[Output]) -> Iterator[Statement]:
    """The optional relations, numbered; those that others hang from come after what hangs from them."""
    for variable in reversed([v for v in tree.variables if v.match]):
        assert variable.match
        alias = variable.match.relation
        relation = tree.query.relation(alias)
        made = _columns(tree, alias, outputs)
        made.append((sql.every(f.copy() for f in relation.late_filters), "keep"))
        looked_up: Named = [(e.right.expression.copy(), f"m{i}") for i, e in enumerate(variable.match.equalities)]
        number = key(variable.index)
        rows = _from_source(tree, alias, [(sql.any_number(), number), *looked_up, *made])
        rows = sql.where(rows, *(f.copy() for f in relation.filters))
        nothing: Named = [(exp.null(), name) for _, name in looked_up]
        missing = _with_matches(tree, alias, no_match(relation, made), [(sql.integer(0), number), *nothing, *made])
        yield Statement(f"numbered rows of {alias}", sql.union_all(rows, missing), match_table(variable))


def _from_source(tree: JoinTree, alias: str, outputs: Named) -> exp.Select:
    source = tree.query.relation(alias).serving(value for value, _ in outputs)
    return _with_matches(tree, alias, exp.select().from_(source), outputs)


def _with_matches(tree: JoinTree, alias: str, rows: exp.Select, outputs: Named) -> exp.Select:
    """The rows with the numbers of their matches in the relations that are LEFT JOINed to them."""
    for v in tree.held(alias):
        if v.match and v.match.parent == alias:
            name, sides = match_table(v), (e.left.expression.copy() for e in v.match.equalities)
            on = [sql.equal(side, sql.column(f"m{i}", name)) for i, side in enumerate(sides)]
            rows = sql.join(rows, sql.table(name), on, "left")
    return sql.also(rows, outputs or [(sql.integer(1), "one")])


def _columns(tree: JoinTree, alias: str, outputs: Sequence[Output]) -> Named:
    """The join variables as this relation spells them, then its outputs. The number of its own match is not here: it is
    not spelled but given."""
    keys: Named = []
    for v in tree.held(alias):
        if v.match and v.match.parent == alias:
            number = sql.column(key(v.index), match_table(v))
            keys.append((sql.coalesce(number, sql.integer(0)), key(v.index)))
        elif not v.match:
            keys.append((v.at(alias)[0].expression.copy(), key(v.index)))
    return keys + [(o.expression.copy(), o.name) for o in outputs if o.relation == alias]
