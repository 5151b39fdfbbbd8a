"""Private folders for temporary files, which go with the process that made them.

The name of a folder says which process that is, so that the next one can remove what a killed one has left:
sqlsvm-PID-START-PLACE-RANDOM. A folder of another user, of another machine or container, or of a process that may still
run, is left alone, and so is a link.
"""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from weakref import finalize

_NAME = re.compile(r"sqlsvm-(\d+)-(\d+)-([0-9a-f]{12})-.+")


def private_folder(root: str | None = None, *, of: object = None) -> tuple[str, Callable[[], object]]:
    """A new folder that only this user can read, and what removes it: at the latest when the object or the process
    ends. Folders of dead processes next to it are removed first."""
    root = root or tempfile.gettempdir()
    place, start = _place(), _start(os.getpid())
    if not place or start is None:
        folder = tempfile.mkdtemp(prefix="sqlsvm-", dir=root)
    else:
        _remove_dead(root, place)
        folder = tempfile.mkdtemp(prefix=f"sqlsvm-{os.getpid()}-{start}-{place}-", dir=root)
    return folder, finalize(of or _removed, shutil.rmtree, folder, ignore_errors=True)


def _removed() -> None:
    """Lasts as long as the process."""


def _remove_dead(root: str, place: str) -> None:
    with suppress(OSError), os.scandir(root) as found:
        for entry in found:
            name = _NAME.fullmatch(entry.name)
            if name and name[3] == place and _is_mine(entry) and _start(int(name[1])) != int(name[2]):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_mine(entry: os.DirEntry[str]) -> bool:
    found = entry.stat(follow_symlinks=False)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _start(pid: int) -> int | None:
    """When the process began, in ticks since the machine did; None if there is none. Its name may have spaces."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    return None


def _place() -> str:
    """Where a number means this process: this start of this machine, and this container. Empty if the system does not
    say."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:12]
    return ""
