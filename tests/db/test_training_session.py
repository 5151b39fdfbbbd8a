"""Training with other sessions around: what it refuses, what it leaves behind, and what they may do meanwhile."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import psycopg
import pytest
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, StatementError, Text
from sqlsvm.errors import EngineError, QueryError, SqlsvmError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.run.resume import Continuation
from sqlsvm.run.train import train
from sqlsvm.solve.solution import Record
from tests.evaluating import evaluate_model, evaluate_parts
from tests.ground.joins import chain
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked, typed

pytestmark = [pytest.mark.slow, pytest.mark.each]

Sessions = Callable[[], Engine]

SHOP = """
CREATE TABLE f (k INT, y INT, word TEXT, x FLOAT8, z FLOAT8, odd FLOAT8);
CREATE TABLE g (k INT, u FLOAT8);
INSERT INTO f VALUES (1, 1, 'yes', 0.5, 1, 'NaN'), (1, 0, 'no', -1, NULL, 1), (2, NULL, NULL, 2, 3, 'Infinity');
INSERT INTO g VALUES (1, 0.25), (1, 1), (2, 3)
"""
JOIN = "FROM f JOIN g ON g.k = f.k"
NULL_HINT = "HINT: say what that means: nulls='mean' (the mean of the others) or nulls='drop' (leave the row out)"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "one class": (
        f"SELECT f.y, g.u {JOIN} WHERE f.y = 1",
        {},
        "the label y has one class only: no row of the join is negative\n"
        "HINT: inspect() shows the classes before and after the join",
    ),
    "empty join": (
        f"SELECT f.y, g.u {JOIN} WHERE f.k = 7",
        {},
        "the join has no rows\nHINT: inspect() shows which key loses them",
    ),
    "nan": (
        f"SELECT f.y, f.odd, g.u {JOIN} WHERE f.k = 1",
        {},
        "feature odd is NaN or infinite in some rows of the join\n"
        "HINT: leave those rows out in WHERE, or make them NULL: "
        "CASE WHEN odd BETWEEN -1e100 AND 1e100 THEN odd END AS odd",
    ),
    "null": (
        f"SELECT f.y, f.z, g.u {JOIN} WHERE f.k = 1",
        {"nulls": "error"},
        f"feature z is NULL in 2 rows of the join\n{NULL_HINT}",
    ),
    "null label": (
        f"SELECT f.y, g.u {JOIN}",
        {"nulls": "error"},
        "the label y is NULL in 1 rows of the join\n"
        "HINT: leave them out: nulls='mean' or drop, or WHERE ... IS NOT NULL in the query",
    ),
    "lambda zero": (
        "SELECT 1",
        {"lam": 0.0},
        "lambda must be a number above 0, or auto, not 0.0\nHINT: try lam=0.0001",
    ),
    "lambda negative": (
        "SELECT 1",
        {"lam": -1.0},
        "lambda must be a number above 0, or auto, not -1.0\nHINT: try lam=0.0001",
    ),
    "lambda nan": (
        "SELECT 1",
        {"lam": float("nan")},
        "lambda must be a number above 0, or auto, not nan\nHINT: try lam=0.0001",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(engine: Engine, case: str) -> None:
    """In so many words, with nothing left behind and the session as good as new."""
    build(engine, SHOP)
    before = tables(engine)
    text, options, message = REFUSED[case]
    with pytest.raises(SqlsvmError) as refused:
        train(engine, "m", text, training(**options))
    assert str(refused.value) == message
    assert tables(engine) == before
    good = f"SELECT f.y, f.x, g.u {JOIN} WHERE f.y IS NOT NULL"
    assert train(engine, "m", good, training(lam=0.1, sample=100)).join_rows == 4
    assert tables(engine) == before


def test_an_interrupted_training_leaves_nothing_behind(engine: Engine) -> None:
    build(engine, SHOP)
    before = tables(engine)

    def stop(_record: Record) -> None:
        assert tables(engine) != before  # working tables are there while it runs
        raise KeyboardInterrupt

    text = f"SELECT f.y, f.x, g.u {JOIN} WHERE f.y = 1 OR f.y = 0 AND f.x < 9 AND f.word <> 'maybe'"
    with pytest.raises(KeyboardInterrupt):
        train(engine, "m", text.replace("FROM f", "FROM (SELECT * FROM f) f"), training(lam=0.1, sample=100), stop)
    assert tables(engine) == before


def tables(engine: Engine) -> list[str]:
    """Everything that this session can see, temporary tables too."""
    found = asked(engine, parse_one("SELECT table_schema || '.' || table_name AS n FROM information_schema.tables"))
    return sorted(found["n"].tolist())


# -- other sessions ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["postgres", "duckdb"])
def sessions(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sessions]:
    """Any number of sessions with one database."""
    url = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else f"duckdb:{tmp_path / 'shop.db'}"
    with ExitStack() as stack:
        yield lambda: stack.enter_context(connect(url))


def facts(model: Model) -> tuple[object, ...]:
    return model.join_rows, model.weights, model.intercept, model.lower_bound, model.objective_upper


def test_what_others_change_meanwhile_changes_nothing(sessions: Sessions) -> None:
    ours, theirs = sessions(), sessions()
    join = chain(np.random.default_rng(1), rows=150, fan_out=3)
    join.create(ours)
    for engine in (ours, theirs):
        single_threaded(engine)
    asked, seen = training(lam=1e-3, sample=1000, counting="grid", in_memory=0), []

    def meddle(record: Record) -> None:
        seen.append(record.pass_)
        typed(theirs, parse_one("DELETE FROM m WHERE u > 0"))
        typed(theirs, parse_one("INSERT INTO l VALUES (1, 100, 100), (2, -50, 3)"))

    quiet = train(ours, "m", join.query, asked)
    disturbed = train(ours, "m", join.query, asked, meddle)
    assert len(seen) > 1
    assert facts(disturbed) == facts(quiet)
    assert facts(train(ours, "m", join.query, asked)) != facts(quiet)


def test_two_trainings_at_once_do_not_meet(sessions: Sessions) -> None:
    engines = sessions(), sessions()
    join = chain(np.random.default_rng(2), rows=150, fan_out=3)
    join.create(engines[0])
    for engine in engines:
        single_threaded(engine)
    asked = [training(lam=lam, sample=1000, counting="grid", in_memory=0) for lam in (1e-1, 1e-2)]
    alone = [train(engines[0], "m", join.query, a) for a in asked]
    both = Barrier(2, timeout=60)  # each has made a pass, and neither has finished

    def meet(record: Record) -> None:
        if record.pass_ == 1:
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(train, e, "m", join.query, a, meet) for e, a in zip(engines, asked, strict=True)]
        together = [r.result() for r in running]
    assert [facts(m) for m in together] == [facts(m) for m in alone]


# -- what is gone ------------------------------------------------------------------------------------------------------

GONE = {
    "DROP TABLE m": ('m"? does not exist', "cannot read m: "),
    "ALTER TABLE m DROP COLUMN u": ("u", "unknown column m.u\nHINT: the columns here are k, j, y, v"),
}


@pytest.mark.parametrize("change", GONE)
def test_dropped_by_others_between_two_passes(sessions: Sessions, change: str) -> None:
    """It stays for us: a snapshot in DuckDB, a lock in PostgreSQL, where the others have to wait."""
    ours, theirs = sessions(), sessions()
    join = chain(np.random.default_rng(3), rows=150, fan_out=3)
    join.create(ours)
    for engine in (ours, theirs):
        single_threaded(engine)
    if theirs.dialect == "postgres":
        theirs.execute(Text("SET lock_timeout = 100"))
    asked, refused = training(lam=1e-3, sample=200, tol=1e-6), []

    def drop(record: Record) -> None:
        if record.pass_ == 1:
            try:
                typed(theirs, change)
            except StatementError as error:
                refused.append(type(error.__cause__))

    quiet = train(ours, "m", join.query, asked)
    assert facts(train(ours, "m", join.query, asked, drop)) == facts(quiet)
    assert refused == ([psycopg.errors.LockNotAvailable] if theirs.dialect == "postgres" else [])


@pytest.mark.parametrize("change", GONE)
@pytest.mark.parametrize("when", ["before the snapshot", "between two passes"])
def test_gone_in_the_middle(sessions: Sessions, change: str, when: str) -> None:
    """After the names were read, or in our own session: an error that names it, and nothing is left."""
    ours, theirs = sessions(), sessions()
    join = chain(np.random.default_rng(3), rows=150, fan_out=3)
    join.create(ours)
    asked = training(lam=1e-3, sample=200, tol=1e-6)
    good = train(ours, "m", join.query, asked)
    before = tables(ours)

    def change_before(text: str) -> None:
        if text.startswith("BEGIN"):
            typed(theirs, change)

    def change_between(record: Record) -> None:
        if record.pass_ == 1:
            typed(ours, change)

    between = when == "between two passes"
    ours.on_statement = None if between else change_before
    with pytest.raises(StatementError, match=GONE[change][0]):
        train(ours, "m", join.query, asked, change_between if between else None)
    ours.on_statement = None
    if between:  # our own change went with the transaction
        assert tables(ours) == before
        assert train(ours, "m", join.query, asked).join_rows == good.join_rows
    else:
        assert [name for name in tables(ours) if "sqlsvm" in name] == []


@pytest.mark.parametrize("change", GONE)
def test_gone_afterwards(engine: Engine, change: str) -> None:
    """What uses a model, or the state of a training, says what is missing."""
    join = chain(np.random.default_rng(3), rows=150, fan_out=3)
    join.create(engine)
    asked = training(lam=1e-2, sample=200, max_passes=1, tol=0)
    continuation = Continuation()
    model = train(engine, "m", join.query, asked, None, continuation)
    parted = replace(model, options={**model.options, "holdout": 0.5})
    typed(engine, change)
    before = tables(engine)
    for use in (
        lambda: evaluate_model(engine, model),
        lambda: evaluate_parts(engine, parted),
        lambda: predict(engine, model),
        lambda: train(engine, "m", join.query, asked, None, Continuation(continuation.last)),
    ):
        with pytest.raises((QueryError, EngineError)) as refused:
            use()
        assert str(refused.value).replace("public.", "").startswith(GONE[change][1])
        assert tables(engine) == before


def single_threaded(engine: Engine) -> None:
    """So that sums come out alike to the last digit."""
    if engine.dialect == "duckdb":
        typed(engine, parse_one("SET threads = 1", read="duckdb"))
