"""What a command shows of what it is at: nothing of short steps in a log, and never anything on stdout."""

import logging
import re
from io import StringIO
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

import pytest
from rich.console import Console

from sqlsvm.cli import progress
from sqlsvm.run.clock import whole
from tests.ground.models import model
from tests.waiting import MINUTE, eventually

steps = logging.getLogger("sqlsvm.somewhere")


class Steps(SimpleQueue[str | None]):
    """The steps of a command. Those named short are over before anybody would wait for the next; the others last."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = list[str | None]()

    def get(self, block: bool = True, timeout: float | None = None) -> str | None:
        """Each step but a short one is followed too late."""
        if timeout is not None and self.taken[-1] != "short":
            self.taken.append("late")
            raise Empty
        self.taken.append(super().get(timeout=MINUTE))
        return self.taken[-1]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Steps:
    begun = Steps()
    monkeypatch.setattr(progress, "SimpleQueue", lambda: begun)
    return begun


def test_a_step_that_lasts_leaves_a_line(begun: Steps, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("sampling %d rows", 10)
        steps.info("short")
    eventually(lambda: begun.taken[-1:] == [""])
    assert begun.taken == ["sampling 10 rows", "late", "short", ""]
    assert capsys.readouterr() == ("", "sampling 10 rows ...\n")


def test_after_the_first_second_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for is what is left of it, and then a step may take longer."""
    for since, least, most in ((0.3, 0.0, 0.7), (5.0, progress.PATIENCE, progress.PATIENCE)):
        waited: SimpleQueue[float] = SimpleQueue()

        class Begun(SimpleQueue[str | None]):
            def get(self, block: bool = True, timeout: float | None = None, waited: Any = waited) -> str | None:
                if timeout is not None:
                    waited.put(timeout)
                return super().get(timeout=MINUTE)

        monkeypatch.setattr(progress, "SimpleQueue", Begun)
        monkeypatch.setattr(progress, "STARTED", perf_counter() - since)
        with progress.watching():
            steps.info("reading")
            assert least <= waited.get(timeout=MINUTE) <= most


def test_the_seconds_are_all_of_those_since_the_command_began() -> None:
    first, second = model(phases={"passes": 2.0}), model(phases={"passes": 3.0})
    found = whole([first, second], perf_counter() - 20.0)
    assert sum(each.total_seconds or 0.0 for each in found) == pytest.approx(20.0, abs=5.0)
    assert found[0].phases["passes"] == 2.0
    assert found[1] == second


def test_a_pass_has_its_own_line(begun: Steps, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("short")
        steps.debug("pass 1")
        progress.say("pass 1 is over")
    eventually(lambda: begun.taken == ["short", "", ""])
    assert capsys.readouterr() == ("", "pass 1 is over\n")


def test_what_writes_the_answer_has_the_screen_for_itself(begun: Steps, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("short")
        progress.rest()
        eventually(lambda: begun.taken == ["short", ""])
    assert capsys.readouterr() == ("", "")


def test_a_name_cannot_write_to_the_terminal(begun: Steps, capsys: pytest.CaptureFixture[str]) -> None:
    with progress.watching():
        steps.info("making the table %s", "\x1b[31m")
    eventually(lambda: begun.taken[-1:] == [""])
    assert capsys.readouterr().err == "making the table \\x1b[31m ...\n"


def test_on_a_terminal_a_step_turns_until_it_is_over() -> None:
    written, spinner = StringIO(), progress.Spinner()
    spinner._console = Console(file=written, force_terminal=True, width=80)
    spinner.begin("counting", announced=False)
    eventually(lambda: len(set(re.findall(r"(.) counting", shown(written)))) >= 3)
    spinner.say("a line that stays")
    spinner.rest()
    assert "a line that stays\n" in shown(written)
    ended = written.tell()
    eventually(spinner._rested.empty)  # the thread has taken that it is over
    assert written.tell() == ended


def shown(written: StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", written.getvalue())


def test_nobody_watches_afterwards() -> None:
    before = logging.getLogger("sqlsvm").handlers[:]
    with pytest.raises(ZeroDivisionError), progress.watching():
        raise ZeroDivisionError
    assert logging.getLogger("sqlsvm").handlers == before
