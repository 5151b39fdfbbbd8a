"""What a role sees of tables that it may not read, or may not read in full; and locks."""

import os

import psycopg
import pytest
from sqlglot import exp

from sqlsvm.ask.inspect import inspect
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Programmable
from sqlsvm.errors import OptionError, QueryError
from sqlsvm.model.predict import predict, save
from sqlsvm.psql.install import install
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.cli.command import sqlsvm
from tests.ground.roles import logins
from tests.psql import answer, complaint
from tests.typed import typed

READER = f"reader {os.getpid()}"
QUERY = "SELECT y, x, city FROM t"
DATA = """
    CREATE TABLE public.t AS SELECT n % 2 AS y, n AS x, 'city ' || n % 3 AS city FROM generate_series(1, 30) AS n;
    ALTER TABLE public.t ENABLE ROW LEVEL SECURITY;
    CREATE POLICY p ON public.t USING (x <= 10)"""


@pytest.fixture
def trained(postgres: Programmable) -> Programmable:
    postgres.run_script(DATA)
    install(postgres)
    open_store(postgres).save(train(postgres, "late", QUERY, Training("y", lam=0.1)))
    return postgres


def server_of(engine: Engine) -> int:
    return int(engine.version.split()[1].partition(".")[0])


def test_a_view_reads_with_the_rights_of_its_owner_or_of_its_reader(trained: Programmable, postgres_dsn: str) -> None:
    """The table has a policy for others than its owner: 10 of its 30 rows."""
    with logins(trained, postgres_dsn, READER) as (reader,):
        model = open_store(trained).load("late")
        save(trained, predict(trained, model), "public.owners", "view")
        typed(trained, f'GRANT SELECT ON public.owners TO "{READER}"')
        assert answer(reader, "SELECT count(*) FROM public.owners;") == ["30"]
        if server_of(trained) < 15:
            return
        made = sqlsvm("predict", "late", "--dsn", postgres_dsn, "--view", "public.readers", "--security-invoker")
        assert (made.returncode, made.stderr) == (0, "")
        typed(trained, f'GRANT SELECT ON public.readers TO "{READER}"')
        assert complaint(reader, "SELECT count(*) FROM public.readers;")["SQLSTATE"] == "42501"
        typed(trained, f'GRANT SELECT ON public.t TO "{READER}"')
        assert answer(reader, "SELECT count(*) FROM public.readers;") == ["10"]
        assert answer(reader, "SELECT count(*) FROM public.owners;") == ["30"]


def test_weights_show_categories(trained: Programmable, postgres_dsn: str) -> None:
    """Also to a reader of models who may not read the table: docs/security.md says so."""
    with logins(trained, postgres_dsn, READER) as (reader,):
        install(trained, readers=[READER])
        assert complaint(reader, "SELECT city FROM public.t;")["SQLSTATE"] == "42501"
        categories = "SELECT category FROM sqlsvm.weights('late') WHERE feature = 'city' ORDER BY 1;"
        assert answer(reader, categories) == ["city 0", "city 1", "city 2"]


def test_only_a_view_has_rights(duckdb: Engine) -> None:
    assert "needs --view" in sqlsvm("predict", "late", "--dsn", "duckdb:x", "--security-invoker").stderr
    with pytest.raises(OptionError, match="has no roles"):
        save(duckdb, exp.select("1"), "v", "view", security_invoker=True)


def test_a_table_that_somebody_has_locked(postgres: Engine, postgres_dsn: str) -> None:
    typed(postgres, "CREATE TABLE public.t AS SELECT 1 AS y, 2 AS x")
    with psycopg.connect(postgres_dsn) as other, connect(f"{postgres_dsn} options='-c lock_timeout=100ms'") as engine:
        other.execute("LOCK TABLE public.t IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(QueryError, match=r"cannot read t: .*lock timeout") as e:
            inspect(engine, "SELECT y, x FROM t", label="y")
        assert e.value.hint == "another session has locked it: try again later, or SET lock_timeout to a longer time"
