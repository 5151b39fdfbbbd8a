"""The little of Markdown that our documents use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    first: int
    """The line of the document, from 0, of its first line."""
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def documents() -> list[Path]:
    """What is written for readers; the change log also tells of what is gone, and what a build leaves is not ours."""
    folders = (folder for folder in ROOT.glob("[a-z]*/") if folder.name not in ("build", "dist"))
    found = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*.md"))]
    return sorted(path for path in found if path.name != "CHANGELOG.md")


def blocks(text: str, language: str | None = None) -> Iterator[Block]:
    first, opened = 0, None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.lstrip().startswith("```"):
            continue
        if opened is None:
            first, opened = number + 1, line.strip().removeprefix("```")
            continue
        if language in (None, opened):
            yield Block(opened, first, tuple(lines[first:number]))
        opened = None
    assert opened is None, f"the block that starts in line {first} has no end"


def section(text: str, heading: str) -> str:
    """From a heading to the next of its kind."""
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def prose(text: str) -> str:
    """What stands outside of blocks, its line numbers kept."""
    lines = text.splitlines()
    for block in blocks(text):
        for number in range(block.first - 1, block.first + len(block.lines) + 1):
            lines[number] = ""
    return "\n".join(lines)


def spans(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(text))


def links(text: str) -> list[str]:
    """Targets of links and pictures."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", prose(text)))


def anchors(text: str) -> set[str]:
    """What a heading can be addressed by, as GitHub spells it."""
    headings = re.findall(r"^#+ +(.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
