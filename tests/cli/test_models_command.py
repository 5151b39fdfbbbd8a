"""`sqlsvm models`, `show`, `weights` and `drop`: on a database and on a file."""

import io
import json
import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from sqlsvm.engine import connect
from sqlsvm.engine.base import Text
from sqlsvm.model.chosen import Chosen, Measured
from sqlsvm.model.model import FORMAT, Model, Validated
from sqlsvm.model.weights import Weight
from sqlsvm.show.models import draw_model, draw_models, draw_weights
from sqlsvm.store import Store, open_store
from sqlsvm.terminal import printable
from tests.cli.command import COMMAND, answer, complaint, environment, sqlsvm
from tests.ground.modelled import category, modelled
from tests.ground.models import HOSTILE, model

Place = tuple[str, str]


@pytest.fixture
def file(tmp_path: Path) -> Place:
    open_store(tmp_path / "late.json").save(model())
    return "--model-file", str(tmp_path / "late.json")


@pytest.fixture(params=["postgres", "duckdb", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The option that says where a model is; version 1 of the model `late` is there."""
    if request.param == "file":
        return cast(Place, request.getfixturevalue("file"))
    duckdb = request.param == "duckdb"
    url = f"duckdb:{tmp_path / 'm.duckdb'}" if duckdb else request.getfixturevalue("postgres_dsn")
    with connect(url) as engine:
        open_store(engine).save(model())
    return "--dsn", url


@pytest.fixture
def dsn(tmp_path: Path) -> str:
    """A database with the models early (2 versions) and late."""
    url = f"duckdb:{tmp_path / 'models.duckdb'}"
    with connect(url) as engine:
        store = open_store(engine)
        for name in ("late", "early", "early"):
            store.save(model(name))
    return url


def test_the_list_has_what_rows_that_were_not_seen_say(place: Place) -> None:
    tried = Measured("hinge", 0.1, 0.75, 0.0, (0.7, 0.8))
    found = Chosen(("lam",), "hinge", 0.1, "auc", "2 parts of rows at random", 50, (tried,))
    loss = Validated(931.5, 43.2, (931.5,))
    held = replace(model("held"), validation={"loss": loss, "accuracy": Validated(0.5, None, (0.5,))})
    if place[0] == "--dsn":
        with connect(place[1]) as engine:
            open_store(engine).save(replace(model("chosen"), chosen=found))
            open_store(engine).save(held)
        chosen, accuracy, none = answer("models", *place).splitlines()[1:]
        assert "auc 0.75 +- 0.05" in chosen
        assert "accuracy 0.5" in accuracy
        assert "+-" not in none
    else:
        open_store(Path(place[1])).save(replace(held, name="late"))
        assert "accuracy 0.5" in answer("models", *place)


@pytest.mark.thin(3)
def test_the_life_of_a_model(place: Place) -> None:
    assert answer("models", *place).splitlines()[1].split()[0] == "late"
    assert "gap           0.0024, converged\n" in answer("show", "late", *place)
    assert answer("weights", "late", *place, "--top", 1).splitlines()[2].split() == ["month", "7", "-1.5", "-1.5"]
    assert answer("drop", "late", *place, "--yes") == "dropped version 1\n"
    assert answer("models", *place) == "no model is stored here\n"


@contextmanager
def store_in(place: Place) -> Iterator[Store]:
    option, where = place
    if option == "--model-file":
        yield open_store(where)
        return
    with connect(where) as engine:
        yield open_store(engine)


@pytest.mark.thin(3)
def test_what_an_unfinished_training_has_left_goes_too(place: Place) -> None:
    """With the whole of a model or, where only that is left, alone; but not with a single version."""
    with store_in(place) as store:
        store.save_state("late", {})
    assert answer("drop", "late", *place, "--yes") == "dropped version 1 and the unfinished training\n"
    with store_in(place) as store:
        version = store.save(model())
        store.save_state("late", {})
    assert answer("drop", "late", *place, "--version", version, "--yes") == f"dropped version {version}\n"
    assert complaint("drop", "late", *place) == (
        'error: the unfinished training of the model "late" is not dropped without a confirmation\nHINT: add --yes\n'
    )
    assert answer("drop", "late", *place, "--yes") == "dropped the unfinished training\n"
    assert complaint("drop", "late", *place, "--yes").startswith('error: there is no model "late"\n')


def test_json(file: Place) -> None:
    (listed,) = json.loads(answer("models", *file, "--json"))["models"]
    assert (listed["model"], listed["version"], listed["lambda"], listed["join_rows"]) == ("late", 1, 1e-4, 1.5e12)
    shown = json.loads(answer("show", "late", *file, "--json"), parse_constant=pytest.fail)
    assert Model.from_json(shown) == model(version=1)
    weights = json.loads(answer("weights", "late", *file, "--top", "2", "--json"))
    assert (weights["model"], weights["intercept"]) == ("late", -0.1)
    assert [(w["feature"], w["category"], w["weight"]) for w in weights["weights"]] == [
        ("month", 7, -1.5),
        ("distance", None, 1e-3),
    ]


def test_versions(dsn: str) -> None:
    assert "early, version 2" in answer("show", "early", "--dsn", dsn)
    assert "early, version 1" in answer("show", "early", "--dsn", dsn, "--version", 1)
    assert answer("drop", "early", "--dsn", dsn, "--version", "1", "--yes") == "dropped version 1\n"
    assert "has no version 1\nHINT: it has 2" in complaint("weights", "early", "--dsn", dsn, "--version", 1)
    assert "HINT: did you mean early?" in complaint("drop", "eraly", "--dsn", dsn, "--yes")


def test_the_only_model_need_not_be_named(file: Place, dsn: str) -> None:
    assert "late, version 1" in answer("show", *file)
    assert answer("weights", *file).startswith("feature ")
    assert complaint("show", "--dsn", dsn) == "error: which model?\nHINT: stored are early, late\n"
    assert "MODEL is missing" in complaint("drop", "--dsn", dsn, code=2)


@pytest.mark.parametrize("verb", [("models",), ("evaluate", "late")])
@pytest.mark.parametrize("scheme", ["embedded", "duckdb"])
def test_a_wrong_path_makes_no_database(verb: tuple[str, ...], scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}:{tmp_path / 'wrong'}"
    said = complaint(*verb, "--dsn", url)
    assert said.startswith(f"error: there is no database in {url}\nHINT: paths start at the current folder; ")
    assert list(tmp_path.iterdir()) == []


def test_a_large_join_is_not_predicted_by_accident(dsn: str, tmp_path: Path) -> None:
    said = complaint("predict", "late", "--dsn", dsn)
    assert said.startswith(
        "error: the query of late has 1.5e12 rows, and predict would write all of them\nHINT: choose some"
    )
    assert complaint("predict", "late", "--dsn", dsn, "--table", "t") == said
    assert "cannot read flights" in complaint("predict", "late", "--dsn", dsn, "--view", "v")
    file = tmp_path / "rows.parquet"
    assert complaint("predict", "late", "--dsn", dsn, "--parquet", file) == said


def test_a_large_table_is_predicted_to_parquet(dsn: str, tmp_path: Path) -> None:
    """A join of one bag is not larger than a table."""
    with connect(dsn) as engine:
        open_store(engine).save(replace(model("star"), bags=1))
    asked = ("predict", "star", "--dsn", dsn)
    assert "1.5e12 rows" in complaint(*asked)
    assert "cannot read flights" in complaint(*asked, "--parquet", tmp_path / "rows.parquet")


def test_drop_asks_first(dsn: str) -> None:
    said = complaint("drop", "early", "--dsn", dsn)
    assert said.startswith('error: every version of the model "early" is not dropped without')
    assert said.endswith("HINT: add --yes\n")
    assert "early, version 2" in answer("show", "early", "--dsn", dsn)
    assert answer("drop", "early", "--dsn", dsn, "--yes") == "dropped versions 1, 2\n"


@pytest.mark.parametrize(("typed", "left"), [("n\n", True), ("y\n", False)])
def test_drop_asks_on_a_terminal(file: Place, typed: str, left: bool) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, "drop", "late", *file]
    with subprocess.Popen(command, env=environment(), stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.write(ours, typed.encode())
        said, _ = process.communicate(timeout=60)
    asked = os.read(ours, 4096).decode()
    os.close(ours)
    os.close(theirs)
    assert 'Drop every version of the model "late"?' in asked
    assert said == (b"nothing was dropped\n" if left else b"dropped version 1\n")
    assert Path(file[1]).exists() is left


def test_a_terminal_gets_no_escapes_of_a_category(tmp_path: Path) -> None:
    place = ("--model-file", tmp_path / "m.json")
    open_store(place[1]).save(modelled([category("c", "\x1b[31mred", 1.0)], name="m"))
    assert "\x1b[31mred" in answer("predict", "m", *place, "--sql")
    ours, theirs = pty.openpty()
    command = [*COMMAND, "predict", "m", *map(str, place), "--sql"]
    done = subprocess.run(command, env=environment(), stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 1
    assert b"characters that a terminal would act on" in done.stderr


def test_where_a_model_is(dsn: str, tmp_path: Path) -> None:
    assert "error: --dsn is missing\nHINT: --dsn URL, or set SQLSVM_DSN, or --model-file" in complaint("models", code=2)
    said = complaint("models", "--dsn", "duckdb:")
    assert said.startswith("error: duckdb: keeps no models: its data are gone")
    assert "--model-file model.json" in said
    assert "embedded:PATH" in complaint("show", "late", "--dsn", "embedded:")
    open_store(tmp_path / "m.json").save(model("filed"))
    from_file = sqlsvm("models", "--model-file", tmp_path / "m.json", env={"SQLSVM_DSN": dsn})
    assert "filed" in from_file.stdout
    assert "early" not in from_file.stdout
    assert "early" in sqlsvm("models", env={"SQLSVM_DSN": dsn}).stdout


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert complaint("show", "--model-file", tmp_path / "x.json") == (
        "error: no model is stored here\nHINT: sqlsvm train stores one; is the place right?\n"
    )
    (tmp_path / "y.json").write_text("SELECT 1")
    said = complaint("show", "--model-file", tmp_path / "y.json")
    assert "y.json: not JSON: Expecting value at line 1, column 1\nHINT: is this a model of sqlsvm? " in said


def test_a_model_that_cannot_be_read_is_one_row_of_the_list(dsn: str) -> None:
    with connect(dsn) as engine:
        engine.execute(
            Text("UPDATE sqlsvm.versions SET body = '{\"format\": 99}' WHERE name = 'early' AND version = 2")
        )
    done = sqlsvm("models", "--dsn", dsn)
    newer = f'model "early", version 2: made by a newer sqlsvm (format 99; this one reads up to {FORMAT})'
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]][::2] == ["early", "late"]
    assert [newer in line for line in done.stdout.splitlines()] == [False, True, False, False]
    assert (done.returncode, done.stderr) == (
        1,
        f"error: 1 of 3 versions cannot be read\nDETAIL: {newer}\n"
        "HINT: sqlsvm drop early --version 2 deletes it; train stores a new one\n",
    )
    listed = json.loads(sqlsvm("models", "--dsn", dsn, "--json").stdout)["models"]
    assert [(m["model"], m["version"], m["error"]) for m in listed] == [
        ("early", 2, newer),
        ("early", 1, None),
        ("late", 1, None),
    ]
    assert "early, version 1" in answer("show", "early", "--dsn", dsn, "--version", 1)
    assert complaint("show", "early", "--dsn", dsn) == f"error: {newer}\nHINT: upgrade sqlsvm\n"
    assert answer("drop", "early", "--dsn", dsn, "--version", 2, "--yes") == "dropped version 2\n"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_shown_and_not_obeyed(tmp_path: Path, name: str) -> None:
    made = model(
        name, label=name, engine=name, positive=name, options={name: name}, weights=(Weight(name, name, 1, 1),)
    )
    store = open_store(tmp_path / "m.json")
    store.save(made)
    paper = io.StringIO()
    for text in (draw_models(store.models(), paper), draw_model(made, paper), draw_weights(made, None, paper)):
        assert printable(name) in text
        assert all(c.isprintable() or c == "\n" for c in text)


def test_a_model_drawn() -> None:
    assert draw_model(model(version=3), io.StringIO()) == SHOWN


def test_what_took_the_time_if_it_was_not_the_passes() -> None:
    """Of the phases that matter, the longest first."""
    slow = {"reading": 0.2, "sampling": 60.0, "solving": 862.0, "passes": 16.0, "between_passes": 99.0}
    said = draw_model(model(phases=slow), io.StringIO())
    assert "trained       2 passes of dane in 0.81 s, counting exact; 1037.20 s in all\n" in said
    assert "time          solving 862.0 s, between passes 99.0 s, sampling 60.0 s\n" in said
    passes = {**slow, "passes": 1100.0}
    assert "time  " not in draw_model(model(phases=passes), io.StringIO())


def test_weights_drawn() -> None:
    assert draw_weights(model(), 4, io.StringIO()) == WEIGHTS


SHOWN = """\
model         late, version 3
query         SELECT f.late, f.distance, f.carrier
              FROM flights AS f
label         late
join          1.5e12 rows: 1.0e12 -1 (67 %), 5.0e11 +1 (33 %)
trained       2 passes of dane in 0.81 s, counting exact
in            PostgreSQL 15.18
loss          hinge
lambda        0.0001
NULLs         mean
objective     0.4 to 0.41
lower bound   0.409
gap           0.0024, converged
features      4, with 6 weights
options       tol: 0.001; seed: 0; categorical: ["month"]
trained on    rows: {"f": 1000}; booleans: []; caseless: []; label_values: [-1, 1]; versions: {"sqlsvm": "0.1.0"}

pass   objective   upper   lower bound      gap   buckets   seconds
   1         0.4    0.41          -inf      inf                0.25
   2         0.4    0.41      0.409016   0.0024        16      0.25"""

WEIGHTS = """\
feature       category            weight   scaled weight
(intercept)                         -0.1
month         7                     -1.5            -1.5
distance                           0.001             0.7
carrier       Ünïted 'n' "Co"   0.333333        0.333333
heavy                               0.25            0.25
and 2 more, with smaller weights"""
