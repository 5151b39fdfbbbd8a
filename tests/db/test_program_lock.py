"""A run works on its own copy of a stored program. To replace or delete a program, one waits for the end of a training,
and says so. Only roles that may change programs can make others wait."""

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Programmable, StatementError
from sqlsvm.psql.install import install
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.store import Kept, open_store
from tests.cli.test_interrupt import number
from tests.db.test_sql_train_session import running
from tests.ground.opened import build
from tests.ground.roles import logins
from tests.ground.sql_program import compiled
from tests.ground.trained import training
from tests.listing import value
from tests.psql import answer, complaint
from tests.typed import typed
from tests.waiting import eventually

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
WAITING = "SELECT COUNT(*) FROM pg_locks AS l WHERE NOT l.granted AND l.locktype IN ('transactionid', 'tuple')"
STOPPED = "SELECT COUNT(*) FROM pg_locks AS l WHERE NOT l.granted AND l.locktype = 'advisory'"


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


def test_a_training_keeps_its_program(postgres: Engine, dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    """Until its transaction ends. Other programs are free."""
    again = stored_program(postgres, QUERY, training())
    typed(postgres, IMPATIENT)
    with psycopg.connect(dsn) as session, caplog.at_level(logging.INFO, logger="sqlsvm"):
        session.execute("SELECT * FROM sqlsvm.train('late')")
        assert sqlstate(lambda: save_program(postgres, "late", again)) == TIMED_OUT
        assert 'waiting for the end of the training of "late"' in caplog.messages
        save_program(postgres, "another", again)
        session.rollback()
        save_program(postgres, "late", again)


@pytest.mark.parametrize("run", [*RUNS[1:], "explain('late')"])
def test_a_run_keeps_nobody_waiting(postgres: Engine, dsn: str, run: str) -> None:
    """Its transaction may stay open: it has its own copy."""
    again = stored_program(postgres, QUERY, training())
    typed(postgres, IMPATIENT)
    with psycopg.connect(dsn) as session:
        session.execute(f"SELECT * FROM sqlsvm.{run}".encode())
        save_program(postgres, "late", again)
        open_store(postgres).drop("late")


SLOW = """
    CREATE TABLE public.t2 AS SELECT n % 2 AS y, n FROM generate_series(1, 20) AS n;
    CREATE FUNCTION public.slowly(x integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN x; END $$"""
OBJECTIVE = """SELECT objective FROM sqlsvm.objective('late', '{"weights": {"x": 1}}')"""


def test_a_program_may_change_while_it_runs(postgres: Programmable, dsn: str) -> None:
    """The run goes on with what it began with. It stops in its first statement, and then there is another program."""
    postgres.run_script(SLOW)
    compiled(postgres, "late", "SELECT y, slowly((n % 7)::integer) AS x FROM t2", training(lam=0.1))
    (before,) = answer(dsn, f"{QUIET} {OBJECTIVE};")
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(42)")
        with running(dsn, OBJECTIVE) as session:
            eventually(lambda: number(dsn, STOPPED))
            compiled(postgres, "late", "SELECT y, 9 * x AS thrice FROM t", training(lam=0.5))
            other.execute("SELECT pg_advisory_unlock(42)")
            said, wrong = session.communicate(timeout=60)
    assert (session.returncode, "ERROR" in wrong) == (0, False), wrong
    assert before in said


def test_only_who_may_change_a_program_locks_it(postgres: Engine, dsn: str) -> None:
    """Neither a role that may only connect nor a reader can make a training or a compile wait."""
    names = [f"{kind} {os.getpid()}" for kind in ("stranger", "reader")]
    again = stored_program(postgres, QUERY, training())
    typed(postgres, IMPATIENT)
    with logins(postgres, dsn, *names) as (stranger, reader):
        install(postgres, readers=[names[1]])
        with psycopg.connect(stranger) as one, psycopg.connect(reader) as two:
            for key in ("sqlsvm.program late", "sqlsvm.train late"):
                one.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [key])
            for session in (one, two):
                for mode in ("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege), session.transaction():
                        session.execute(f"SELECT 1 FROM sqlsvm.programs FOR {mode}".encode())
                with pytest.raises(psycopg.errors.InsufficientPrivilege), session.transaction():
                    session.execute("LOCK TABLE sqlsvm.programs IN ROW SHARE MODE")
            two.execute("SELECT * FROM sqlsvm.explain('late')")
            save_program(postgres, "late", again)
            answer(dsn, f"{QUIET} {IMPATIENT}; SELECT version FROM sqlsvm.train('late');")
            open_store(postgres).drop("late")


def test_nothing_goes_while_it_trains(postgres: Engine, dsn: str) -> None:
    answer(dsn, f"{QUIET} SELECT version FROM sqlsvm.train('late');")
    typed(postgres, IMPATIENT)
    store = open_store(postgres)
    with psycopg.connect(dsn) as session:
        session.execute("SELECT * FROM sqlsvm.train('late')")
        assert sqlstate(lambda: store.drop("late")) == TIMED_OUT
        assert complaint(dsn, f"{IMPATIENT}; SELECT sqlsvm.drop_model('late');")["SQLSTATE"] == TIMED_OUT
        assert store.kept("late") == Kept((1,), program=True)
        session.rollback()
        session.execute("SELECT * FROM sqlsvm.objective('late', '{}')")
        assert store.drop("late", 1) == Kept((1,))
        assert store.drop("late") == Kept(program=True)


def test_two_trainings_of_a_program(dsn: str) -> None:
    """The second waits for the first. Counts do not."""
    with psycopg.connect(dsn) as session:
        session.execute("SELECT * FROM sqlsvm.train('late')")
        count = "SELECT COUNT(*) > 0 FROM sqlsvm.row_count('late', '{}');"
        assert answer(dsn, f"{QUIET} {IMPATIENT}; {count}") == ["t"]
        assert complaint(dsn, f"{QUIET} {IMPATIENT}; SELECT sqlsvm.train('late');")["SQLSTATE"] == TIMED_OUT
        session.commit()
    assert answer(dsn, f"{QUIET} SELECT version FROM sqlsvm.train('late');") == ["2"]


EXCHANGE = """
    UPDATE sqlsvm.programs AS p
    SET query = n.query, description = n.description, options = n.options, compiled_at = now()
    FROM sqlsvm.programs AS n WHERE p.name = 'late' AND n.name = 'newer';
    DELETE FROM sqlsvm.statements WHERE program = 'late';
    INSERT INTO sqlsvm.statements SELECT 'late', part, place, name, working_table, text
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
    assert (model.typed, model.lam, [w.feature for w in model.weights]) == (newer, 0.5, ["thrice"])


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
