"""Progress on stderr. stdout has only the answer.

Other modules report their steps by `logging`: INFO for a step, DEBUG for a pass, which prints its own line at its end;
more than INFO for a line that stays.
On a terminal a step is shown with its seconds while it lasts. Elsewhere it prints a line only if it takes longer than
PATIENCE, or if it is what the command is at after its first second. So a log shows what was slow, and is otherwise the
same every time.
"""

import logging
import os
import sys
from _thread import start_new_thread
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Protocol
from weakref import finalize

import click

from sqlsvm.errors import masked
from sqlsvm.terminal import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

PATIENCE, FIRST = 2.0, 0.9
STARTED = perf_counter()  # when the command began


class Steps(Protocol):
    def begin(self, step: str, announced: bool) -> None:
        """Announced: it prints its own line at its end."""

    def rest(self) -> None:
        """No step is going on. Others may write on the screen."""

    def say(self, line: str) -> None:
        """A line that stays."""


class Lines:
    """One thread waits for all steps. The command does not wait for it: without memory for it, nothing is shown."""

    def __init__(self) -> None:
        self._begun: SimpleQueue[str | None] | None = None

    def begin(self, step: str, announced: bool) -> None:
        if self._begun is None:
            self._begun = SimpleQueue()
            finalize(self, self._begun.put, None)
            with suppress(RuntimeError):
                start_new_thread(_wait, (self._begun,))
        self._begun.put("" if announced else step)

    def rest(self) -> None:
        if self._begun:
            self._begun.put("")

    def say(self, line: str) -> None:
        click.echo(masked(line), err=True)


def _wait(begun: "SimpleQueue[str | None]") -> None:
    """Print each step that no other one follows soon; "" is none, and after None there are no more."""
    with suppress(BaseException):
        step = begun.get()
        while step is not None:
            try:
                left = FIRST - (perf_counter() - STARTED)
                step = begun.get(timeout=(left if left > 0.0 else PATIENCE) if step else None)
            except Empty:
                click.echo(f"{step} ...", err=True)
                step = ""


class Spinner:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.spinner import Spinner

        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._turning = Spinner("dots")
        self._live: Live | None = None
        self._rested: SimpleQueue[None] = SimpleQueue()
        self._step, self._since = "", 0.0

    def begin(self, step: str, announced: bool) -> None:
        from rich.live import Live

        self._step, self._since = step, monotonic()
        if not self._live:
            self._live = Live(
                console=self._console,
                get_renderable=self._drawn,
                auto_refresh=False,  # it would wait for its thread to begin
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start(refresh=True)
            self._rested = SimpleQueue()
            with suppress(RuntimeError):
                start_new_thread(_turn, (self._live, self._rested))

    def rest(self) -> None:
        if self._live:
            self._rested.put(None)
            self._live.stop()
        self._live = None

    def say(self, line: str) -> None:
        self._console.print(masked(line), soft_wrap=True, markup=False)

    def _drawn(self) -> "RenderableType":
        from rich.text import Text

        seconds = monotonic() - self._since
        self._turning.update(text=Text(f"{self._step}, {seconds:.0f} s" if seconds >= 1 else self._step))
        return self._turning


def _turn(live: "Live", rested: "SimpleQueue[None]") -> None:
    """Ten times a second, until there is something in the queue. Without memory for this thread, nothing turns."""
    with suppress(BaseException):
        while True:
            try:
                return rested.get(timeout=0.1)
            except Empty:
                live.refresh()


class _Told(logging.Handler):
    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    def emit(self, record: logging.LogRecord) -> None:
        said = printable(record.getMessage())
        if record.levelno > logging.INFO:
            self._steps.say(said)
        else:
            self._steps.begin(said, announced=record.levelno < logging.INFO)


_steps: Steps = Lines()


@contextmanager
def watching() -> Iterator[None]:
    """Show the steps that happen inside."""
    global _steps
    on_screen = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    _steps = Spinner() if on_screen else Lines()
    told, logger = _Told(_steps), logging.getLogger("sqlsvm")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(told)
    try:
        yield
    finally:
        _steps.rest()
        logger.removeHandler(told)


def begin(step: str) -> None:
    _steps.begin(step, announced=False)


def rest() -> None:
    _steps.rest()


def say(line: str) -> None:
    _steps.say(line)
