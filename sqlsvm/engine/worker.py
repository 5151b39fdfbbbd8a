"""A thread that works for the main one, so that Python handles Ctrl-C there meanwhile.

Its queues have no lock that belongs to Python. The futures of the standard library have: if Ctrl-C comes at the moment
when the main thread has taken such a lock, it stays taken, and the thread waits for it for ever.
"""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar
from weakref import finalize

T = TypeVar("T")

Answer = tuple[Any, BaseException | None]
Asked = SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Answer]] | None]

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
        """After Ctrl-C it is told to stop until it has: between two of its steps it would not hear it. An answer that
        comes too late is not taken for that of the next question."""
        answer: SimpleQueue[Answer] = SimpleQueue()
        try:
            self._asked.put((work, answer))
            found, error = answer.get()
        except KeyboardInterrupt:
            while not _came(answer):
                stop()
            raise
        try:
            if error is not None:
                raise error
        finally:
            del error  # it knows this frame
        return found  # type: ignore[no-any-return]

    def close(self) -> None:
        self._end()
        self._thread.join()


def _came(answer: SimpleQueue[Answer]) -> bool:
    try:
        answer.get(timeout=SOON)
    except Empty:
        return False
    return True


def _works(asked: Asked) -> None:
    while given := asked.get():
        _answer(*given)
        del given  # the work knows its engine


def _answer(work: Callable[[], Any], answer: SimpleQueue[Answer]) -> None:
    try:
        found = work()
    except BaseException as error:
        answer.put((None, error))
    else:
        answer.put((found, None))
