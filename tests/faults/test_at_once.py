"""Many at once: trainings, writers, and those who change the tables. Every proof is that of its own snapshot."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from random import Random
from threading import Event, Thread
from typing import Any

import numpy as np
import psycopg

from sqlsvm.engine import connect
from sqlsvm.engine.base import Text
from sqlsvm.errors import SqlsvmError
from sqlsvm.psql.install import install, upgrade
from sqlsvm.run.train import train
from sqlsvm.solve.solution import Record
from sqlsvm.store import open_store
from tests.faults.cluster import Cluster
from tests.faults.profile import MOMENTS, only_long, record
from tests.ground.joins import chain
from tests.ground.opened import truth
from tests.ground.trained import assert_proven, training, wish_of

JOIN = chain(np.random.default_rng(4), rows=200, fan_out=2)
TABLES = {
    "l": "(k, a, b) VALUES (%s, %s, 1)",
    "m": "(k, j, y, u, v) VALUES (%s, 3, 1, %s, 0)",
    "r": "(j, c) VALUES (%s, %s)",
}
CHANGES = (
    *("VACUUM FULL m", "VACUUM FULL l", "REINDEX TABLE m", "CLUSTER m USING by_k", "ANALYZE"),
    *("ALTER TABLE l ADD COLUMN IF NOT EXISTS more INT", "ALTER TABLE l DROP COLUMN IF EXISTS more"),
    *("ALTER TABLE r ALTER COLUMN c SET STATISTICS 50", "CREATE INDEX IF NOT EXISTS by_a ON l (a)", "DROP INDEX by_a"),
)
AT_ONCE = 8
TURN = 0.002
"""Seconds between two rows of a writer: 500 rows a second."""


@contextmanager
def meanwhile(*works: Callable[[], str]) -> Iterator[Counter[str]]:
    """The works are repeated while the block runs. What they did and what they were refused is counted."""
    done, ended = Counter[str](), Event()

    def repeated(work: Callable[[], str]) -> None:
        while not ended.is_set():
            done[work()] += 1

    threads = [Thread(target=repeated, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def writer(connection: psycopg.Connection[Any], chance: Random) -> Callable[[], str]:
    def write() -> str:
        time.sleep(TURN)
        table = chance.choice(list(TABLES))
        row = (chance.randrange(30), chance.gauss(0, 1))
        victim = f"SELECT ctid FROM {table} OFFSET {chance.randrange(50)} LIMIT 1"
        try:
            if chance.random() < 0.5:
                connection.execute(f"INSERT INTO {table} {TABLES[table]}".encode(), row)
            else:
                connection.execute(f"DELETE FROM {table} WHERE ctid = ANY(ARRAY({victim}))".encode())
        except psycopg.errors.LockNotAvailable:
            return "rows that waited for a change"
        return "rows written"

    return write


def changer(connection: psycopg.Connection[Any], chance: Random) -> Callable[[], str]:
    def change() -> str:
        time.sleep(0.02)
        try:
            connection.execute(chance.choice(CHANGES).encode())
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            return "changes that gave up waiting"
        except psycopg.Error as error:
            return f"changes refused: {type(error).__name__}"
        return "changes made"

    return change


def proven(dsn: str, place: int) -> int:
    """A training, whose proof is compared with the join as it was in its snapshot. It gives the version stored."""
    options = training(lam=1e-2, sample=300, seed=place)
    shared: list[str] = []
    with connect(dsn) as engine, connect(dsn) as reader:

        def share(_record: Record) -> None:
            """From now on the reader sees what the training sees."""
            if not shared:
                shared.append(engine.fetch(Text("SELECT pg_export_snapshot() AS name"))["name"][0])
                reader.execute(Text("BEGIN ISOLATION LEVEL REPEATABLE READ"))
                reader.execute(Text(f"SET TRANSACTION SNAPSHOT '{shared[0]}'"))

        model = train(engine, f"m{place % 3}", JOIN.query, options, share)
        assert_proven(reader, model, truth(reader, JOIN.query, wish_of(options)))
        reader.execute(Text("COMMIT"))
        return open_store(engine).save(model)


@only_long
def test_trainings_writers_and_changes_at_once(server: Cluster) -> None:
    """Changes wait for the lock that a training holds on its tables, here for a twentieth of a second."""
    server.ask("CREATE DATABASE at_once")
    dsn = server.dsn.replace("dbname=postgres", "dbname=at_once")
    with connect(dsn) as engine:
        JOIN.create(engine)
        engine.execute(Text('CREATE INDEX by_k ON "public".m (k)'))
    with ExitStack() as stack:
        ours = [stack.enter_context(psycopg.connect(dsn, autocommit=True)) for _ in range(3)]
        for connection in ours:
            connection.execute("SET lock_timeout = '50ms'")
        works = (writer(ours[0], Random(1)), changer(ours[1], Random(2)), installer(dsn))
        with meanwhile(*works) as done, ThreadPoolExecutor(AT_ONCE) as threads:
            versions = list(
                threads.map(lambda place: (place % 3, proven(dsn, place)), range(AT_ONCE * max(MOMENTS // 4, 1)))
            )
    assert len(set(versions)) == len(versions)
    with connect(dsn) as engine:
        assert [n for n in engine.table_names() if n.startswith("sqlsvm_")] == []
    assert done["rows written"] > 100
    record(
        where="postgres",
        fault="8 trainings at once with a writer, DDL and upgrades",
        moments=len(versions),
        ends=dict(done),
    )


def installer(dsn: str) -> Callable[[], str]:
    """Two that install at the same time, and upgrade again and again."""

    def once(_: int) -> str:
        with connect(dsn) as engine:
            try:
                (upgrade if _ % 2 else install)(engine)
            except SqlsvmError as error:
                return f"installs refused: {error.message[:40]}"
        return "installs"

    def both() -> str:
        with ThreadPoolExecutor(2) as threads:
            return " and ".join(sorted(set(threads.map(once, range(2)))))

    return both
