"""Everything that can stand in FROM: what is read is what the database itself would read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlglot import exp, parse_one

from sqlsvm.ask.inspect import Inspection, inspect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import QueryError
from sqlsvm.psql.install import install
from sqlsvm.run.train import train
from tests.ground.sql_program import compiled
from tests.ground.trained import training
from tests.psql import answer
from tests.servers import reachable_by_itself
from tests.typed import asked, run

pytestmark = pytest.mark.twin

TABLES = """
CREATE TABLE a (k INT, x DOUBLE PRECISION, y INT);
CREATE TABLE b (k INT, z DOUBLE PRECISION);
INSERT INTO a VALUES (1, 0.5, 0), (1, 1.5, 1), (2, 2.5, 1), (3, 3.5, 0), (NULL, 4.5, 1);
INSERT INTO b VALUES (1, 10), (1, 11), (2, 12), (4, 13)
"""


def owner(dsn: str, script: str) -> None:
    """What sqlglot cannot say goes straight to the server."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(script.encode())


def agrees(engine: Engine, text: str) -> Inspection:
    """The join is as large as the query says when it is run, and so are the classes."""
    found = inspect(engine, text, label="y")
    counts = parse_one(
        f"SELECT COUNT(*) AS n, CAST(COUNT(CASE WHEN y = 1 THEN 1 END) AS DOUBLE PRECISION) AS p FROM ({text}) AS q",
        read=engine.dialect,
    )
    assert isinstance(counts, exp.Query)
    truth = asked(engine, counts)
    assert found.label
    assert (found.join_rows, found.label.positive) == (truth["n"][0], truth["p"][0])
    assert found.join_rows > 0
    return found


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.y, a.x, b.z FROM a JOIN b USING (k)",
        "SELECT y, x, z FROM a NATURAL JOIN b",
        "SELECT a.y, s.z FROM a JOIN (SELECT k, MAX(z) AS z FROM b GROUP BY k) AS s ON s.k = a.k",
        "SELECT a.y, s.z FROM a LEFT JOIN (SELECT k, MAX(z) AS z FROM b GROUP BY k) AS s ON s.k = a.k",
        "WITH s AS (SELECT * FROM b WHERE z < 12), r AS (SELECT k, z FROM s) SELECT a.y, r.z FROM a, r WHERE a.k = r.k",
        "WITH a AS (SELECT k, y, x + 1 AS x FROM a WHERE y = 1) SELECT a.y, a.x, b.z FROM a JOIN b USING (k)",
        "SELECT p.y, q.x FROM a AS p JOIN a AS q ON p.k = q.k",
        "SELECT a.y, s.z FROM a JOIN (SELECT k, z FROM b UNION ALL SELECT k, x FROM a) AS s USING (k)",
    ],
)
def test_queries_in_from(engine: Engine, text: str) -> None:
    run(engine, TABLES)
    agrees(engine, text)


def test_a_view(engine: Engine) -> None:
    run(engine, TABLES)
    run(engine, "CREATE VIEW v AS SELECT k, z * 2 AS double_z FROM b WHERE z > 10")
    found = agrees(engine, "SELECT a.y, v.double_z FROM a JOIN v USING (k)")
    assert [(r.table, r.rows) for r in found.relations] == [("a", 5), ("v", 3)]


def test_names_in_mixed_case_and_other_schemas(engine: Engine) -> None:
    run(engine, TABLES)
    run(engine, 'CREATE SCHEMA "Other One"; CREATE TABLE "Other One"."B b" AS SELECT k AS "My K", z AS "Z" FROM b')
    run(engine, "CREATE SCHEMA plain; CREATE TABLE plain.b AS SELECT k, z FROM b WHERE z > 10")
    found = agrees(engine, 'SELECT a.y, t."Z" FROM a JOIN "Other One"."B b" AS t ON t."My K" = A.K')
    assert found.features[0].name == "Z"
    assert (
        agrees(engine, "SELECT a.y, b.z, c.z AS w FROM a JOIN b ON a.k = b.k JOIN plain.b AS c ON a.k = c.k").join_rows
        == 5
    )


def test_the_search_path_decides(postgres: Engine) -> None:
    run(postgres, TABLES)
    run(postgres, "CREATE SCHEMA s; CREATE TABLE s.b AS SELECT k, z FROM b WHERE z > 10")
    assert agrees(postgres, "SELECT a.y, b.z FROM a JOIN b USING (k)").join_rows == 5
    postgres.look_in(["s", "public"])  # type: ignore[attr-defined]
    assert agrees(postgres, "SELECT a.y, b.z FROM a JOIN b USING (k)").join_rows == 3


# -- PostgreSQL --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("CREATE MATERIALIZED VIEW c AS SELECT * FROM b", id="materialised view"),
        pytest.param("CREATE TEMPORARY TABLE c AS SELECT * FROM b", id="temporary"),
        pytest.param("CREATE UNLOGGED TABLE c AS SELECT * FROM b", id="unlogged"),
        pytest.param(
            "CREATE TABLE c (k INT, z DOUBLE PRECISION) PARTITION BY LIST (k);"
            "CREATE TABLE c1 PARTITION OF c FOR VALUES IN (1); CREATE TABLE c2 PARTITION OF c DEFAULT;"
            "INSERT INTO c SELECT * FROM b",
            id="partitioned",
        ),
        pytest.param(
            "CREATE TABLE c (LIKE b); CREATE TABLE c1 () INHERITS (c); INSERT INTO c SELECT * FROM b WHERE k = 1;"
            "INSERT INTO c1 SELECT * FROM b WHERE k > 1",
            id="inherited",
        ),
    ],
)
def test_kinds_of_tables(postgres: Engine, postgres_dsn: str, script: str) -> None:
    run(postgres, TABLES)
    if "TEMPORARY" in script:
        run(postgres, script)
    else:
        owner(postgres_dsn, script)
    found = agrees(postgres, "SELECT a.y, a.x, c.z FROM a JOIN c USING (k)")
    assert (found.join_rows, found.relations[1].rows, found.relations[1].rows_surviving) == (5, 4, 3)
    assert (found.edges[0].max_left, found.edges[0].max_right, found.edges[0].null_keys) == (2, 2, 1)


@contextmanager
def far(dsn: str, made: str) -> Iterator[None]:
    """Foreign tables in the server `far`, which is this one."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'postgres_fdw'").fetchone():
            pytest.skip("this server has no postgres_fdw")
    at = conninfo_to_dict(dsn)
    options = ", ".join(f"{k} '{at[k]}'" for k in ("host", "port", "dbname") if k in at)
    login = ", ".join(f"{k} '{at[k]}'" for k in ("user", "password") if k in at)
    owner(
        dsn,
        f"""CREATE EXTENSION postgres_fdw;
        CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({options});
        CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS ({login}); {made}""",
    )
    try:
        with reachable_by_itself(dsn):
            yield
    finally:
        owner(dsn, "DROP EXTENSION postgres_fdw CASCADE")


def test_a_foreign_table(postgres: Engine, postgres_dsn: str) -> None:
    """Rows of the same server, by way of postgres_fdw."""
    run(postgres, TABLES)
    away = "CREATE FOREIGN TABLE c (k INT, z DOUBLE PRECISION) SERVER far OPTIONS (table_name 'b')"
    with far(postgres_dsn, away):
        found = agrees(postgres, "SELECT a.y, a.x, c.z FROM a JOIN c USING (k)")
    assert (found.join_rows, found.relations[1].rows) == (5, 4)


FAR = """
CREATE TABLE hours (k INT, l INT, y BOOL, x FLOAT8) PARTITION BY RANGE (k);
CREATE TABLE hour0 PARTITION OF hours FOR VALUES FROM (0) TO (100);
INSERT INTO hours SELECT i, i % 7, i % 3 = 0, sin(i) FROM generate_series(1, 60) AS i;
CREATE TABLE hour1 AS SELECT 100 + i AS k, i % 7 AS l, i % 3 = 0 AS y, (5 - i)::float8 AS x
FROM generate_series(1, 20) AS i;
CREATE TABLE g AS SELECT i AS l, cos(i) AS u FROM generate_series(0, 6) AS i;
CREATE FOREIGN TABLE away (k INT, l INT, y BOOL, x FLOAT8) SERVER far OPTIONS (table_name 'hours');
CREATE VIEW seen AS SELECT * FROM away;
CREATE TABLE both_ (k INT, l INT, y BOOL, x FLOAT8) PARTITION BY RANGE (k);
ALTER TABLE both_ ATTACH PARTITION away FOR VALUES FROM (0) TO (1000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("table", ["away", "seen", "both_"])
def test_a_partition_that_is_attached_far_away(postgres: Engine, postgres_dsn: str, table: str) -> None:
    """The session there sees it at once, and this one does not know: so the rows are made once."""
    query = f"SELECT s.y, s.x, g.u FROM {table} AS s JOIN g ON g.l = s.l"
    options = training(lam=0.1, sample=20, scale="none")
    with far(postgres_dsn, FAR):
        before = train(postgres, "m", query, options)
        for moment in range(2, 46, 6):
            sent = list[str]()

            def attach(text: str, sent: list[str] = sent, moment: int = moment) -> None:
                sent.append(text)
                if len(sent) == moment:
                    owner(postgres_dsn, "ALTER TABLE hours ATTACH PARTITION hour1 FOR VALUES FROM (100) TO (200)")

            postgres.on_statement = attach
            found = train(postgres, "m", query, options)
            postgres.on_statement = None
            after = train(postgres, "m", query, options)
            true = {60: before, 80: after}[int(found.join_rows)]
            assert found.lower_bound <= true.objective_upper, moment
            assert found.objective_upper >= true.lower_bound, moment
            assert len(sent) > moment
            owner(postgres_dsn, "ALTER TABLE hours DETACH PARTITION hour1")


@pytest.mark.parametrize("table", ["away", "seen", "both_"])
def test_a_program_copies_the_rows_of_another_server(postgres: Engine, postgres_dsn: str, table: str) -> None:
    """Also in a transaction with one snapshot. A session that makes no tables refuses them."""
    query = f"SELECT s.y, s.x, g.u FROM {table} AS s JOIN g ON g.l = s.l"
    with far(postgres_dsn, FAR):
        install(postgres)
        compiled(postgres, "away", query, training(lam=0.1, scale="none"))
        kinds = "SELECT string_agg(relkind::text, '' ORDER BY relname) FROM pg_class WHERE relname LIKE 'sqlsvm\\_r_'"
        quiet = "SET client_min_messages = warning;"
        for level, wanted in ("READ COMMITTED", "rr"), ("REPEATABLE READ", "rv"):
            begun = f"BEGIN ISOLATION LEVEL {level}; CREATE TEMPORARY TABLE sqlsvm_statements AS"
            taken = "SELECT * FROM sqlsvm.statements; SELECT sqlsvm._sources();"
            assert answer(postgres_dsn, f"{begun} {taken} {kinds}")[-1] == wanted
            assert answer(
                postgres_dsn, f"{quiet} BEGIN ISOLATION LEVEL {level}; SELECT version FROM sqlsvm.train('away'); COMMIT"
            )
        postgres.place(no_temp=True)
        with pytest.raises(QueryError, match=f"{table} has rows of another server, which may be others each time"):
            train(postgres, "m", query, training(lam=0.1))


# -- DuckDB ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["b.parquet", "b.csv", "it's b.csv"])
def test_files(duckdb: Engine, tmp_path: Path, name: str) -> None:
    run(duckdb, TABLES)
    path = str(tmp_path / name).replace("'", "''")
    run(duckdb, f"COPY b TO '{path}' (FORMAT {name.rpartition('.')[2]})")
    found = agrees(duckdb, f"SELECT a.y, a.x, c.z FROM a JOIN '{path}' AS c USING (k)")
    assert (found.join_rows, found.relations[1].rows) == (5, 4)


# -- what is not there -------------------------------------------------------------------------------------------------


def test_a_table_that_is_missing(engine: Engine) -> None:
    """Looked up outside any transaction, so that the session can still say what there is."""
    run(engine, "CREATE TABLE flights (k INT); CREATE SCHEMA air; CREATE TABLE air.planes (k INT)")
    with pytest.raises(QueryError, match="cannot read fligths: ") as caught:
        inspect(engine, "SELECT k FROM fligths")
    assert caught.value.hint == "did you mean flights?"
    with pytest.raises(QueryError, match=r"cannot read air\.plane: ") as caught:
        inspect(engine, "SELECT k FROM air.plane")
    assert caught.value.hint == "did you mean air.planes?"
    with pytest.raises(QueryError, match="cannot read planes: ") as caught:
        inspect(engine, "SELECT k FROM planes")
    assert caught.value.hint == "did you mean air.planes?"


def test_no_table_at_all(engine: Engine) -> None:
    with pytest.raises(QueryError, match="cannot read flights: ") as caught:
        inspect(engine, "SELECT k FROM flights")
    assert str(caught.value.hint).startswith("there are no tables in this database; is it the right one?")


def test_a_column_that_is_missing_in_a_sub_query(engine: Engine) -> None:
    run(engine, TABLES)
    with pytest.raises(QueryError, match="cannot read sub-query s: "):
        inspect(engine, "SELECT a.x, s.q FROM a JOIN (SELECT k, q FROM b) AS s USING (k)")
    agrees(engine, "SELECT a.y, b.z FROM a JOIN b USING (k)")


def test_a_file_that_is_missing(duckdb: Engine) -> None:
    run(duckdb, TABLES)
    with pytest.raises(QueryError, match=r"cannot read nothing\.csv"):
        inspect(duckdb, "SELECT a.y, c.z FROM a JOIN 'nothing.csv' AS c USING (k)", label="y")
