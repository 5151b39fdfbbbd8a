"""Every fault of the table at random moments of a training, and afterwards the same checks for all of them."""

from collections import Counter
from pathlib import Path

import pytest

from tests.faults.cluster import Cluster, small_disk
from tests.faults.profile import LONG, MOMENTS, record
from tests.faults.proxy import Proxy
from tests.faults.struck import Moment, Subject, moments, running
from tests.faults.table import ANYWHERE, FILLER, ON_A_SERVER, Fault, Ground

SHORT = {"postgres": ("Ctrl-C", "connection cut by a proxy"), "duckdb": ("memory limit",)}
FOUND = {"Ctrl-C": (8,)}
"""Moments, from the end, at which something was found: passes were lost while the model was being stored."""
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


@pytest.fixture(scope="module")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    subject = Subject(f"duckdb:{tmp_path_factory.mktemp('struck') / 'x.duckdb'}")
    subject.prepare()
    return subject


def cases(engine: str, faults: tuple[Fault, ...]) -> list[Fault]:
    return [fault for fault in faults if LONG or fault.name in SHORT[engine]]


def struck(subject: Subject, fault: Fault, moment: Moment, ground: Ground, dsn: str, before: tuple[str, ...]) -> str:
    """What came of it."""
    with running(dsn, moment, before) as training:
        arrived = training.arrive()
        if arrived:
            fault.strike(training, ground)
        ended = training.end()
    if ground.server and fault.undo:
        ground.server.configure(fault.undo)
    if ground.disk:
        (Path(ground.disk) / FILLER).unlink(missing_ok=True)
    assert fault.allows(ended), (moment, ended)
    return f"{ended.code}, {subject.check(ended, fault.keeps)}" if arrived else "too late"


def clock(fault: Fault, folder: Path) -> tuple[tuple[str, ...], str | None]:
    """Words before the command under which its clock follows a file."""
    if fault.name != "clock set back":
        return (), None
    if not Path(FAKETIME).exists():
        pytest.skip("the Debian package faketime is not installed")
    file = folder / "clock"
    file.write_text("+0\n")
    told = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}
    return ("env", "DONT_FAKE_MONOTONIC=1", *(f"{k}={v}" for k, v in told.items())), str(file)


def campaign(subject: Subject, engine: str, fault: Fault, ground: Ground, dsn: str, folder: Path) -> None:
    found: Counter[str] = Counter()
    chosen = [Moment(subject.statements - back) for back in FOUND.get(fault.name, ())]
    chosen += moments(f"{engine} {fault.name}", MOMENTS or not chosen, subject.statements)
    for moment in chosen:
        before, file = clock(fault, folder)
        there = Ground(ground.server, ground.proxy, ground.disk, file)
        found[struck(subject, fault, moment, there, dsn, before)] += 1
    record(where=engine, fault=fault.name, moments=found.total(), ends=dict(found))


@pytest.mark.slow
@pytest.mark.thin(2)
@pytest.mark.parametrize("fault", cases("postgres", ON_A_SERVER), ids=lambda fault: fault.name)
def test_on_postgres(server: Cluster, proxy: Proxy, on_postgres: Subject, fault: Fault, tmp_path: Path) -> None:
    dsn = on_postgres.dsn.replace(str(server.folder), str(proxy.folder))
    if "disk" not in fault.name:
        campaign(on_postgres, "postgres", fault, Ground(server, proxy), dsn, tmp_path)
        return
    with small_disk(16) as disk:
        server.ask(f"CREATE TABLESPACE small LOCATION '{disk}'")
        server.configure({"temp_tablespaces": "small"})
        campaign(on_postgres, "postgres", fault, Ground(server, proxy, str(disk)), dsn, tmp_path)
        server.configure({"temp_tablespaces": None})
        server.ask("DROP TABLESPACE small")


@pytest.mark.slow
@pytest.mark.parametrize("fault", cases("duckdb", ANYWHERE), ids=lambda fault: fault.name)
def test_on_duckdb(on_duckdb: Subject, fault: Fault, tmp_path: Path) -> None:
    campaign(on_duckdb, "duckdb", fault, Ground(), on_duckdb.dsn, tmp_path)
