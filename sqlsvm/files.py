"""Files that are written completely or not at all. Devices and pipes are written directly."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file in the folder of `path`. At the end it replaces `path`; after an error it is removed. So no
    reader ever sees a part of the content. A device or a pipe cannot be replaced: it is yielded itself."""
    if is_stream(path):
        yield path
        return
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether this is a device or a pipe, like /dev/null or the /dev/fd/63 of a shell's >(...)."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def is_stdout(name: str) -> bool:
    """Whether a name means standard output: - or, for example, /dev/stdout. Then nothing else may be printed there."""
    if name == "-":
        return True
    try:
        return os.path.samestat(os.stat(name), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False
