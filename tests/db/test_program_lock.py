"""Who runs a stored program keeps it as it is to the end; who replaces or deletes it waits for that, and says so."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.psql.install import install
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.store import Kept, open_store
from tests.cli.test_interrupt import eventually, number
from tests.db.test_sql_train_session import running
from tests.ground.opened import build
from tests.ground.sql_program import compiled
from tests.ground.trained import training
from tests.listing import value
from tests.psql import answer, complaint
from tests.typed import typed

TABLE = "CREATE TABLE t AS SELECT n % 2 AS y, n % 7 AS x FROM generate_series(1, 40) AS n"
QUERY = "SELECT y, x FROM t"
RUNS = (
    "train('late')",
    "evaluate('late', '{}')",
    "objective('late', '{}')",
    "row_count('late', '{}')",
    "generalized_row_count('late', '{}')",
    "pseudo_gradient('late', '{}')",
)
QUIET = "SET client_min_messages = warning;"
IMPATIENT = "SET lock_timeout = '200ms'"
TIMED_OUT = "55P03"
WAITING = """
    SELECT COUNT(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
    WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = CURRENT_DATABASE()"""


@pytest.fixture
def dsn(postgres: Engine, postgres_dsn: str) -> str:
    """The program `late`, which has trained nothing yet."""
    install(postgres)
    build(postgres, TABLE)
    compiled(postgres, "late", QUERY, training(lam=0.1))
    return postgres_dsn


def sqlstate(work: Callable[[], object]) -> str | None:
    with pytest.raises(StatementError) as e:
        work()
    assert isinstance(e.value.__cause__, psycopg.Error)
    return e.value.__cause__.sqlstate


def test_whatever_runs_a_program_keeps_it(postgres: Engine, dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    """Until its transaction ends. Other programs are free."""
    again = stored_program(postgres, QUERY, training())
    typed(postgres, IMPATIENT)
    with psycopg.connect(dsn) as session, caplog.at_level(logging.INFO, logger="sqlsvm"):
        for run in RUNS:
            caplog.clear()
            session.execute(f"SELECT * FROM sqlsvm.{run}".encode())
            assert sqlstate(lambda: save_program(postgres, "late", again)) == TIMED_OUT, run
            assert 'waiting for the end of all runs of the program "late"' in caplog.messages
            save_program(postgres, "another", again)
            session.rollback()
            save_program(postgres, "late", again)


def test_nothing_goes_while_it_runs(postgres: Engine, dsn: str) -> None:
    """A version alone is not what runs: that can be dropped."""
    answer(dsn, f"{QUIET} SELECT version FROM sqlsvm.train('late');")
    typed(postgres, IMPATIENT)
    store = open_store(postgres)
    with psycopg.connect(dsn) as session:
        session.execute("SELECT * FROM sqlsvm.objective('late', '{}')")
        assert sqlstate(lambda: store.drop("late")) == TIMED_OUT
        assert complaint(dsn, f"{IMPATIENT}; SELECT sqlsvm.drop_model('late');")["SQLSTATE"] == TIMED_OUT
        assert store.kept("late") == Kept((1,), program=True)
        assert store.drop("late", 1) == Kept((1,))
    assert store.drop("late") == Kept(program=True)


def test_runs_do_not_wait_for_each_other(dsn: str) -> None:
    with psycopg.connect(dsn) as session:
        session.execute("SELECT * FROM sqlsvm.train('late')")
        count = "SELECT COUNT(*) > 0 FROM sqlsvm.row_count('late', '{}');"
        assert answer(dsn, f"{QUIET} {IMPATIENT}; {count}") == ["t"]


EXCHANGE = """
    SELECT pg_advisory_xact_lock(hashtextextended('sqlsvm.program late', 0));
    DELETE FROM sqlsvm.programs WHERE name = 'late';
    INSERT INTO sqlsvm.programs SELECT 'late', compiled_at, query, label, search_path, description, options
    FROM sqlsvm.programs WHERE name = 'newer';
    INSERT INTO sqlsvm.statements SELECT 'late', part, place, name, working_table, texts
    FROM sqlsvm.statements WHERE program = 'newer'"""


def test_a_run_that_has_waited_takes_all_of_the_new_program(postgres: Engine, dsn: str) -> None:
    """Its row as well as its statements, though the row was there before in another form."""
    newer = "SELECT y, 3 * x AS thrice FROM t"
    compiled(postgres, "newer", newer, training(lam=0.5))
    with psycopg.connect(dsn) as compiling:
        compiling.execute(EXCHANGE.encode())
        with running(dsn, "SELECT sqlsvm.train('late')") as session:
            eventually(lambda: number(dsn, WAITING))
            compiling.commit()
            _, said = session.communicate(timeout=60)
            assert (session.returncode, "ERROR" in said) == (0, False), said
    model = open_store(postgres).load("late")
    assert (model.query, model.lam, [w.feature for w in model.weights]) == (newer, 0.5, ["thrice"])


def test_who_drops_sees_what_it_has_waited_for(postgres: Engine, dsn: str) -> None:
    """Also the first version of all, which was not there when it began to wait."""
    with ThreadPoolExecutor(1) as pool, psycopg.connect(dsn) as session:
        session.execute("SELECT * FROM sqlsvm.train('late')")
        dropping = pool.submit(lambda: open_store(postgres).drop("late"))
        eventually(lambda: number(dsn, WAITING))
        session.commit()
        assert dropping.result(timeout=60) == Kept((1,), program=True)
    assert open_store(postgres).models() == ()


def test_a_transaction_drops_what_it_has_run(dsn: str) -> None:
    train = "SELECT version FROM sqlsvm.train('late'); SELECT sqlsvm.drop_model('late');"
    assert answer(dsn, f"{QUIET} BEGIN; {train} COMMIT; SELECT count(*) FROM sqlsvm.programs;") == ["1", "{1}", "0"]


@pytest.mark.parametrize("name", ["late", "early"])
def test_compilers_at_the_same_time(postgres: Engine, dsn: str, name: str) -> None:
    """All succeed, and what is there in the end is one of theirs; whether there was a program of that name or not."""
    made = stored_program(postgres, QUERY, training())

    def work() -> None:
        with connect(dsn) as engine:
            for _ in range(3):
                save_program(engine, name, made)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result(timeout=60)
    count = f"SELECT COUNT(*) AS n FROM sqlsvm.statements WHERE program = '{name}'"
    assert value(postgres, count) == sum(map(len, made.parts.values()))
