"""TRUNCATE, REFRESH and DROP remove rows also from snapshots that are older. No proof is about such a mixture."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from threading import Timer
from typing import TypeVar

import numpy as np
import psycopg
import pytest

from sqlsvm.ask.describe import describe
from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.inspect import inspect
from sqlsvm.ask.rows import on_all
from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine, Programmable, Text
from sqlsvm.engine.given import opened
from sqlsvm.errors import EngineError
from sqlsvm.lab.ask.counting import row_counts
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, write_csv
from sqlsvm.plan.constraints import read_beta
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.psql.install import install
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from sqlsvm.run.training import anew
from tests.faults.profile import number
from tests.ground.opened import build
from tests.ground.sql_program import compiled
from tests.ground.trained import training
from tests.psql import answer

T = TypeVar("T")

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


def joined(table: str) -> str:
    return query(table).replace("LEFT ", "")


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


def test_a_plan_locks_what_the_command_does_not(shop: Engine, postgres_dsn: str) -> None:
    change = f"TRUNCATE f; {few('f')}; REFRESH MATERIALIZED VIEW kept"
    model, told = meddled(shop, postgres_dsn, "kept", change)
    assert (told, model.join_rows) == (["locked"], 60)


PARENTS = """
CREATE TABLE year (k INT, l INT, y BOOL, x FLOAT8);
INSERT INTO year SELECT * FROM f;
CREATE TABLE more (x FLOAT8, own INT, k INT, l INT, y BOOL);
INSERT INTO more SELECT 5 - i, 0, 100 + i, i % 7, i % 3 = 0 FROM generate_series(1, 20) AS i;
CREATE VIEW over_parted AS SELECT * FROM parted;
CREATE TABLE other (k INT, l INT, y BOOL, x FLOAT8) PARTITION BY RANGE (k);
CREATE TABLE sub PARTITION OF other FOR VALUES FROM (100) TO (200);
INSERT INTO other SELECT k, l, y, x FROM more;
ALTER TABLE other DETACH PARTITION sub
"""
ATTACHES = {
    "parted": "ALTER TABLE parted ATTACH PARTITION sub FOR VALUES FROM (100) TO (200)",
    "over_parted": "ALTER TABLE parted ATTACH PARTITION sub FOR VALUES FROM (100) TO (200)",
    "year": "ALTER TABLE more INHERIT year",
}


def striking(engine: Engine, dsn: str, change: str, moment: int, work: Callable[[], T]) -> tuple[T, bool]:
    """The work, while another session makes a change before a statement after the snapshot."""
    seen, done = 0, False

    def change_once(text: str) -> None:
        nonlocal seen, done
        seen += text.startswith("BEGIN") or seen > 0
        if seen >= moment and not done:
            with other(dsn) as theirs:
                theirs.execute(change)
            done = True

    engine.on_statement = change_once
    try:
        return work(), done
    finally:
        engine.on_statement = None


def struck(engine: Engine, dsn: str, table: str, change: str, moment: int) -> tuple[Model, bool]:
    """Each pass reads the table."""
    asked = training(lam=0.1, sample=20, tol=1e-4, scale="none")
    return striking(engine, dsn, change, moment, lambda: train(engine, "m", joined(table), asked))


def counted(engine: Engine) -> list[float]:
    options = ProblemOptions(label="y", scale="none")
    with open_problem(engine, joined("parted"), options) as problem:
        weights = read_beta(problem.scaling, {"weights": {"x": 1, "u": 1}})
        return [each.count for each in row_counts(problem, weights, 1.0)]


ASKED: dict[str, Callable[[Engine, Model], object]] = {
    "evaluate": lambda engine, model: on_all(engine, model, lambda problem: evaluate(problem, model)),
    "inspect": lambda engine, _: inspect(engine, joined("parted"), label="y").join_rows,
    "describe": lambda engine, _: describe(engine, joined("parted"), label="y").rows,
    "count": lambda engine, _: anew(counted)(engine),
}


@pytest.mark.parametrize("what", ASKED)
def test_questions_are_asked_again(shop: Engine, postgres_dsn: str, what: str) -> None:
    """Each answer is that of one state of the table."""
    build(shop, PARENTS)
    model = train(shop, "m", joined("parted"), training(lam=0.1, sample=20, tol=1e-4, scale="none"))
    before, begun = ASKED[what](shop, model), False
    with other(postgres_dsn) as theirs:
        theirs.execute(ATTACHES["parted"])
        after = ASKED[what](shop, model)
        theirs.execute("ALTER TABLE parted DETACH PARTITION sub")
        assert before != after
        for moment in np.random.default_rng(8).permutation(np.arange(2, 42))[: number(40, 6)].tolist():
            work = partial(ASKED[what], shop, model)
            found, done = striking(shop, postgres_dsn, ATTACHES["parted"], moment, work)
            assert found in (before, after), moment
            theirs.execute("ALTER TABLE parted DETACH PARTITION sub" if done else "SELECT")
            begun = begun or (done and found == after)
    assert begun


@pytest.mark.slow
def test_folds_of_a_state_that_is_given_up_are_not_measured(shop: Engine, postgres_dsn: str) -> None:
    """Without working tables each statement reads the table."""
    build(shop, PARENTS)
    shop.place(no_temp=True)
    asked = {"m": training(lam=0.1, sample=20, tol=1e-4, folds=3, scale="none")}
    (before,) = trained(shop, joined("parted"), asked)
    with other(postgres_dsn) as theirs:
        theirs.execute(ATTACHES["parted"])
        (after,) = trained(shop, joined("parted"), asked)
        theirs.execute("ALTER TABLE parted DETACH PARTITION sub")
        for moment in np.random.default_rng(9).integers(2, 200, number(40, 8)).tolist():
            work = partial(trained, shop, joined("parted"), asked)
            (model,), done = striking(shop, postgres_dsn, ATTACHES["parted"], moment, work)
            true = {60: before, 80: after}[int(model.join_rows)].validation
            assert {n: v.folds for n, v in model.validation.items()} == {
                n: pytest.approx(v.folds) for n, v in true.items()
            }, moment
            theirs.execute("ALTER TABLE parted DETACH PARTITION sub" if done else "SELECT")


@pytest.mark.slow
@pytest.mark.parametrize("table", ATTACHES)
@pytest.mark.parametrize("denied", [False, True])
def test_what_is_attached_is_read_from_the_beginning(
    shop: Engine, postgres_dsn: str, plain_role: str, table: str, denied: bool
) -> None:
    """No session waits for the readers of a table to attach something to it. Also where the table cannot be locked."""
    build(shop, PARENTS)
    if denied:
        build(shop, f"GRANT SELECT (k, l, y, x) ON {table} TO {plain_role}; GRANT SELECT ON g TO {plain_role}")
        shop.execute(Text(f"SET ROLE {plain_role}"))
    undo = {"year": "ALTER TABLE more NO INHERIT year"}.get(table, "ALTER TABLE parted DETACH PARTITION sub")
    before = train(shop, "m", joined(table), training(lam=0.1, sample=20, tol=1e-4, scale="none"))
    with other(postgres_dsn) as theirs:
        theirs.execute(ATTACHES[table])
        after = train(shop, "m", joined(table), training(lam=0.1, sample=20, tol=1e-4, scale="none"))
        theirs.execute(undo)
        assert after.objective_upper < before.lower_bound - 0.01 or after.lower_bound > before.objective_upper + 0.01
        moments = number(200, 8)
        for moment in np.random.default_rng(7).integers(2, 44, moments).tolist():
            model, done = struck(shop, postgres_dsn, table, ATTACHES[table], moment)
            true = {before.join_rows: before, after.join_rows: after}[model.join_rows]
            assert model.lower_bound <= true.objective_upper, moment
            assert model.objective_upper >= true.lower_bound, moment
            assert model.converged
            theirs.execute(undo if done else "SELECT")


MANY = """
CREATE TABLE hours (k INT, l INT, y BOOL, x FLOAT8) PARTITION BY RANGE (k);
CREATE TABLE hour0 PARTITION OF hours FOR VALUES FROM (0) TO (8000);
CREATE TABLE hour1 (LIKE hours);
CREATE TABLE hour2 (LIKE hours);
INSERT INTO hours SELECT i, i % 7, sin(i) > 0.3, sin(i) + cos(3 * i) FROM generate_series(0, 7999) AS i;
INSERT INTO hour1 SELECT i, i % 7, sin(i) < 0.1, sin(i) FROM generate_series(8000, 13999) AS i;
INSERT INTO hour2 SELECT i, i % 7, i % 3 = 0, 3 - sin(i) FROM generate_series(14000, 17999) AS i
"""
ATTACH = "ALTER TABLE hours ATTACH PARTITION hour{} FOR VALUES FROM ({}) TO ({})"
LOADED = {1: ATTACH.format(1, 8000, 14000), 2: ATTACH.format(2, 14000, 18000)}
DETACH = "ALTER TABLE hours DETACH PARTITION hour{}"


@pytest.mark.slow
def test_partitions_that_are_loaded_at_any_time(shop: Engine, postgres_dsn: str) -> None:
    """Two, at moments of the clock. Each training has a model in the end, with bounds that are true of a state."""
    build(shop, MANY)
    asked = training(lam=0.1, sample=20, tol=1e-4, scale="none", in_memory=0, offload=False)
    true: dict[int, Model] = {}
    with other(postgres_dsn) as theirs:
        for hour in (0, 1, 2):
            theirs.execute(LOADED[hour] if hour else "SELECT")
            model = train(shop, "m", joined("hours"), asked)
            true[int(model.join_rows)] = model
        took = sum(model.phases.values())
        assert len({round(model.objective_upper, 2) for model in true.values()}) == 3
        seed, moments = 11, number(200, 6)
        for at in np.random.default_rng(seed).uniform(0.0, 1.5 * took, (moments, 2)):
            theirs.execute(f"{DETACH.format(1)}; {DETACH.format(2)}")
            timers = [Timer(t, theirs.execute, [LOADED[hour]]) for hour, t in enumerate(sorted(at), 1)]
            for timer in timers:
                timer.start()
            model = train(shop, "m", joined("hours"), asked)
            for timer in timers:
                timer.join()
            there = true[int(model.join_rows)]
            assert model.converged
            assert model.lower_bound <= there.objective_upper, at
            assert model.objective_upper >= there.lower_bound, at


def test_a_program_begins_again(shop: Engine, postgres_dsn: str) -> None:
    """In the transaction of its caller: what is attached is a part of the table from then on."""
    install(shop)
    build(shop, PARENTS)
    asked, told = training(lam=0.1, sample=20, tol=1e-4, scale="none"), list[str | None]()
    compiled(shop, "m", joined("parted"), asked)
    with psycopg.connect(postgres_dsn, autocommit=True) as ours, other(postgres_dsn) as theirs:

        def attach(notice: psycopg.errors.Diagnostic) -> None:
            if not told:
                theirs.execute(ATTACHES["parted"])
            told.append(notice.message_primary)

        ours.add_notice_handler(attach)
        ours.execute(BEGUN)
        bounds = "SELECT converged, lower_bound, objective_upper FROM sqlsvm.train('m')"
        converged, low, high = ours.execute(bounds).fetchall()[0]
        ours.execute("COMMIT")
    assert [text for text in told if text and "beginning again: public.sub became a part" in text]
    true = train(shop, "m", joined("parted"), asked)
    assert converged
    assert (low <= true.objective_upper, high >= true.lower_bound) == (True, True)


def test_a_function_that_is_replaced(shop: Programmable, postgres_dsn: str) -> None:
    """Below a view, where the query does not name it. The session sees the new one, whatever its snapshot."""
    twice = """CREATE OR REPLACE FUNCTION public.scaled(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE
        SET search_path = pg_catalog AS 'SELECT {} * x'"""
    shop.run_script(twice.format(1))
    build(shop, "CREATE VIEW seen AS SELECT l, x > 0 AS y, public.scaled(x) AS x FROM f")
    before = train(shop, "m", joined("seen"), training(lam=0.1, sample=20, tol=1e-4, scale="none"))
    for moment in range(4, 44, 8 if number(200, 8) == 8 else 1):
        model, done = struck(shop, postgres_dsn, "seen", twice.format(-9), moment)
        sign = {w.feature: w.weight for w in model.weights}["x"]
        kept = {w.feature: w.weight for w in before.weights}["x"]
        assert done
        assert sign * kept < 0
        shop.run_script(twice.format(1))


def test_a_right_to_some_columns_is_enough(shop: Engine, plain_role: str) -> None:
    """LOCK wants the right to all of them, also of the owner of a view."""
    build(shop, f"GRANT SELECT (k, l, y, x) ON f TO {plain_role}; GRANT SELECT ON g TO {plain_role}")
    build(shop, f"CREATE VIEW narrow AS SELECT l, y, x FROM f; ALTER VIEW narrow OWNER TO {plain_role}")
    shop.execute(Text(f"SET ROLE {plain_role}"))
    for table in ("f", "narrow"):
        assert train(shop, "m", joined(table), training(lam=0.1, sample=100)).join_rows == 60


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
        assert refused.value.sqlstate == "SV009"
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
