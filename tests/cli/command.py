"""The command line as its users meet it: a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cli import forked

ROOT = Path(__file__).parents[2]
LAMBDA = {"SQLSVM_LAMBDA": "1e-4"}
"""Most tests are about one training, and not about the choice of it. `CHOSEN` is what a user has."""
CHOSEN = {"SQLSVM_LAMBDA": ""}
COMMAND = [sys.executable, "-W", "error", "-m", "sqlsvm"]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what would change the answers."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("SQLSVM_") and k not in ("NO_COLOR", "COLUMNS")}
    return {**ours, "PYTHONPATH": str(ROOT), **(more or {})}


def sqlsvm(
    *arguments: object, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """One whose own Python is asked for something starts it; the others are forked."""
    env = {**LAMBDA, **(env or {})}
    words = [str(argument) for argument in arguments]
    if any(name.startswith("PYTHON") for name in env):
        command = [*COMMAND, *words]
        return subprocess.run(command, input=stdin, env=environment(env), cwd=cwd, capture_output=True, text=True)
    return forked.run(words, stdin, environment(env), cwd)


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer(*arguments: object) -> str:
    """What a command that succeeds, and has nothing else to say, prints."""
    done = sqlsvm(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def complaint(*arguments: object, code: int = 1) -> str:
    """What a command that fails says; its answer is empty."""
    done = sqlsvm(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    return done.stderr
