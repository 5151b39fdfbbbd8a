"""The verbs describe and components, as they are typed."""

import json
from pathlib import Path

import pytest

from tests.cli.command import sqlsvm

ROWS = "x,z,c,y\n1,2.0,a,true\n2,5.0,a,false\n3,3.0,b,true\n"


def test_json_and_a_page(tmp_path: Path) -> None:
    page, rows = tmp_path / "columns.html", tmp_path / "rows.csv"
    rows.write_text(ROWS, encoding="utf-8")
    asked = ["describe", "--dsn", "duckdb:", "--query", f"SELECT * FROM '{rows}' t", "--label", "y"]
    found = json.loads(sqlsvm(*asked, "--json").stdout)
    assert [f["name"] for f in found["features"]] == ["x", "z", "c", "y"]
    assert (found["features"][0]["mean"], found["features"][0]["nulls"]) == (2.0, 0.0)
    assert sqlsvm(*asked, "--html", str(page)).stdout == f"the description is in {page}\n"
    text = page.read_text(encoding="utf-8")
    assert text.count("<figure>") == 3
    assert "<script" not in text
    page.write_text("mine", encoding="utf-8")
    refused = sqlsvm(*asked, "--html", str(page))
    assert (refused.returncode, "is not a report" in refused.stderr) == (1, True)
    assert page.read_text(encoding="utf-8") == "mine"


def test_components(tmp_path: Path) -> None:
    page, rows = tmp_path / "components.html", tmp_path / "rows.csv"
    rows.write_text(ROWS, encoding="utf-8")
    asked = ["components", "--dsn", "duckdb:", "--query", f"SELECT * FROM '{rows}' t", "--label", "y"]
    found = json.loads(sqlsvm(*asked, "--json").stdout)
    assert (found["scale"], [list(c["loadings"]) for c in found["components"]]) == ("standard", [["x", "z"]] * 2)
    assert sum(c["ratio"] for c in found["components"]) == pytest.approx(1.0)
    assert sqlsvm(*asked, "--k", "1", "--html", str(page)).stdout == f"the page is in {page}\n"
    assert "Share of the variance" in page.read_text(encoding="utf-8")
