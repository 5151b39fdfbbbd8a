"""What a training shows while it runs: in a cell or on a terminal a line that changes, elsewhere a line a pass."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sqlsvm.notebook.cells import preformatted
from sqlsvm.solve.solution import OnPass, Record

if TYPE_CHECKING:
    from rich.live import Live

Verbose = bool | Literal["auto"]
BAR = 24


class Screen(Protocol):
    """It shows one text in place of another. Empty: nothing is shown."""

    def show(self, line: str) -> None: ...


class Cell:
    def __init__(self) -> None:
        self._shown: Any = None

    def show(self, line: str) -> None:
        from IPython.display import HTML, display

        if self._shown is None:
            self._shown = display(HTML(preformatted(line)), display_id=True)
        else:
            self._shown.update(HTML(preformatted(line) if line else ""))


class Terminal:
    def __init__(self) -> None:
        self._live: Live | None = None

    def show(self, line: str) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)
        if not line:
            self._live.stop()
            self._live = None


class Lines:
    """Where nothing can stand in place of another text, each step and each pass is a line."""

    def show(self, line: str) -> None:
        if last := line.rstrip("\n").rpartition("\n")[2]:
            print(last, file=sys.stderr, flush=True)


class Watched:
    """The steps of one training: those that it logs, and its passes."""

    def __init__(self, screen: Screen, tol: float) -> None:
        self._screen, self._tol = screen, tol
        self._first: dict[str, float] = {}
        self._last = ""

    def step(self, said: str) -> None:
        """Below the last pass."""
        self._screen.show(f"{self._last}{said} ...")

    def of(self, name: str, alone: bool) -> OnPass:
        """Told of the passes of one training."""

        def passed(record: Record) -> None:
            from sqlsvm.show.training import pass_line

            first = self._first.setdefault(name, record.gap)
            whose = "" if alone else f"{name}   "
            far = "" if isinstance(self._screen, Lines) else f"{bar(first, record.gap, self._tol)} "
            self._last = f"{whose}{far}{pass_line(record)}\n"
            self._screen.show(self._last)

        return passed


def bar(first: float, now: float, tol: float) -> str:
    """How far the gap has come on its way to the one that was asked for, on a log scale.

    >>> bar(0.1, 0.1, 0.001), bar(0.1, 0.01, 0.001)[:14], bar(0.1, 0.0, 0.001) == "█" * BAR
    ('························', '████████████··', True)
    """
    if now <= tol or first <= tol:
        return "█" * BAR
    done = log(first / now) / log(first / max(tol, 1e-12)) if now < first else 0.0
    full = int(BAR * done)
    return "█" * full + "·" * (BAR - full)


class _Steps(logging.Handler):
    def __init__(self, step: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._step = step

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.INFO:
            self._step(record.getMessage())


@contextmanager
def watched(verbose: Verbose, tol: float) -> Iterator[Callable[[str, bool], OnPass | None]]:
    """Who is told of the passes of a training, by its name, and whether it is the only one."""
    screen = _screen(verbose)
    if screen is None and verbose is not True:
        yield lambda name, alone: None
        return
    with on_screen(screen or Lines(), tol) as told:
        yield told


@contextmanager
def on_screen(screen: Screen, tol: float) -> Iterator[Callable[[str, bool], OnPass]]:
    shown, logger = Watched(screen, tol), logging.getLogger("sqlsvm")
    told, level = _Steps(shown.step), logger.level
    logger.addHandler(told)
    logger.setLevel(logging.INFO)
    try:
        yield shown.of
    finally:
        logger.setLevel(level)
        logger.removeHandler(told)
        screen.show("")


def _screen(verbose: Verbose) -> Screen | None:
    """Without a screen there may be lines."""
    if verbose is False:
        return None
    shell = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return Cell()
    return Terminal() if sys.stderr.isatty() else None
