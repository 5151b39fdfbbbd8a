"""`sqlsvm count`: the paper's two questions, answered as the rows of the join would answer them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlglot import parse

from sqlsvm.engine import connect
from sqlsvm.engine.base import Rows
from tests.cli.command import sqlsvm
from tests.typed import asked, run

TABLES = """
CREATE TABLE a AS SELECT i % 7 AS k, i % 3 = 0 AS y, i % 5 - 2 AS x FROM RANGE(0, 60) AS r(i);
CREATE TABLE b AS SELECT i % 7 AS k, i % 4 AS l, CASE WHEN i % 6 > 0 THEN 'tone ' || (i % 3) END AS tone
FROM RANGE(0, 40) AS r(i);
CREATE TABLE c AS SELECT i % 4 AS l, (i % 8) / 4.0 AS z FROM RANGE(0, 30) AS r(i)
"""
QUERY = "SELECT a.y, a.x, b.tone, c.z FROM a JOIN b ON a.k = b.k JOIN c ON c.l = b.l"
BETA = {"intercept": 0.25, "weights": {"x": 0.5, "tone": {"tone 1": -1.5, "tone 9": 3}, "z": 1}}


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> str:
    dsn = f"duckdb:{tmp_path_factory.mktemp('count') / 'x.duckdb'}"
    with connect(dsn) as engine:
        run(engine, TABLES)
    return dsn


@pytest.fixture(scope="module")
def rows(dsn: str) -> Rows:
    """The join itself, with y in {-1, 1} and the margin of each row."""
    with connect(dsn) as engine:
        (query,) = parse(QUERY, read="duckdb")
        assert query
        found = asked(engine, query)
    found["y"] = np.where(found["y"].astype(bool), 1, -1)
    tone = np.where(found["tone"] == "tone 1", -1.5, 0.0)
    found["margin"] = found["y"] * (0.25 + 0.5 * found["x"] + tone + found["z"].astype(float))
    return found


def counted(dsn: str, *more: object, beta: Any = BETA) -> Any:
    done = sqlsvm("count", "--dsn", dsn, "--label", "y", "--query", QUERY, "--beta", json.dumps(beta), "--json", *more)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def below(rows: Rows, bound: float) -> dict[tuple[str, object, int], int]:
    found: dict[tuple[str, object, int], int] = {}
    for place in np.flatnonzero(rows["margin"] < bound):
        for feature in ("x", "tone", "z"):
            value = rows[feature][place]
            which = feature, value if feature == "tone" else float(value), int(rows["y"][place])
            found[which] = found.get(which, 0) + 1
    return found


@pytest.mark.parametrize("counting", ["auto", "grid"])
@pytest.mark.parametrize("bound", [1.0, -0.75])
def test_counts_are_those_of_the_join(dsn: str, rows: Rows, counting: str, bound: float) -> None:
    """Features and weights in quarters: even the grid rounds nothing away, and rows lie on the bound itself."""
    said = counted(dsn, "--bound", bound, "--counting", counting)
    assert list(said) == ["counts"]
    assert {tuple(c) for c in said["counts"]} == {("feature", "value", "label", "count")}
    found = {(c["feature"], c["value"], c["label"]): c["count"] for c in said["counts"]}
    assert found == below(rows, bound)
    assert np.any(rows["margin"] == bound)


@pytest.mark.parametrize("counting", ["auto", "grid"])
def test_thresholds_are_those_of_the_join(dsn: str, rows: Rows, counting: str) -> None:
    said = counted(dsn, "--generalized", "--epsilon", 0.5, "--counting", counting)
    assert list(said) == ["thresholds"]
    assert {tuple(t) for t in said["thresholds"]} == {("label", "k", "count", "threshold")}
    for label in (-1, 1):
        mine = [t for t in said["thresholds"] if t["label"] == label]
        heights = np.sort(1 - rows["margin"][rows["y"] == label])[::-1]
        assert [t["count"] for t in mine[:5]] == [1, 2, 4, 7, 11]
        assert [t["k"] for t in mine] == list(range(len(mine)))
        assert [t["threshold"] for t in mine] == [heights[int(t["count"]) - 1] for t in mine]


def test_thresholds_have_no_bound(dsn: str) -> None:
    asked = ("count", "--dsn", dsn, "--label", "y", "--query", QUERY, "--beta", "{}", "--generalized", "--bound", 2)
    done = sqlsvm(*asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--bound and --generalized exclude each other" in done.stderr


# -- for people --------------------------------------------------------------------------------------------------------

SMALL = "SELECT a.y, a.x, b.tone FROM a JOIN b ON a.k = b.k"
TABLE = """\
feature   value    label   count
x         -2          -1      44
          -2          +1      24
          -1          -1      46
          -1          +1      23
          0           -1      47
          0           +1      22
          1           -1      47
          1           +1      22
          2           -1      46
          2           +1      23
tone      tone 0      -1      40
          tone 0      +1      20
          tone 1      -1      75
          tone 1      +1      37
          tone 2      -1      75
          tone 2      +1      37
          NULL        -1      40
          NULL        +1      20
"""
THRESHOLDS = """\
label   k   count   threshold
   -1   0       1           2
   -1   1       3           2
   -1   2       7           2
   -1   3      15           2
   -1   4      31           2
   -1   5      63         1.5
   -1   6     127           1
   +1   0       1           2
   +1   1       3           2
   +1   2       7           2
   +1   3      15           2
   +1   4      31         1.5
   +1   5      63           1
"""


def test_a_table_for_people(dsn: str, tmp_path: Path) -> None:
    (tmp_path / "beta.json").write_text("{}")
    done = sqlsvm("count", "--dsn", dsn, "--label", "y", "--query", SMALL, "--beta", "beta.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == TABLE


def test_thresholds_for_people(dsn: str) -> None:
    options = ("--beta", '{"weights": {"x": 0.5}}', "--generalized", "--epsilon", "1")
    done = sqlsvm("count", "--dsn", dsn, "--label", "y", "--query", SMALL, *options)
    assert done.stdout == THRESHOLDS


def test_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("y,c\n1,\x1b[31mred\n0,[bold]\n")
    query = """SELECT t.y, t.c AS "a\x1b[2J" FROM 't.csv' AS t"""
    done = sqlsvm("count", "--dsn", "duckdb:", "--label", "y", "--query", query, "--beta", "{}", cwd=tmp_path)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert r"a\x1b[2J" in done.stdout
    assert "[bold]" in done.stdout


def ordered(said: dict[str, Any]) -> list[str]:
    return sorted(json.dumps(count) for count in said["counts"])


@pytest.mark.thin(4)
@pytest.mark.parametrize("verb", ["weights", "show", "name", "file"])
def test_the_weights_of_a_model(dsn: str, tmp_path: Path, verb: str) -> None:
    """By its name, or as `weights --json` and `show --json` print them, or in the file that keeps it."""
    file = tmp_path / "m.json"
    trained = ("train", "--dsn", dsn, "--label", "y", "--query", QUERY, "--sample", "500")
    if verb == "file":
        assert sqlsvm(*trained, "--model-file", file).returncode == 0
    else:
        assert sqlsvm(*trained, "--name", "counted").returncode == 0
    where = ("--model-file", file) if verb == "file" else ("counted", "--dsn", dsn)
    shown = json.loads(sqlsvm("weights", *where, "--json").stdout)
    if verb in ("weights", "show"):
        file.write_text(sqlsvm(verb, *where, "--json").stdout)
    given: dict[str, Any] = {}
    for w in shown["weights"]:
        if w["category"] is None:
            given[w["feature"]] = w["weight"]
        else:
            given.setdefault(w["feature"], {})[w["category"]] = w["weight"]
    assert isinstance(given["tone"], dict)
    wanted = counted(dsn, beta={"intercept": shown["intercept"], "weights": given})
    asked = ("count", "--dsn", dsn, "--label", "y", "--query", QUERY, "--json")
    found = sqlsvm(*asked, "--beta", "counted" if verb == "name" else file)
    assert found.stderr == ""
    assert ordered(json.loads(found.stdout)) == ordered(wanted)
    sqlsvm("drop", "counted", "--yes", "--dsn", dsn)


# -- errors ------------------------------------------------------------------------------------------------------------

FORM = 'HINT: write {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}\n'


@pytest.mark.parametrize(
    ("beta", "message"),
    [
        ('{"weights": {"tune": {}}}', "beta has a weight for tune, which is not a feature\nHINT: did you mean tone?\n"),
        ('{"weights": {"y": 1}}', "beta has a weight for y, which is not a feature\n"),
        ('{"weights": {"tone": 1}}', "the weight of the categorical feature tone is one number\nHINT: write {"),
        ('{"weights": {"x": {"a": 1}}}', "the weight of x is not a number: {'a': 1}\n"),
        ('{"weights": {"x": NaN}}', "the weight of x is not finite: nan\n"),
        ('{"intercept": "1"}', "the weight of intercept is not a number: '1'\n"),
        ('{"bias": 1}', "beta has a bias, which is neither the intercept nor the weights\n" + FORM),
        ('{"weights": [1, 2]}', "beta is not an object of weights by name\n" + FORM),
        ('{"weights": ', "beta is not JSON\nDETAIL: Expecting value"),
        ("model7", 'there is no model "model7"'),
        ("no.json", "cannot read beta from no.json\nDETAIL: [Errno 2] No such file"),
    ],
)
def test_a_beta_that_will_not_do(dsn: str, beta: str, message: str) -> None:
    done = sqlsvm("count", "--dsn", dsn, "--label", "y", "--query", QUERY, "--beta", beta)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {message}")


def test_a_list_is_no_beta(dsn: str, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1, 2]")
    done = sqlsvm("count", "--dsn", dsn, "--label", "y", "--query", QUERY, "--beta", tmp_path / "list.json")
    assert (done.returncode, done.stderr) == (1, f"error: beta is not an object of weights by name\n{FORM}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "error: --beta is missing\nHINT: --beta beta.json"),
        (["--beta", "{}", "--bound", "inf"], "error: Invalid value for '--bound': inf is not a finite number."),
        (["--beta", "{}", "--epsilon", "0"], "error: Invalid value for '--epsilon'"),
        (["--beta", "{}", "--buckets", "0"], "error: Invalid value for '--buckets'"),
        (["--beta", "{}", "--counting", "guess"], "error: Invalid value for '--counting'"),
    ],
)
def test_wrong_options(dsn: str, options: list[str], message: str) -> None:
    done = sqlsvm("count", "--dsn", dsn, "--label", "y", "--query", QUERY, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)


def test_more_levels_than_anybody_can_use() -> None:
    query = "SELECT a.x > 0 AS y, a.x FROM (SELECT 1 AS k, UNNEST(RANGE(3000)) AS x) AS a JOIN "
    query += "(SELECT 1 AS k, UNNEST(RANGE(3000)) AS z) AS b ON a.k = b.k"
    options = ("--beta", "{}", "--generalized", "--epsilon", "1e-7")
    done = sqlsvm("count", "--dsn", "duckdb:", "--label", "y", "--query", query, *options)
    message = "an epsilon of 1e-07 makes more than 1,000,000 levels of 9e+06 rows"
    assert (done.returncode, done.stderr) == (1, f"error: {message}\nHINT: take a larger one: --epsilon 0.1\n")
