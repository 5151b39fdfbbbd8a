"""Functions of many numbers, a block at a time: what they make on the way stays in the cache of the processor."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from sqlsvm.solve.arrays import Array

T = TypeVar("T")

BLOCK = 1 << 14  # numbers, 128 kB. Larger arrays are new memory each time, and the system clears every page of it.


def in_blocks(of: Callable[[T, Array], Array]) -> Callable[[T, Array], Array]:
    """For a method that gives a number for each number."""

    @wraps(of)
    def found(self: T, z: Array) -> Array:
        if len(z) <= BLOCK:
            return of(self, z)
        made = np.empty(len(z))
        for first in range(0, len(z), BLOCK):
            made[first : first + BLOCK] = of(self, z[first : first + BLOCK])
        return made

    return found
