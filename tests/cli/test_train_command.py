"""`sqlsvm train`, `evaluate` and `predict`: from a query to a kept model with its proof, and back to rows."""

import csv
import io
import json
import os
import pty
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlglot import exp, parse

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.store import open_store
from tests.cli.command import CHOSEN, COMMAND, ROOT, answer, environment, sqlsvm
from tests.ground.opened import build
from tests.typed import asked, typed

TABLES = """
CREATE TABLE a AS SELECT i % 7 AS k, (i * 7) % 11 + i % 5 > 7 AS y, i % 5 - 2 AS x,
    CASE WHEN i % 2 = 0 THEN 'in' ELSE 'out' END AS side, CASE WHEN i % 9 > 0 THEN i % 4 END AS hole, i = 77 AS never,
    CASE WHEN i % 50 > 0 THEN i / 3.0 ELSE CAST('NaN' AS DOUBLE PRECISION) END AS broken
    FROM GENERATE_SERIES(0, 59) AS r(i);
CREATE TABLE b AS SELECT i % 7 AS k, '[b]tone ' || (i % 3) AS tone, i / 8.0 AS z FROM GENERATE_SERIES(0, 39) AS r(i)
"""
QUERY = "SELECT a.y, a.x, b.tone, b.z FROM a JOIN b ON a.k = b.k"
WITH = "SELECT a.y, a.side, a.never, a.{} AS f, b.z FROM a JOIN b ON a.k = b.k"
ROWS = 344
"""Of the join of QUERY."""
KEYS = (
    *("engine", "query", "dialect", "label", "positive", "solver", "counting", "nulls", "bags", "join_rows"),
    *("chosen", "label_width", "threshold"),
    *("label_rows", "passes", "seconds", "objective", "objective_upper", "lower_bound", "gap", "converged"),
    *("intercept", "weights", "history", "options", "trained_on", "version", "model", "lambda", "features"),
    *("format", "scaled_intercept", "scaling", "label_centre", "constraints", "notes", "phases", "total_seconds"),
    *("probability", "base", "validation", "maps", "classes", "support", "by", "groups", "skipped", "ungrouped"),
)


def filled(url: str) -> str:
    with connect(url) as engine:
        build(engine, TABLES)
    return url


def relations(url: str) -> set[str]:
    with connect(url) as engine:
        return set(engine.table_names())


def train(dsn: str, *more: object, query: str = QUERY, label: str = "y") -> subprocess.CompletedProcess[str]:
    return sqlsvm("train", "--dsn", dsn, "--query", query, "--label", label, *more)


def complaint(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert (done.returncode, done.stdout) == (code, "")
    return done.stderr


class Trained(NamedTuple):
    dsn: str
    said: str
    progress: list[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A DuckDB file with the model `model`, and what the training said."""
    dsn = filled(f"duckdb:{tmp_path_factory.mktemp('train') / 'x.duckdb'}")
    done = train(dsn, "--lambda", 0.01)
    assert done.returncode == 0
    return Trained(dsn, done.stdout, done.stderr.splitlines())


# -- train -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_kernel_machine(trained: Trained, tmp_path: Path) -> None:
    """It is trained, shown, measured and predicts as any other model; gamma need not be whole."""
    stored = ("--dsn", trained.dsn, "--model-file", tmp_path / "k.json")
    done = train(*stored[1:], "--solver", "kernel", "--gamma", 0.25, "--name", "k")
    assert (done.returncode, "kernel        rbf, gamma 0.25;" in done.stdout) == (0, True), done.stderr
    assert "rbf, gamma 0.25;" in sqlsvm("show", "k", *stored).stdout
    assert "accuracy" in sqlsvm("evaluate", "k", *stored).stdout
    rows = sqlsvm("predict", "k", *stored, "--input", f"{QUERY} LIMIT 2").stdout.splitlines()
    assert len(rows) == 3
    assert rows[0].endswith(",score,prediction")


def test_what_a_training_says(trained: Trained) -> None:
    said = trained.said
    assert said.startswith(f"model         model, version 1, kept in {trained.dsn}\n")
    assert f"{ROWS} rows of 3 features, about 11 kB; small, so it was read once" in said
    assert ", converged\n" in said
    assert said.index("feature ") < said.index("(intercept)") < said.index("[b]tone 1")


def test_a_line_a_pass(trained: Trained) -> None:
    for number, line in enumerate(trained.progress[:-1], 1):
        words = line.split()
        assert words[:3] == ["pass", str(number), "objective"]
        assert [w for w in words if w.isalpha()][-3:] == ["bound", "gap", "s"]


def test_the_last_line_says_what_to_do_next(trained: Trained) -> None:
    asked = f"model --dsn {trained.dsn}"
    assert trained.progress[-1] == f"next: sqlsvm evaluate {asked} measures it, sqlsvm report {asked} draws it"


def test_what_a_user_may_not_expect(trained: Trained, tmp_path: Path) -> None:
    """It is said at the end of the training, and again by `show`."""
    query = "SELECT a.y, a.side, a.never FROM a JOIN b ON a.k = b.k WHERE NOT a.never"
    place = ("--model-file", tmp_path / "it is.json")
    done = train(trained.dsn, *place, "--class-weight", "balanced", query=query)
    note = "feature never is 0 in every row of the join: its scaled weight is 0"
    asked = f"model --dsn {trained.dsn} --model-file '{tmp_path}/it is.json'"
    *_, said, following = done.stderr.splitlines()
    assert said == f"note: {note}"
    assert following == f"next: sqlsvm evaluate {asked} measures it, sqlsvm report {asked} draws it"
    assert note in answer("show", *place)
    assert json.loads(answer("show", *place, "--json"))["notes"] == [note]


def test_nothing_but_the_model_is_left(trained: Trained) -> None:
    stored = {"models", "versions", "iterations", "schema_version", "states"}
    assert {name.rpartition(".")[2] for name in relations(trained.dsn)} - stored == {"a", "b"}


def test_the_join_has_those_rows(trained: Trained) -> None:
    with connect(trained.dsn) as engine:
        (query,) = parse(QUERY, read="duckdb")
        assert query
        assert len(asked(engine, query)["y"]) == ROWS


def test_json_not_converged_and_into_a_file(trained: Trained, tmp_path: Path) -> None:
    """One run: the exit code, the keys, the file, and the progress that leaves stdout alone."""
    file, tables = tmp_path / "m.json", relations(trained.dsn)
    more = ("--max-passes", 1, "--tol", 1e-9, "--name", "hasty", "--model-file", file, "--json")
    options = ("--class-weight", "1:2", "--intercept", "no", "--sample", 500, "--in-memory", 0, "--scale", "maxabs")
    done = train(trained.dsn, *more, *options)
    assert done.returncode == 3
    line, warning, hint, note = done.stderr.splitlines()
    assert line.startswith("pass 1 ")
    assert warning.startswith("warning: not converged: the gap is ")
    assert hint == "HINT: --scale standard, or a larger --max-passes or --tol"
    assert note == f"note: 1 pass is kept in {file}; the same command with --resume goes on from there"
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    assert set(found) == set(KEYS)
    assert (found["model"], found["features"], found["intercept"], found["passes"]) == ("hasty", 3, 0, 1)
    assert found["join_rows"] == sum(found["label_rows"].values()) == ROWS  # class weights aside
    assert not found["converged"]
    assert {tuple(w) for w in found["weights"]} == {("feature", "category", "weight", "scaled_weight", "missing")}
    numbers = ("pass", "objective", "objective_upper", "lower_bound", "gap", "buckets", "seconds")
    assert [tuple(record) for record in found["history"]] == [numbers]
    options = found["options"]["problem"]
    assert (options["class_weight"], options["intercept"], found["options"]["effort"]["sample"]) == ([1, 2], False, 500)
    assert Model.from_json(found) == open_store(file).load("hasty")
    assert relations(trained.dsn) == tables


def test_a_database_that_does_not_last(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("y,x\n1,2\n0,1\n1,3\n0,0\n")
    done = sqlsvm("train", "--dsn", "duckdb:", "--query", "SELECT y, x FROM 'x.csv'", "--label", "y", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("note: the model will not be kept: duckdb: does not last; --model-file keeps")
    assert done.stdout.startswith("model         model, not kept\n")


@pytest.mark.parametrize(
    ("more", "query", "label", "complains"),
    [
        ([], WITH.format("x"), "never", "the label never has one class only"),
        ([], QUERY + " WHERE a.x > 99", "y", "the join has no rows"),
        ([], WITH.format("broken"), "y", "feature f is NaN or infinite in some rows"),
        (["--nulls", "error"], WITH.format("hole"), "y", "feature f is NULL in "),
        (["--positive", "?"], WITH.format("x"), "side", "the label side never has the value '?'"),
        (["--lambda", "0"], QUERY, "y", "lambda must be a number above 0, or auto, not 0.0\nHINT: try --lambda 0.0001"),
        (["--name", ""], QUERY, "y", "a model cannot be named ''"),
        (["--model-file", "no/such/folder/m.json"], QUERY, "y", "cannot write the model file"),
    ],
)
def test_errors_leave_nothing_behind(trained: Trained, more: list[str], query: str, label: str, complains: str) -> None:
    before = relations(trained.dsn)
    said = complaint(train(trained.dsn, *more, query=query, label=label))
    assert said.startswith("error: ")
    assert complains in said
    assert relations(trained.dsn) == before


@pytest.mark.parametrize(
    "more",
    [["--solver", "newton"], ["--lambda", "nan"], ["--sample", "0"], ["--class-weight", "1:-1"], ["--folds", "x"]],
)
def test_wrong_usage_of_train(more: list[str]) -> None:
    assert "HINT: sqlsvm train --help" in complaint(train("duckdb:", *more), code=2)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--sample", "100", "--solver", "bundle"], "--sample is for --solver dane, kernel or pegasos"),
        (["--epsilon", "0.2"], "--epsilon is for --solver descent\nHINT: add --solver descent, or leave out --epsilon"),
    ],
)
def test_an_option_that_nothing_reads(more: list[str], said: str) -> None:
    assert said in complaint(train("duckdb:", *more), code=2)


def test_a_variable_may_be_meant_for_another_solver(trained: Trained) -> None:
    asked = ("--dsn", trained.dsn, "--query", QUERY, "--label", "y", "--solver", "bundle", "--lambda", 0.01)
    done = sqlsvm("train", *asked, "--name", "by cuts", env={"SQLSVM_SAMPLE": "100"})
    assert done.returncode == 0
    answer("drop", "by cuts", "--yes", "--dsn", trained.dsn)


# -- evaluate and predict ----------------------------------------------------------------------------------------------


def predicted(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_evaluation_counts_what_prediction_says(trained: Trained) -> None:
    """Two ways to the same confusion matrix: one never makes the join, the other writes its rows."""
    measured = json.loads(answer("evaluate", "model", "--dsn", trained.dsn, "--json"))
    rows = predicted(answer("predict", "model", "--dsn", trained.dsn))
    pairs = [(row["y"], row["prediction"]) for row in rows]
    assert len(rows) == ROWS
    assert measured["true_positive"] == pairs.count(("true", "true")) > 0
    assert measured["false_positive"] == pairs.count(("false", "true"))
    assert measured["true_negative"] == pairs.count(("false", "false")) > 0
    assert (measured["model"], measured["version"], measured["exact"]) == ("model", 1, True)
    drawn = answer("evaluate", "--dsn", trained.dsn)
    assert drawn.splitlines()[0] == "the rows that it was trained on"
    assert drawn.splitlines()[2].split() == ["y", "rows", "predicted", "False", "predicted", "True"]
    assert f"accuracy            {measured['accuracy']:.4f}" in drawn


@pytest.mark.slow
def test_a_holdout_is_measured_apart(trained: Trained, tmp_path: Path) -> None:
    place = ("--model-file", tmp_path / "m.json")
    said = train(trained.dsn, "--holdout", 0.3, "--seed", 2, *place, "--sample", 500).stdout
    measured = json.loads(answer("evaluate", "--dsn", trained.dsn, *place, "--json"))
    assert list(measured) == ["model", "version", "train", "holdout"]
    seen, held = (sum(measured[part]["label_rows"].values()) for part in ("train", "holdout"))
    assert seen + held == ROWS
    assert f"join          {seen:.0f} rows" in said
    assert f"held out      {held:.0f} rows: " in said
    assert f"held out      {held:.0f} rows: " in answer("show", *place)
    drawn = answer("evaluate", "--dsn", trained.dsn, *place)
    assert drawn.index("the rows held out\n") < drawn.index("the rows that it was trained on\n")
    assert f"accuracy            {measured['holdout']['accuracy']:.4f}" in drawn.partition("held out")[2]


def test_predictions_of_other_rows(trained: Trained, tmp_path: Path) -> None:
    """A table, a file and the SQL expression say the same."""
    rows = "SELECT 2 AS x, '[b]tone 1' AS tone, 0.5 AS z UNION ALL SELECT -2, 'never seen', 3"
    common = ("predict", "model", "--dsn", trained.dsn)
    file = tmp_path / "p.csv"
    assert answer(*common, "--input", rows, "--csv", file) == f"2 predictions are in {file}\n"
    assert answer(*common, "--input", rows, "--table", "scored") == "the predictions are in the table scored\n"
    score = answer(*common, "--sql")
    with connect(trained.dsn) as engine:
        found = asked(engine, f"SELECT score, {score} AS again FROM scored ORDER BY x DESC")
        engine.execute(exp.Drop(tables=[exp.to_table("scored")], kind="TABLE"))
    said = [float(row["score"]) for row in predicted(file.read_text())]
    assert found["score"].tolist() == found["again"].tolist() == said
    assert said[0] > said[1]
    assert "already exists" not in (again := complaint(sqlsvm(*common, "--input", rows, "--csv", file)))
    assert again == f"error: {file} exists already\nHINT: choose another name, or add --overwrite\n"
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


@contextmanager
def no_file(kind: str, folder: Path) -> Iterator[tuple[str, int, int]]:
    """A name of something that is no file, and the descriptors of its two ends: to write to and to read from."""
    if kind == "fifo":
        name = str(folder / "p.csv")
        os.mkfifo(name)
        reading = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
        writing = os.open(name, os.O_WRONLY)
    elif kind == "device":
        reading, writing = pty.openpty()
        name = os.ttyname(writing)
    else:
        reading, writing = os.pipe()
        name = f"/dev/fd/{writing}"  # what a shell makes of >(...)
    try:
        yield name, writing, reading
    finally:
        os.close(reading)
        os.close(writing)


def test_the_input_is_a_file_of_sql(trained: Trained, tmp_path: Path) -> None:
    """As the query may be one. Other files are data."""
    rows = "SELECT 2 AS x, 'in' AS tone, 0.5 AS z"
    (tmp_path / "rows.sql").write_text(f"{rows};\n")
    common = ("predict", "model", "--dsn", trained.dsn, "--input")
    assert answer(*common, tmp_path / "rows.sql") == answer(*common, rows)


@pytest.mark.parametrize("kind", ["fifo", "device", "descriptor"])
def test_predictions_to_what_is_no_file(trained: Trained, tmp_path: Path, kind: str) -> None:
    """It is written to and stays what it is. No option is needed for that: nothing is replaced."""
    rows = "SELECT 2 AS x, '[b]tone 1' AS tone, 0.5 AS z UNION ALL SELECT -2, 'never seen', 3"
    common = ("predict", "model", "--dsn", trained.dsn, "--input", rows)
    with no_file(kind, tmp_path) as (name, writing, reading):
        before = os.stat(name)
        done = subprocess.run(
            [*COMMAND, *common, "--csv", name],
            env=environment(),
            cwd=ROOT,
            pass_fds=[writing],
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, f"2 predictions are in {name}\n", "")
        assert os.read(reading, 1 << 16).decode().replace("\r\n", "\n") == answer(*common)
        after = os.stat(name)
        assert (stat.S_IFMT(after.st_mode), after.st_ino) == (stat.S_IFMT(before.st_mode), before.st_ino)
        assert [path.name for path in tmp_path.iterdir()] == (["p.csv"] if kind == "fifo" else [])


@pytest.mark.slow
def test_another_name_of_stdout(trained: Trained, tmp_path: Path) -> None:
    """Nothing is said after the rows, for that would stand among them."""
    common = ("predict", "model", "--dsn", trained.dsn, "--input", "SELECT 2 AS x, 'in' AS tone, 0.5 AS z")
    assert answer(*common, "--csv", "/dev/stdout") == answer(*common, "--csv", "-") == answer(*common)
    with (tmp_path / "p.csv").open("w") as out:
        command = [*COMMAND, *common, "--csv", str(tmp_path / "p.csv")]
        assert subprocess.run(command, env=environment(), cwd=ROOT, stdout=out).returncode == 0
    assert (tmp_path / "p.csv").read_text() == answer(*common)


@pytest.mark.parametrize("kind", ["table", "view"])
@pytest.mark.parametrize("dsn", ["duckdb:", "duckdb::memory:x", "embedded:"])
def test_nothing_is_made_in_what_does_not_last(tmp_path: Path, dsn: str, kind: str) -> None:
    """It is refused before anything is looked at, a model for instance."""
    said = complaint(sqlsvm("predict", "--dsn", dsn, "--model-file", tmp_path / "none.json", f"--{kind}", "scored"))
    scheme = dsn.partition(":")[0]
    assert said == (
        f"error: a {kind} in {dsn} would be gone after this command\n"
        f"HINT: --csv FILE writes the predictions to a file; {scheme}:PATH keeps what is made in it\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "complains"),
    [
        (["evaluate", "modle"], 1, "HINT: did you mean model?"),
        (["predict", "model", "--table", "t", "--csv", "c"], 2, "--table and --csv exclude each other"),
        (["predict", "model", "--overwrite"], 2, "--overwrite needs --table, --view, --csv or --parquet"),
        (["predict", "model", "--input", "SELECT 1 AS x"], 1, "the rows have no column"),
    ],
)
def test_wrong_usage_of_a_model(trained: Trained, arguments: list[str], code: int, complains: str) -> None:
    assert complains in complaint(sqlsvm(*arguments, "--dsn", trained.dsn), code)


# -- PostgreSQL --------------------------------------------------------------------------------------------------------


@pytest.fixture
def reader(postgres: Engine, postgres_dsn: str) -> Iterator[str]:
    """The URL of a role that may read the tables and make temporary ones, and nothing else."""
    filled(postgres_dsn)
    name = f"sqlsvm_reader_{os.getpid()}"
    typed(postgres, f"CREATE ROLE {name}")
    typed(postgres, f"GRANT SELECT ON a, b TO {name}")
    yield make_conninfo(postgres_dsn, options=f"-c role={name}")
    typed(postgres, f"DROP OWNED BY {name}")
    typed(postgres, f"DROP ROLE {name}")


def test_a_reader_trains_into_a_file(reader: str, postgres_dsn: str, tmp_path: Path) -> None:
    """What the database may not keep is told before the training, not after."""
    said = complaint(train(reader))
    assert said.startswith("error: this role may not use the model store: permission denied for database")
    assert "HINT: --model-file model.json keeps the model in a file; the owner" in said
    place = ("--model-file", str(tmp_path / "m.json"))
    assert train(reader, *place, "--lambda", 0.01).returncode == 0
    measured: dict[str, Any] = json.loads(answer("evaluate", "--dsn", reader, *place, "--json"))
    assert sum(measured["label_rows"].values()) == ROWS
    assert {name.rpartition(".")[2] for name in relations(postgres_dsn)} == {"a", "b"}


@pytest.mark.slow
def test_a_replica_is_offloaded_into_a_file(reader: str, tmp_path: Path) -> None:
    """Where nothing can be written, not even a temporary table. Passes need those; a small join is just read."""
    only = make_conninfo(reader, options=f"{conninfo_to_dict(reader)['options']} -c default_transaction_read_only=on")
    place = ("--model-file", str(tmp_path / "m.json"))
    assert "read-only transaction" in complaint(train(only, *place, "--in-memory", 0))
    assert train(only, *place).returncode == 0
    done = train(only, *place, "--offload", "--lambda", 0.01, "--json")
    assert done.returncode == 0
    model = json.loads(done.stdout)
    assert (model["join_rows"], model["converged"], model["options"]["offload"]) == (ROWS, True, True)
    assert ", offloaded from PostgreSQL " in model["engine"]
    assert "add --no-temp or --offload, keep models with --model-file" in complaint(
        sqlsvm("evaluate", "--dsn", only, *place)
    )
    measured: dict[str, Any] = json.loads(answer("evaluate", "--dsn", only, *place, "--offload", "--json"))
    assert sum(measured["label_rows"].values()) == ROWS
    assert len(answer("predict", "--dsn", only, *place).splitlines()) == 1 + ROWS
    page = tmp_path / "m.html"
    drawn = sqlsvm("report", "--dsn", only, *place, "--offload", "-o", str(page))
    assert drawn.returncode == 0
    assert "no join tree" in drawn.stderr
    assert "no scores" not in drawn.stderr


@pytest.mark.slow
def test_a_work_schema_is_for_the_server(postgres: Engine, postgres_dsn: str) -> None:
    filled(postgres_dsn)
    place = ("--work-schema", "work")
    assert "there is no schema work" in complaint(train(postgres_dsn, *place))
    typed(postgres, "CREATE SCHEMA work")
    assert train(postgres_dsn, *place, "--lambda", 0.01).returncode == 0
    assert not any(name.startswith("work.") for name in relations(postgres_dsn))
    assert "choose one of them" in complaint(train(postgres_dsn, *place, "--offload"), code=2)


def test_looking_whether_a_model_can_be_kept_leaves_nothing(engine: Engine) -> None:
    store, before = open_store(engine), set(engine.table_names())
    store.check("model")
    assert set(engine.table_names()) == before
    assert store.models() == ()


def test_a_user_need_not_name_lambda(tmp_path: Path) -> None:
    dsn = filled(f"duckdb:{tmp_path / 'a.duckdb'}")
    asked = "train", "--dsn", dsn, "--query", QUERY, "--label", "y", "--name"
    done = sqlsvm(*asked, "chosen", env=CHOSEN)
    assert (done.returncode, done.stdout.count("\nchosen  ")) == (0, 1), done.stderr
    grouped = sqlsvm(*asked, "grouped", "--l1", "0.01", env=CHOSEN)
    assert "note: lambda is 0.0001, its default: none is chosen with --l1" in grouped.stderr
    assert grouped.returncode == 0
