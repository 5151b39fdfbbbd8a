"""Console sessions of a page, as their reader types them: what they print is what stands there, up to numbers and up to
lines that differ in numbers alone: a training may need a pass more or less. A line `...` stands for any lines.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.command import environment
from tests.docs.markdown import Block

MARK = "=== done"
LONGEST = 580
SAID_WHERE_SLOW = re.compile(r" \.\.\.$|^about .* to go: |^time          .* s$")


@dataclass(frozen=True)
class Command:
    """A line, or more where a quotation goes on, and what it prints."""

    text: str
    printed: tuple[str, ...]


def commands(block: Block) -> Iterator[Command]:
    text, printed = "", list[str]()
    for line in block.lines:
        if line.startswith("$ ") and not is_open(text):
            if text:
                yield Command(text, tuple(printed))
            text, printed = line.removeprefix("$ "), []
        elif is_open(text):
            text += f"\n{line}"
        else:
            printed.append(line)
    yield Command(text, tuple(printed))


def is_open(text: str) -> bool:
    """Does a quotation or a backslash say that the command goes on?"""
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return text.endswith("\\")


# -- up to numbers


def plain(line: str) -> str:
    """Numbers are 0, and the columns that they widen do not count."""
    line = re.sub(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?", "0", line)
    return " ".join(line.split())


def plain_lines(text: str) -> list[str]:
    """Empty lines and repetitions left out, and what is said only where something takes long: names of steps, the time
    to go, and what took it."""
    lines = [plain(line) for line in text.splitlines() if line.strip() and not SAID_WHERE_SLOW.search(line)]
    return [line for n, line in enumerate(lines) if n == 0 or line != lines[n - 1]]


def says(got: str, wanted: str) -> bool:
    return are(plain_lines(got), plain_lines(wanted))


def are(got: Sequence[str], wanted: Sequence[str]) -> bool:
    pattern = "".join(r"(.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in wanted)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in got)) is not None


# -- in one shell


def played(folder: Path, wanted: list[Command]) -> Iterator[tuple[int, str]]:
    """The exit code of each command, and what it printed."""
    script = "".join(f'{command.text}\nprintf "\\n{MARK} %d\\n" $?\n' for command in wanted)
    *answers, rest = re.split(rf"{MARK} (\d+)\n", typed(folder, ["bash", "-c", script]).stdout)
    assert not rest, rest
    return zip(map(int, answers[1::2]), answers[::2], strict=True)


def typed(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run in that folder, with our python and sqlsvm first on the path."""
    programs = folder / ".bin"
    programs.mkdir(exist_ok=True)
    for name, arguments in (("python", "-W error"), ("sqlsvm", "-W error -m sqlsvm")):
        ours = programs / name
        ours.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        ours.chmod(0o755)
    return subprocess.run(
        command,
        cwd=folder,
        env=environment({"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST,
    )
