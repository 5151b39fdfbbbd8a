"""Verbs on Spark as they are typed, next to DuckDB. A model is kept in the catalog of the session of this process."""

import csv
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp, parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import EngineError
from sqlsvm.model.predict import predict
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.spark.conftest import Command


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Few values, so that rows are counted by value."""
    folder, rng = tmp_path_factory.mktemp("commands"), np.random.default_rng(0)
    k, x = rng.integers(0, 9, 300), rng.integers(-4, 5, 300) / 2
    facts = pa.table({"k": k, "x": x, "y": x + k / 4 + rng.normal(size=300) > 1})
    pq.write_table(facts, folder / "facts.parquet")
    pq.write_table(pa.table({"k": np.arange(9), "c": [f"c{i % 3}" for i in range(9)]}), folder / "dims.parquet")
    return f"SELECT f.y, f.x, d.c FROM '{folder}/facts.parquet' AS f JOIN '{folder}/dims.parquet' AS d ON d.k = f.k"


@pytest.fixture(scope="module")
def kept(spark: Engine, query: str) -> Iterator[str]:
    """A model in the catalog."""
    open_store(spark).save(train(spark, "late", query, Training.of(label="y", lam=0.01)))
    yield "late"
    spark.execute(exp.Drop(tables=[exp.table_("", "sqlsvm")], kind="SCHEMA", exists=True, cascade=True))


@pytest.fixture
def in_file(command: Command, kept: str, tmp_path: Path) -> Path:
    """The same model for DuckDB."""
    path = tmp_path / "late.json"
    assert command("export", kept, "--format", "json", "-o", path).code == 0
    return path


def scores(out: str) -> list[float]:
    return sorted(float(row["score"]) for row in csv.DictReader(out.splitlines()))


def test_the_session_of_the_process_stays_open(spark: Engine, kept: str, command: Command) -> None:
    for _ in range(2):
        said = command("models")
        assert (said.code, said.err) == (0, "")
        assert kept in said.out
    with pytest.raises(EngineError, match="has a session of Spark already"):
        connect("spark:local[1]")
    assert spark.fetch(exp.select("1 AS a"))["a"].tolist() == [1]


def test_scores(spark: Engine, command: Command, kept: str, in_file: Path, query: str) -> None:
    """Of `predict`, and of the expressions that `predict --sql` and `export --format sql` print."""
    there = command("predict", "--model-file", in_file, dsn="duckdb:")
    wanted = scores(there.out)
    assert len(wanted) == 300
    assert scores(command("predict", kept).out) == pytest.approx(wanted, rel=1e-9)
    for words in (["predict", kept, "--sql"], ["export", kept, "--format", "sql"]):
        said = command(*words)
        assert (said.code, said.err) == (0, "")
        score = parse_one(said.out, read="spark")
        rows = parse_one(query, read="spark")
        assert isinstance(rows, exp.Query)
        found = spark.fetch(exp.select(exp.alias_(score, "score")).from_(rows.subquery("q")))
        assert sorted(found["score"]) == pytest.approx(wanted, rel=1e-9)


def test_exports(spark: Engine, command: Command, kept: str, tmp_path: Path) -> None:
    """Other programs score rows as `predict` does."""
    rows = spark.fetch(predict(spark, open_store(spark).load(kept)))
    for form in ("onnx", "sklearn"):
        assert command("export", kept, "--format", form, "-o", tmp_path / form).code == 0
    given = {"x": rows["x"][:, None].astype(float), "c": rows["c"][:, None]}
    (found,) = onnxruntime.InferenceSession(str(tmp_path / "onnx")).run(["score"], given)
    np.testing.assert_allclose(found[:, 0], rows["score"], atol=1e-11)
    frame = pd.DataFrame({name: rows[name].tolist() for name in ("x", "c")})
    found = pickle.loads((tmp_path / "sklearn").read_bytes()).decision_function(frame)
    np.testing.assert_allclose(found, rows["score"], atol=1e-11)


def test_evaluate(command: Command, kept: str, in_file: Path) -> None:
    one, other = (
        json.loads(said.out)
        for said in (
            command("evaluate", kept, "--json"),
            command("evaluate", "--model-file", in_file, "--json", dsn="duckdb:"),
        )
    )
    assert one.keys() == other.keys()
    for name in ("accuracy", "precision", "recall", "f1", "auc"):
        assert one[name] == pytest.approx(other[name], rel=1e-9)


@pytest.mark.parametrize("more", [(), ("--generalized",)], ids=["rows", "thresholds"])
def test_count(command: Command, kept: str, in_file: Path, query: str, more: tuple[str, ...]) -> None:
    words = ("count", "--query", query, "--label", "y", *more, "--json", "--beta")
    one, other = command(*words, kept), command(*words, in_file, dsn="duckdb:")
    assert (one.code, other.code) == (0, 0), one.err + other.err
    (found,), (wanted,) = (json.loads(said.out).values() for said in (one, other))
    assert len(wanted) > 5
    assert [list(row) for row in found] == [list(row) for row in wanted]
    for row, same in zip(*(sorted(rows, key=str) for rows in (found, wanted)), strict=True):
        assert [row[n] for n in row] == [pytest.approx(v) if isinstance(v, float) else v for v in same.values()]


def test_inspect(command: Command, query: str) -> None:
    words = ("inspect", "--query", query, "--label", "y", "--json")
    one, other = (json.loads(command(*words, dsn=dsn).out) for dsn in ("spark:", "duckdb:"))
    assert one["join_rows"] == other["join_rows"] == 300
    assert one.keys() == other.keys()


def test_report(command: Command, kept: str, tmp_path: Path) -> None:
    """With all of its parts: what is missing is noted."""
    said = command("report", kept, "-o", tmp_path / "late.html")
    assert (said.code, said.err) == (0, "")
    assert "<svg" in (tmp_path / "late.html").read_text(encoding="utf-8")


def test_explain(command: Command, query: str) -> None:
    said = command("explain", "--query", query, "--label", "y", "--sql")
    assert (said.code, said.err) == (0, "")
    assert "-- pass: " in said.out


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "install": (("install",), "for PostgreSQL"),
    "upgrade": (("upgrade",), "for PostgreSQL"),
    "uninstall": (("uninstall", "--force"), "for PostgreSQL"),
    "check": (("check",), "for PostgreSQL"),
    "compile": (("compile", "--name", "p", "--label", "y", "--query", "SELECT 1 AS y"), "cannot run a stored program"),
    "demo": (("demo",), "in PostgreSQL or DuckDB"),
    "a work schema": (("train", "--work-schema", "w", "--label", "y", "--query", "SELECT 1 AS y"), "only PostgreSQL"),
    "no temp": (("train", "--no-temp", "--label", "y", "--query", "SELECT 1 AS y"), "only PostgreSQL"),
    "no file": (("inspect", "--query", "SELECT t.x FROM '/nowhere/t.parquet' AS t"), "/nowhere/t.parquet"),
    "no table": (("inspect", "--query", "SELECT t.x FROM nowhere AS t"), "nowhere"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(command: Command, what: str) -> None:
    """In one message, without Java."""
    words, why = REFUSED[what]
    said = command(*words)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: ")
    assert why in said.err
    assert not any(word in said.err for word in ("java", "org.apache", "Traceback", "SQLSTATE", "\tat "))
