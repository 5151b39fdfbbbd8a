"""The frame of a page, its sections and its tables."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.resources import files

from sqlsvm.report.markup import Element, Sheet, el, page

GENERATOR = "sqlsvm report"
"""Of all pages: a file that has it may be overwritten."""


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


def figures(facts: Iterable[tuple[str, str]]) -> Element:
    """The figures of the opening."""
    return el("dl", [el("div", el("dt", name), el("dd", fact)) for name, fact in facts], class_="figures")


def percent(part: float) -> str:
    """
    >>> percent(0.0005), percent(0.1234)
    ('0.05 %', '12 %')
    """
    return f"{100 * part:.2g} %"


def section(name: str, title: str, *children: object) -> Element:
    return el("section", el("h2", title, id=name), *children, aria_labelledby=name)


def table(titles: Sequence[str], rows: Iterable[Iterable[str]], *, words: int, caption: str = "") -> Element:
    """The first `words` columns are text, the others are numbers aligned to the right."""

    def kind_of(n: int) -> str | None:
        return "number" if n >= words else None

    head = el("tr", [el("th", title, scope="col", class_=kind_of(n)) for n, title in enumerate(titles)])
    body = [el("tr", [el("td", cell, class_=kind_of(n)) for n, cell in enumerate(row)]) for row in rows]
    found = el("table", el("caption", caption) if caption else None, el("thead", head), el("tbody", body))
    return scrolled(found, caption or ", ".join(titles))


def scrolled(table: Element, name: str) -> Element:
    """A table that scrolls on its own on a narrow screen, also by keyboard."""
    return el("div", table, class_="scroll", role="region", aria_label=name, tabindex=0)
