"""What `sqlsvm inspect` prints, shape by shape: draw/NAME.sql has tables and a query, draw/NAME.txt the text.

`make golden` writes the texts anew: read the difference.
"""

import io
import os
from pathlib import Path

import pytest
from sqlglot import parse

from sqlsvm.ask.inspect import Inspection, inspect
from sqlsvm.engine.base import Engine
from sqlsvm.show.inspection import draw
from sqlsvm.terminal import printable

FOLDER = Path(__file__).with_name("draw")


def inspected(engine: Engine, name: str) -> Inspection:
    tables, query = (FOLDER / f"{name}.sql").read_text(encoding="utf-8").split("-- query\n")
    for statement in parse(tables, read="duckdb"):
        if statement:
            engine.execute(statement)
    return inspect(engine, query, label="y")


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal, or a pipe, of some encoding."""

    def __init__(self, encoding: str = "utf-8", terminal: bool = True) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.sql")))
def test_drawing(name: str, duckdb: Engine) -> None:
    drawn = draw(inspected(duckdb, name), io.StringIO()) + "\n"
    golden = FOLDER / f"{name}.txt"
    if os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        golden.write_text(drawn, encoding="utf-8")
    assert drawn == golden.read_text(encoding="utf-8")


@pytest.fixture
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.usefixtures("plain_terminal")
def test_colour_is_for_terminals_that_want_it(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = inspected(duckdb, "star")
    assert "\x1b[" in draw(found, Terminal())
    assert "\x1b" not in draw(found, Terminal(terminal=False))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in draw(found, Terminal())


@pytest.mark.usefixtures("plain_terminal")
def test_a_narrow_terminal_breaks_lines_and_loses_nothing(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = inspected(duckdb, "star")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    narrow = draw(found, Terminal())
    assert max(map(len, narrow.splitlines())) <= 30
    wide = draw(found, io.StringIO())
    assert sorted(c for c in narrow if c.isalnum()) == sorted(c for c in wide if c.isalnum())


def test_guides_are_ascii_where_the_encoding_is_not_unicode(duckdb: Engine) -> None:
    drawn = draw(inspected(duckdb, "star"), Terminal("ascii", terminal=False))
    assert drawn.isascii()
    assert "`-- p (products)" in drawn or "+-- p (products)" in drawn


def test_control_characters_never_reach_the_terminal() -> None:
    everything = "".join(map(chr, range(0xD800))) + "\u202e\U0001f600"
    assert printable(everything).isprintable()
    assert printable("Zürich 日本 \U0001f600 [red]") == "Zürich 日本 \U0001f600 [red]"
