"""The package for dbt, in a project of two tables, a model and a view of scores: on DuckDB, and on PostgreSQL."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from tests.typed import asked

ROOT = Path(__file__).parents[2]
NAMES = {
    "host": "SHOP_HOST",
    "port": "SHOP_PORT",
    "user": "SHOP_USER",
    "password": "SHOP_PASSWORD",
    "dbname": "SHOP_DATABASE",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project, with the package installed as its readers install it."""
    shutil.copytree(Path(__file__).parent / "project", tmp_path, dirs_exist_ok=True)
    (tmp_path / "packages.yml").write_text(f"packages:\n  - local: {ROOT / 'dbt'}\n")
    assert dbt(tmp_path, "deps").returncode == 0
    return tmp_path


def dbt(project: Path, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("dbt")), "--no-use-colors", "--no-send-anonymous-usage-stats", *words]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True)


def built(project: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    done = dbt(project, "build", *words, env=env)
    assert done.returncode == 0, done.stdout
    assert "PASS sqlsvm_sqlsvm_certified_returns" in done.stdout
    return done.stdout


def check_tables(engine: Engine, schema: str) -> None:
    """The certificate, and the scores of all rows: they tell returned orders from others, as the model says."""
    made = asked(engine, f"SELECT * FROM {schema}.returns")
    assert made["converged"].tolist() == [True]
    assert made["lower_bound"][0] <= made["objective"][0] <= made["lower_bound"][0] * (1 + 1e-3)
    rows = asked(engine, f"SELECT COUNT(*) AS n, AVG(CASE WHEN returned = (score > 0) THEN 1.0 ELSE 0 END) AS good "
                 f"FROM {schema}.scored_orders")  # fmt: skip
    assert rows["n"][0] == 2000
    assert float(rows["good"][0]) == pytest.approx(json.loads(made["measures"][0])["accuracy"])
    assert float(rows["good"][0]) > 0.85


def test_duckdb(project: Path) -> None:
    for _ in range(2):  # the second run replaces what the first has made
        built(project)
        with connect(f"duckdb:{project / 'shop.duckdb'}") as engine:
            check_tables(engine, "main")


def test_a_training_that_does_not_converge_fails(project: Path) -> None:
    built(project)
    edit(project, "'nulls': 'mean'", "'max_passes': 1, 'tol': 1e-9, 'solver': 'bundle'")
    done = dbt(project, "run", "--select", "returns")
    assert done.returncode == 1
    assert "returns: the gap is " in done.stdout
    with connect(f"duckdb:{project / 'shop.duckdb'}") as engine:
        check_tables(engine, "main")


def test_postgres(project: Path, postgres_dsn: str) -> None:
    """Each refusal says what to type, and after that it goes on."""
    given = conninfo_to_dict(postgres_dsn)
    env = {NAMES[key]: str(value) for key, value in given.items() if key in NAMES}
    target = ("--target", "postgres")
    assert "type: sqlsvm install" in dbt(project, "build", *target, env=env).stdout
    sqlsvm("install", postgres_dsn)
    refused = dbt(project, "build", *target, env=env).stdout
    file = "target/compiled/shop/models/returns.sql"
    assert f"sqlsvm compile --query {file} --label returned --name returns" in refused
    words = ("--query", str(project / file), "--label", "returned", "--name", "returns")
    assert dbt(project, "compile", *target, env=env).returncode == 0
    sqlsvm("compile", postgres_dsn, *words)
    for _ in range(2):
        built(project, *target, env=env)
        with connect(postgres_dsn) as engine:
            check_tables(engine, "shop")
    edit(project, "c.age", "c.age + 1 AS age")
    assert "the program returns is of another query" in dbt(project, "build", *target, env=env).stdout


def edit(project: Path, old: str, new: str) -> None:
    file = project / "models" / "returns.sql"
    file.write_text(file.read_text().replace(old, new))


def sqlsvm(verb: str, dsn: str, *words: str) -> None:
    command = [sys.executable, "-m", "sqlsvm", verb, "--dsn", dsn, *words]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
