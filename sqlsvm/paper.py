"""Facts and tables on a terminal. The text is complete without colour."""

from collections.abc import Iterable, Sequence
from io import BytesIO, TextIOWrapper
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from sqlsvm.terminal import in_colour

UNBOUNDED = 100_000


def on_paper(stream: TextIO, *parts: RenderableType) -> str:
    """The text to print on that stream: as wide as a terminal, or as wide as it needs."""
    paper = TextIOWrapper(BytesIO(), encoding=stream.encoding or "utf-8", errors="backslashreplace")
    console = _console(paper, stream)
    for part in parts:
        console.print(part)
    paper.seek(0)
    return "\n".join(line.rstrip() for line in paper.read().splitlines())


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Names in bold, and what is to be said of each."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, fact in pairs:
        table.add_row(name, Text(fact))
    return table


def columns(*titles: str, numbers: Sequence[str] = ()) -> Table:
    """A table without lines; numbers stand behind the rest and to the right."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold")
    for title in numbers:
        table.add_column(title, overflow="fold", justify="right")
    return table


def _console(paper: TextIO, stream: TextIO) -> Console:
    """One that draws on paper what the stream can show."""
    terminal = stream.isatty()
    return Console(
        file=paper,
        force_terminal=terminal,
        color_system="auto" if in_colour(stream) else None,
        width=None if terminal else UNBOUNDED,
        highlight=False,
    )
