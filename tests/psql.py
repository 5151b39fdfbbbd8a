"""psql itself, for what people type there."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import pytest

from sqlsvm.engine.embedded import find_installations
from sqlsvm.errors import EngineError


@dataclass(frozen=True)
class Said:
    """What psql answered: rows as text without headings, and what went to stderr."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@cache
def program(name: str = "psql") -> str:
    """A client of PostgreSQL, and not a wrapper around it. Where there is none CI fails: there it was to be tested."""
    found = shutil.which(name, path=os.pathsep.join(_folders())) or shutil.which(name)
    if found is None and "CI" in os.environ:
        pytest.fail(f"there is no {name}, and this is CI", pytrace=False)
    if found is None:
        pytest.skip(f"there is no {name} on this machine")
    return found


def _folders() -> list[str]:
    try:
        return [str(programs) for programs in find_installations().values()]
    except EngineError:  # the server may be elsewhere
        return []


def psql(dsn: str, script: str, variables: Mapping[str, str] | None = None) -> Said:
    """Run a script; it stops at the first error and says all of it. Variables are text for :'name' and :"name"."""
    settings = {"ON_ERROR_STOP": "1", "VERBOSITY": "verbose", **(variables or {})}
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [program(), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", *given, "--dbname", dsn]
    done = subprocess.run(command, input=script, capture_output=True, text=True, env=_environment())
    return Said(done.returncode, done.stdout, done.stderr)


def answer(dsn: str, script: str, variables: Mapping[str, str] | None = None) -> list[str]:
    """The rows of a script in which all goes well."""
    said = psql(dsn, script, variables)
    assert (said.code, said.err) == (0, ""), said.err
    return said.lines


def complaint(dsn: str, script: str, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The parts of the error that a script ends with: SQLSTATE, MESSAGE and, where there are any, DETAIL and HINT."""
    said = psql(dsn, script, variables)
    assert said.code == 3, said
    first, *more = said.err[said.err.index("ERROR:") :].splitlines()
    state, _, message = first.removeprefix("ERROR:").strip().partition(": ")
    parts = (line.partition(":") for line in more)
    named = {name: text.strip() for name, _, text in parts if name in ("DETAIL", "HINT")}
    return {"SQLSTATE": state, "MESSAGE": message, **named}


def _environment() -> dict[str, str]:
    return {**os.environ, "PGCLIENTENCODING": "UTF8", "LC_ALL": "C.UTF-8", "PGTZ": "UTC"}
