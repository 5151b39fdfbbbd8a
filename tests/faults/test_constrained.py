"""Servers on which not everything is allowed: behind PgBouncer, on a hot standby, without the right to TEMPORARY."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Text
from tests.cli.command import answer, complaint, sqlsvm
from tests.faults.cluster import Cluster, standby
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


@pytest.mark.slow
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


@pytest.fixture
def sessions(on_postgres: Subject, server: Cluster) -> Iterator[str]:
    with pooled(server.folder, 3, "session") as dsn:
        yield dsn


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["pooler", "sessions"])
def test_a_training_behind_a_pooler(request: pytest.FixtureRequest, mode: str, on_postgres: Subject) -> None:
    """With others at the same time; what is measured and predicted is the same, too."""
    pooler = request.getfixturevalue(mode)
    try:
        with ThreadPoolExecutor(2) as threads:
            trained = list(threads.map(lambda name: sqlsvm(*TRAIN, "--dsn", pooler, "--name", name), (NAME, "other")))
        assert [done.returncode for done in trained] == [0, 0], trained
        assert [certificate(json.loads(done.stdout)) for done in trained] == [on_postgres.found] * 2
        for verb in (["evaluate", NAME, "--json"], ["inspect", "--query", JOIN.query, "--label", "y", "--json"]):
            assert answer(*verb, "--dsn", pooler) == answer(*verb, "--dsn", on_postgres.dsn)
    finally:
        on_postgres.forget()


# -- without working tables --------------------------------------------------------------------------------------------


@pytest.fixture(params=["no right", "standby"])
def limited(request: pytest.FixtureRequest, on_postgres: Subject, server: Cluster) -> Iterator[str]:
    """A database with the tables of the join, in which this role can make no temporary table."""
    if request.param == "standby":
        with standby(server) as made:
            yield made.dsn
        return
    server.ask(
        "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
    )
    yield server.dsn.replace("user=postgres", "user=reader")
    server.ask("DROP OWNED BY reader", "DROP ROLE reader", "GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")


@pytest.mark.slow
def test_without_working_tables(limited: str, on_postgres: Subject, tmp_path: Path) -> None:
    """Everything but storing works, and all numbers are those of a session that makes tables."""
    place, query = ("--model-file", tmp_path / "m.json"), ("--query", JOIN.query, "--label", "y")
    said = complaint(*TRAIN, *place, "--dsn", limited)
    assert "HINT: " in said, said
    assert "add --no-temp" in said
    done = sqlsvm(*TRAIN, *place, "--dsn", limited, "--no-temp")
    assert done.returncode == 0, done.stderr
    assert certificate(json.loads(done.stdout)) == pytest.approx(on_postgres.found, rel=1e-9)
    beta = ("--beta", tmp_path / "m.json")
    for words in (
        ("evaluate", NAME, *place),
        ("inspect", *query),
        ("describe", *query),
        ("count", *query, *beta),
        ("count", *query, *beta, "--counting", "sketch"),
    ):
        there = answer(*words, "--json", "--dsn", limited, "--no-temp")
        assert agree(json.loads(there), json.loads(answer(*words, "--json", "--dsn", on_postgres.dsn))), words
    explained = json.loads(answer("explain", "--analyze", *query, "--json", "--dsn", limited, "--no-temp"))
    made = [s for s in explained["statements"] if s["phase"] == "pass"]
    assert [(s["table"], s["seconds"] > 0) for s in made] == [(None, True)]


def agree(one: Any, other: Any) -> bool:
    """Up to the rounding of sums, and the places that these name."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(agree(one[k], other[k]) for k in one.keys() - {"engine", "dsn"})
    if isinstance(one, list):
        one, other = (sorted(each, key=repr) for each in (one, other))  # rows come in any order
        return len(one) == len(other) and all(map(agree, one, other))
    return one == pytest.approx(other, rel=1e-9) if isinstance(one, float) else one == other
