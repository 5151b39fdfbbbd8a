"""How results print: `print` shows the text of the command line, and a cell of a notebook the same in HTML, in the
colours of the notebook."""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import import_module
from io import StringIO
from typing import Any

from rich.cells import cell_len, set_cell_size

from sqlsvm.ask.describe import Description
from sqlsvm.ask.explain import Explanation
from sqlsvm.ask.inspect import Inspection
from sqlsvm.model.confusion import ByGroup, Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.report.parts import Element, Sheet, el
from sqlsvm.run.components import Components
from sqlsvm.suggestion.suggest import Suggestion

_STYLE = (
    "font: 0.9em/1.3 monospace; white-space: pre; overflow-x: auto; text-align: left; color: inherit; background: none"
)


def text(found: object) -> str:
    module, _, name = _DRAWN[type(found)].partition(".")
    return str(getattr(import_module(f"sqlsvm.show.{module}"), name)(found, StringIO()))


def html(found: object) -> str:
    return preformatted(text(found))


_TREE = Sheet("""
.sqlsvm-tree text { fill: currentColor; font: 11.5px sans-serif } .sqlsvm-tree .strong { font-weight: 600 }
.sqlsvm-tree path, .sqlsvm-tree .box { fill: none; stroke: currentColor } .sqlsvm-tree .box { stroke-width: 0.75 }
.sqlsvm-tree .line.link { stroke-width: 3 } .sqlsvm-tree .core { stroke: none }
.sqlsvm-tree .end { text-anchor: end } .sqlsvm-tree figure { margin: 0 }
""")


def _inspected(found: Inspection) -> str:
    """The join tree as a picture, and below it all that the command line says."""
    from sqlsvm.report.tree import draw_tree

    picture = el("div", draw_tree(found), class_="sqlsvm-tree", style="max-width: 27.5rem")
    return block(el("style", _TREE), picture, fold("rows, keys and partners", code(text(found))))


def _suggested(found: Suggestion) -> str:
    questions = fold("questions", list(map(paragraph, found.questions))) if found.questions else None
    return block(heading(f"A query for {found.label}"), code(found.query), questions)


def preformatted(said: str) -> str:
    return f'<pre style="{_STYLE}">{escape(said)}</pre>'


# -- elements: they take the colours of the notebook, light or dark ----------------------------------------------------


def block(*children: object) -> str:
    return str(el("div", *children, style="color: inherit; background: none; overflow-x: auto"))


def heading(said: str) -> Element:
    return el("strong", said)


def paragraph(said: str) -> Element:
    return el("p", said, style="margin: 0.4em 0")


def table(titles: Sequence[str], *rows: Sequence[str]) -> Element:
    """Numbers stand to the right."""

    def row(tag: str, cells: Sequence[str]) -> Element:
        return el("tr", [el(tag, cell, style=f"{_CELL}; text-align: {_side(cell)}") for cell in cells], style=_PLAIN)

    return el("table", el("thead", row("th", titles)), el("tbody", [row("td", each) for each in rows]), style=_PLAIN)


def _side(cell: str) -> str:
    return "right" if re.fullmatch(r"[-+]?[\d.,]+(e[-+]\d+)?", cell) else "left"


_PLAIN = "color: inherit; background: none; border-collapse: collapse; margin: 0"
_CELL = "color: inherit; background: none; padding: 0.1em 0.8em 0.1em 0; vertical-align: top; white-space: pre-wrap"


def fold(title: str, *children: object) -> Element:
    return el("details", el("summary", title, style="cursor: pointer"), *children)


def code(said: str) -> Element:
    return el("pre", said, style=_STYLE)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns below each other, for a terminal."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    texts = ("  ".join(set_cell_size(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(texts)


_DRAWN: Mapping[type, str] = {
    Model: "training.draw_result",
    **dict.fromkeys((Evaluation, Residuals, Confusion, ByGroup), "evaluation.draw_evaluation"),
    Inspection: "inspection.draw",
    Description: "description.draw",
    Components: "description.draw_components",
    Explanation: "plan.draw_plan",
}
"""The functions of show/ that draw them."""
_PAGES: Mapping[type, Callable[[Any], str]] = {Inspection: _inspected}

for _kind in _DRAWN:  # their layers do not know how they are shown
    for _name, _method in {"__str__": text, "_repr_html_": _PAGES.get(_kind, html)}.items():
        setattr(_kind, _name, _method)
    setattr(_kind, "_repr_pretty_", lambda found, printer, cycle: printer.text(text(found)))  # noqa: B010
setattr(Suggestion, "_repr_html_", _suggested)  # noqa: B010 - it prints as its query
