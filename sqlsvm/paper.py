"""Facts and tables on a terminal. No information is in the colours alone."""

from collections.abc import Iterable, Sequence
from io import BytesIO, TextIOWrapper
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from sqlsvm.terminal import in_colour, printable

UNBOUNDED = 100_000


def on_paper(stream: TextIO, *parts: RenderableType) -> str:
    """The text to print on the stream: as wide as the terminal, or as wide as the text needs if it is not one."""
    paper = TextIOWrapper(BytesIO(), encoding=stream.encoding or "utf-8", errors="backslashreplace")
    terminal = stream.isatty()
    console = Console(
        file=paper,
        force_terminal=terminal,
        force_jupyter=False,  # it would display in the cell, and write nothing
        color_system="auto" if in_colour(stream) else None,
        width=None if terminal else UNBOUNDED,
        highlight=False,
        emoji=False,
    )
    for part in parts:
        console.print(part)
    paper.seek(0)
    return "\n".join(line.rstrip() for line in paper.read().splitlines())


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """A table of two columns: names in bold, and the fact about each."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, fact in pairs:
        table.add_row(name, Text(fact))
    return table


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str | Text]], words: int = 1, more: Sequence[str] = ()
) -> Table:
    """A table without lines. The first `words` columns and those behind the numbers are text, the others numbers."""
    drawn = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold")
    for place, title in enumerate((*titles, *more)):
        is_number = words <= place < len(titles)
        drawn.add_column(Text(printable(title)), overflow="fold", justify="right" if is_number else "left")
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return drawn
