"""Files that are written whole or not at all; but what is no file is written as it comes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside the one that is meant, to write to. It takes its place at the end, or goes if anything fails: a
    reader, or an interrupt, never meets half of it. A device or a pipe is written to itself: in its place would stand
    a file that nobody reads."""
    if is_stream(path):
        yield path
        return
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether this is a device or a pipe, as /dev/null and the /dev/fd/63 of a shell's >(...) are: nothing is kept in
    it that could be replaced."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def is_stdout(name: str) -> bool:
    """- or any other name of it, as /dev/stdout: a verb that writes to it has nothing more to say there."""
    if name == "-":
        return True
    try:
        return os.path.samestat(os.stat(name), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False
