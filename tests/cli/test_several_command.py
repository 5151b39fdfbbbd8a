"""`sqlsvm train` with several values of an option: a model for each, a table, and the choice of one."""

import json
import signal
from itertools import islice
from pathlib import Path

import pytest

from tests.cli.command import answer, sqlsvm, started

TABLES = """
    CREATE TABLE a AS SELECT i % 7 AS k, (i * 7) % 11 + i % 5 > 7 AS y, i % 5 - 2 AS x, (i * 13) % 17 + i % 5 AS t
    FROM GENERATE_SERIES(0, 199) AS r(i);
    CREATE TABLE b AS SELECT i % 7 AS k, i / 8.0 AS z FROM GENERATE_SERIES(0, 6) AS r(i)
"""
CLASSES = "SELECT a.y, a.x, a.t, b.z FROM a JOIN b ON a.k = b.k"
NUMBERS = "SELECT a.t, a.x, b.z FROM a JOIN b ON a.k = b.k"


@pytest.fixture
def dsn(tmp_path: Path) -> str:
    import duckdb

    with duckdb.connect(str(tmp_path / "f.duckdb")) as connection:
        connection.execute(TABLES)
    return f"duckdb:{tmp_path / 'f.duckdb'}"


def train(dsn: str, *more: object, query: str = CLASSES, label: str = "y") -> tuple[int, str, str]:
    done = sqlsvm("train", "--dsn", dsn, "--query", query, "--label", label, *more)
    return done.returncode, done.stdout, done.stderr


def test_a_path_keeps_a_model_for_each_value(dsn: str) -> None:
    code, out, err = train(dsn, "--lambda", "1e-1:1e-3:3", "--name", "late")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].split() == ["lambda", "objective", "lower", "bound", "gap", "passes", "weights"]
    assert [line.split()[0] for line in lines[1:4]] == ["0.1", "0.01", "0.001"]
    assert [line.split()[-1] for line in lines[1:4]] == ["late_0.1", "late_0.01", "late_0.001"]
    assert "3 models in " in out
    assert f"the models are kept in {dsn}" in out
    assert "lambda 0.001\npass " in err
    stored = json.loads(answer("models", "--dsn", dsn, "--json"))["models"]
    assert {(m["model"], m["lambda"]) for m in stored} == {
        ("late_0.1", 0.1),
        ("late_0.01", 0.01),
        ("late_0.001", 0.001),
    }
    assert "auc" in answer("evaluate", "--dsn", dsn, "late_0.01")


def test_json_is_a_list(dsn: str) -> None:
    code, out, _ = train(dsn, "--lambda", "0.1,0.01", "--holdout", 0.3, "--json")
    assert code == 0
    found = json.loads(out)
    assert [(m["model"], m["version"], m["selected"], m["above_next"]) for m in found] == [
        ("model_0.1", 1, False, None),
        ("model_0.01", 1, False, None),
    ]
    assert found[0]["holdout"].keys() == {"loss", "auc", "accuracy", "balanced_accuracy", "f1"}
    assert all(m["lower_bound"] <= m["objective_upper"] for m in found)


def test_only_the_best_is_kept(dsn: str, tmp_path: Path) -> None:
    wanted = ("--lambda", "10,0.001", "--holdout", 0.3, "--select", "loss")
    code, out, _ = train(dsn, *wanted, "--name", "late", "--json")
    found = json.loads(out)
    losses = [m["holdout"]["loss"] for m in found]
    assert code == 0
    assert [m["selected"] for m in found] == [loss == min(losses) for loss in losses]
    stored = json.loads(answer("models", "--dsn", dsn, "--json"))["models"]
    assert [(m["model"], m["lambda"]) for m in stored] == [("late", found[losses.index(min(losses))]["lambda"])]
    file = tmp_path / "m.json"
    code, out, _ = train(dsn, *wanted, "--model-file", file)
    assert code == 0
    assert "is the best by loss: model, kept in " in out
    assert json.loads(file.read_text())["model"] == "model"


def test_quantiles_say_where_they_cross(dsn: str) -> None:
    loss = ("--loss", "quantile", "--quantile")
    code, out, _ = train(dsn, *loss, "0.9,0.1,0.5", "--json", query=NUMBERS, label="t")
    found = json.loads(out)
    assert code == 0
    assert [m["model"] for m in found] == ["model_0.1", "model_0.5", "model_0.9"]
    assert [m["above_next"] is None for m in found] == [False, False, True]
    code, out, _ = train(dsn, *loss, "0.1,0.9", query=NUMBERS, label="t")
    assert "above the next" in out.splitlines()[0]


def test_an_l1_path_shows_how_many_weights_are_left(dsn: str) -> None:
    code, out, _ = train(dsn, "--l1", "5,0")
    assert code == 0
    assert [line.split()[5] for line in out.splitlines()[1:3]] == ["0", "3"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--lambda", "0.1,0.2", "--l1", "0.1,0.2"), "--lambda and --l1 both have several values"),
        (("--lambda", "0.1,0.2", "--model-file", "m.json"), "--model-file keeps one model"),
        (("--lambda", "0.1,0.2", "--solver", "descent"), "--solver descent takes one value of --lambda"),
        (("--lambda", "0.1,0"), "it must be a number above 0"),
        (("--lambda", "0.1,x"), "is not a number, a list as 0.1,0.5, or a range"),
        (("--lambda", "0.1:0.2"), "is not a number, a list"),
        (("--lambda", "0.1:0.2:1"), "is not a number, a list"),
        (("--l1", "0:0.2:3"), "is not a number, a list"),
        (("--quantile", "0.1:0.2:3"), "is not a number, a list as 0.1,0.5."),
        (("--select", "auc"), "--select chooses among models"),
        (("--select", "auc", "--lambda", "0.1,0.2"), "add --folds 5"),
        (
            ("--select", "mae", "--lambda", "0.1,0.2", "--holdout", "0.3"),
            "not for a label with two classes\nHINT: take loss",
        ),
    ],
)
def test_what_several_values_do_not_go_with(dsn: str, more: tuple[str, ...], said: str) -> None:
    code, out, err = train(dsn, *more)
    assert (code, out) == (2, "")
    assert said in err


def test_one_that_does_not_converge_is_named(dsn: str) -> None:
    code, _, err = train(dsn, "--lambda", "0.1,1e-6", "--tol", "1e-13", "--max-passes", "2")
    assert code == 3
    assert "warning: not converged: the gap of model_1e-06 is " in err


def test_several_trainings_go_on(dsn: str) -> None:
    path = "--lambda", "0.1,1e-3", "--name", "late", "--in-memory", "0"
    code, _, err = train(dsn, *path, "--resume", "--tol", "0.5")
    assert code == 0
    assert err.startswith(
        'note: no unfinished training of "late" is kept here: the models are trained from the start\n'
    )
    code, out, err = train(dsn, *path, "--tol", "1e-12", "--max-passes", 1, "--json")
    assert code == 3, err
    passes = [model["passes"] for model in json.loads(out)]
    assert f"note: {sum(passes)} passes are kept in {dsn}; the same command with --resume goes on from there" in err
    code, out, err = train(dsn, *path, "--resume", "--json")
    assert code == 0, err
    assert f"note: resuming after {sum(passes)} passes: " in err
    found = json.loads(out)
    assert [model["model"] for model in found] == ["late_0.1", "late_0.001"]
    assert sum(model["passes"] for model in found) == sum(passes) + err.count("\npass ")
    assert "is kept here" in train(dsn, *path, "--resume", "--tol", "0.5")[2]


def test_quantiles_go_on(dsn: str, tmp_path: Path) -> None:
    """Each is a loss of its own, and has passes of its own. One that has converged makes none again."""
    some = "--loss", "quantile", "--quantile", "0.1,0.9", "--name", "t"
    code, _, err = train(dsn, *some, "--tol", "1e-12", "--max-passes", 1, query=NUMBERS, label="t")
    assert code == 3
    assert "note: 2 passes are kept in " in err
    code, _, err = train(dsn, *some, "--resume", query=NUMBERS, label="t")
    assert code == 0, err
    assert err.count("note: resuming after 1 pass: ") == 2


@pytest.mark.slow
def test_an_interrupted_path_is_kept(dsn: str) -> None:
    path = "--lambda", "0.1,1e-3", "--name", "late", "--solver", "bundle"
    given = ("train", "--dsn", dsn, "--query", CLASSES, "--label", "y", *path)
    with started(*given, "--tol", "0", "--max-passes", 100_000, "--json") as child:
        assert child.stderr
        lines = list(islice((line for line in child.stderr if line.startswith("pass ")), 3))
        assert lines[-1].startswith("pass 3 ")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert f"passes are kept in {dsn}; the same command with --resume goes on from there" in err
    code, _, err = train(dsn, *path, "--resume", "--tol", "0.1")
    assert code == 0, err
    assert "note: resuming after " in err


def test_a_training_begins_at_a_stored_model(dsn: str) -> None:
    code, _, err = train(dsn, "--from", "late", "--name", "late")
    assert (code, err) == (1, 'error: there is no model "late"\nHINT: none is stored here; sqlsvm train stores one\n')
    assert train(dsn, "--name", "late")[0] == 0
    code, _, err = train(dsn, "--from", "late", "--name", "late")
    assert code == 0
    assert "note: beginning at the weights of late, version 1\n" in err
    assert train(dsn, "--from", "late", "--name", "each", "--lambda", "0.1,0.01")[0] == 0
    for options, said in (
        (("--resume",), "--resume continues from passes, and --from from a model"),
        (("--solver", "descent"), "--solver descent begins at 0"),
    ):
        code, _, err = train(dsn, "--from", "late", *options)
        assert (code, said in err) == (2, True), err


def test_each_group_selects_its_own(dsn: str) -> None:
    """By its folds. The others of the path are not kept."""
    query = "SELECT a.y, a.x, a.t, a.k % 3 AS g, b.z FROM a JOIN b ON a.k = b.k"
    asked = "--by", "g", "--lambda", "3,0.1,0.001", "--folds", 3, "--name", "best"
    code, out, err = train(dsn, *asked, "--select", "auc", query=query)
    assert code == 0, err
    assert out.splitlines()[4].split()[:2] == ["by", "g"]
    assert "each g has the lambda that is the best by auc: best, kept in" in out
    stored = json.loads(answer("models", "--dsn", dsn, "--json"))["models"]
    assert [m["model"] for m in stored] == ["best"]
    code, out, _ = train(dsn, *asked, "--select", "loss", "--json", query=query)
    *path, best = json.loads(out)
    assert [m["selected"] for m in (*path, best)] == [False, False, False, True]
    for place, group in enumerate(best["groups"]):
        of_path = [m["groups"][place] for m in path]
        losses = {of["lam"]: of["validation"]["loss"]["mean"] for of in of_path}
        assert group["lam"] == min(losses, key=lambda lam: losses[lam])
        assert group in of_path
    shown = answer("show", "--dsn", dsn, "best")
    assert "in 3 folds" in shown


def test_folds_measure_and_select(dsn: str) -> None:
    code, out, err = train(dsn, "--folds", 3, "--name", "late", "--probability", "sigmoid")
    assert code == 0, err
    assert [line.split()[1] for line in out.splitlines() if line.startswith("unseen")] == [
        *("loss", "accuracy", "f1", "balanced", "auc")
    ]
    assert "probability" in answer("predict", "--dsn", dsn, "late", "--probability").splitlines()[0]
    asked = "--lambda", "1,0.1,0.01", "--folds", 3, "--select", "accuracy", "--name", "best"
    code, out, _ = train(dsn, *asked, "--one-standard-error")
    assert code == 0
    assert "the measures are the means of 3 folds\n" in out
    assert "lambda 1 is the largest that is at most one standard error worse than the best by accuracy: best, " in out
    found = json.loads(train(dsn, *asked, "--json")[1])
    assert all(m["validation"].keys() == m["holdout"].keys() for m in found)
    assert [m["selected"] for m in found].count(True) == 1
    for options, said in (
        (("--one-standard-error",), "--one-standard-error needs --select and --folds"),
        (("--lambda", "1,0.1", "--select", "auc"), "--select measures models on rows that they have not seen"),
    ):
        code, _, err = train(dsn, *options)
        assert (code, said in err) == (2, True), err


@pytest.mark.slow
def test_the_models_are_drawn(dsn: str, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    code, out, err = train(dsn, "--lambda", "1,0.1,0.01", "--folds", 3, "--png", folder, "--json")
    assert code == 0, err
    assert len(json.loads(out)) == 3
    names = {"path", "path_weights", *(f"path_{n}" for n in ("loss", "auc", "accuracy", "balanced_accuracy", "f1"))}
    assert {path.stem for path in folder.iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.iterdir())
    assert f"Objective between its bounds is in {folder / 'path.png'}\n" in err
    code, _, err = train(dsn, "--png", folder)
    assert (code, "--png draws several models" in err) == (2, True)
