"""Servers on which not everything is allowed: behind PgBouncer, on a hot standby, without the right to TEMPORARY."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Text
from tests.cli.command import answer, sqlsvm
from tests.faults.cluster import Cluster
from tests.faults.pooler import pooled
from tests.faults.struck import JOIN, NAME, TRAIN, Subject, certificate

PATH = "SELECT current_setting('search_path') AS path, pg_backend_pid() AS pid"


def shuffled(dsn: str, sessions: int) -> None:
    """Several sessions of the server are there, and in turn."""
    with ExitStack() as stack:
        for _ in range(sessions):
            stack.enter_context(psycopg.connect(dsn, prepare_threshold=None)).execute("SELECT 1")


@pytest.fixture(scope="module")
def pooler(on_postgres: Subject, server: Cluster) -> Iterator[str]:
    with pooled(server.folder) as dsn:
        shuffled(dsn, 4)
        yield dsn


def test_each_transaction_of_a_pool_has_our_settings(pooler: str) -> None:
    """And the sessions of the server, which others use too, keep theirs."""
    with connect(pooler) as engine, psycopg.connect(pooler, autocommit=True, prepare_threshold=None) as other:
        seen = [engine.fetch(Text(PATH)) for _ in range(8)]
        assert {rows["path"][0] for rows in seen} == {"pg_catalog, pg_temp"}
        assert len({int(rows["pid"][0]) for rows in seen}) > 1
        with engine.snapshot():
            inside = [engine.fetch(Text(PATH)) for _ in range(4)]
        assert len({(rows["path"][0], int(rows["pid"][0])) for rows in inside}) == 1
        theirs = {(other.execute(PATH.encode()).fetchone() or ("",))[0] for _ in range(8)}
        assert theirs == {'"$user", public'}


@pytest.mark.slow
def test_a_training_behind_a_pooler(pooler: str, on_postgres: Subject) -> None:
    """With others at the same time; what is measured and predicted is the same, too."""
    try:
        with ThreadPoolExecutor(2) as threads:
            trained = list(threads.map(lambda name: sqlsvm(*TRAIN, "--dsn", pooler, "--name", name), (NAME, "other")))
        assert [done.returncode for done in trained] == [0, 0], trained
        assert [certificate(json.loads(done.stdout)) for done in trained] == [on_postgres.found] * 2
        for verb in (["evaluate", NAME, "--json"], ["inspect", "--query", JOIN.query, "--label", "y", "--json"]):
            assert answer(*verb, "--dsn", pooler) == answer(*verb, "--dsn", on_postgres.dsn)
    finally:
        on_postgres.forget()
