"""`sqlsvm inspect`: what it prints, and all the ways to tell it what to look at."""

import json
from pathlib import Path
from typing import Any

import pytest

from sqlsvm.engine import connect
from tests.cli.command import ROOT, sqlsvm
from tests.typed import run

GOLDEN = ROOT / "tests" / "golden" / "draw"
QUERY = (GOLDEN / "left_join.sql").read_text(encoding="utf-8").partition("-- query\n")[2]


def fill(dsn: str, name: str) -> None:
    tables = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8").partition("-- query\n")[0]
    with connect(dsn) as engine:
        run(engine, tables)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A DuckDB file with the tables of left_join.sql."""
    dsn = f"duckdb:{tmp_path_factory.mktemp('shared') / 'x.duckdb'}"
    fill(dsn, "left_join")
    return dsn


def test_in_a_pipe_it_is_the_drawing_and_nothing_else(shared: str) -> None:
    done = sqlsvm("inspect", "--dsn", shared, "--label", "y", "--query", QUERY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (GOLDEN / "left_join.txt").read_text(encoding="utf-8")


def test_the_query_is_a_file_or_stdin(shared: str, tmp_path: Path) -> None:
    (tmp_path / "my features.sql").write_text(f"\ufeff{QUERY}", encoding="utf-8")
    drawing = (GOLDEN / "left_join.txt").read_text(encoding="utf-8")
    options = ("inspect", "--dsn", shared, "--label", "y", "--query")
    assert sqlsvm(*options, "my features.sql", cwd=tmp_path).stdout == drawing
    assert sqlsvm(*options, "-", stdin=QUERY).stdout == drawing


def test_every_option_may_come_from_the_environment(shared: str) -> None:
    env = {"DSN": shared, "QUERY": QUERY, "LABEL": "y", "POSITIVE": "false", "CATEGORICAL": "minutes age", "JSON": "1"}
    done = sqlsvm("inspect", env={f"SQLSVM_{name}": value for name, value in env.items()})
    found = json.loads(done.stdout)
    assert found["label"]["rows"] == {"-1": 26, "1": 4}
    assert [(f["name"], f["kind"]) for f in found["features"]] == [("minutes", "categorical"), ("age", "categorical")]


def test_an_option_outdoes_the_environment(shared: str) -> None:
    env = {"SQLSVM_DSN": "duckdb:/nowhere/at.all", "SQLSVM_LABEL": "nothing"}
    assert sqlsvm("inspect", "--dsn", shared, "--label", "y", "--query", QUERY, env=env).returncode == 0


# Every key and value that scripts may rely on; NaN and infinity are counted in addition to NULLs.
OF_FEATURES = {"nans": 0, "infinite": 0}
LEFT_JOIN: dict[str, Any] = {
    "relations": [
        {"alias": "v", "table": "visits", "rows": 30, "rows_surviving": 30},
        {"alias": "m", "table": "members", "rows": 6, "rows_surviving": 6},
    ],
    "edges": [
        {
            "left": "v",
            "right": "m",
            "on": '"v"."member" = "m"."id"',
            "kind": "foreign-key",
            "join": "left",
            "max_left": 4,
            "max_right": 1,
            "dangling_left": 9,
            "dangling_right": 0,
            "null_keys": 0,
        }
    ],
    "bags": [["v", "m"]],
    "root": "v",
    "acyclic": True,
    "join_rows": 30,
    "features": [
        {"name": "minutes", "relation": "v", "kind": "numeric", "nulls": 0, **OF_FEATURES},
        {"name": "age", "relation": "m", "kind": "numeric", "nulls": 0, **OF_FEATURES},
    ],
    "label": {"column": "y", "relation": "v", "rows": {"-1": 4, "1": 26}, "nulls": 0},
    "alike": [],
}


def test_json_from_duckdb(shared: str) -> None:
    assert (
        json.loads(sqlsvm("inspect", "--dsn", shared, "--label", "y", "--json", "--query", QUERY).stdout) == LEFT_JOIN
    )


def test_json_from_postgres(postgres_dsn: str) -> None:
    with connect(postgres_dsn) as engine:
        run(engine, TABLES)
    done = sqlsvm("inspect", "--dsn", postgres_dsn, "--label", "y", "--json", "--query", QUERY)
    assert json.loads(done.stdout) == LEFT_JOIN


TABLES = """
CREATE TABLE visits AS SELECT i % 9 AS member, i > 3 AS y, i AS minutes FROM GENERATE_SERIES(0, 29) AS r(i);
CREATE TABLE members (id INT PRIMARY KEY, age INT);
INSERT INTO members SELECT i, 20 + i FROM GENERATE_SERIES(0, 5) AS r(i)"""


def test_files_are_tables(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("k,y\n1,true\n2,false\n2,true\n")
    with connect("duckdb:") as engine:
        run(engine, f"COPY (SELECT 2 AS k, 0.5 AS z) TO '{tmp_path}/x.parquet'")
    query = "SELECT a.y, b.z FROM 'x.csv' AS a JOIN 'x.parquet' AS b USING (k)"
    done = sqlsvm("inspect", "--dsn", "duckdb:", "--label", "y", "--json", "--query", query, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert [(r["table"], r["rows"], r["rows_surviving"]) for r in found["relations"]] == [
        ("x.csv", 3, 2),
        ("x.parquet", 1, 1),
    ]
    assert found["label"]["rows"] == {"-1": 1, "1": 1}
