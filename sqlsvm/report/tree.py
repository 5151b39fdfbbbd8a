"""The join tree as a picture: a box a node, its children indented below it as in a table of contents, so that it is as
readable on a telephone as on paper. Lines end as in entity diagrams: a bar for one row on a key, a fork for many."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

from sqlsvm.ask.inspect import Inspection, RelationFacts, edge_left_join
from sqlsvm.ask.remarks import node_name
from sqlsvm.plan.catalog import EdgeFacts
from sqlsvm.plan.join_tree import Edge
from sqlsvm.report.markup import Element, el
from sqlsvm.report.svg import picture
from sqlsvm.show.inspection import condition
from sqlsvm.terminal import amount, row_count, share

WIDTH, INDENT, MARGIN = 440.0, 24.0, 1.5
LINE, PADDING, EDGE = 15.0, 9.0, 42.0
LETTER = 7.0
"""The width of a wide letter; lines that do not fit are cut, and said in full in the tables."""


@dataclass(frozen=True)
class _Box:
    node: int
    edge: Edge | None
    lines: tuple[Element, ...]
    x: float
    y: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def draw_tree(found: Inspection) -> Element:
    boxes = list(_boxes(found))
    by_node = {box.node: box for box in boxes}
    height = boxes[-1].y + boxes[-1].height + MARGIN
    edges = [_edge(found, by_node[box.edge.other(box.node)], box, box.edge) for box in reversed(boxes) if box.edge]
    title, said = "Join tree", _said(found)
    image = picture("tree", WIDTH, height, title, said, edges, [_drawn(found, box) for box in boxes])
    return el("figure", el("figcaption", el("h3", title), el("p", said)), image, class_="tree")


def _said(found: Inspection) -> str:
    tree = found.tree
    size = f"{len(found.relations)} relations joined along {len(tree.edges)} edges"
    if len(tree.bags) == 1:
        return f"{size}. All keys are unique on one side: one bag, whose rows are the rows of the join."
    return (
        f"{size}. What keys that are unique hold together is a bag; there are {len(tree.bags)}. "
        "Between bags every row of the one meets every row of the other that has its key (double line)."
    )


# -- boxes -------------------------------------------------------------------------------------------------------------


def _boxes(found: Inspection) -> Iterator[_Box]:
    depth: dict[int, int] = {}
    y = MARGIN
    for node, edge in found.tree.down():
        depth[node] = depth[edge.other(node)] + 1 if edge else 0
        y += EDGE if edge else 0.0
        box = _Box(node, edge, (), MARGIN + depth[node] * INDENT, y, 0.0)
        lines = tuple(_lines(found, box))
        yield (box := replace(box, lines=lines, height=2 * PADDING + LINE * len(lines) - 3))
        y += box.height


def _lines(found: Inspection, box: _Box) -> Iterator[Element]:
    """Three lines a relation: its names, its rows, and what the query takes from it."""
    at = box.y + PADDING + 9
    for alias in found.tree.nodes[box.node]:
        facts = next(r for r in found.relations if r.alias == alias)
        for line in (_names(facts, box), _rows(facts, box), _columns(found, alias, box)):
            if line:
                yield el("text", line, x=box.x + 10, y=at)
                at += LINE


def _names(facts: RelationFacts, box: _Box) -> list[object]:
    table = "" if facts.table == facts.alias else f"  {facts.table}"
    room = _room(box) - 8  # the bag stands there
    alias = _cut(facts.alias, room)
    return [
        el("tspan", alias, class_="strong"),
        el("tspan", _cut(table, max(0, room - cell_len(alias))), class_="label"),
    ]


def _rows(facts: RelationFacts, box: _Box) -> str:
    said = row_count(facts.rows)
    if facts.rows_surviving != facts.rows and facts.rows:
        said += f", {amount(facts.rows_surviving)} in the join ({share(facts.rows_surviving, facts.rows)})"
    return _cut(said, _room(box))


def _columns(found: Inspection, alias: str, box: _Box) -> Element | None:
    label = [f"{found.label.column} (label)"] if found.label and found.label.relation == alias else []
    names = ", ".join((*label, *(f.name for f in found.features if f.relation == alias)))
    return el("tspan", _cut(names, _room(box)), class_="label") if names else None


def _drawn(found: Inspection, box: _Box) -> Element:
    bags = found.tree.bags
    bag = next(i for i, bag in enumerate(bags, 1) if box.node in bag)
    right = WIDTH - MARGIN
    mark = [el("text", f"bag {bag}", x=right - 9, y=box.y + PADDING + 9, class_="end label")] if len(bags) > 1 else []
    frame = el("rect", x=box.x, y=box.y, width=right - box.x, height=box.height, rx=3, class_="box")
    return el("g", el("title", node_name(found.tree, box.node)), frame, box.lines, mark)


def _room(box: _Box) -> int:
    return int((WIDTH - box.x - 20) / LETTER)


def _cut(text: str, most: int) -> str:
    """
    >>> _cut("visits", 6), _cut("product_tags", 8)
    ('visits', 'product…')
    """
    return text if cell_len(text) <= most else set_cell_size(text, max(0, most - 1)).rstrip() + "\u2026"


# -- edges -------------------------------------------------------------------------------------------------------------


def _edge(found: Inspection, parent: _Box, child: _Box, edge: Edge) -> Element:
    """From under the parent to the child, with what it is on and how many rows meet there."""
    x, top, end = _stem(found, parent, edge), parent.y + parent.height, child.x
    class_ = "line link" if is_link(found, edge) else "line fold"
    route = f"M{x:.1f} {top:.1f}V{child.middle:.1f}H{end:.1f}"
    drawn = [el("path", d=route, class_=class_)]
    drawn += [el("path", d=route, class_="core")] if is_link(found, edge) else []
    ends = [
        _end(x, top, (0.0, 1.0), edge.unique_at(parent.node)),
        _end(end, child.middle, (-1.0, 0.0), edge.unique_at(child.node)),
    ]
    facts = found.edges[found.tree.edges.index(edge)]
    room = int((WIDTH - child.x - 6) / LETTER)
    words = (f"{kind(found, edge)}, {edge_condition(found, edge)}", meeting(found, edge, facts))
    text = [
        el("text", _cut(w, room), x=child.x + 4, y=child.y - 20 + 13 * i, class_="label") for i, w in enumerate(words)
    ]
    return el("g", el("title", ": ".join(words)), drawn, ends, text)


def _stem(found: Inspection, parent: _Box, edge: Edge) -> float:
    """Where the line to a child leaves its parent: each has its own place, the last child's is leftmost."""
    below = [e for _, e in found.tree.down() if e in found.tree.edges_of(parent.node) and e != parent.edge]
    return parent.x + INDENT * (len(below) - below.index(edge)) / (len(below) + 1)


def is_link(found: Inspection, edge: Edge) -> bool:
    """Whether the edge separates two bags."""
    return edge not in found.tree.folds.values()


def _end(x: float, y: float, way: tuple[float, float], one: bool) -> Element:
    """A bar across the line, or a fork that opens towards the box; `way` leads from the box along the line."""
    (a, b), size = way, 4.0
    if one:
        at = x + 5 * a, y + 5 * b
        points = (at[0] - size * b, at[1] - size * a), (at[0] + size * b, at[1] + size * a)
        return el("path", d="M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*points[0], *points[1]), class_="tick")
    tip = x + 8 * a, y + 8 * b
    left, right = (x - size * b, y - size * a), (x + size * b, y + size * a)
    return el("path", d="M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}".format(*left, *tip, *right), class_="tick")


def kind(found: Inspection, edge: Edge) -> str:
    if not edge.on:
        return "cross product"
    return "left join" if edge_left_join(found.tree, edge) else edge.kind.replace("foreign-key", "foreign key")


def edge_condition(found: Inspection, edge: Edge) -> str:
    return condition(found.tree, edge) if edge.on else "every row with every row"


def meeting(found: Inspection, edge: Edge, facts: EdgeFacts) -> str:
    """How many rows share one key at most."""
    left, right = node_name(found.tree, edge.left), node_name(found.tree, edge.right)
    return f"on one key at most {amount(facts.max_left)} {left} \u00d7 {amount(facts.max_right)} {right}"
