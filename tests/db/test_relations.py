"""Everything that can stand in FROM: what is read is what the database itself would read."""

from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlglot import exp, parse_one

from sqlsvm.ask.inspect import Inspection, inspect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import QueryError
from tests.servers import reachable_by_itself
from tests.typed import asked, run

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


def test_a_foreign_table(postgres: Engine, postgres_dsn: str) -> None:
    """Rows of the same server, by way of postgres_fdw."""
    run(postgres, TABLES)
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'postgres_fdw'").fetchone():
            pytest.skip("this server has no postgres_fdw")
    at = conninfo_to_dict(postgres_dsn)
    options = ", ".join(f"{k} '{at[k]}'" for k in ("host", "port", "dbname") if k in at)
    login = ", ".join(f"{k} '{at[k]}'" for k in ("user", "password") if k in at)
    owner(
        postgres_dsn,
        f"""CREATE EXTENSION postgres_fdw;
        CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({options});
        CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS ({login});
        CREATE FOREIGN TABLE c (k INT, z DOUBLE PRECISION) SERVER far OPTIONS (table_name 'b')""",
    )
    with reachable_by_itself(postgres_dsn):
        found = agrees(postgres, "SELECT a.y, a.x, c.z FROM a JOIN c USING (k)")
    assert (found.join_rows, found.relations[1].rows) == (5, 4)
    owner(postgres_dsn, "DROP EXTENSION postgres_fdw CASCADE")


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
    assert caught.value.hint == "there are no tables in this database; is it the right one?"


def test_a_column_that_is_missing_in_a_sub_query(engine: Engine) -> None:
    run(engine, TABLES)
    with pytest.raises(QueryError, match="cannot read sub-query s: "):
        inspect(engine, "SELECT a.x, s.q FROM a JOIN (SELECT k, q FROM b) AS s USING (k)")
    agrees(engine, "SELECT a.y, b.z FROM a JOIN b USING (k)")


def test_a_file_that_is_missing(duckdb: Engine) -> None:
    run(duckdb, TABLES)
    with pytest.raises(QueryError, match=r"cannot read nothing\.csv"):
        inspect(duckdb, "SELECT a.y, c.z FROM a JOIN 'nothing.csv' AS c USING (k)", label="y")
