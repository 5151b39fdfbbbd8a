"""`sqlsvm compile`, then psql alone, then the driver on what psql has trained."""

import json
from pathlib import Path

import pytest

from sqlsvm.engine import connect
from tests.cli.command import sqlsvm
from tests.ground.opened import build
from tests.psql import answer

TABLES = """
    CREATE TABLE f (k INT, late BOOLEAN, x FLOAT8); CREATE TABLE g (k INT PRIMARY KEY, z FLOAT8);
    INSERT INTO f SELECT i % 7, sin(i) > cos(i * 3), sin(i) FROM generate_series(1, 200) AS i;
    INSERT INTO g SELECT i, i FROM generate_series(0, 6) AS i
"""
QUERY = "SELECT f.late, f.x, g.z FROM f JOIN g ON g.k = f.k"


@pytest.fixture
def dsn(postgres_dsn: str) -> str:
    with connect(postgres_dsn) as engine:
        build(engine, TABLES)
    return postgres_dsn


def test_compile_train_show(dsn: str) -> None:
    wanted = ("compile", "--dsn", dsn, "--query", QUERY, "--label", "late", "--name", "it's late", "--lambda", "0.01")
    refused = sqlsvm(*wanted)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the SQL functions are not in postgresql://" in refused.stderr
    assert "HINT: sqlsvm install --dsn 'postgresql://" in refused.stderr
    assert sqlsvm("install", "--dsn", dsn).returncode == 0
    done = sqlsvm(*wanted)
    assert (done.returncode, done.stderr) == (0, "")
    command = done.stdout.splitlines()[-1].partition("SELECT")
    assert command[2] == " * FROM sqlsvm.train('it''s late');"
    quiet = "SET client_min_messages = warning;"
    (row,) = answer(dsn, f"{quiet} {command[1]}{command[2]}")
    assert row.startswith("it's late|1|")
    shown = json.loads(sqlsvm("show", "it's late", "--dsn", dsn, "--json").stdout)
    assert (shown["lambda"], shown["solver"], shown["converged"], shown["version"]) == (0.01, "dane", True, 1)
    assert f"|{shown['objective']}|" in row
    evaluated = json.loads(sqlsvm("evaluate", "it's late", "--dsn", dsn, "--json").stdout)
    assert evaluated["label_rows"] == shown["label_rows"]


def test_what_was_compiled_is_dropped(dsn: str) -> None:
    """Also before anything was trained with it; then there is nothing of that name any more."""
    assert sqlsvm("install", "--dsn", dsn).returncode == 0
    compiled = sqlsvm("compile", "--dsn", dsn, "--query", QUERY, "--label", "late", "--name", "late")
    assert compiled.returncode == 0
    asked = sqlsvm("drop", "late", "--dsn", dsn)
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr.startswith('error: the program of the model "late" is not dropped without a confirmation\n')
    done = sqlsvm("drop", "late", "--dsn", dsn, "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (0, "dropped the program\n", "")
    assert answer(dsn, "SELECT count(*) FROM sqlsvm.statements;") == ["0"]
    again = sqlsvm("drop", "late", "--dsn", dsn, "--yes")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith('error: there is no model "late"\n')


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--solver", "descent", "--scale", "maxabs"), 2, "a stored program trains by cuts"),
        (("--lambda", "-1"), 2, "it must be a number above 0, or auto, not '-1'"),
        (("--name", ""), 1, "a model cannot be named ''"),
    ],
)
def test_refusals(dsn: str, arguments: tuple[str, ...], code: int, message: str) -> None:
    sqlsvm("install", "--dsn", dsn)
    said = sqlsvm("compile", "--dsn", dsn, "--query", QUERY, "--label", "late", *arguments)
    assert (said.returncode, said.stdout) == (code, "")
    assert message in said.stderr


def test_only_postgres_runs_programs(tmp_path: Path) -> None:
    said = sqlsvm("compile", "--dsn", f"duckdb:{tmp_path / 'd.duckdb'}", "--query", "SELECT 1 AS y", "--label", "y")
    assert said.returncode == 1
    assert "cannot run a stored program" in said.stderr
