"""A command that runs the query of a stored model opens no file that neither the query nor the command line names."""

import json
import os
from pathlib import Path

import duckdb
import pytest

from tests.cli.command import answer, complaint, sqlsvm

ROWS = "k,y,x\n" + "".join(f"{n},{n % 2},{n % 2 + n / 100}\n" for n in range(60))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts" / "k=1").mkdir(parents=True)
    (tmp_path / "linked").mkdir()
    for name in ("rows.csv", "secret.csv", "of a view.csv", "parts/k=1/a.csv", "parts/k=1/b.csv"):
        (tmp_path / name).write_text(ROWS)
    (tmp_path / "linked" / "c.csv").symlink_to(tmp_path / "secret.csv")
    with duckdb.connect(str(tmp_path / "shop.db")) as made:
        made.execute("CREATE TABLE t AS SELECT n AS k, n % 2 AS y, n % 2 + n / 100 AS x FROM range(60) AS r (n)")
        made.execute(f"CREATE VIEW v AS SELECT k AS k FROM '{tmp_path}/of a view.csv'")
        made.execute("CREATE VIEW w AS FROM v")
        made.execute(f"COPY t TO '{tmp_path}/rows.parquet' (FORMAT parquet)")
    return tmp_path


@pytest.fixture
def model(folder: Path) -> Path:
    """Its query reads a table."""
    place = folder / "m.json"
    query = "SELECT y, x FROM t"
    given = ("--query", query, "--label", "y", "--model-file", place)
    assert sqlsvm("train", "--dsn", f"duckdb:{folder}/shop.db", *given).returncode == 0
    return place


def filled(model: Path, query: str) -> tuple[str, ...]:
    """The arguments for the model with another query."""
    model.write_text(json.dumps(json.loads(model.read_text()) | {"query": query}))
    return "--model-file", str(model), "--dsn", f"duckdb:{model.parent}/shop.db"


@pytest.mark.parametrize(
    "named",
    ["'{}/sec' || 'ret.csv'", "concat('{}', '/secret.csv')", "['{}/secret' || '.csv']", "'{}/SECRET.csv'.lower()"],
)
def test_a_query_opens_no_file_whose_name_it_computes(model: Path, named: str) -> None:
    folder = str(model.parent).lower() if "lower" in named else str(model.parent)
    asked = filled(model, f"SELECT y, x FROM read_csv({named.format(folder)})")
    for verb in ("evaluate", "predict"):
        assert "Permission Error" in complaint(verb, *asked)
    done = sqlsvm("report", *asked, "-o", model.parent / "page.html")
    assert "Permission Error" in done.stderr


@pytest.mark.parametrize(
    "source",
    [
        "'{}/rows.csv'",
        "read_csv(['{}/rows.csv', '{}/secret.csv'], delim = ',')",
        "read_csv('{}/parts/**/*.csv')",
        "'{}/linked/*.csv'",
        "'{}/rows.parquet'",
        "(SELECT t.* FROM t JOIN w USING (k))",
    ],
)
def test_a_query_opens_the_files_that_it_or_a_view_names(model: Path, source: str) -> None:
    asked = filled(model, f"SELECT s.y, s.x FROM {source.replace('{}', str(model.parent))} AS s")
    assert json.loads(answer("evaluate", *asked, "--json"))["accuracy"] > 0.9
    assert answer("predict", *asked).count("\n") > 60
    assert sqlsvm("report", *asked, "-o", model.parent / "page.html").stderr == ""


def test_a_name_is_one_of_the_folder_of_the_command(model: Path) -> None:
    asked = filled(model, "SELECT y, x FROM 'rows.csv'")
    assert sqlsvm("evaluate", *asked, cwd=model.parent).returncode == 0


def test_what_the_command_line_names_is_read_and_written(model: Path) -> None:
    folder, asked = model.parent, filled(model, "SELECT y, x FROM t")
    for rows in (folder / "rows.csv", folder / "rows.parquet", f"SELECT x FROM '{folder}/parts/*/*.csv'", "t"):
        assert answer("predict", *asked, "--input", rows).count("\n") > 60
    os.mkdir(folder / "out")
    answer("predict", *asked, "--input", folder / "rows.csv", "--parquet", folder / "out" / "p.parquet")
    answer("predict", *asked, "--parquet", folder / "out" / "p.parquet", "--overwrite")
    answer("predict", *asked, "--table", "scored")
    with duckdb.connect(str(folder / "shop.db")) as made:
        assert made.execute(f"SELECT count(*) FROM '{folder}/out/p.parquet'").fetchall() == [(60,)]
        assert made.execute("SELECT count(*) FROM scored").fetchall() == [(60,)]


@pytest.mark.parametrize("setting", ["autoload_known_extensions=true", "lock_configuration=true"])
def test_a_session_that_the_user_has_opened_wider_or_closed_stays_so(model: Path, setting: str) -> None:
    asked = filled(model, f"SELECT y, x FROM '{model.parent}/rows.csv'")
    assert sqlsvm("evaluate", *asked[:-1], f"{asked[-1]}?{setting}").returncode == 0


def test_a_session_without_access_gets_none(model: Path) -> None:
    asked = filled(model, f"SELECT y, x FROM '{model.parent}/rows.csv'")
    assert "Permission Error" in complaint("evaluate", *asked[:-1], f"{asked[-1]}?enable_external_access=false")
