"""An Inspection as text: the join tree with its edges, features, label, bags, notes and warnings.

No information is in the colours alone. The user's names may contain any character: they are printed only through
`printable`, and never as rich markup.
"""

import re
from collections.abc import Callable, Iterator
from typing import TextIO

from rich.table import Table
from rich.text import Text
from rich.tree import Tree
from sqlglot import Dialect
from sqlglot.tokenizer_core import TokenType

from sqlsvm.ask.inspect import Inspection, LabelFacts, RelationFacts, edge_left_join, edge_text
from sqlsvm.ask.remarks import node_name, remarks
from sqlsvm.paper import on_paper, table
from sqlsvm.plan.join_tree import Edge, JoinTree
from sqlsvm.run.notes import made_once
from sqlsvm.terminal import amount, memory, printable, row_count, share

_PLAIN = re.compile("[a-z_][a-z0-9_]*")


def draw(found: Inspection, stream: TextIO) -> str:
    lines = [Text(line) for line in _sentences(found)]
    lines += [Text.assemble((f"{kind}:", "bold yellow"), " ", line) for kind, line in remarks(found)]
    tree = drawn(found.tree, lambda node: _node(found, node), lambda edge: _edge(found, edge))
    heavy = [_heavy(found, place) for place in found.heavy]
    return on_paper(stream, tree, "", _features(found), *(part for table in heavy for part in ("", table)), "", *lines)


def drawn(tree: JoinTree, said_of_node: Callable[[int], Text], said_of_edge: Callable[[Edge], Text]) -> Tree:
    """Each node is a branch, and the label's relation is the root. The edge to the parent is below the node. A bridge
    is an edge, not two nodes more."""
    branches: dict[int, Tree] = {}
    for node, edge in tree.down():
        if edge is None:
            branches[node] = Tree(said_of_node(node), guide_style="dim")
        elif tree.nodes_of(node):
            branches[node] = branches[edge.other(node)]
        else:
            over = next((e for e in tree.edges_of(edge.other(node)) if tree.is_bridge(e)), edge)
            text = said_of_node(node).append("\n").append(said_of_edge(over))
            branches[node] = branches[edge.other(node)].add(text)
    return branches[tree.root]


def _node(found: Inspection, node: int) -> Text:
    aliases = found.tree.nodes[node]
    bag = bag_number(found.tree, node)
    mark = f"  [bag {bag}]" if bag else ""
    relations = [_relation(r) for alias in aliases for r in found.relations if r.alias == alias]
    if len(relations) == 1:
        return relations[0].append(mark)
    head = Text().append(node_name(found.tree, node), "bold").append(f"  joined up front{mark}")
    return Text("\n  ").join([head, *relations])


def bag_number(tree: JoinTree, node: int) -> int | None:
    """The number of a node's bag, from 1; None if there is only one bag."""
    return next(i for i, bag in enumerate(tree.bags, 1) if node in bag) if len(tree.bags) > 1 else None


def _relation(facts: RelationFacts) -> Text:
    text = Text().append(printable(facts.alias), "bold")
    if facts.table != facts.alias:
        text.append(f" {printable(facts.table)}" if facts.table == "(sub-query)" else f" ({printable(facts.table)})")
    text.append(f"  {row_count(facts.rows)}")
    if facts.rows_surviving != facts.rows:
        text.append(f" -> {amount(facts.rows_surviving)} in the join")
    return text


def _edge(found: Inspection, edge: Edge) -> Text:
    facts = found.edges[found.tree.edges.index(edge)]
    left, right = node_name(found.tree, edge.left), node_name(found.tree, edge.right)
    text = Text("  ").append(kind(found.tree, edge), "cyan")
    if not edge.on:
        return text.append(f": every row of {left} with every row of {right}")
    if found.tree.is_bridge(edge):
        rows = {r.alias: r.rows for r in found.relations}
        on = bridge(found.tree, edge, lambda node: rows[found.tree.nodes[node][0]])
        return text.append(f" on {on}{_without_partner(found, edge)}")
    said = [f"max per key: {amount(facts.max_left)} {left}, {amount(facts.max_right)} {right}"]
    alone = ((facts.dangling_left, left), (facts.dangling_right, right))
    if dangling := [f"{amount(n)} {name}" for n, name in alone if n]:
        said.append(f"no partner: {', '.join(dangling)}")
    if facts.null_keys:
        said.append(f"NULL keys: {amount(facts.null_keys)}")
    return text.append(f" on {condition(found.tree, edge)}\n  {'; '.join(said)}")


def bridge(tree: JoinTree, edge: Edge, rows: Callable[[int], float]) -> str:
    """The conditions of a bridge, and how many entries its two sides have."""
    once = tree.query.relation(tree.nodes[edge.left][0]).once
    assert once
    one, other = map(amount, map(rows, sorted((edge.left, edge.right))))
    return f"{printable(once.reason)} ({one} and {other} entries)"


def _without_partner(found: Inspection, edge: Edge) -> str:
    """The rows on the two sides of a bridge that are in none of its nodes."""
    alone = []
    for node in (edge.left, edge.right):
        (outer,) = (e for e in found.tree.edges_of(node) if e != edge)
        facts = found.edges[found.tree.edges.index(outer)]
        n = facts.dangling_left if outer.right == node else facts.dangling_right
        alone += [f"{amount(n)} {node_name(found.tree, outer.other(node))}"] if n else []
    return f"\n  no partner: {', '.join(alone)}" if alone else ""


def kind(tree: JoinTree, edge: Edge) -> str:
    if not edge.on:
        return "cross product"
    return "left join" if edge_left_join(tree, edge) else edge.kind.replace("foreign-key", "foreign key")


def condition(tree: JoinTree, edge: Edge) -> str:
    """The equalities of an edge, without unnecessary quotes."""
    text = edge_text(tree, edge)
    tokenize = Dialect.get_or_raise(tree.query.dialect).tokenize
    for token in reversed(tokenize(text)):
        bare = token.text
        if (
            token.token_type is TokenType.IDENTIFIER
            and _PLAIN.fullmatch(bare)
            and [part.token_type for part in tokenize(bare)] == [TokenType.VAR]
        ):
            text = text[: token.start] + bare + text[token.end + 1 :]
    return printable(text)


def _features(found: Inspection) -> Table:
    """One feature per line, in the order of the query's relations."""
    rows = []
    for relation in found.relations:
        first = relation.alias
        for f in found.features:
            if f.relation == relation.alias:
                rows.append((first, f.name, f.kind, amount(f.nulls) if f.nulls else ""))
                first = ""
    return table(("relation", "feature", "kind", "NULLs in relation"), rows, words=3)


def _heavy(found: Inspection, place: int) -> Table:
    """The keys that make the most rows, and the rows without them."""
    keys = found.heavy[place]
    found_by = " (found by a sketch)" if keys.approximate else ""
    rest = "(the others: no key has more)" if keys.approximate else "(the join without them)"
    each = [*((", ".join(map(str, k.key)), k.rows) for k in keys.keys), (rest, keys.others)]
    title = f"heavy keys of {condition(found.tree, found.tree.edges[place])}{found_by}"
    return table((title, "rows", "share"), [(key, amount(n), share(n, found.join_rows)) for key, n in each])


def _sentences(found: Inspection) -> Iterator[str]:
    if found.label:
        yield _balance(found.label)
    yield bags(found.tree)
    values = (len(found.features) + (found.label is not None)) * found.join_rows
    size, stored = memory(8 * values), row_count(_stored(found))
    yield from made_of(found.tree)
    yield f"The join would have {row_count(found.join_rows)} (about {size}); its tables have {stored}."


def made_of(tree: JoinTree) -> Iterator[str]:
    """What the database makes before anything else, and why."""
    return map(printable, made_once(tree.query, ""))


def _balance(label: LabelFacts) -> str:
    of_two = ((label.positive, "+1"), (label.negative, "-1"))
    classes = tuple((n, printable(name)) for name, n in label.classes.items()) or of_two
    known = sum(n for n, _ in classes)
    said = [f"{row_count(n)} {value}" + (f" ({share(n, known)})" if known else "") for n, value in classes]
    said += [f"{amount(label.nulls)} NULL"] if label.nulls else []
    return f"label {printable(label.column)} of {printable(label.relation)}: {', '.join(said)}"


def bags(tree: JoinTree) -> str:
    if len(tree.bags) == 1:
        return f"one bag: a row of the join is a row of {node_name(tree, tree.core(tree.root))}"
    bags = (" ".join(node_name(tree, node) for node in bag if not tree.nodes_of(node)) for bag in tree.bags)
    return f"{len(tree.bags)} bags: " + ", ".join(f"{i} ({bag})" for i, bag in enumerate(bags, 1))


def _stored(found: Inspection) -> float:
    """Rows of the tables. A table that is joined to itself counts once."""
    tables = {r.alias if r.table == "(sub-query)" else r.table: r.rows for r in found.relations}
    return sum(tables.values())
