"""How many threads BLAS may use. Its threads wait for work in a loop: as long as matrices are small that work takes
microseconds, and if anything else runs on the machine, each call takes as long as the time slices of the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

FEW_COLUMNS = 200


@contextmanager
def fitting_threads(columns: int) -> Iterator[None]:
    """One thread for matrices of few columns, whatever was set for others."""
    if columns > FEW_COLUMNS:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Knows the libraries that are loaded when it is first asked for; numpy's is one of them."""
    return ThreadpoolController()
