"""`sqlsvm demo`: the same shop every time, in memory or in a schema that it does not take from others."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.ask.inspect import inspect
from sqlsvm.demo import LABEL, MODEL, QUERY, SCHEMA, make, next_steps, shop
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.run.train import train
from sqlsvm.store import open_store
from tests.cli.command import environment, sqlsvm
from tests.ground.trained import training
from tests.typed import asked, typed


@pytest.mark.slow
def test_demo_in_memory(tmp_path: Path) -> None:
    done = sqlsvm("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if not line.endswith(" ...")]  # named because they were slow
    assert {line.split()[0] for line in notes} - {"about"} == {"note:", "pass"}
    said = done.stdout
    assert said.index("made in a throw-away DuckDB ") < said.index(QUERY.splitlines()[0])
    assert (
        said.index("FROM sqlsvm_demo.items i")
        < said.index("i (sqlsvm_demo.items)  100,000 rows")
        < said.index("The join would have 1.0e9")
    )
    assert (
        said.index("model         returned, version 1, kept until this database goes")
        < said.index(", converged\n")
        < said.index("(intercept)")
    )
    assert next(line.split()[1] for line in said.splitlines() if line.startswith("tag  ")) == "fragile"
    assert said.index(f"the report is in {tmp_path.resolve()}/report.html") < said.index("sqlsvm demo --dsn embedded:")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in ("No linear model can do better than 0.77", "bag 3", "ROC curve", "1.0e9 rows"):
        assert part in page, part
    assert "What is missing" not in page
    assert {path.name for path in tmp_path.iterdir()} == {"report.html"}


@pytest.mark.slow
def test_what_stays_in_a_file(tmp_path: Path) -> None:
    canary = "Qx7Zk9vCanary"
    report = f"duckdb:shop?threads=1&motherduck_token={canary}"  # as if it was typed into the wrong option
    done = sqlsvm("demo", "--dsn", "duckdb:shop.duckdb", "--output", report, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert canary not in done.stdout + done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {report, "shop.duckdb", "shop.sql"}
    assert (tmp_path / "shop.sql").read_text(encoding="utf-8") == f"{QUERY}\n"
    assert "The query is in shop.sql." in done.stdout


@pytest.mark.slow
def test_what_it_says_to_type_next(postgres: Engine, tmp_path: Path) -> None:
    """Line by line, in a shell. The last is of psql, the others are of sqlsvm."""
    if not shutil.which("psql"):
        pytest.skip("there is no psql")
    made = make(postgres)
    asked_for = training(LABEL, nulls="mean", lam=1e-2, tol=1e-2, offload=True)
    open_store(postgres).save(train(postgres, MODEL, made.query, asked_for))
    _, *lines = next_steps(made, written=True).splitlines()
    (tmp_path / "shop.sql").write_text(made.query, encoding="utf-8")
    script = "\n".join(['sqlsvm() { "$PYTHON" -m sqlsvm "$@"; }', "set -e", *lines])
    environ = environment({"PYTHON": sys.executable})
    ran = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.index("1.0e9") < ran.stdout.index(", converged") < ran.stdout.index("(5 rows)")
    assert "predicted" in ran.stdout


def test_a_report_of_somebody_else_is_seen_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("<p>precious")
    done = sqlsvm("demo", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: report.html exists already and is not a report\n")


def rows(engine: Engine, table: str) -> int:
    return int(asked(engine, parse_one(f"SELECT COUNT(*) AS n FROM {table}", read=engine.dialect))["n"][0])


def test_it_may_be_made_again(engine: Engine) -> None:
    for _ in range(2):
        made = make(engine)
    assert rows(engine, f"{SCHEMA}.items") == 100_000
    if engine.dialect == "duckdb":  # it is in memory
        assert "  sqlsvm demo --dsn duckdb:shop.duckdb  # in a file" in next_steps(made)
        made = replace(made, url="duckdb:shop.duckdb", kept=True)
    said = next_steps(made)
    assert "With the query above in shop.sql:\n" in said
    assert "--label returned --query shop.sql" in said
    assert "sqlsvm predict returned --dsn " in said
    assert ("pip install 'sqlsvm[embedded]'" in said) is (engine.dialect == "duckdb")


def test_the_join_is_large_and_the_tables_are_small(duckdb: Engine) -> None:
    found = inspect(duckdb, make(duckdb).query, label=LABEL)
    assert 1e9 <= found.join_rows < 1.05e9
    assert max(r.rows for r in found.relations) <= 2e5
    assert len(found.tree.bags) > 1
    assert found.label is not None
    assert 0.3 < found.label.positive / found.join_rows < 0.7


def test_a_schema_of_others_is_left_alone(engine: Engine) -> None:
    typed(engine, parse_one(f"CREATE SCHEMA {SCHEMA}", read=engine.dialect))
    typed(engine, parse_one(f"CREATE TABLE {SCHEMA}.orders AS SELECT 42 AS precious", read=engine.dialect))
    with pytest.raises(OptionError, match="orders that sqlsvm did not make"):
        make(engine)
    assert rows(engine, f"{SCHEMA}.orders") == 1
    assert len(engine.describe(parse_one(f"SELECT * FROM {SCHEMA}.orders", read=engine.dialect))) == 1  # type: ignore[arg-type]


def test_the_shop_is_the_same_every_time() -> None:
    first, second = shop(), shop()
    assert first.keys() == second.keys()
    for name, columns in first.items():
        for column, values in columns.items():
            assert np.array_equal(values, second[name][column]), (name, column)


def test_the_label_follows_features_of_several_relations() -> None:
    tables = shop()
    items, orders, products = tables["items"], tables["orders"], tables["products"]
    returned = items["returned"]
    order, product = items["order_id"] - 1, items["product_id"] - 1
    express, clothing = orders["express"][order], (products["category"] == "clothing")[product]
    assert returned[clothing].mean() > returned[~clothing].mean() + 0.1
    assert returned[express].mean() < returned[~express].mean() - 0.1
    assert abs(np.corrcoef(returned, items["quantity"])[0, 1]) < 0.02
