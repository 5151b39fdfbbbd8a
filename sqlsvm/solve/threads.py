"""How many threads BLAS may use. Its threads wait in a loop for work. If matrices are small and other programs run,
each call then waits for the time slices of the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

FEW_COLUMNS = 400


@contextmanager
def fitting_threads(columns: int) -> Iterator[None]:
    """One thread for matrices of few columns."""
    if columns > FEW_COLUMNS:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """It knows the libraries that are loaded at its first call. numpy's is one of them."""
    return ThreadpoolController()
