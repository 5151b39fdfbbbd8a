"""Notes and warnings about a join, to read before a training."""

from collections.abc import Iterator

from sqlsvm import words
from sqlsvm.ask.alike import MOST, too_many
from sqlsvm.ask.inspect import Inspection, edge_left_join
from sqlsvm.plan.catalog import EdgeFacts
from sqlsvm.plan.join_tree import Edge, JoinTree
from sqlsvm.terminal import amount, printable, row_count, share

MANY = 0.2  # the share of a relation's rows without a partner that is worth a warning


def node_name(tree: JoinTree, node: int) -> str:
    of = tree.nodes_of(node)
    return printable(f"entries of {of}" if of else tree.name(node))


def remarks(found: Inspection) -> Iterator[tuple[str, str]]:
    """Pairs of "note" or "warning" and a sentence."""
    tree = found.tree
    for block in tree.nodes:
        if len(block) > 1:
            yield "note", f"the query is cyclic: {printable(', '.join(block))} are joined up front"
    if not found.join_rows:
        yield from (("warning", f"the join is empty: {reason}") for reason in _reasons_of_emptiness(found))
        return
    if found.label:
        yield from (("warning", line) for line in _label_remarks(found))
    for f in found.features:
        if odd := f.nans + f.infinite:
            yield "warning", f"{printable(f.name)} is NaN or infinite in {row_count(odd)} of {printable(f.relation)}"
    yield from (("note", pair.said) for pair in found.alike)
    if too_many(found.tree.query):
        yield "note", words.said(f"more than {MOST} numbers were not compared with each other: ⟦describe()⟧ does that")
    for edge, facts in zip(tree.edges, found.edges, strict=True):
        if not edge_left_join(tree, edge):
            yield from (("warning", line) for line in _dangling_remarks(found, edge, facts))


def _label_remarks(found: Inspection) -> Iterator[str]:
    label = found.label
    assert label
    of_two = ((label.positive, "+1"), (label.negative, "-1"))
    for n, value in tuple((n, printable(name)) for name, n in label.classes.items()) or of_two:
        if not n:
            which = "each class" if label.classes else "both classes, or no intercept to rank pairs"
            yield f"no row of the join has the label {value}: training needs rows of {which}"
    if label.nulls:
        yield f"the label is NULL in {row_count(label.nulls)} of the join"


def _dangling_remarks(found: Inspection, edge: Edge, facts: EdgeFacts) -> Iterator[str]:
    """Rows of a relation that are lost at an edge. Nodes of several relations have no table to compare with."""
    sides = (edge.left, edge.right, facts.dangling_left), (edge.right, edge.left, facts.dangling_right)
    for node, other, alone in sides:
        rows = _own_rows(found, node)
        if rows and alone >= MANY * rows:
            said = f"{amount(alone)} of {row_count(rows)} of {node_name(found.tree, node)} ({share(alone, rows)})"
            yield f"{said} have no partner in {node_name(found.tree, other)} and drop out"


def _own_rows(found: Inspection, node: int) -> float | None:
    """All rows of a node, if it is one relation."""
    aliases = found.tree.nodes[node]
    return next(r.rows for r in found.relations if r.alias == aliases[0]) if len(aliases) == 1 else None


def _reasons_of_emptiness(found: Inspection) -> Iterator[str]:
    """Which relation has no rows, or else which pair of relations has no common key, as far as it is known."""
    query = found.tree.query
    empty = [r.alias for r in found.relations if not r.rows and r.alias not in query.parents]
    filtered = [] if empty else [alias for alias in _filtered_away(found) if alias not in query.parents]
    apart = [] if empty or filtered else list(_never_meeting(found))
    yield from (f"{printable(alias)} has no rows" for alias in empty)
    yield from (f"no row of {printable(alias)} passes the conditions on it" for alias in filtered)
    pairs = ((node_name(found.tree, e.left), node_name(found.tree, e.right)) for e in apart)
    yield from (f"no row of {left} has a partner in {right}" for left, right in pairs)
    if not empty and not filtered and not apart:
        yield "no row has a partner in all the other relations"


def _filtered_away(found: Inspection) -> Iterator[str]:
    """Relations none of whose rows reaches an edge, with a key or with a NULL key."""
    if len(found.relations) == 1:
        yield found.relations[0].alias
    nodes = {
        node
        for edge, facts in zip(found.tree.edges, found.edges, strict=True)
        for node, rows in (
            (edge.left, facts.max_left + facts.null_left),
            (edge.right, facts.max_right + facts.null_right),
        )
        if not rows and len(found.tree.nodes[node]) == 1
    }
    yield from (found.tree.nodes[node][0] for node in sorted(nodes))


def _never_meeting(found: Inspection) -> Iterator[Edge]:
    """Edges where no row of a side has a partner. Sides with conditions are left out: how many rows pass is unknown."""
    for edge, facts in zip(found.tree.edges, found.edges, strict=True):
        if not edge.on or edge_left_join(found.tree, edge):
            continue
        ours, theirs = facts.dangling_left + facts.null_left, facts.dangling_right + facts.null_right
        if ours == _unfiltered(found, edge.left) or theirs == _unfiltered(found, edge.right):
            yield edge


def _unfiltered(found: Inspection, node: int) -> float | None:
    """The rows of a node, if it is one relation without conditions."""
    relation = found.tree.query.relation(found.tree.nodes[node][0])
    return None if relation.filters else _own_rows(found, node)
