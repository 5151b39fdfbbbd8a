"""TRUNCATE, REFRESH and DROP remove rows also from snapshots that are older. No proof is about such a mixture."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from threading import Timer

import psycopg
import pytest

from sqlsvm.engine.base import Engine, Text
from sqlsvm.engine.given import opened
from sqlsvm.errors import EngineError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, write_csv
from sqlsvm.psql.install import install
from sqlsvm.run.train import train
from tests.ground.opened import build
from tests.ground.sql_program import compiled
from tests.ground.trained import training
from tests.psql import answer

SHOP = """
CREATE TABLE f AS SELECT i AS k, i % 7 AS l, i % 3 = 0 AS y, sin(i) AS x FROM generate_series(1, 60) AS i;
CREATE TABLE g AS SELECT i AS k, cos(i) AS u FROM generate_series(0, 6) AS i;
ALTER TABLE g ADD PRIMARY KEY (k);
CREATE VIEW over_f AS SELECT * FROM (SELECT * FROM f) AS inside;
CREATE TABLE parted (k INT, l INT, y BOOL, x FLOAT8) PARTITION BY RANGE (k);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (100);
INSERT INTO parted SELECT * FROM f;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM f
"""
BEGUN = "BEGIN ISOLATION LEVEL REPEATABLE READ"
MADE_ANEW = "was truncated, refreshed or made anew after this transaction had begun"


def query(table: str) -> str:
    return f"SELECT s.y, s.x, g.u FROM {table} AS s LEFT JOIN g ON g.k = s.l"


@pytest.fixture
def shop(postgres: Engine) -> Engine:
    build(postgres, SHOP)
    return postgres


@contextmanager
def other(dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '200ms'")
        yield connection


def meddled(engine: Engine, dsn: str, table: str, change: str) -> tuple[Model, list[str]]:
    """Trained while another session makes a change as soon as the snapshot is there; and what that session was told."""
    told: list[str] = []
    before = 0

    def change_once(text: str) -> None:
        nonlocal before
        begun = text.startswith("BEGIN")
        before += begun or (before > 0 and not text.startswith("LOCK"))
        if before == 3:  # the first query after BEGIN takes the snapshot
            with other(dsn) as theirs:
                try:
                    theirs.execute(change)
                    told.append("done")
                except psycopg.errors.LockNotAvailable:
                    told.append("locked")

    engine.on_statement = change_once
    try:
        return train(engine, "m", query(table), training(lam=0.1, sample=100)), told
    finally:
        engine.on_statement = None


def few(table: str) -> str:
    return f"INSERT INTO {table} VALUES (1, 1, true, 9), (2, 2, false, 8)"


@pytest.mark.parametrize(("table", "holds"), [("f", "f"), ("over_f", "f"), ("parted", "part")])
def test_what_is_read_cannot_be_truncated(shop: Engine, postgres_dsn: str, table: str, holds: str) -> None:
    """Also below a view, and in a partition."""
    undisturbed = train(shop, "m", query(table), training(lam=0.1, sample=100))
    model, told = meddled(shop, postgres_dsn, table, f"DELETE FROM g WHERE k > 2; TRUNCATE {holds}; {few(holds)}")
    assert told == ["locked"]
    assert (model.weights, model.objective_upper) == (undisturbed.weights, undisturbed.objective_upper)


def test_what_cannot_be_locked_is_refused(shop: Engine, postgres_dsn: str) -> None:
    change = f"TRUNCATE f; {few('f')}; REFRESH MATERIALIZED VIEW kept"
    with pytest.raises(EngineError, match=f"^public.kept {MADE_ANEW}"):
        meddled(shop, postgres_dsn, "kept", change)
    assert train(shop, "m", query("kept"), training(lam=0.1, sample=100)).join_rows == 2


def test_a_right_to_some_columns_is_enough(shop: Engine, plain_role: str) -> None:
    """LOCK wants the right to all of them, also of the owner of a view."""
    build(shop, f"GRANT SELECT (k, l, y, x) ON f TO {plain_role}; GRANT SELECT ON g TO {plain_role}")
    build(shop, f"CREATE VIEW narrow AS SELECT l, y, x FROM f; ALTER VIEW narrow OWNER TO {plain_role}")
    shop.execute(Text(f"SET ROLE {plain_role}"))
    for table in ("f", "narrow"):
        assert train(shop, "m", query(table), training(lam=0.1, sample=100)).join_rows == 60


@pytest.mark.parametrize(
    "change", ["TRUNCATE f", "DROP TABLE f CASCADE; CREATE TABLE f AS SELECT 1 AS l, true AS y, 9.0::float8 AS x"]
)
def test_an_open_transaction_may_be_too_old(shop: Engine, postgres_dsn: str, change: str) -> None:
    """It began before the change, so its snapshot has the other tables as they were."""
    with psycopg.connect(postgres_dsn, autocommit=True) as ours, other(postgres_dsn) as theirs:
        ours.execute(BEGUN)
        ours.execute("SELECT count(*) FROM g")
        theirs.execute(change)
        with pytest.raises(EngineError, match=f"^public.f {MADE_ANEW}"), opened(ours) as engine:
            train(engine, "m", query("f"), training(lam=0.1, sample=100))
        ours.execute("ROLLBACK")
        ours.execute(BEGUN)
        ours.execute("SELECT count(*) FROM g")
        theirs.execute("VACUUM parted")
        theirs.execute("CREATE INDEX ON parted (l)")
        with opened(ours) as engine:
            assert train(engine, "m", query("parted"), training(lam=0.1, sample=100)).join_rows == 60


def test_a_program_refuses_an_old_snapshot(shop: Engine, postgres_dsn: str) -> None:
    install(shop)
    compiled(shop, "m", query("over_f"), training(lam=0.1))
    train_it = "SELECT converged FROM sqlsvm.train('m')"
    with psycopg.connect(postgres_dsn, autocommit=True) as ours, other(postgres_dsn) as theirs:
        ours.execute(BEGUN)
        ours.execute("SELECT count(*) FROM g")
        theirs.execute("TRUNCATE f; INSERT INTO f VALUES (1, 1, true, 9), (2, 2, false, 8)")
        with pytest.raises(psycopg.Error, match=f"^public.f {MADE_ANEW}") as refused:
            ours.execute(train_it)
        assert refused.value.sqlstate == "SV004"
        ours.execute("ROLLBACK")
        ours.execute(BEGUN)
        ours.execute("LOCK TABLE over_f, g IN ACCESS SHARE MODE")
        ours.execute("SELECT count(*) FROM f")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            theirs.execute("TRUNCATE g")
        assert ours.execute(train_it).fetchall() == [(True,)]
        ours.execute("COMMIT")
    assert answer(postgres_dsn, f"SET client_min_messages = warning; {train_it};") == ["t"]


def test_predictions_are_not_of_an_empty_table(shop: Engine, postgres_dsn: str) -> None:
    """A statement would have its snapshot before it waits for the lock of its table."""
    model = train(shop, "m", query("f"), training(lam=0.1, sample=100))
    found = predict(shop, model, "SELECT f.x, 0 AS u FROM f")
    with other(postgres_dsn) as theirs:

        def truncate(text: str) -> None:
            if text.startswith("BEGIN"):
                theirs.execute(f"BEGIN; TRUNCATE f; {few('f')}")
                Timer(0.5, theirs.execute, ["COMMIT"]).start()

        shop.on_statement = truncate
        assert write_csv(shop, found, StringIO()) == 2
