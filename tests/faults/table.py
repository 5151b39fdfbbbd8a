"""The faults: what is done to a training, how it may end, and whether its passes are kept."""

import re
import resource
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg

from tests.faults.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.faults.struck import Ended, Running

FILLER = "full"
LOST = r"error: the connection to \S+ was lost\n"
INTERRUPTED = r"interrupted\n"
OUT_OF_MEMORY = r"error: .*([Mm]emory)"


@dataclass(frozen=True)
class Ground:
    """What a fault can reach besides the process."""

    server: Cluster | None = None
    proxy: Proxy | None = None
    disk: str | None = None
    clock: str | None = None


@dataclass(frozen=True)
class Fault:
    name: str
    strike: Callable[[Running, Ground], None]
    ends: Mapping[int, str]
    """The documented exit codes, with what stderr then says. A fault that comes too late may always end with 0."""
    keeps: bool = False
    """Are the passes kept, once there are any?"""
    undo: Mapping[str, str | None] = field(default_factory=dict)
    """Settings that the fault has changed."""
    options: str = ""
    """Settings of the session, where a fault is there from its beginning; with the milliseconds until its moment."""

    def allows(self, ended: Ended) -> bool:
        said = self.ends.get(ended.code, "" if ended.code == 0 else None)
        return said is not None and re.search(said, ended.err) is not None


def killed(running: Running, _ground: Ground) -> None:
    running.process.kill()


def signalled(*signals: signal.Signals) -> Callable[[Running, Ground], None]:
    def strike(running: Running, _ground: Ground) -> None:
        for number in signals:
            running.process.send_signal(number)
            time.sleep(0.02)

    return strike


def terminated(_running: Running, ground: Ground) -> None:
    assert ground.server
    ground.server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sqlsvm'")


def trainings_terminated(_running: Running, ground: Ground) -> None:
    assert ground.server
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    ground.server.ask(f"SELECT pg_terminate_backend(pid) {others} AND query LIKE 'SELECT % FROM sqlsvm.train%'")


def unchanged(_running: Running, _ground: Ground) -> None:
    """It is there already."""


def server_killed(_running: Running, ground: Ground) -> None:
    assert ground.server
    ground.server.kill()
    ground.server.start()


def configured(**settings: str) -> Callable[[Running, Ground], None]:
    def strike(_running: Running, ground: Ground) -> None:
        assert ground.server
        ground.server.configure(settings)
        time.sleep(0.05)  # sessions see it before their next statement

    return strike


def left_waiting(running: Running, ground: Ground) -> None:
    """The client does nothing for longer than a transaction may be idle."""
    configured(idle_in_transaction_session_timeout="1ms")(running, ground)
    if running.moment.after is None:
        time.sleep(0.1)


def locked(running: Running, ground: Ground) -> None:
    """Another session changes the first table, or that of the models, that it can lock, and takes its time."""
    assert ground.server
    configured(lock_timeout="20ms")(running, ground)
    with psycopg.connect(ground.server.dsn) as holder:
        holder.execute("SELECT 1")
        for table in ("m", "sqlsvm.versions"):
            with suppress(psycopg.errors.LockNotAvailable), holder.transaction():
                holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE NOWAIT".encode())
        running.end()


def filled(_running: Running, ground: Ground) -> None:
    assert ground.disk
    with suppress(OSError), open(f"{ground.disk}/{FILLER}", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))


def starved(running: Running, _ground: Ground) -> None:
    """From now on the process gets no more memory."""
    with suppress(ProcessLookupError), open(f"/proc/{running.process.pid}/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
        resource.prlimit(running.process.pid, resource.RLIMIT_AS, (size, size))


def cut(_running: Running, ground: Ground) -> None:
    assert ground.proxy
    ground.proxy.cut()


def set_back(_running: Running, ground: Ground) -> None:
    assert ground.clock
    with open(ground.clock, "w", encoding="utf-8") as file:
        file.write("-1d\n")


ANYWHERE = (
    Fault("kill -9 of the client", killed, {-9: ""}),
    # -2: after the answer, while the interpreter ends.
    Fault("Ctrl-C", signalled(signal.SIGINT), {130: INTERRUPTED, -2: ""}, keeps=True),
    Fault("Ctrl-C twice", signalled(signal.SIGINT, signal.SIGINT), {130: INTERRUPTED, -2: ""}),
    Fault("SIGTERM", signalled(signal.SIGTERM), {143: INTERRUPTED}, keeps=True),
    Fault("memory limit", starved, {1: OUT_OF_MEMORY}, keeps=True),
    Fault("clock set back", set_back, {0: ""}, keeps=True),
)
FULL = r"error: could not .*(: No space left on device|: wrote only .*)\n"
ON_A_SERVER = (
    *ANYWHERE,
    Fault("pg_terminate_backend", terminated, {1: LOST}, keeps=True),
    Fault("connection cut by a proxy", cut, {1: LOST}, keeps=True),
    Fault("kill -9 of the server", server_killed, {1: LOST}),
    Fault(
        "statement_timeout",
        configured(statement_timeout="2ms"),
        {1: r"error: (cannot read \w+: )?canceling statement due to statement timeout\n"},
        undo={"statement_timeout": None},
    ),
    Fault(
        "lock_timeout",
        locked,
        {1: r"error: (cannot read \w+: )?canceling statement due to lock timeout\nHINT: another session has locked it"},
        undo={"lock_timeout": None},
    ),
    Fault(
        "idle_in_transaction_session_timeout",
        left_waiting,
        {1: LOST},
        undo={"idle_in_transaction_session_timeout": None},
    ),
    Fault(
        "temp_file_limit",
        configured(temp_file_limit="64kB", work_mem="64kB"),
        {1: r"error: temporary file size exceeds temp_file_limit"},
        undo={"temp_file_limit": None, "work_mem": None},
    ),
    Fault("work_mem 64 kB", configured(work_mem="64kB"), {0: ""}, undo={"work_mem": None}),
    Fault("full disk below temporary tables", filled, {1: FULL}),
)

CANCELLED = "ERROR:  canceling statement due to "
TERMINATED = "terminating connection due to|server closed the connection|connection to server was lost"
IN_PSQL = (
    Fault("kill -9 of the client", killed, {-9: ""}),
    Fault("Ctrl-C", signalled(signal.SIGINT), {1: CANCELLED + "user request|Cancel request sent"}),
    Fault("SIGTERM", signalled(signal.SIGTERM), {-15: ""}),
    Fault("pg_terminate_backend", trainings_terminated, {2: TERMINATED}),
    Fault("connection cut by a proxy", cut, {2: TERMINATED}),
    Fault("kill -9 of the server", server_killed, {2: TERMINATED}),
    Fault("lock_timeout", locked, {1: CANCELLED + "lock timeout"}, undo={"lock_timeout": None}),
    Fault("full disk below temporary tables", filled, {1: "ERROR:  could not .*(No space left|wrote only)"}),
    *(
        Fault(f"{limit} as the session begins", unchanged, ends, options=options)
        for limit, ends, options in (
            ("statement_timeout", {1: CANCELLED + "statement timeout"}, "statement_timeout={milliseconds}"),
            ("temp_file_limit", {1: "exceeds temp_file_limit"}, "temp_file_limit=64 -c work_mem=64"),
            ("work_mem 64 kB", {}, "work_mem=64"),
        )
    ),
)
