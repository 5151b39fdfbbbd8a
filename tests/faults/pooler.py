"""A PgBouncer in front of a server: each transaction may go to another session of the server."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.faults.cluster import own, plain_account
from tests.servers import reachable_folder
from tests.waiting import eventually

SETTINGS = """
[databases]
* = host={server} port=5432 user=postgres
[pgbouncer]
pool_mode = {mode}
auth_type = any
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
default_pool_size = {sessions}
server_round_robin = 1
ignore_startup_parameters = extra_float_digits
"""


@contextmanager
def pooled(server: Path, sessions: int = 4, mode: str = "transaction") -> Iterator[str]:
    """The DSN of a PgBouncer."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("there is no pgbouncer on this machine")
    with reachable_folder() as above:
        folder = own(above / "p")
        settings = above / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=server, folder=folder, sessions=sessions, mode=mode))
        quiet = subprocess.DEVNULL
        process = subprocess.Popen([program, "-q", settings], cwd="/", stdout=quiet, stderr=quiet, **plain_account())
        dsn = f"host={folder} user=postgres dbname=postgres"
        try:
            eventually(lambda: answers(dsn))
            yield dsn
        finally:
            process.terminate()
            process.wait()


def answers(dsn: str) -> bool:
    with suppress(psycopg.OperationalError):
        psycopg.connect(dsn).close()
        return True
    return False
