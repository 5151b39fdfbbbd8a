"""What a new user reads: an example for every verb, and hints that say what to type."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sqlsvm.cli import cli
from sqlsvm.engine import connect
from sqlsvm.store import open_store
from tests.cli.command import sqlsvm
from tests.ground.models import model

QUERY = ("--query", "SELECT t.y, t.x FROM 't.csv' AS t")
DUCKDB = ("--dsn", "duckdb:")
JSON = ("--model-file", "m.json")


@pytest.mark.parametrize("verb", sorted(cli.commands))
def test_every_verb_has_an_example(verb: str) -> None:
    done = CliRunner().invoke(cli, [verb, "--help"])
    assert done.exit_code == 0
    _, _, examples = done.output.partition("Example:\n")
    assert f"sqlsvm {verb}" in examples, done.output


@pytest.mark.parametrize("verb", sorted(cli.commands))
def test_an_example_uses_options_that_exist(verb: str) -> None:
    """And no line of the list of verbs is cut off."""
    command = cli.commands[verb]
    known = {name for option in command.params for name in option.opts}
    used = {word for word in (command.epilog or "").split() if re.fullmatch("--[a-z0-9-]+", word)}
    assert used <= known | {"--"}
    assert not command.get_short_help_str(60).endswith("...")


def test_every_option_is_explained() -> None:
    options = [(verb, o) for verb, c in cli.commands.items() for o in c.params if isinstance(o, click.Option)]
    assert [(verb, o.opts) for verb, o in options if not o.help] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("help")
    (folder / "t.csv").write_text("y,x\n1,2\n0,3\n")
    open_store(folder / "m.json").save(model())
    with connect(f"duckdb:{folder / 'm.duckdb'}") as engine:
        open_store(engine).save(model())
    return folder


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["trian"], 2, "error: No such command 'trian'.\nHINT: did you mean train?\n"),
        (["xyz"], 2, "error: No such command 'xyz'.\nHINT: sqlsvm --help\n"),
        (["train", "--lable", "y"], 2, "error: No such option '--lable'.\nHINT: did you mean --label?\n"),
        (
            ["predict", "m", "--query", "x"],
            2,
            "error: No such option '--query'.\nHINT: the model has its query; --input names other rows\n",
        ),
        (["train", "--qq"], 2, "error: No such option '--qq'.\nHINT: sqlsvm train --help\n"),
        (
            ["train", "--solver", "dan"],
            2,
            "'dan' is not one of 'dane', 'bundle', 'descent', 'kernel', 'pegasos'.\nHINT: did you mean dane?\n",
        ),
        (["train", "--gamma", "0"], 2, "it must be auto or a number above 0, not '0'.\n"),
        (["train", "--sample", "10.5"], 2, "it must be auto or a whole number of at least 1, not '10.5'.\n"),
        (["train", *DUCKDB, *QUERY, "--label", "yy"], 1, "\nHINT: did you mean y?\n"),
        (
            ["train", *DUCKDB, *QUERY],
            1,
            "error: no label was named\nHINT: say which output is the label: --label COLUMN\n",
        ),
        (["inspect", *DUCKDB, "--query", "SELECT t.xx FROM 't.csv' AS t"], 1, "\nHINT: did you mean x?\n"),
        (["inspect", *DUCKDB, "--query", "SELECT t.x FROM 'tt.csv' AS t"], 1, "\nHINT: is the name right? FROM takes"),
        (["inspect", "--dsn", "duckdb:no/x", *QUERY], 1, "\nHINT: check the path: a missing file is created"),
        (["show", "lat", *JSON], 1, 'error: there is no model "lat"\nHINT: did you mean late?\n'),
        (["show", "x", *JSON], 1, 'error: there is no model "x"\nHINT: stored are late\n'),
        (["show", "--model-file", "n.json"], 1, "error: no model is stored here\nHINT: sqlsvm train stores one"),
        (["show"], 2, "error: --dsn is missing\nHINT: --dsn URL, or set SQLSVM_DSN, or --model-file model.json\n"),
        (["export", "late", *JSON], 2, "error: --format is missing\nHINT: one of sklearn, onnx, json, sql; "),
        (["drop", *JSON], 2, "error: MODEL is missing\nHINT: sqlsvm drop MODEL; sqlsvm models lists them\n"),
        (["predict", *JSON, *DUCKDB, "--input", "SELECT 1 AS distanc"], 1, "\nHINT: did you mean distanc?\n"),
        (["predict", *JSON, *DUCKDB, "--input", "SELECT 1 AS q"], 1, "\nHINT: give each feature's name to a column"),
        (
            ["predict", "--dsn", "duckdb:m.duckdb", "--input", "sqlsvm.version"],
            1,
            "\nHINT: did you mean sqlsvm.versions?\n",
        ),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, list) else "",
)
def test_a_mistake_is_told_what_to_type(folder: Path, arguments: list[str], code: int, said: str) -> None:
    done = sqlsvm(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
