"""The examples in Python pass type checkers, and the page on Python has all names."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from doctest import DocTestParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sqlsvm
from tests.docs.markdown import ROOT, blocks

PAGE, NOTEBOOK = ROOT / "docs/python.md", ROOT / "examples/nycflights13/flights.ipynb"
SETTINGS = {"reportUnusedExpression": False, "reportMissingTypeStubs": False}  # a cell shows its last expression


def examples() -> Iterator[tuple[str, str]]:
    page = blocks(PAGE.read_text(encoding="utf-8"), "python")
    yield "page", "".join(each.source for block in page for each in DocTestParser().get_examples(block.text))
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    yield "notebook", "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    yield "idioms", (ROOT / "tests/docs/test_idioms.py").read_text(encoding="utf-8")
    yield "readme", "".join(block.text for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"), "python"))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"{name}.py" for name, _ in examples()]
    for file, (_, text) in zip(found, examples(), strict=True):
        file.write_text(f"{text}\n", encoding="utf-8")
    return found


@pytest.mark.slow
def test_mypy(files: list[Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--config-file=", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_pyright(files: list[Path], tmp_path: Path) -> None:
    """20 s of CPU."""
    if not os.environ.get("CI") and find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    settings = SETTINGS | {"extraPaths": [str(ROOT)], "include": [file.name for file in files]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_nothing_public_is_any() -> None:
    """No parameter and no result, of no public name and of no method."""
    named = [(name, getattr(sqlsvm, name)) for name in sqlsvm.__all__]
    members = [
        (f"{name}.{own}", held.fget if isinstance(held, property) else held)
        for name, kind in named
        if inspect.isclass(kind)
        for own, held in inspect.getmembers(kind)
        if not own.startswith("_") and (inspect.isfunction(held) or isinstance(held, property))
    ]
    untyped = {
        f"{name}({where})"
        for name, function in [*named, *members]
        if inspect.isfunction(function)
        for where, hint in inspect.unwrap(function).__annotations__.items()
        if hint in (Any, "Any")
    }
    assert untyped == set()


def test_the_page_on_python_has_all_names() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(sqlsvm.__all__)
