"""What a training needs that no database tells. A thread finds it out, or imports it, while the database opens."""

from _thread import start_new_thread
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module

from sqlsvm.engine import dialect_of
from sqlsvm.query.parse import parse
from sqlsvm.run.modelling import versions
from sqlsvm.solve.threads import blas


def look_ahead(url: str, query: str, *modules: str) -> None:
    """Each of these keeps what it finds. The training meets an error again, and says it. The modules are those that the
    answer takes."""
    works: list[Callable[[], object]] = [lambda: parse(query, dialect_of(url)), blas, versions]
    works += (partial(import_module, module) for module in modules)
    with suppress(RuntimeError):  # there is no memory for a thread
        start_new_thread(_work, (works,))


def _work(works: Iterable[Callable[[], object]]) -> None:
    for work in works:
        with suppress(Exception):
            work()
