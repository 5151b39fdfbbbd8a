"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside the one that is meant, to write to. It takes its place at the end, or goes if anything fails: a
    reader, or an interrupt, never meets half of it."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
