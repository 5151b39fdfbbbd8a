"""`sqlsvm train --by`: one stored model with a line for each group, and what is done with it."""

import json
from pathlib import Path

import duckdb
import pytest

from tests.cli.command import answer, sqlsvm

QUERY = "SELECT f.y, f.g, f.x, d.z FROM f JOIN d ON d.k = f.k"


@pytest.fixture
def dsn(tmp_path: Path) -> str:
    with duckdb.connect(str(tmp_path / "f.duckdb")) as connection:
        connection.execute("""
            CREATE TABLE f AS SELECT i % 7 AS k, CASE i % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'one' END AS g,
                i % 4 = 2 OR (i * 7) % 11 + i % 5 > 7 AS y, i % 5 - 2 AS x FROM range(400) AS r(i);
            CREATE TABLE d AS SELECT i % 7 AS k, i / 8.0 AS z FROM range(7) AS r(i)""")
    return f"duckdb:{tmp_path / 'f.duckdb'}"


def test_a_model_for_each_group(dsn: str) -> None:
    done = sqlsvm("train", "--dsn", dsn, "--query", QUERY, "--label", "y", "--by", "g", "--name", "by_g")
    assert done.returncode == 0, done.stderr
    assert "2 of g; the objective and its bounds are means over all rows, the gap is the largest" in done.stdout
    table = done.stdout.splitlines()[-3:]
    assert table[0].split() == ["g", "converged", "rows", "objective", "lower", "bound", "gap", "passes", "weights"]
    assert [line.split()[:3] for line in table[1:]] == [["a", "yes", "100"], ["b", "yes", "100"]]
    assert "note: 1 group of g is skipped: one: the label y has one class only" in done.stderr
    assert "note: g is NULL in 100 rows of the join: these are in no group" in done.stderr
    assert "sqlsvm evaluate by_g" in done.stderr
    assert "sqlsvm report by_g" in done.stderr
    found = json.loads(answer("show", "--dsn", dsn, "by_g", "--json"))
    assert [(g["value"], g["join_rows"], g["converged"]) for g in found["groups"]] == [
        ("a", 100, True),
        ("b", 100, True),
    ]
    assert found["skipped"][0]["value"] == "one"
    assert answer("show", "--dsn", dsn, "by_g").splitlines()[-2:] == table[1:]
    assert answer("weights", "--dsn", dsn, "by_g").startswith("g = a\n")
    score = answer("predict", "--dsn", dsn, "by_g", "--sql")
    assert score.startswith("CASE \"g\" WHEN 'a' THEN")
    assert answer("export", "--dsn", dsn, "by_g", "--format", "sql") == score
    measured = json.loads(answer("evaluate", "--dsn", dsn, "by_g", "--json"))
    assert measured["rows_without_model"] == 200
    right = [g["accuracy"] * 100 for g in measured["groups"]]
    assert measured["all"]["accuracy"] * 200 == pytest.approx(sum(right))
    assert answer("report", "--dsn", dsn, "by_g", "-o", "-").count("<td>a</td>") == 2
    drawn = answer("evaluate", "--dsn", dsn, "by_g")
    assert "all groups" in drawn
    assert drawn.endswith("in no group with a model: 200 rows of the join\n")


def test_each_value_and_each_fold_is_trained_for_every_group(dsn: str) -> None:
    asked = ("train", "--dsn", dsn, "--query", QUERY, "--label", "y", "--by", "g", "--folds", "3", "--name", "m")
    done = sqlsvm(*asked, "--lambda", "1,0.1")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["1", "0.1"]
    assert "the measures are the means of the folds of all groups" in done.stdout
    found = json.loads(sqlsvm(*asked, "--lambda", "auto", "--probability", "sigmoid", "--json").stdout)
    assert [of["probability"]["method"] for of in found["groups"]] == ["sigmoid"] * 2
    assert all(of["chosen"]["strength"] == of["lam"] for of in found["groups"])
    again = sqlsvm(*asked, "--lambda", "auto", "--probability", "sigmoid", "--resume")
    assert "nothing to resume: m, version 1, had converged" in again.stderr
    assert "probability" in answer("predict", "--dsn", dsn, "m", "--probability").splitlines()[0]


def test_groups_go_on(dsn: str) -> None:
    """Those that had converged make no pass. --from begins at the weights of each group."""
    asked = ("train", "--dsn", dsn, "--query", QUERY, "--label", "y", "--by", "g", "--name", "m", "--json")
    begun = sqlsvm(*asked, "--tol", 1e-5, "--max-passes", 1, "--solver", "bundle")
    assert begun.returncode == 3
    assert "passes are kept in" in begun.stderr
    done = sqlsvm(*asked, "--tol", 1e-5, "--resume")
    assert done.returncode == 0, done.stderr
    assert "resuming after 2 passes: the rows and the options are the same" in done.stderr
    assert min(group["passes"] for group in json.loads(done.stdout)["groups"]) > 1
    again = sqlsvm(*asked, "--tol", 1e-5, "--resume")
    assert "nothing to resume: m, version 2, had converged, and the rows are the same" in again.stderr
    after = sqlsvm(*asked, "--tol", 1e-4, "--from", "m")
    assert "beginning at the weights of m, version 2" in after.stderr
    assert max(group["passes"] for group in json.loads(after.stdout)["groups"]) <= 2


def test_a_program_has_no_groups(dsn: str) -> None:
    done = sqlsvm("compile", "--dsn", dsn, "--query", QUERY, "--label", "y", "--by", "g")
    assert done.returncode == 2
    assert "--by is for sqlsvm train: a stored program trains one model" in done.stderr
