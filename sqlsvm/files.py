"""Files that are written completely or not at all. Devices and pipes are written directly.

Another user may be able to write to the same folder. So a file has a name that cannot be guessed until it is complete,
only its owner can read it until then, and nothing is written to a place that another user has chosen with a link.
"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TextIO

_MOST_LINKS = 40  # as in Linux


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A new file in the folder of `path`. At the end it replaces `path`; after an error it is removed. So no reader
    ever sees a part of the content. A device or a pipe cannot be replaced: it is written itself."""
    target = _behind_links(path)
    if is_stream(target) and not (target.is_fifo() and _is_foreign(target.lstat())):
        with open(target, "w", encoding="utf-8", newline="") as out:
            yield out
        return
    temporary = target.parent / f".sqlsvm-{token_hex(16)}"
    try:
        with open(temporary, "x", encoding="utf-8", newline="", opener=_private) as out:
            yield out
            _take_over(out.fileno(), target)
        temporary.replace(target)
    except OSError as error:
        if error.filename != str(temporary):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error  # the user has never seen the other name
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def text_left_in(path: Path) -> str:
    """The text of a file that an earlier command left under a name that others can guess. A link, and a file that
    neither this user nor the owner of the folder owns, is refused: its content would be the choice of another user."""
    with open(path, encoding="utf-8", opener=_not_through_a_link) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(f"{path} is not a regular file")
        if _is_foreign(found) and found.st_uid != path.parent.stat().st_uid:
            raise PermissionError(f"user {found.st_uid} owns {path}: remove it, or copy it if you trust this user")
        return file.read()


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


def _behind_links(path: Path) -> Path:
    """The file that a link of this user or of root points to. A link of another user is itself replaced."""
    for _ in range(_MOST_LINKS):
        if not path.is_symlink() or _is_foreign(path.lstat()):
            break
        target = path.parent / path.readlink()
        if path.exists() and not os.path.lexists(target):
            break  # /proc/self/fd/1 is a link to a pipe, which has no name
        path = target
    return path


def _is_foreign(found: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and found.st_uid not in (os.geteuid(), 0)


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _not_through_a_link(name: str, flags: int) -> int:
    """Without waiting for the writer of a pipe."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _take_over(new: int, target: Path) -> None:
    """Mode and, where we may, the owner of the file that is replaced. A file that neither this user nor the owner of
    the folder owns is not a model for rights: the new one then has no right that a file of this user would not have."""
    if not hasattr(os, "fchown"):
        return
    usual = 0o666 & ~_umask()
    try:
        old = target.lstat()
    except FileNotFoundError:
        old = None
    if old is None or not stat.S_ISREG(old.st_mode):
        os.fchmod(new, usual)
        return
    if old.st_uid in (os.geteuid(), target.parent.stat().st_uid):
        with suppress(OSError):
            os.fchown(new, old.st_uid if os.geteuid() == 0 else -1, old.st_gid)
        if os.fstat(new).st_gid == old.st_gid:
            usual = 0o777
    os.fchmod(new, old.st_mode & usual)


def _umask() -> int:
    """It can only be read by setting it. Files that another thread makes meanwhile are private."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
