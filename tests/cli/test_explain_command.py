"""`sqlsvm explain`: what is printed, plainly, as SQL and as JSON."""

import json
from pathlib import Path

import pytest
from sqlglot import parse

from sqlsvm.engine import connect
from tests.cli.command import ROOT, sqlsvm
from tests.typed import run

CHAIN = ROOT / "tests" / "golden" / "draw" / "chain.sql"
TABLES, _, QUERY = CHAIN.read_text(encoding="utf-8").partition("-- query\n")

DRAWN = """\
a  1,000 rows  [bag 1]  read in place
└── b  4,000 rows  [bag 2]  read in place
      centre on a.k = b.k
      5 keys; half-joins of about 60,001,000 rows
      heaviest key 0: 200 a with 800 b, 20 % of the pairs
    └── c  60,000 rows  [bag 3]  read in place
          messages on b.l = c.l
          4 keys; half-joins of about 860,000 rows
          heaviest key 0: 1,000 b with 15,000 c, 25 % of the pairs

3 bags: 1 (a), 2 (b), 3 (c)
"""


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> str:
    dsn = f"duckdb:{tmp_path_factory.mktemp('explain') / 'x.duckdb'}"
    with connect(dsn) as engine:
        run(engine, TABLES)
    return dsn


def explained(dsn: str, *more: object) -> str:
    done = sqlsvm("explain", "--dsn", dsn, "--label", "y", "--query", QUERY, *more)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_in_a_pipe_it_is_the_drawing(dsn: str) -> None:
    drawn, _, rest = explained(dsn, "--counting", "grid").partition("counting: ")
    assert drawn == DRAWN
    sentence, blank, titles, *lines = rest.splitlines()
    assert sentence == "grid, 16 buckets a unit; asked for; exact counting would sort about 860,000 rows"
    assert (blank, titles.split()) == ("", ["phase", "statement", "table", "estimated"])
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["prepare", "measure", "pass"]
    assert any(line.split() == ["scores", "of", "b", "sqlsvm_s1", "4,000"] for line in lines)


def test_analyze_shows_rows_and_seconds(dsn: str) -> None:
    said = explained(dsn, "--analyze", "--beta", '{"weights": {"x": 0.001}}')
    assert "\na pass took 0." in said
    titles = next(line for line in said.splitlines() if line.startswith("phase"))
    assert titles.split() == ["phase", "statement", "table", "estimated", "rows", "seconds"]
    line = next(line.split() for line in said.splitlines() if "scores of c" in line)
    assert line[-4:-1] == ["sqlsvm_s2", "60,000", "60,000"]


def test_sql_is_a_script(dsn: str) -> None:
    script = explained(dsn, "--sql")
    said = [line for line in script.splitlines() if line.startswith("-- ")]
    assert "-- pass: scores of a" in said
    assert not any(line.startswith("-- measure") for line in said)
    statements = parse(script, read="duckdb")
    assert len(statements) == 19
    assert {type(s).__name__ for s in statements if s} == {"Create", "Select"}


def test_json(dsn: str) -> None:
    said = json.loads(explained(dsn, "--json", "--analyze", "--sql", "--buckets", 8, "--counting", "grid"))
    keys = [
        "counting",
        "why",
        "label",
        "loss",
        "buckets",
        "exact_budget",
        "root",
        "bags",
        "nodes",
        "links",
        "statements",
        "training",
    ]
    assert list(said) == keys
    assert said["training"]["seconds"] > said["training"]["before"] > 0
    assert (said["counting"], said["buckets"], said["root"]) == ("grid", 8, "a")
    assert [(link["left"], link["right"], link["centre"]) for link in said["links"]] == [
        ("a", "b", True),
        ("b", "c", False),
    ]
    assert all(s["seconds"] >= 0 and s["rows"] >= 0 and s["sql"] for s in said["statements"])


def test_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("y,x\n1,2\n0,3\n")
    query = """SELECT "\x1b[31m[red]".y, "\x1b[31m[red]".x FROM 't.csv' AS "\x1b[31m[red]" """
    for more in ((), ("--analyze",)):
        done = sqlsvm("explain", "--dsn", "duckdb:", "--label", "y", "--query", query, *more, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(r"\x1b[31m[red]  2 rows  read in place")
        assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--label", "y", "--beta", "{}"], 2, "error: --beta needs --analyze\n"),
        (["--label", "yy"], 1, "error: "),
        ([], 1, "error: no label was named\nHINT: say which output is the label: --label COLUMN\n"),
        (["--label", "y", "--analyze", "--beta", '{"weights": {"xx": 1}}'], 1, "error: beta has a weight for xx"),
    ],
)
def test_errors(dsn: str, options: list[str], code: int, message: str) -> None:
    done = sqlsvm("explain", "--dsn", dsn, "--query", QUERY, *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(message)


def test_a_number_is_explained_as_it_is_trained(dsn: str) -> None:
    """With the loss of numbers, unless one is named."""
    query = QUERY.replace("SELECT a.y", "SELECT a.k AS y")
    done = sqlsvm("explain", "--dsn", dsn, "--label", "y", "--query", query)
    assert "\nlabel: y, a number, with the loss squared\n" in done.stdout
    named = sqlsvm("explain", "--dsn", dsn, "--label", "y", "--query", query, "--loss", "huber", "--json", "--analyze")
    assert (json.loads(named.stdout)["label"], json.loads(named.stdout)["loss"]) == ("y", "huber")
    classes = sqlsvm("explain", "--dsn", dsn, "--label", "y", "--query", query, "--loss", "hinge", "--json")
    assert json.loads(classes.stdout)["loss"] == "hinge"
