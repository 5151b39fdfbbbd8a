"""An Inspection for people: the join tree with its edges, features, label, bags, and what should make one think.

The text is complete without colour. Names are the user's and may hold anything: they reach the terminal only through
`printable`, and never as rich markup.
"""

import os
import re
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree
from sqlglot import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from sqlsvm.catalog import EdgeFacts
from sqlsvm.inspect import Inspection, RelationFacts, edge_left_join, edge_text
from sqlsvm.join_tree import Edge

UNBOUNDED = 100_000
MANY = 0.2
"""The share of a relation's rows without a partner that is worth a warning."""

_PLAIN = re.compile("[a-z_][a-z0-9_]*")


def draw(found: Inspection, stream: TextIO) -> str:
    """The text to print on that stream: as wide as a terminal, or as wide as it needs."""
    console = _console(stream)
    with console.capture() as captured:
        console.print(_tree(found))
        console.print()
        console.print(_features(found))
        console.print()
        for line in _sentences(found):
            console.print(Text(line))
        for kind, line in _remarks(found):
            console.print(Text.assemble((f"{kind}:", "bold yellow"), " ", line))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _console(stream: TextIO) -> Console:
    terminal = stream.isatty()
    return Console(
        file=stream,
        force_terminal=terminal,
        color_system="auto" if in_colour(stream) else None,
        width=None if terminal else UNBOUNDED,
        highlight=False,
    )


def in_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# -- words and numbers -------------------------------------------------------------------------------------------------


def printable(text: str) -> str:
    r"""With every character that a terminal would act on, or not show, spelled out.

    >>> print(printable("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def amount(n: float) -> str:
    """A count for people.

    >>> amount(1234567), amount(1e9), amount(2.34e15)
    ('1,234,567', '1.0e9', '2.3e15')
    """
    if round(n) < 1e9:
        return f"{n:,.0f}"
    digits, _, exponent = f"{n:.1e}".partition("e")
    return f"{digits}e{int(exponent)}" if exponent else digits


def memory(n: float) -> str:
    """
    >>> memory(1536), memory(2.5e10), memory(3e22)
    ('2 kB', '25 GB', '30,000 EB')
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
    power = 0
    while n >= 999.5 and power < len(units) - 1:
        n, power = n / 1000, power + 1
    return f"{amount(n)} {units[power]}"


def share(part: float, whole: float) -> str:
    """
    >>> share(1, 3), share(1, 10**6), share(999_999, 10**6)
    ('33 %', '< 1 %', '> 99 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "< 1 %"
    return "> 99 %" if 99 < percent < 100 else f"{percent:.0f} %"


def _rows(n: float) -> str:
    return "1 row" if n == 1 else f"{amount(n)} rows"


# -- the tree ----------------------------------------------------------------------------------------------------------


def _tree(found: Inspection) -> Tree:
    """A node a branch, the label's relation at the root; the line below a relation says how it hangs on."""
    branches: dict[int, Tree] = {}
    for node, edge in found.tree.down():
        text = _node(found, node)
        if edge is None:
            branches[node] = Tree(text, guide_style="dim")
        else:
            text.append("\n").append(_edge(found, edge))
            branches[node] = branches[edge.other(node)].add(text)
    return branches[found.tree.root]


def _node(found: Inspection, node: int) -> Text:
    aliases = found.tree.nodes[node]
    bag = next(i for i, bag in enumerate(found.tree.bags, 1) if node in bag)
    mark = f"  [bag {bag}]" if len(found.tree.bags) > 1 else ""
    relations = [_relation(r) for alias in aliases for r in found.relations if r.alias == alias]
    if len(relations) == 1:
        return relations[0].append(mark)
    head = Text(_name(found, node), "bold").append(f"  joined up front{mark}", "not bold")
    return Text("\n  ").join([head, *relations])


def _relation(facts: RelationFacts) -> Text:
    text = Text().append(printable(facts.alias), "bold")
    if facts.table != facts.alias:
        text.append(f" {printable(facts.table)}" if facts.table == "(sub-query)" else f" ({printable(facts.table)})")
    text.append(f"  {_rows(facts.rows)}")
    if facts.rows_surviving != facts.rows:
        text.append(f" -> {amount(facts.rows_surviving)} in the join")
    return text


def _edge(found: Inspection, edge: Edge) -> Text:
    facts = found.edges[found.tree.edges.index(edge)]
    left, right = _name(found, edge.left), _name(found, edge.right)
    if not edge.on:
        return Text("  cross product", "cyan").append(f": every row of {left} with every row of {right}", "not cyan")
    kind = "left join" if edge_left_join(found.tree, edge) else edge.kind.replace("foreign-key", "foreign key")
    said = [f"max per key: {amount(facts.max_left)} {left}, {amount(facts.max_right)} {right}"]
    alone = ((facts.dangling_left, left), (facts.dangling_right, right))
    if dangling := [f"{amount(n)} {name}" for n, name in alone if n]:
        said.append(f"no partner: {', '.join(dangling)}")
    if facts.null_keys:
        said.append(f"NULL keys: {amount(facts.null_keys)}")
    text = Text("  ").append(f"{kind} ", "cyan").append(f"on {_condition(found, edge)}")
    return text.append("\n  ").append("; ".join(said))


def _condition(found: Inspection, edge: Edge) -> str:
    """The equalities of an edge, without the quotes that their names do not need."""
    text = edge_text(found.tree, edge)
    tokenize = Dialect.get_or_raise(found.tree.query.dialect).tokenize
    for token in reversed(tokenize(text)):
        bare = token.text
        if token.token_type is TokenType.IDENTIFIER and _PLAIN.fullmatch(bare) and _is_name(tokenize(bare)):
            text = text[: token.start] + bare + text[token.end + 1 :]
    return printable(text)


def _is_name(tokens: list[Token]) -> bool:
    return [token.token_type for token in tokens] == [TokenType.VAR]


def _name(found: Inspection, node: int) -> str:
    return printable(found.tree.name(node))


# -- features, label, size ---------------------------------------------------------------------------------------------


def _features(found: Inspection) -> Table:
    """Feature by feature, in the order of the query's relations."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold")
    for title in ("relation", "feature", "kind", "NULLs"):
        table.add_column(title, overflow="fold", justify="right" if title == "NULLs" else "left")
    for relation in found.relations:
        first = printable(relation.alias)
        for f in found.features:
            if f.relation == relation.alias:
                table.add_row(Text(first), Text(printable(f.name)), f.kind, amount(f.nulls) if f.nulls else "")
                first = ""
    return table


def _sentences(found: Inspection) -> Iterator[str]:
    if label := found.label:
        known = label.positive + label.negative
        of = f"label {printable(label.column)} of {printable(label.relation)}"
        nulls = f", {amount(label.nulls)} NULL" if label.nulls else ""
        yield (
            of
            + ": "
            + ", ".join(
                f"{amount(n)} rows {sign} ({share(n, known)})" if known else f"0 rows {sign}"
                for n, sign in ((label.positive, "+1"), (label.negative, "-1"))
            )
            + nulls
        )
    if len(found.tree.bags) == 1:
        yield f"one bag: a row of the join is a row of {_name(found, found.tree.core(found.tree.root))}"
    else:
        bags = (" ".join(_name(found, node) for node in bag) for bag in found.tree.bags)
        yield f"{len(found.tree.bags)} bags: " + ", ".join(f"{i} ({bag})" for i, bag in enumerate(bags, 1))
    width = len(found.features) + (found.label is not None)
    size = memory(8 * width * found.join_rows)
    yield f"The join would have {_rows(found.join_rows)} (about {size}); its tables have {_rows(_stored(found))}."


def _stored(found: Inspection) -> float:
    """Rows of the tables; one that is joined to itself counts once."""
    tables = {r.alias if r.table == "(sub-query)" else r.table: r.rows for r in found.relations}
    return sum(tables.values())


# -- remarks -----------------------------------------------------------------------------------------------------------


def _remarks(found: Inspection) -> Iterator[tuple[str, str]]:
    tree = found.tree
    for block in tree.nodes:
        if len(block) > 1:
            yield "note", f"the query is cyclic: {printable(', '.join(block))} are joined up front"
    if not found.join_rows:
        yield from (("warning", f"the join is empty: {reason}") for reason in _reasons_of_emptiness(found))
        return
    if found.label:
        yield from (("warning", line) for line in _label_remarks(found))
    for edge, facts in zip(tree.edges, found.edges, strict=True):
        if not edge_left_join(tree, edge):
            yield from (("warning", line) for line in _dangling_remarks(found, edge, facts))


def _label_remarks(found: Inspection) -> Iterator[str]:
    label = found.label
    assert label
    for n, sign in ((label.positive, "+1"), (label.negative, "-1")):
        if not n:
            yield f"no row of the join has the label {sign}: there is nothing to tell apart"
    if label.nulls:
        yield f"the label is NULL in {_rows(label.nulls)} of the join"


def _dangling_remarks(found: Inspection, edge: Edge, facts: EdgeFacts) -> Iterator[str]:
    """Rows of a single relation that are lost at an edge. The rows of several joined up front are not in a table."""
    sides = (edge.left, edge.right, facts.dangling_left), (edge.right, edge.left, facts.dangling_right)
    for node, other, alone in sides:
        rows = _own_rows(found, node)
        if rows and alone >= MANY * rows:
            said = f"{amount(alone)} of {_rows(rows)} of {_name(found, node)} ({share(alone, rows)})"
            yield f"{said} have no partner in {_name(found, other)} and drop out"


def _own_rows(found: Inspection, node: int) -> float | None:
    """All rows of a node of one relation."""
    aliases = found.tree.nodes[node]
    return next(r.rows for r in found.relations if r.alias == aliases[0]) if len(aliases) == 1 else None


def _reasons_of_emptiness(found: Inspection) -> Iterator[str]:
    """Which relation has no row, or else which pair has no key in common, as far as the facts tell."""
    optional = {j.relation for j in found.tree.query.left_joins}
    empty = [r.alias for r in found.relations if not r.rows and r.alias not in optional]
    filtered = [] if empty else [alias for alias in _filtered_away(found) if alias not in optional]
    apart = [] if empty or filtered else list(_never_meeting(found))
    yield from (f"{printable(alias)} has no rows" for alias in empty)
    yield from (f"no row of {printable(alias)} passes the conditions on it" for alias in filtered)
    yield from (f"no row of {_name(found, e.left)} has a partner in {_name(found, e.right)}" for e in apart)
    if not empty and not filtered and not apart:
        yield "no row has a partner in all the other relations"


def _filtered_away(found: Inspection) -> Iterator[str]:
    """Relations that bring no row at all: nothing of them meets, hangs loose or has a NULL key."""
    if len(found.relations) == 1:
        yield found.relations[0].alias
    nodes = {
        node
        for edge, facts in zip(found.tree.edges, found.edges, strict=True)
        for node, largest in ((edge.left, facts.max_left), (edge.right, facts.max_right))
        if not largest and not facts.null_keys and len(found.tree.nodes[node]) == 1
    }
    yield from (found.tree.nodes[node][0] for node in sorted(nodes))


def _never_meeting(found: Inspection) -> Iterator[Edge]:
    """Edges at which every row is left alone; told only where no condition hides how many rows come to the edge."""
    for edge, facts in zip(found.tree.edges, found.edges, strict=True):
        if not edge.on or edge_left_join(found.tree, edge):
            continue
        left, right = (_unfiltered(found, node) for node in (edge.left, edge.right))
        if left is not None and right is not None:
            alone = facts.dangling_left + facts.dangling_right + facts.null_keys == left + right
        else:
            alone = not facts.null_keys and (facts.dangling_left == left or facts.dangling_right == right)
        if alone:
            yield edge


def _unfiltered(found: Inspection, node: int) -> float | None:
    """The rows of a node that brings all the rows of one relation to the join."""
    relation = found.tree.query.relation(found.tree.nodes[node][0])
    return None if relation.filters or relation.late_filters else _own_rows(found, node)
