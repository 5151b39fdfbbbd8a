"""What `inspect` sends, what it locks, what it sees, and that it leaves nothing behind."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql as pg
from sqlglot import exp, parse_one

from sqlsvm.ask.inspect import inspect
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, EngineError, QueryError, SqlsvmError
from sqlsvm.run.workspace import workspace
from tests.typed import asked, run

TABLES = """
CREATE TABLE f (id INT, k INT, x DOUBLE PRECISION, s TEXT, y INT);
CREATE TABLE d (k INT, z DOUBLE PRECISION, c INT);
CREATE TABLE m (c INT, v DOUBLE PRECISION);
INSERT INTO f VALUES (1, 1, 0.5, '1', 0), (2, 1, 1.5, '2', 1), (3, 2, 2.5, 'x', 1), (4, NULL, 3.5, '4', 0);
INSERT INTO d VALUES (1, 7.0, 10), (2, 8.0, 10), (3, 9.0, 20);
INSERT INTO m VALUES (10, 1.0), (10, 2.0), (20, 3.0)
"""
QUERY = "SELECT f.y, f.x, d.z, m.v FROM f LEFT JOIN d ON d.k = f.k JOIN m ON m.c = f.y + 10"
CYCLE = "SELECT f.y, d.z, m.v FROM f JOIN d ON d.k = f.k JOIN m ON m.c = d.c AND m.v = f.x + 0.5"


@pytest.fixture
def filled(engine: Engine, statements: list[str]) -> Engine:
    run(engine, TABLES)
    statements.clear()
    return engine


# -- statements --------------------------------------------------------------------------------------------------------


def kind(statement: str, dialect: str) -> str:
    """What a statement does; of one that changes something, to which table."""
    first = statement.split()[0]
    if statement.startswith("LOCK TABLE "):
        assert statement.endswith(" IN ACCESS SHARE MODE")
        return "LOCK"
    if first in ("BEGIN", "COMMIT", "ROLLBACK", "SET", "DESCRIBE"):
        return first
    tree = parse_one(statement, read=dialect)
    if isinstance(tree, exp.Query):
        assert not tree.find(exp.DML, exp.DDL, exp.Lock, exp.Into)
        return "SELECT"
    if isinstance(tree, exp.Create):
        assert tree.find(exp.TemporaryProperty), statement
        return f"CREATE {tree.this.name}"
    assert isinstance(tree, exp.Analyze | exp.Drop), statement
    (table,) = tree.args["tables"]
    return f"{first} {table.name}"


@pytest.mark.parametrize("text", [QUERY, CYCLE], ids=["tree", "cycle"])
def test_it_only_reads_and_keeps_temporary_tables(filled: Engine, statements: list[str], text: str) -> None:
    inspect(filled, text, label="y")
    sent = [kind(s, filled.dialect) for s in statements]
    assert set(sent[: sent.index("BEGIN")]) <= {"SELECT", "DESCRIBE"}
    assert sent[-1] == "COMMIT"
    made = [s.removeprefix("CREATE ") for s in sent if s.startswith("CREATE ")]
    assert made
    assert sorted(made) == sorted(s.removeprefix("DROP ") for s in sent if s.startswith("DROP "))
    changes = {s for s in sent if " " in s}
    words = ("CREATE", "ANALYZE", "DROP") if filled.dialect == "postgres" else ("CREATE", "DROP")
    assert changes == {f"{word} {table}" for table in made for word in words}
    assert {s for s in sent if " " not in s} <= {"BEGIN", "LOCK", "COMMIT", "SELECT", "DESCRIBE"}


def test_a_query_without_functions_asks_for_none(filled: Engine, statements: list[str]) -> None:
    inspect(filled, "SELECT f.x, f.y FROM f", label="y")
    assert not [s for s in statements if "provolatile" in s or "duckdb_functions" in s]


# -- nothing left ------------------------------------------------------------------------------------------------------


def temporary_tables(engine: Engine) -> list[str]:
    text = {
        "postgres": "SELECT relname AS n FROM pg_class WHERE relnamespace = pg_my_temp_schema()",
        "duckdb": "SELECT table_name AS n FROM duckdb_tables() WHERE temporary",
    }[engine.dialect]
    query = parse_one(text, read=engine.dialect)
    assert isinstance(query, exp.Query)
    return list(asked(engine, query)["n"])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param(QUERY, None, id="success"),
        pytest.param("SELECT 'a' AS y, f.x FROM f", DataError, id="label refused"),
        pytest.param("SELECT f.y, m.v FROM f LEFT JOIN m ON m.c = f.k * 10", None, id="several found"),
        pytest.param("SELECT f.y, f.x, CAST(f.s AS INT) AS n FROM f", DataError, id="feature fails"),
        pytest.param("SELECT f.y, d.z FROM f JOIN d ON d.k = CAST(f.s AS INT)", EngineError, id="key fails"),
        pytest.param("SELECT f.y, f.x FROM f WHERE CAST(f.s AS INT) > 0", EngineError, id="filter fails"),
        pytest.param("SELECT f.y, nix.x FROM f JOIN nix USING (k)", QueryError, id="no such table"),
    ],
)
def test_nothing_is_left_behind(filled: Engine, text: str, error: type[SqlsvmError] | None) -> None:
    if error:
        with pytest.raises(error):
            inspect(filled, text, label="y")
    else:
        inspect(filled, text, label="y")
    assert temporary_tables(filled) == []
    assert inspect(filled, QUERY, label="y").join_rows == 4


def test_division_by_zero_half_way(postgres: Engine, statements: list[str]) -> None:
    run(postgres, TABLES)
    with pytest.raises(DataError, match="division by zero"):
        inspect(postgres, "SELECT f.y, d.z / (d.k - 1) AS q FROM f JOIN d USING (k)", label="y")
    assert any(s.startswith("CREATE TEMPORARY") for s in statements)
    assert temporary_tables(postgres) == []
    assert inspect(postgres, QUERY, label="y").join_rows == 4


def test_an_interrupt_leaves_nothing(filled: Engine) -> None:
    class Stop(BaseException):
        pass

    def stop(statement: str) -> None:
        if "total" in statement:
            raise Stop

    filled.on_statement = stop
    with pytest.raises(Stop):
        inspect(filled, QUERY, label="y")
    filled.on_statement = None
    assert temporary_tables(filled) == []
    assert inspect(filled, QUERY, label="y").join_rows == 4


def test_a_table_of_the_user_s_with_our_name_is_not_dropped(postgres: Engine) -> None:
    run(postgres, TABLES)
    run(postgres, "CREATE TABLE sqlsvm_n0 AS SELECT 1 AS a")
    inspect(postgres, QUERY, label="y")
    run(postgres, "SELECT a FROM sqlsvm_n0")


def test_inside_a_workspace_the_session_is_taken(filled: Engine) -> None:
    with workspace(filled), suppress(EngineError):
        inspect(filled, QUERY, label="y")
        pytest.fail("a second snapshot in one session")


# -- other sessions ----------------------------------------------------------------------------------------------------


@contextmanager
def pausing(engine: Engine, start: str, act: Callable[[], None]) -> Iterator[list[str]]:
    """Calls `act` just before the first statement that begins so is sent, and lists those that did."""
    seen: list[str] = []

    def watch(statement: str) -> None:
        if statement.startswith(start):
            if not seen:
                act()
            seen.append(statement)

    engine.on_statement = watch
    yield seen
    engine.on_statement = None


def test_locks(postgres: Engine, postgres_dsn: str) -> None:
    """Readers and writers of the user's tables may go on: AccessShare gives way to all but ALTER and DROP."""
    run(postgres, TABLES)
    run(postgres, "CREATE VIEW w AS SELECT * FROM d")
    held: list[tuple[str, str]] = []

    def look() -> None:
        with psycopg.connect(postgres_dsn) as other:
            held.extend(
                other.execute("""
                    SELECT DISTINCT c.relname, l.mode FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
                    WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                      AND c.relname IN ('f', 'd', 'm', 'w') ORDER BY 1
                """).fetchall()
            )

    with pausing(postgres, "COMMIT", look) as seen:
        inspect(postgres, QUERY.replace("JOIN d ON", "JOIN w AS d ON"), label="y")
    assert seen
    assert held == [(name, "AccessShareLock") for name in "dfmw"]


def test_postgres_sees_one_snapshot(postgres: Engine, postgres_dsn: str) -> None:
    run(postgres, TABLES)

    def change() -> None:
        with psycopg.connect(postgres_dsn) as other:
            other.execute(
                "INSERT INTO f SELECT id + 10, k, x, s, y FROM f; DELETE FROM m WHERE c = 20; UPDATE d SET k = 1"
            )

    with pausing(postgres, "CREATE TEMPORARY", change) as seen:
        found = inspect(postgres, QUERY, label="y")
    assert seen
    assert (found.join_rows, found.relations[0].rows) == (4, 4)
    assert [r.rows_surviving for r in found.relations] == [2, 1, 2]
    assert inspect(postgres, QUERY, label="y").join_rows == 16


def test_duckdb_sees_one_snapshot(tmp_path: Path) -> None:
    with connect(f"duckdb:{tmp_path / 'one'}") as engine, connect(f"duckdb:{tmp_path / 'one'}") as other:
        run(engine, TABLES)
        with pausing(
            engine, "CREATE TEMPORARY", lambda: run(other, "INSERT INTO f SELECT id, k, x, s, y FROM f")
        ) as seen:
            found = inspect(engine, QUERY, label="y")
        assert seen
        assert (found.join_rows, found.relations[0].rows) == (4, 4)
        assert inspect(engine, QUERY, label="y").join_rows == 8


# -- rights ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def reader(postgres: Engine, postgres_dsn: str, prefix: str) -> Iterator[str]:
    """A role that may read the tables, make temporary ones, and nothing else."""
    run(postgres, TABLES)
    name = pg.Identifier(f"{prefix}_reader")
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(pg.SQL("CREATE ROLE {0}; GRANT SELECT ON f, d, m TO {0}").format(name))
        yield f"{prefix}_reader"
        owner.execute(pg.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(name))


def bytes_of(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        tables = (pg.SQL("SELECT ctid, xmin, xmax, t::text FROM {} AS t").format(pg.Identifier(t)) for t in "fdm")
        return [row for query in tables for row in connection.execute(query)]


def test_a_role_with_select_and_temp_is_enough(postgres: Engine, postgres_dsn: str, reader: str) -> None:
    before = bytes_of(postgres_dsn)
    run(postgres, f'SET ROLE "{reader}"')
    with pytest.raises(EngineError, match="permission denied"):
        run(postgres, "DELETE FROM f")
    assert inspect(postgres, QUERY, label="y").join_rows == 4
    assert inspect(postgres, CYCLE, label="y").join_rows == 2
    run(postgres, "RESET ROLE")
    assert bytes_of(postgres_dsn) == before


def test_row_level_security_decides_what_is_joined(postgres: Engine, postgres_dsn: str, reader: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute("ALTER TABLE f ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON f USING (id <= 2)")
    run(postgres, f'SET ROLE "{reader}"')
    found = inspect(postgres, QUERY, label="y")
    run(postgres, "RESET ROLE")
    assert (found.join_rows, found.relations[0].rows) == (2, 2)
    assert inspect(postgres, QUERY, label="y").relations[0].rows == 4
