"""A thread that works for the main one, so that Python handles Ctrl-C there meanwhile.

Its queues have no lock that belongs to Python. The futures of the standard library have: if Ctrl-C comes at the moment
when the main thread has taken such a lock, it stays taken, and the thread waits for it for ever.
"""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar
from weakref import finalize

T = TypeVar("T")

Outcome = list[tuple[Any, BaseException | None]]
"""Of a piece of work: empty until it is done."""
Asked = SimpleQueue[tuple[Callable[[], Any], Outcome, SimpleQueue[None]] | None]

SOON = 0.05


class Worker:
    """It does one piece of work after the other."""

    def __init__(self, name: str) -> None:
        self._asked: Asked = SimpleQueue()
        self._thread = Thread(target=_works, args=(self._asked,), name=name, daemon=True)
        self._thread.start()
        self._end = finalize(self, self._asked.put, None)

    @property
    def closed(self) -> bool:
        return not self._end.alive

    def run(self, work: Callable[[], T], stop: Callable[[], None]) -> T:
        """After Ctrl-C it is told to stop until it has: between two of its steps it would not hear it. What comes out
        of a queue at the moment of Ctrl-C is lost, so the outcome has a place of its own."""
        outcome: Outcome = []
        ready: SimpleQueue[None] = SimpleQueue()
        self._asked.put((work, outcome, ready))
        try:
            ready.get()
        except KeyboardInterrupt:
            while not outcome:
                stop()
                with suppress(Empty):
                    ready.get(timeout=SOON)
            raise
        found, error = outcome.pop()
        try:
            if error is not None:
                raise error
        finally:
            del error  # it knows this frame
        return found  # type: ignore[no-any-return]

    def close(self) -> None:
        self._end()
        self._thread.join()


def _works(asked: Asked) -> None:
    while given := asked.get():
        _answer(*given)
        del given  # the work knows its engine


def _answer(work: Callable[[], Any], outcome: Outcome, ready: SimpleQueue[None]) -> None:
    try:
        outcome.append((work(), None))
    except BaseException as error:
        outcome.append((None, error))
    ready.put(None)
