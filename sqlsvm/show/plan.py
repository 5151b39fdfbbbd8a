"""An Explanation as text: what is done at each node of the tree, the way of counting, the statements; and counts."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from types import NoneType
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from sqlsvm.ask.explain import Explanation, LinkFacts
from sqlsvm.ask.remarks import node_name
from sqlsvm.lab.ask.counting import Count, Threshold
from sqlsvm.paper import on_paper, table
from sqlsvm.plan.join_tree import Edge
from sqlsvm.show.inspection import bags, bridge, condition, drawn, made_of
from sqlsvm.terminal import amount, duration, printable, row_count, share


def draw_plan(found: Explanation, stream: TextIO) -> str:
    tree = drawn(found.plan.tree, lambda node: _node(found, node), lambda edge: _edge(found, edge))
    return on_paper(stream, tree, "", *map(Text, _sentences(found)), "", _statements(found))


def _node(found: Explanation, node: int) -> Text:
    facts = found.nodes[node]
    text = Text().append(node_name(found.plan.tree, node), "bold")
    about = "about " if len(facts.relations) > 1 else ""
    text.append(f"  {about}{row_count(facts.rows)}")
    if len(found.plan.bags) > 1:
        text.append(f"  [bag {facts.bag + 1}]")
    read = f"copied: {facts.copied}" if facts.copied else "read in place"
    return text.append(f"  {read}{', equal rows merged' if facts.merged else ''}")


def _edge(found: Explanation, edge: Edge) -> Text:
    tree = found.plan.tree
    link = next((facts for facts in found.links if facts.link.edge == edge), None)
    on = condition(tree, edge) if edge.on else "no condition: a cross product"
    if tree.is_bridge(edge):
        on = bridge(tree, edge, lambda node: found.nodes[node].rows)
    if link is not None:
        return _link(found, link, on)
    child = next(node for node in (edge.left, edge.right) if tree.folds.get(node) == edge)
    text = Text("  ").append("folds ", "cyan")
    by = ", scores by place in an array" if child in found.plan.placed else ""
    return text.append(f"{node_name(tree, child)} into {node_name(tree, edge.other(child))} on {on}{by}")


def _link(found: Explanation, facts: LinkFacts, on: str) -> Text:
    is_centre = facts.link == found.plan.centre
    text = Text("  ").append("centre " if is_centre else "messages ", "cyan").append(f"on {on}")
    keys = "1 key" if facts.keys == 1 else f"{amount(facts.keys)} keys"
    text.append(f"\n  {keys}; half-joins of about {row_count(facts.half_join_rows)}")
    return text.append(f"\n  {_heaviest(found, facts)}") if facts.heaviest else text


def _heaviest(found: Explanation, facts: LinkFacts) -> str:
    tree, edge, heaviest = found.plan.tree, facts.link.edge, facts.heaviest
    assert heaviest
    key = printable(", ".join(str(part) for part in heaviest.key))
    left, right = (node_name(tree, node) for node in (edge.left, edge.right))
    sizes = f"{amount(heaviest.left)} {left} with {amount(heaviest.right)} {right}"
    return f"heaviest key {key}: {sizes}, {share(heaviest.share, 1.0)} of the pairs"


def _sentences(found: Explanation) -> Iterator[str]:
    if not found.plan.design.target.signed:
        yield f"label: {printable(found.plan.design.target.label.name)}, a number, with the loss {found.loss}"
    yield bags(found.plan.tree)
    yield from made_of(found.plan.tree)
    finely = f", {found.buckets} buckets a unit" if found.plan.method == "grid" else ""
    yield f"counting: {found.plan.method}{finely}; {found.why}"
    if found.analyzed:
        yield f"a pass took {found.seconds('pass'):.3f} s"
    if of := found.outlook:
        passes = f"{of.least} to {of.most} passes" if of.most > of.least else "1 pass"
        yield f"a training would take about {duration(of.seconds)}: {passes}, and {duration(of.before)} before them"


def _statements(found: Explanation) -> Table:
    measured = ("rows", "seconds") if found.analyzed else ()
    rows, phase = [], None
    for s in found.statements:
        first = s.phase if s.phase != phase else ""
        expected = "" if s.estimated_rows is None else amount(s.estimated_rows)
        taken = [amount(s.rows or 0.0), f"{s.seconds or 0.0:.3f}"] if found.analyzed else []
        rows.append((first, s.name, s.statement.table or "", expected, *taken))
        phase = s.phase
    return table(("phase", "statement", "table", "estimated", *measured), rows, words=3)


def draw_counts(found: Sequence[Count], stream: TextIO) -> str:
    rows, last = [], None
    places = {name: place for place, name in enumerate(dict.fromkeys(c.feature for c in found))}
    for c in sorted(found, key=lambda c: (places[c.feature], _order(c.value), c.label)):
        rows.append((c.feature if c.feature != last else "", _value(c.value), f"{c.label:+d}", amount(c.count)))
        last = c.feature
    return on_paper(stream, table(("feature", "value", "label", "count"), rows, words=2))


def draw_thresholds(found: Sequence[Threshold], stream: TextIO) -> str:
    rows = [(f"{t.label:+d}", str(t.k), amount(t.count), f"{t.threshold:.6g}") for t in found]
    return on_paper(stream, table(("label", "k", "count", "threshold"), rows, words=0))


def as_json(found: Sequence[Count] | Sequence[Threshold]) -> list[dict[str, Any]]:
    """Values that JSON does not have (a date, an exact decimal) become text."""
    plain = (bool, int, float, str, NoneType)
    return [{n: v if isinstance(v, plain) else str(v) for n, v in asdict(answer).items()} for answer in found]


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _order(value: object) -> tuple[int, float, str]:
    """Numbers by size, then other values by name, then NULL."""
    if value is None:
        return 2, 0.0, ""
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))
