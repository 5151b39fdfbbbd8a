"""How a command line ends: the exit code, and what stands on stderr. Never a traceback."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.command import COMMAND, ROOT, environment, sqlsvm
from tests.waiting import MINUTE

FILE = "SELECT t.y, t.x FROM 't.csv' AS t"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("y,x,late\n1,2,a\n0,3,b\n1,4,c\n")
    (tmp_path / "latin1.sql").write_bytes("SELECT t.x AS größe FROM 't.csv' AS t".encode("latin-1"))
    return tmp_path


def ended(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


def test_good(folder: Path) -> None:
    done = sqlsvm("inspect", "--dsn", "duckdb:", "--label", "y", "--query", FILE, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("t (t.csv)  3 rows\n")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            ["--query", "SELECT t.x FROM 't.csv' AS t WHERE t.x > random()"],
            "error: random() is volatile: it changes something, or differs from call to call\n"
            "HINT: store what it returns in a column, and select the column\n",
        ),
        (
            ["--query", FILE, "--label", "y", "--positive", "2"],
            "error: the label y never has the value '2'\nDETAIL: its values are '0', '1'\n",
        ),
        (
            ["--query", "features.sql"],
            "error: there is no file features.sql\nHINT: --query takes the name of a file, or the SQL itself\n",
        ),
    ],
)
def test_an_error_of_the_user(folder: Path, options: list[str], text: str) -> None:
    assert ended(sqlsvm("inspect", "--dsn", "duckdb:", *options, cwd=folder)) == (1, "", text)


def test_a_file_in_another_encoding(folder: Path) -> None:
    done = sqlsvm("inspect", "--dsn", "duckdb:", "--query", "latin1.sql", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot read the query from latin1.sql\nDETAIL: 'utf-8' codec")


def test_a_server_that_does_not_answer() -> None:
    done = sqlsvm("inspect", "--dsn", "postgresql://me:secret@127.0.0.1:1/x", "--query", "SELECT 1")
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot connect to PostgreSQL (host 127.0.0.1, port 1, dbname x, user me)\n")
    assert "\nHINT: is the server running" in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["inspct"], ["'inspct'", "\nHINT: did you mean inspect?\n"]),
        (["inspect", "--lable", "y"], ["--lable", "\nHINT: did you mean --label?\n"]),
        (["inspect", "--query", "SELECT 1"], ["error: --dsn is missing\nHINT: --dsn postgresql://", "SQLSVM_DSN"]),
        (["inspect", "--dsn", "duckdb:"], ["error: --query is missing\nHINT: --query features.sql"]),
        (["inspect", "--dsn", "duckdb:", "--query", "SELECT 1", "surplus"], ["surplus"]),
    ],
)
def test_wrong_usage(arguments: list[str], parts: list[str]) -> None:
    done = sqlsvm(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert [part for part in parts if part not in done.stderr] == []


BROKEN = """
import sys
from sqlsvm import cli

cli.cli.command("break")(lambda: [][1])
sys.exit(cli.run(["break"]))
"""


@pytest.mark.parametrize("debug", ["", "1"])
def test_an_error_of_ours(debug: str) -> None:
    env = environment({"SQLSVM_DEBUG": debug})
    done = subprocess.run([sys.executable, "-c", BROKEN], env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    if debug:
        assert "Traceback" in done.stderr
    else:
        hint = "HINT: SQLSVM_DEBUG=1 shows where; please report it"
        assert done.stderr == f"internal error: IndexError: list index out of range\n{hint}\n"


def test_control_characters_in_an_error_are_shown_not_obeyed() -> None:
    done = sqlsvm("inspect", "--dsn", "duckdb:", "--query", "\x1b[31mfile")
    assert "\x1b" not in done.stderr
    assert r"there is no file \x1b[31mfile" in done.stderr


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [*COMMAND, "inspect", "--dsn", "duckdb:", "--query", FILE]
    done = subprocess.run(command, env=environment(), cwd=folder, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_is_told(folder: Path) -> None:
    command = [*COMMAND, "inspect", "--dsn", "duckdb:", "--query", FILE]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, env=environment(), cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: cannot write the answer")


def test_help_and_version() -> None:
    assert sqlsvm().stdout == sqlsvm("--help").stdout
    assert "Example:\n    sqlsvm inspect" in sqlsvm("inspect", "--help").stdout
    assert "Example:\n    sqlsvm demo" in sqlsvm("demo", "--help").stdout
    assert sqlsvm("--version").stdout.startswith("sqlsvm")


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from sqlsvm.cli import run; run(['inspect', '--help']); print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), cwd=ROOT, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "click" in loaded
    assert loaded & {"numpy", "sqlglot", "rich", "psycopg", "duckdb"} == set()


COLOUR = r"\x1b\[[0-9;]*m"


def on_a_terminal(*arguments: str, env: Mapping[str, str]) -> str:
    """What a command writes to a terminal, on stdout and stderr."""
    ours, theirs = pty.openpty()
    settings = environment({"TERM": "xterm-256color", **env})
    with subprocess.Popen([*COMMAND, *arguments], env=settings, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        written = b""
        while chunk := read(ours):
            written += chunk
        process.wait(timeout=MINUTE)
    os.close(ours)
    return written.decode()


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side has closed
        return b""


@pytest.mark.slow
def test_colour_is_for_terminals_only(folder: Path) -> None:
    assert "\x1b[31m\x1b[1merror:\x1b[0m " in on_a_terminal("inspect", "--lable", env={})
    good = ("inspect", "--dsn", "duckdb:", "--label", "y", "--query", FILE.replace("t.csv", str(folder / "t.csv")))
    assert re.search(COLOUR, on_a_terminal(*good, env={}))
    assert not re.search(COLOUR, on_a_terminal(*good, env={"NO_COLOR": "1"}))
    assert "\x1b" not in on_a_terminal(*good, env={"TERM": "dumb"})
    assert "\x1b" not in sqlsvm(*good, env={"FORCE_COLOR": "1"}).stdout
