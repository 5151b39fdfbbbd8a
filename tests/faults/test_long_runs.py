"""Many trainings in a row: memory, files and catalogs stay as they are."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.run.train import train
from tests.faults.cluster import Cluster
from tests.faults.profile import number, only_long, record
from tests.ground.joins import chain
from tests.ground.trained import training

JOIN = chain(np.random.default_rng(2), rows=60, fan_out=2)
CATALOGS = ("pg_class", "pg_attribute", "pg_type", "pg_depend", "pg_statistic")
WARM = 50
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Use:
    client: float
    """Megabytes of this process."""
    server: float
    """Megabytes that the server's process of the session holds alone."""
    files: int
    catalogs: float
    """Megabytes of the catalogs in which temporary tables leave rows."""


def of_process(pid: int | str, field: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def use(engine: Engine, dsn: str | None) -> Use:
    files = len(os.listdir("/proc/self/fd"))
    client = of_process("self", "VmRSS:")
    if dsn is None:
        return Use(client, 0.0, files, 0.0)
    pid = engine._connection.info.backend_pid  # type: ignore[attr-defined]
    sizes = " + ".join(f"pg_total_relation_size('pg_catalog.{name}')" for name in CATALOGS)
    with psycopg.connect(dsn) as connection:
        (size,) = connection.execute(f"SELECT {sizes}".encode()).fetchone() or (0,)
    return Use(client, of_process(pid, "RssAnon:"), files, size / MEGABYTE)


@only_long
@pytest.mark.parametrize("where", ["postgres", "duckdb"])
def test_nothing_grows(server: Cluster, where: str) -> None:
    """After the first ones, a hundred megabytes more would be a leak; the catalogs are vacuumed by the server."""
    dsn, count = (server.dsn, number(1_000, 0)) if where == "postgres" else (None, 1_000)
    if dsn:
        server.ask("CREATE DATABASE long_runs")
        server.configure({"autovacuum_naptime": "5s"})
        dsn = dsn.replace("dbname=postgres", "dbname=long_runs")
    with connect(dsn or "duckdb:") as engine:
        JOIN.create(engine)
        found = []
        for place in range(count):
            model = train(engine, "m", JOIN.query, training(lam=1e-2, tol=1e-2, sample=200, seed=place))
            assert model.lower_bound <= model.objective_upper
            if place >= WARM and place % WARM == 0:
                found.append(use(engine, dsn))
    first, last = found[0], found[-1]
    record(
        where=where, fault="1,000 trainings in a row", moments=count, ends={"first": vars(first), "last": vars(last)}
    )
    assert last.files == first.files
    assert last.client < first.client + 50
    assert last.server < first.server + 20
    assert max(each.catalogs for each in found) < 50
