"""The join tree as a picture. Each node is a box; its children are below it, indented, so that the picture also fits a
small screen. Lines end as in entity diagrams: a bar means one row per key, a fork means many."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

from sqlsvm.ask.inspect import Inspection, RelationFacts
from sqlsvm.ask.remarks import node_name, remarks
from sqlsvm.model.evaluation import Residuals
from sqlsvm.model.model import Model
from sqlsvm.plan.join_tree import Edge, JoinTree
from sqlsvm.report.gather import Report
from sqlsvm.report.parts import Element, el, section, table
from sqlsvm.report.plots import classes
from sqlsvm.report.svg import path, picture
from sqlsvm.show.inspection import bag_number, condition, kind
from sqlsvm.terminal import amount, row_count, share


def join_section(report: Report) -> Element:
    found, model = report.inspection, report.model
    if found is None:
        known = [(alias, amount(rows)) for alias, rows in model.trained_on.rows.items()]
        rows = table(("relation", "rows in the training"), known, words=1) if known else None
        return section("join", "The join", el("p", _trained_join(model)), rows)
    notes = [el("li", el("strong", f"{kind_}: "), line) for kind_, line in remarks(found)]
    return section(
        "join",
        "The join",
        el("p", _trained_join(model), _moved(report, found)),
        el("ul", notes, class_="notes") if notes else None,
        el("div", draw_tree(found), _relations(found), class_="beside"),
        _edges(found) if found.edges else None,
    )


def _trained_join(model: Model) -> str:
    if model.of_numbers:
        return f"The model was trained on {row_count(model.join_rows, model.weighted)}."
    if model.kinds:
        return f"The model was trained on {row_count(model.join_rows, model.weighted)} of {len(model.kinds)} classes."
    negative, positive = (model.label_rows.get(label, 0.0) for label in ("-1", "1"))
    names = zip(classes(model), (negative, positive), strict=True)
    parts = [f"{row_count(n, model.weighted)} with {name} ({share(n, negative + positive)})" for name, n in names if n]
    return f"The model was trained on {' and '.join(parts)}."


def _held_out(report: Report) -> float:
    """If the label is a number, the model does not say how many."""
    if report.groups:
        return report.groups.missed + sum(each.rows for each in report.groups.groups) if report.seen else 0.0
    if isinstance(report.evaluation, Residuals):
        return report.evaluation.rows if report.seen else 0.0
    of_classes = sum(of.held_out for of in report.model.classes)
    return of_classes or sum(report.model.trained_on.held_out.values())


def _moved(report: Report, found: Inspection) -> str:
    model, held_out = report.model, _held_out(report)
    unseen = f" Held out were {row_count(held_out, model.weighted)}." if held_out else ""
    if model.weighted:  # the model has the total weight of its rows, not their number
        return f"{unseen} The join has {row_count(found.join_rows)} now."
    without = model.ungrouped + sum(each.rows for each in model.skipped)
    if round(found.join_rows) == round(model.join_rows + held_out + without):
        return unseen
    why = "rows with a NULL feature were left out" if model.nulls == "drop" else "the tables have changed since"
    return f" The join has {row_count(found.join_rows)} now: {why}."


def _relations(found: Inspection) -> Element:
    rows = []
    for r in found.relations:
        nulls = sum(f.nulls for f in found.features if f.relation == r.alias)
        rows.append((r.alias, r.table, amount(r.rows), amount(r.rows_surviving), amount(nulls)))
    return table(("relation", "table", "rows", "in the join", "NULLs"), rows, words=2, caption="Relations")


def _edges(found: Inspection) -> Element:
    tree, rows = found.tree, []
    for edge, facts in zip(tree.edges, found.edges, strict=True):
        most = f"{amount(facts.max_left)} \u00d7 {amount(facts.max_right)}"
        alone = f"{amount(facts.dangling_left)}, {amount(facts.dangling_right)}"
        rows.append((edge_condition(tree, edge), kind(tree, edge), most, alone, amount(facts.null_keys)))
    return table(("joined on", "kind", "most per key", "without partner", "NULL keys"), rows, words=2, caption="Edges")


WIDTH, INDENT, MARGIN = 440.0, 24.0, 1.5
LINE, PADDING, EDGE = 15.0, 9.0, 42.0
LETTER = 7.0  # the width of a wide letter. Lines that do not fit are cut; the tables have the full text.


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
        f"{size}. Relations that are joined on unique keys form a bag; there are {len(tree.bags)}. "
        "Between two bags (thick line) every row of one meets every row of the other with the same key."
    )


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
    """Up to three lines for a relation: its names, its rows, and its features."""
    at = box.y + PADDING + 9
    for alias in found.tree.nodes[box.node]:
        facts = next(r for r in found.relations if r.alias == alias)
        for line in (_names(facts, box), _rows(facts, box), _columns(found, alias, box)):
            if line:
                yield el("text", line, x=box.x + 10, y=at)
                at += LINE


def _names(facts: RelationFacts, box: _Box) -> list[object]:
    table = "" if facts.table == facts.alias else f"  {facts.table}"
    room = _room(box) - 8  # for the number of the bag
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
    bag, right = bag_number(found.tree, box.node), WIDTH - MARGIN
    mark = el("text", f"bag {bag}", x=right - 9, y=box.y + PADDING + 9, class_="end label") if bag else None
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


def _edge(found: Inspection, parent: _Box, child: _Box, edge: Edge) -> Element:
    """The line from the parent to the child, with its condition and the number of rows per key."""
    x, top, end = _stem(found, parent, edge), parent.y + parent.height, child.x
    separates_bags = edge not in found.tree.folds.values()
    route = f"M{x:.1f} {top:.1f}V{child.middle:.1f}H{end:.1f}"
    drawn = [el("path", d=route, class_=c) for c in (("line link", "core") if separates_bags else ("line fold",))]
    ends = [
        _end(x, top, (0.0, 1.0), edge.unique_at(parent.node)),
        _end(end, child.middle, (-1.0, 0.0), edge.unique_at(child.node)),
    ]
    facts = found.edges[found.tree.edges.index(edge)]
    room = int((WIDTH - child.x - 6) / LETTER)
    left, right = node_name(found.tree, edge.left), node_name(found.tree, edge.right)
    per_key = f"on one key at most {amount(facts.max_left)} {left} \u00d7 {amount(facts.max_right)} {right}"
    words = f"{kind(found.tree, edge)}, {edge_condition(found.tree, edge)}", per_key
    text = [
        el("text", _cut(w, room), x=child.x + 4, y=child.y - 20 + 13 * i, class_="label") for i, w in enumerate(words)
    ]
    return el("g", el("title", ": ".join(words)), drawn, ends, text)


def _stem(found: Inspection, parent: _Box, edge: Edge) -> float:
    """The x where the line to a child leaves its parent. Each child has its own place, the last one leftmost."""
    below = [e for _, e in found.tree.down() if e in found.tree.edges_of(parent.node) and e != parent.edge]
    return parent.x + INDENT * (len(below) - below.index(edge)) / (len(below) + 1)


def _end(x: float, y: float, way: tuple[float, float], one: bool) -> Element:
    """A bar across the line, or a fork that opens towards the box. `way` is the line's direction, away from the box."""
    (a, b), size = way, 4.0
    if one:
        x, y = x + 5 * a, y + 5 * b
    left, right = (x - size * b, y - size * a), (x + size * b, y + size * a)
    points = (left, right) if one else (left, (x + 8 * a, y + 8 * b), right)
    return el("path", d=path(points), class_="tick")


def edge_condition(tree: JoinTree, edge: Edge) -> str:
    return condition(tree, edge) if edge.on else "every row with every row"
