"""What a command shows of what it is at: nothing of short steps in a log, and never anything on stdout."""

import logging
import re
import time
from io import StringIO

import pytest
from rich.console import Console

from sqlsvm.cli import progress

steps = logging.getLogger("sqlsvm.somewhere")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.05)


def test_a_step_that_lasts_leaves_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("sampling %d rows", 10)
        time.sleep(0.3)
        steps.info("short")
    time.sleep(0.1)
    assert capsys.readouterr() == ("", "sampling 10 rows ...\n")


def test_a_pass_has_its_own_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("short")
        steps.debug("pass 1")
        time.sleep(0.3)
        progress.say("pass 1 is over")
    assert capsys.readouterr() == ("", "pass 1 is over\n")


def test_what_writes_the_answer_has_the_screen_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("short")
        progress.rest()
        time.sleep(0.2)
    assert capsys.readouterr() == ("", "")


def test_a_name_cannot_write_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("making the table %s", "\x1b[31m")
        time.sleep(0.3)
    assert capsys.readouterr().err == "making the table \\x1b[31m ...\n"


def test_on_a_terminal_a_step_turns_until_it_is_over() -> None:
    written, spinner = StringIO(), progress.Spinner()
    spinner._console = Console(file=written, force_terminal=True, width=80)
    spinner.begin("counting", announced=False)
    time.sleep(0.5)
    spinner.say("a line that stays")
    spinner.rest()
    frames = set(re.findall(r"(.) counting", shown(written)))
    assert len(frames) >= 3
    assert "a line that stays\n" in shown(written)
    ended = written.tell()
    time.sleep(0.3)
    assert written.tell() == ended


def shown(written: StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", written.getvalue())


def test_nobody_watches_afterwards() -> None:
    before = logging.getLogger("sqlsvm").handlers[:]
    with pytest.raises(ZeroDivisionError), progress.watching():
        raise ZeroDivisionError
    assert logging.getLogger("sqlsvm").handlers == before
