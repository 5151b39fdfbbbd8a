"""Waits of the tests: for an event, and for a minute at most. A duration says only how busy the machine is."""

import time
from collections.abc import Callable
from typing import TypeVar

MINUTE = 60.0

Found = TypeVar("Found")


def eventually(look: Callable[[], Found]) -> Found:
    """What a look finds, as soon as it finds something."""
    last = time.monotonic() + MINUTE
    while not (found := look()):
        assert time.monotonic() < last, "it never came to be"
        time.sleep(0.02)
    return found
