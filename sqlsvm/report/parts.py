"""The frame of a page, its sections and its tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib.resources import files

from sqlsvm.terminal import printable

Node = "Element | str | int | float | Iterable[Node] | None"

_VOID = {"meta", "link", "br", "img"}


@dataclass(frozen=True)
class Element:
    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[object, ...]

    def __str__(self) -> str:
        return "".join(_written(self))


@dataclass(frozen=True)
class Sheet:
    """Our style sheet, the only text that is not escaped."""

    css: str


def el(tag: str, *children: object, **attributes: object) -> Element:
    """An element. A child that is None is left out, a sequence stands for its items, anything else is text.

    >>> print(el("p", "a < b", el("b", "<i>"), class_="note", data_n=3))
    <p class="note" data-n="3">a &lt; b<b>&lt;i&gt;</b></p>
    """
    given = {name.strip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    return Element(tag, tuple((name, _text(value)) for name, value in given.items()), children)


def page(*children: object) -> str:
    return f"<!doctype html>\n{el('html', *children, lang='en')}\n"


def _written(node: object) -> Iterator[str]:
    if isinstance(node, Element):
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes)
        yield f"<{node.tag}{attributes}>"
        for child in node.children:
            yield from _written(child)
        if node.tag not in _VOID:
            yield f"</{node.tag}>"
    elif isinstance(node, Sheet):
        yield node.css
    elif isinstance(node, str | int | float):
        yield escape(_text(node), quote=False)
    elif isinstance(node, Iterable):
        for child in node:
            yield from _written(child)
    elif node is not None:
        yield escape(_text(node), quote=False)


def _text(value: object) -> str:
    """The value as text: escapes in place of invisible characters, coordinates with at most two decimals."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return "\n".join(printable(line) for line in str(value).expandtabs().split("\n"))


GENERATOR = "sqlsvm report"  # of all pages: a file that has it may be overwritten


def document(title: str, made: datetime, *children: object) -> str:
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="generator", content=GENERATOR),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Sheet(files("sqlsvm.report").joinpath("report.css").read_text(encoding="utf-8"))),
    )
    footer = el("footer", el("p", f"Made by sqlsvm on {made:%Y-%m-%d at %H:%M}. This file needs no other file."))
    return page(head, el("body", _fillings(), el("main", *children), footer))


def _fillings() -> Element:
    """The hatching of the second class, for all charts of the page."""
    line = el("path", d="M0 0V6", class_="hatch")
    pattern = el(
        "pattern", line, id="hatched", width=5, height=6, patternUnits="userSpaceOnUse", patternTransform="rotate(45)"
    )
    return el("svg", el("defs", pattern), width=0, height=0, aria_hidden="true", class_="defs")


def opening(kicker: str, title: str, claim: object, facts: Iterable[tuple[str, str]]) -> Element:
    figures = el("dl", [el("div", el("dt", name), el("dd", fact)) for name, fact in facts], class_="figures")
    said = el("p", claim, class_="claim") if claim else None
    return el("header", el("p", kicker, class_="kicker"), el("h1", title), said, figures)


def percent(part: float) -> str:
    """
    >>> percent(0.0005), percent(0.1234)
    ('0.05 %', '12 %')
    """
    return f"{100 * part:.2g} %"


def section(name: str, title: str, *children: object) -> Element:
    return el("section", el("h2", title, id=name), *children, aria_labelledby=name)


def table(
    titles: Sequence[str], rows: Iterable[Iterable[object]], words: int = 1, caption: str = "", **more: object
) -> Element:
    """The first `words` columns are text, the others are numbers aligned to the right."""

    def kind_of(n: int) -> str | None:
        return "number" if n >= words else None

    head = el("tr", [el("th", title, scope="col", class_=kind_of(n)) for n, title in enumerate(titles)])
    body = [el("tr", [el("td", cell, class_=kind_of(n)) for n, cell in enumerate(row)]) for row in rows]
    found = el("table", el("caption", caption) if caption else None, el("thead", head), el("tbody", body), **more)
    return scrolled(found, caption or ", ".join(titles))


def scrolled(table: Element, name: str) -> Element:
    """A table that scrolls on its own on a narrow screen, also by keyboard."""
    return el("div", table, class_="scroll", role="region", aria_label=name, tabindex=0)
