"""The nodes of a join tree as plain relations: k<v> for every join variable, the outputs asked for, a multiplicity w.

After this step there are only inner joins on equally named columns. Two rewrites make it so:

LEFT JOIN. The optional relation gets one more row, all NULL, for what finds nothing. Its rows are numbered from 1, that
row is number 0, and the parent looks the number up: COALESCE(number, 0). An inner join on the number is the LEFT JOIN.
Where a key may be in several rows, the keys are numbered, so that rows of one key have one number. Where no two rows of
the parent look for the same key, theirs are numbered, and each has a row of NULLs of its own if it finds nothing: then
the parent folds.

A node of several relations (a cycle, joined up front) is the join of its members on the variables they share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.statement import Statement
from sqlsvm.plan.join_tree import JoinTree
from sqlsvm.query import LeftJoin
from sqlsvm.query.rows import copies, row_of_nulls, rows_of
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


def prepare_merged(tree: JoinTree, outputs: Sequence[Output]) -> Iterator[Statement]:
    """Every node as a working table whose equal rows are merged into a multiplicity w."""
    yield from prepare_found(tree, outputs)
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
    if join := tree.query.left_join(alias):
        names = [key(_number(tree, join)), *(name for _, name in _columns(tree, alias, outputs))]
        return sql.select(sql.columns(names), sql.table(found_table(tree, join))).where(sql.column("keep"))
    found = _from_source(tree, alias, _columns(tree, alias, outputs))
    return sql.where(found, *(f.copy() for f in tree.query.relation(alias).filters))


# -- LEFT JOIN ---------------------------------------------------------------------------------------------------------


def found_table(tree: JoinTree, join: LeftJoin) -> str:
    return f"sqlsvm_match{_number(tree, join)}"


def _number(tree: JoinTree, join: LeftJoin) -> int:
    """The variable of a LEFT JOIN."""
    return next(v.index for v in tree.held(join.relation) if join.found.right in v.terms)


def prepare_found(tree: JoinTree, outputs: Sequence[Output]) -> Iterator[Statement]:
    """The optional relations, numbered; those that others hang from come after what hangs from them."""
    for join in reversed(tree.query.left_joins):
        alias, number = join.relation, key(_number(tree, join))
        relation = tree.query.relation(alias)
        made = _columns(tree, alias, outputs)
        made.append((sql.every(f.copy() for f in relation.filters), "keep"))
        if join.numbers == "parents":
            yield Statement(f"numbered keys of {join.parent}", _looking(tree, join), looking_table(tree, join))
            yield Statement(f"rows of {alias}", _looked_for(tree, join, made), found_table(tree, join))
            continue
        looked_up: Named = [(term.expression.copy(), f"m{i}") for i, term in enumerate(join.key)]
        numbers = sql.any_number() if join.finds_one else sql.dense_rank([value.copy() for value, _ in looked_up])
        rows = _from_source(tree, alias, [(numbers, number), *looked_up, *made])
        rows = sql.where(rows, *(f.copy() for f in relation.at_first))
        nothing: Named = [(exp.null(), name) for _, name in looked_up]
        missing = _finding(tree, alias, row_of_nulls(relation, made), [(sql.integer(0), number), *nothing, *made])
        yield Statement(f"numbered rows of {alias}", sql.union_all(rows, missing), found_table(tree, join))


def looking_table(tree: JoinTree, join: LeftJoin) -> str:
    return f"sqlsvm_looking{_number(tree, join)}"


def _looking(tree: JoinTree, join: LeftJoin) -> exp.Select:
    """SELECT the keys of the parent and a number for each, 0 for the one that is NULL."""
    keys: Named = [(e.left.expression.copy(), f"m{i}") for i, e in enumerate(join.equalities)]
    rows = sql.derived(rows_of(tree.query, join.parent, keys), "r")
    whole = sql.every(sql.not_null(sql.column(name)) for _, name in keys)
    number = sql.case(whole, sql.any_number(), sql.integer(0))
    return sql.select([(number, key(_number(tree, join))), *sql.columns([name for _, name in keys])], rows)


def _looked_for(tree: JoinTree, join: LeftJoin, made: Named) -> exp.Select:
    """What each key finds, or NULLs."""
    name, relation = looking_table(tree, join), tree.query.relation(join.relation)
    on = [sql.equal(e.right.expression.copy(), sql.column(f"m{i}", name)) for i, e in enumerate(join.equalities)]
    source = relation.serving(value for value, _ in made)
    rows = sql.join(sql.select([], sql.table(name)), source, [*on, *copies(relation.at_first)], "left")
    number = key(_number(tree, join))
    return _finding(tree, join.relation, rows, [(sql.column(number, name), number), *made])


def _from_source(tree: JoinTree, alias: str, outputs: Named) -> exp.Select:
    source = tree.query.relation(alias).serving(value for value, _ in outputs)
    return _finding(tree, alias, exp.select().from_(source), outputs)


def _finding(tree: JoinTree, alias: str, rows: exp.Select, outputs: Named) -> exp.Select:
    """The rows with the numbers of what their LEFT JOINs find."""
    for join in _joins_from(tree, alias):
        name = _numbering(tree, join)
        on = [sql.equal(e.left.expression.copy(), sql.column(f"m{i}", name)) for i, e in enumerate(join.equalities)]
        rows = sql.join(rows, _numbers(tree, join), on, "left")
    return sql.also(rows, outputs or [(sql.integer(1), "one")])


def _joins_from(tree: JoinTree, alias: str) -> list[LeftJoin]:
    return [join for join in tree.query.left_joins if join.parent == alias]


def _numbering(tree: JoinTree, join: LeftJoin) -> str:
    """The table in which keys have their numbers."""
    return looking_table(tree, join) if join.numbers == "parents" else found_table(tree, join)


def _numbers(tree: JoinTree, join: LeftJoin) -> exp.Expr:
    """Each key once, with its number, as an item of FROM."""
    name = _numbering(tree, join)
    if join.numbers != "keys":
        return sql.table(name)
    keys = [*(f"m{i}" for i in range(len(join.key))), key(_number(tree, join))]
    return sql.derived(exp.select(*map(sql.column, keys)).distinct().from_(sql.table(name)), name)


def _columns(tree: JoinTree, alias: str, outputs: Sequence[Output]) -> Named:
    """The join variables as this relation spells them, then its outputs. The number under which it is found is not
    here: it is not spelled but given."""
    found = {join.found.left: _numbering(tree, join) for join in _joins_from(tree, alias)}
    keys: Named = []
    for v in tree.held(alias):
        term, name = v.at(alias)[0], key(v.index)
        if term in found:
            keys.append((sql.coalesce(sql.column(name, found[term]), sql.integer(0)), name))
        elif not term.is_found:
            keys.append((term.expression.copy(), name))
    return keys + [(o.expression.copy(), o.name) for o in outputs if o.relation == alias]
