"""The examples in Python pass type checkers, and the page on Python has all names."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path

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
    """It is a program of Node, and not among the tools of these tests."""
    if not (program := shutil.which("pyright")):
        pytest.skip("pyright is not installed")
    settings = SETTINGS | {"extraPaths": [str(ROOT)], "include": [file.name for file in files]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [program, "--pythonpath", sys.executable, "--project", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_page_on_python_has_all_names() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(sqlsvm.__all__)
