"""The process of a command: it imports what the command needs, and ends at once, with all that has to be done then."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ROOT, environment

TRAIN = ["train", "--dsn", "duckdb:", "--label", "y", "--query", "SELECT t.y, t.x FROM 't.csv' AS t"]
NOT_NEEDED = (
    "sqlsvm.ask.",
    "sqlsvm.kernel.decomposition",
    "sqlsvm.maps.kinds",
    "sqlsvm.neural",
    "sqlsvm.run.folding",
    "sqlsvm.run.groups",
    "sqlsvm.run.join_oracle",
    "sqlsvm.lab.run.machine",
    "sqlglot.dialects.postgres",
    "sqlglot.dialects.spark",
    "psycopg",
    "sklearn",
)
MAIN = "import sys; from sqlsvm.cli import main; sys.argv[0] = 'sqlsvm'; "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("y,x\n" + "".join(f"{n % 2},{n}\n" for n in range(20)))
    return tmp_path


def ran(code: str, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, env=environment({"PYTHONUNBUFFERED": ""}), cwd=cwd, capture_output=True, text=True)


def test_a_small_training_imports_what_it_needs(folder: Path) -> None:
    code = f"import atexit; atexit.register(lambda: print(*sys.modules)); {MAIN} main()"
    done = ran(code, *TRAIN, cwd=folder)
    imported = done.stdout.splitlines()[-1].split()
    assert "sqlsvm.run.in_memory" in imported
    assert not [name for name in imported if name.startswith(NOT_NEEDED)]


@pytest.mark.parametrize(("asked", "code"), [(["--help"], 0), (["no-such-verb"], 2)])
def test_what_was_registered_for_the_end_is_done(asked: list[str], code: int) -> None:
    done = ran(f"import atexit; atexit.register(print, 'the end'); {MAIN} main()", *asked)
    assert done.returncode == code
    assert done.stdout.endswith("the end\n")


def test_it_waits_for_a_thread(tmp_path: Path) -> None:
    """The thread begins when the command has written its answer, and then takes its time."""
    work = (
        "import sys, threading, time; said, write = threading.Event(), sys.stdout.write; "
        "sys.stdout.write = lambda text: (write(text), said.set())[0]; "
        "threading.Thread(target=lambda: (said.wait(), time.sleep(0.2), print('done', flush=True))).start()"
    )
    done = ran(f"{work}; {MAIN} main()", "--help")
    assert (done.returncode, done.stdout[-5:]) == (0, "done\n")


def test_output_that_has_gone_is_an_error() -> None:
    """Python says so at its end, and its exit code is 120."""
    code = f"import os; r, w = os.pipe(); os.dup2(w, 1); os.close(w); os.close(r); print('early'); {MAIN} main()"
    done = ran(code, "no-such-verb")
    assert done.returncode == 120
    assert "BrokenPipeError" in done.stderr


def test_python_takes_no_module_apart() -> None:
    """An object in one would be told."""
    code = f"import click; click.kept = type('Kept', (), {{'__del__': lambda self: print('apart')}})(); {MAIN} main()"
    done = ran(code, "--help")
    assert (done.returncode, "apart" in done.stdout) == (0, False)
