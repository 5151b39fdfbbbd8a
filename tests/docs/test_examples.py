"""The Python examples of the documents: each document is one session, from its first block to its last.

`SQLSVM_UPDATE_GOLDEN=1 pytest tests/docs/test_examples.py` writes what they print anew: read the difference.
"""

import doctest
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.markdown import ROOT, blocks

DOCUMENTS = [path for path in sorted((ROOT / "docs").glob("*.md")) if ">>> " in path.read_text(encoding="utf-8")]


class Session(doctest.DocTestRunner):
    """Runs all examples, and keeps what each printed."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.ELLIPSIS | doctest.REPORT_NDIFF)
        self.printed: list[tuple[doctest.Example, str]] = []

    def report_success(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.printed.append((example, got))

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.printed.append((example, got))
        super().report_failure(out, test, example, got)


def session(path: Path) -> doctest.DocTest:
    """The examples with the line numbers of the document."""
    text = path.read_text(encoding="utf-8")
    lines = [""] * len(text.splitlines())
    for block in blocks(text, "python"):
        lines[block.first : block.first + len(block.lines)] = block.lines
    return doctest.DocTestParser().get_doctest("\n".join(lines), {}, path.name, str(path), 0)


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_examples(path: Path) -> None:
    runner, reports = Session(), list[str]()
    test = session(path)
    assert test.examples
    runner.run(test, out=reports.append, clear_globs=False)
    if reports and os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        path.write_text("\n".join(rewritten(path, runner)) + "\n", encoding="utf-8")
        pytest.skip("written anew")
    assert not reports, "".join(reports)


def rewritten(path: Path, runner: Session) -> Iterator[str]:
    """The lines of the document with what its examples print now."""
    lines = path.read_text(encoding="utf-8").splitlines()
    done = 0
    for example, got in runner.printed:
        end = example.lineno + example.source.count("\n")
        yield from lines[done:end]
        yield from got.splitlines()
        done = end + example.want.count("\n")
    yield from lines[done:]
