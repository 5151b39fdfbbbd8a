"""A thread that works for the main one, so that Python handles Ctrl-C there meanwhile.

It waits for no lock that belongs to Python. The futures of the standard library do: if Ctrl-C comes at the moment when
the main thread has taken such a lock, it stays taken, and the thread waits for it for ever. And to say that it has
begun, is done, or has ended takes no memory: where there is none left, Python itself would wait for a thread that never
began.
"""

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar
from weakref import finalize

T = TypeVar("T")

SOON = 0.05
NOW_AND_THEN = 1.0
PATIENCE = 30.0  # a thread begins within so many seconds, also on a busy machine


class _Flag:
    """It is set once. Who waits may miss that it was set, if Ctrl-C comes, but not that it is."""

    __slots__ = ("_lock", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._lock = allocate_lock()
        self._lock.acquire()

    def set(self) -> None:
        self.is_set = True
        self._lock.release()

    def wait(self, seconds: float) -> bool:
        return self.is_set or self._lock.acquire(timeout=seconds) or self.is_set


class _Task:
    __slots__ = ("done", "error", "found", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.found: Any = None
        self.error: BaseException | None = None
        self.done = _Flag()


Asked = SimpleQueue[_Task | None]


class Worker:
    """It does one piece of work after the other."""

    def __init__(self) -> None:
        self._asked: Asked = SimpleQueue()
        begun, self._ended = _Flag(), _Flag()
        try:
            start_new_thread(_works, (self._asked, begun, self._ended))
        except RuntimeError as error:
            raise MemoryError(str(error)) from error
        if not begun.wait(PATIENCE):
            raise MemoryError("a thread did not begin")
        self._end = finalize(self, self._asked.put, None)

    @property
    def closed(self) -> bool:
        return not self._end.alive

    def run(self, work: Callable[[], T], stop: Callable[[], None]) -> T:
        """After Ctrl-C it is told to stop until it has: between two of its steps it would not hear it."""
        task = _Task(work)
        self._asked.put(task)
        try:
            while not task.done.wait(NOW_AND_THEN):
                if self._ended.is_set:
                    raise MemoryError("a thread has ended")
        except KeyboardInterrupt:
            while not (task.done.is_set or self._ended.is_set):
                stop()
                task.done.wait(SOON)
            raise
        error, task.error = task.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # it knows this frame
        return task.found  # type: ignore[no-any-return]

    def close(self) -> None:
        self._end()
        while not self._ended.wait(NOW_AND_THEN):
            pass


def _works(asked: Asked, begun: _Flag, ended: _Flag) -> None:
    begun.set()
    try:
        while task := asked.get():
            _answer(task)
            del task  # the work knows its engine
    except BaseException:  # no memory even to call a function, so no more can be said
        pass
    finally:
        ended.set()


def _answer(task: _Task) -> None:
    try:
        task.found = task.work()
    except BaseException as error:
        task.error = error
    task.done.set()
