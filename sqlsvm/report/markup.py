"""HTML and SVG as values. Everything that is not an element is text, and all text is escaped when it is written, so a
user's name cannot become markup."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

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
