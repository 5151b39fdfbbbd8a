"""How many threads BLAS may use. Its threads wait in a loop for work. If matrices are small and other programs run,
each call then waits for the time slices of the others."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

FEW_COLUMNS = 400
BLAS = re.compile(r"(blas|blis|mkl)[^/\\]*$", re.IGNORECASE)
"""The end of the path of every library of BLAS that threadpoolctl knows."""


@contextmanager
def fitting_threads(columns: int) -> Iterator[None]:
    """One thread for matrices of few columns."""
    if columns > FEW_COLUMNS:
        yield
        return
    with blas().limit(limits=1, user_api="blas"):
        yield


class _Blas(ThreadpoolController):  # type: ignore[misc] # it has no types
    """It follows the links of these files only: those of all 150 libraries of the process take 5 ms."""

    def _make_controller_from_path(self, filepath: str) -> None:
        if BLAS.search(filepath):
            super()._make_controller_from_path(filepath)


@cache
def blas() -> ThreadpoolController:
    """It knows the libraries that are loaded at its first call. numpy's is one of them."""
    return _Blas()
