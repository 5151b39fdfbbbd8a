"""Working tables in a schema of the user's choice: the same training, and nothing there when it is over."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from psycopg.conninfo import make_conninfo
from sqlglot import exp, parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.engine.postgres import Unlogged
from sqlsvm.errors import EngineError, OptionError, SqlsvmError
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query.rewrites.split import Holdout
from sqlsvm.run.folding import prepared_part
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import labelled, open_problem
from sqlsvm.run.train import train
from sqlsvm.run.workspace import workspace
from tests.ground.joins import JOINS, Join
from tests.ground.opened import build, truth
from tests.ground.trained import assert_proven, training, wish_of
from tests.typed import typed


def command(engine: Engine, text: str) -> None:
    typed(engine, exp.Command(this=text))


@contextmanager
def shape(engine: Engine, name: str, schema: str = "work") -> Iterator[Join]:
    join = JOINS[name](np.random.default_rng(3))
    join.create(engine)
    engine.execute(exp.Create(this=exp.Table(db=exp.to_identifier(schema, quoted=True)), kind="SCHEMA"))
    yield join
    left = parse_one("SELECT relname FROM pg_class WHERE relname LIKE 'sqlsvm%'", read="postgres")
    assert engine.fetch(left)["relname"].tolist() == []


@pytest.mark.parametrize("name", ["categories", "left join"])
def test_training(postgres: Engine, statements: list[str], name: str) -> None:
    """The name of the schema needs quotes."""
    with shape(postgres, name, 'Work "1"') as join:
        asked = training(nulls="mean", categorical=join.categorical, sample=2000, lam=1e-2)
        rows = truth(postgres, join.query, wish_of(asked))
        statements.clear()
        postgres.work_in('Work "1"')
        model = train(postgres, name, join.query, asked)
        assert model.converged
        assert_proven(postgres, model, rows)
        made = [text for text in statements if text.startswith("CREATE")]
        assert made
        assert all(text.startswith('CREATE UNLOGGED TABLE "Work ""1""".sqlsvm_') for text in made)


def test_rows_kept_there_are_thinned(postgres: Engine, statements: list[str]) -> None:
    """Also where a table of the user's is called like the one that they are kept in."""
    build(postgres, "CREATE TABLE numbers AS SELECT i FROM generate_series(0, 9999) AS t(i)")
    build(
        postgres,
        "CREATE TABLE f AS SELECT i % 2 AS y, i * i % 97 AS x, i FROM numbers; CREATE TABLE sqlsvm_part (i INT)",
    )
    build(postgres, "CREATE SCHEMA work")
    postgres.work_in("work")
    options, holdout = ProblemOptions("y"), Holdout(0.5, 0)
    query = labelled(postgres, "SELECT y, x, i FROM f", options, held=holdout)
    with workspace(postgres) as work:
        problem = prepared_part(work, query, options, holdout, "train")
        statements.clear()
        sample = JoinOracle(problem).sample(2000, 1)
    assert 4500 < problem.moments.n < 5500
    assert abs(len(sample.signs) - 2000) < 5 * np.sqrt(2000)
    assert sum("TABLESAMPLE" in text and text.startswith("COPY") for text in statements) == 1


def test_two_at_once_do_not_wait_for_each_other(postgres: Engine, postgres_dsn: str) -> None:
    """The second trains from beginning to end while the first holds the same tables."""
    with shape(postgres, "categories") as join:
        options = ProblemOptions("y", categorical=join.categorical)
        postgres.work_in("work")
        done: list[float] = []

        def other() -> None:
            with connect(postgres_dsn) as engine:
                engine.work_in("work")
                with open_problem(engine, join.query, options) as problem:
                    done.append(problem.moments.n)

        with open_problem(postgres, join.query, options) as problem:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(timeout=60)
            assert done == [problem.moments.n]


def test_a_failure_leaves_nothing(postgres: Engine) -> None:
    with shape(postgres, "categories") as join:
        postgres.work_in("work")
        with pytest.raises(EngineError, match="nope"), open_problem(postgres, join.query, ProblemOptions("y")):
            postgres.execute(exp.select("nope"))


def test_tables_of_the_work_are_found_by_all_who_ask(postgres: Engine) -> None:
    """Also outside the compiled statements."""
    build(postgres, "CREATE SCHEMA work; CREATE TABLE f (x INT); INSERT INTO f VALUES (3), (4)")
    postgres.work_in("work")
    with postgres.snapshot():
        rows = [x for block in postgres.blocks(postgres.bound(exp.select("x").from_("f"))) for x in block["x"].tolist()]
    assert sorted(rows) == [3, 4]


def test_a_schema_that_is_not_there(postgres: Engine) -> None:
    with pytest.raises(OptionError, match="there is no schema Nowhere") as caught:
        postgres.work_in("Nowhere")
    assert caught.value.hint == 'type: CREATE SCHEMA "Nowhere"; GRANT USAGE, CREATE ON SCHEMA "Nowhere" TO postgres'


def test_a_schema_that_one_may_not_use(postgres: Engine, postgres_dsn: str) -> None:
    name = f"sqlsvm_reader_{os.getpid()}"
    command(postgres, "CREATE SCHEMA work")
    command(postgres, f"CREATE ROLE {name} LOGIN")
    try:
        with (
            connect(make_conninfo(postgres_dsn, user=name)) as engine,
            pytest.raises(OptionError, match=f"{name} may not make tables in schema work") as caught,
        ):
            engine.work_in("work")
        assert caught.value.hint == f"its owner types: GRANT USAGE, CREATE ON SCHEMA work TO {name}"
    finally:
        command(postgres, f"DROP ROLE {name}")


def test_duckdb_has_no_use_for_it(duckdb: Engine) -> None:
    with pytest.raises(SqlsvmError, match="only PostgreSQL"):
        duckdb.work_in("main")


def test_a_table_keeps_the_name_that_its_columns_are_qualified_with() -> None:
    place = Unlogged("work")
    made = parse_one("CREATE TEMPORARY TABLE sqlsvm_a AS SELECT f.x FROM f", read="postgres")
    read = parse_one("SELECT sqlsvm_a.x, b.x FROM sqlsvm_a, sqlsvm_a AS b JOIN f ON sqlsvm_a.x = f.x", read="postgres")
    assert place.placed(read) == read
    at = place.placed(made).this.sql("postgres")
    assert at.startswith('"work".sqlsvm_a_')
    assert place.placed(made).sql("postgres") == f"CREATE UNLOGGED TABLE {at} AS SELECT f.x FROM f"
    moved = f"SELECT sqlsvm_a.x, b.x FROM {at} AS sqlsvm_a, {at} AS b JOIN f ON sqlsvm_a.x = f.x"
    assert place.placed(read).sql("postgres") == moved
    assert place.placed(parse_one("DROP TABLE IF EXISTS sqlsvm_a")).sql("postgres") == f"DROP TABLE IF EXISTS {at}"
