"""Sections and tables of the page."""

from collections.abc import Iterable, Sequence

from sqlsvm.report.markup import Element, el


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
