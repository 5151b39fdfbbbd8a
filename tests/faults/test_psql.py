"""The same for psql's own training, which is one statement: its moments come after a pass."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from random import Random

import psycopg
import pytest

from sqlsvm.engine import connect
from sqlsvm.psql.install import install
from sqlsvm.store import open_store
from tests.faults.cluster import Cluster, small_disk
from tests.faults.profile import LONG, MOMENTS, record
from tests.faults.proxy import Proxy
from tests.faults.struck import JOIN, NAME, Certificate, Moment, Running, Subject
from tests.faults.table import FILLER, IN_PSQL, Fault, Ground
from tests.ground.sql_program import compiled
from tests.ground.trained import training
from tests.psql import program
from tests.waiting import eventually

TRAIN = f"SELECT version FROM sqlsvm.train('{NAME}')"
BUSY = """
    SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT version FROM sqlsvm.train%' AND state <> 'idle'"""
TEMPORARY = "SELECT count(*) FROM pg_class WHERE relname LIKE 'sqlsvm\\_%' AND relpersistence = 't'"
VERSIONS = f"SELECT count(*) FROM sqlsvm.versions WHERE name = '{NAME}'"
SHORT = ("pg_terminate_backend",)


@contextmanager
def training_in_psql(dsn: str, moment: Moment, options: str = "") -> Iterator[Running]:
    pipe, given = subprocess.PIPE, options.format(milliseconds=round(3000 * (moment.after or 0)))
    env = {**os.environ, "PGOPTIONS": f"-c {given}" if given else ""}
    command = [program(), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", TRAIN, dsn]
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield Running(process, None, moment)
        finally:
            process.kill()


@dataclass
class Stored(Subject):
    """A program in a database, whose tables another subject has made."""

    def prepare(self) -> None:
        with connect(self.dsn) as engine:
            install(engine)
            compiled(engine, NAME, JOIN.query, training(lam=1e-3, sample=2000))
        self.found = self.trained()
        self.sums = self.checksums()

    def trained(self) -> Certificate:
        """What a training proves; its model goes again."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(TRAIN.encode())
        return self.taken()

    def taken(self) -> Certificate:
        with connect(self.dsn) as engine:
            store = open_store(engine)
            model = store.load(NAME)
            store.drop(NAME, model.version)
        return model.lower_bound, model.objective, model.objective_upper, model.passes

    def after(self) -> str:
        """What must hold however a training ended; says what is left of it."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            eventually(lambda: connection.execute(BUSY.encode()).fetchone() == (0,))
            eventually(lambda: connection.execute(TEMPORARY.encode()).fetchone() == (0,))
            (stored,) = connection.execute(VERSIONS.encode()).fetchone() or (0,)
        assert self.checksums() == self.sums
        assert (self.taken() if stored else self.trained()) == self.found
        return "stored" if stored else "begun anew"


@pytest.fixture(scope="module")
def in_psql(on_postgres: Subject) -> Stored:
    subject = Stored(on_postgres.dsn)
    subject.prepare()
    return subject


@pytest.mark.slow
@pytest.mark.parametrize("fault", [f for f in IN_PSQL if LONG or f.name in SHORT], ids=lambda fault: fault.name)
def test_in_psql(server: Cluster, proxy: Proxy, in_psql: Stored, fault: Fault) -> None:
    found: Counter[str] = Counter()
    chance = Random(f"psql {fault.name}")
    dsn = in_psql.dsn.replace(str(server.folder), str(proxy.folder))
    with small_disk(16) if "disk" in fault.name else nullcontext() as disk:
        if disk:
            server.ask(f"CREATE TABLESPACE tiny LOCATION '{disk}'")
        ground = Ground(server, proxy, str(disk) if disk else None)
        for _ in range(MOMENTS or 1):
            options = fault.options or ("temp_tablespaces=tiny" if disk else "")
            moment = Moment(chance.randint(0, in_psql.found[3] - 1), chance.uniform(0.01, 0.1))
            with training_in_psql(dsn, moment, options) as session:
                arrived = session.arrive()
                if arrived:
                    fault.strike(session, ground)
                ended = session.end()
            if fault.undo:
                server.configure(fault.undo)
            if disk:
                (disk / FILLER).unlink(missing_ok=True)
            assert fault.allows(ended), (moment, ended)
            left = in_psql.after()
            found[f"{ended.code}, {left}" if arrived or ended.code else "too late"] += 1
        if disk:
            eventually(lambda: server.ask("DROP TABLESPACE tiny") == [])
    record(where="psql", fault=fault.name, moments=found.total(), ends=dict(found))
