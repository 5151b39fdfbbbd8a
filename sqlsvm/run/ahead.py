"""What a training needs that no database tells. A thread finds it out while the database opens."""

from _thread import start_new_thread
from collections.abc import Callable, Iterable
from contextlib import suppress

from sqlsvm.engine import dialect_of
from sqlsvm.query.parse import parse
from sqlsvm.run.modelling import versions
from sqlsvm.solve.threads import blas


def look_ahead(url: str, query: str) -> None:
    """Each of these keeps what it finds. The training meets an error again, and says it."""
    works = (lambda: parse(query, dialect_of(url)), blas, versions)
    with suppress(RuntimeError):  # there is no memory for a thread
        start_new_thread(_work, (works,))


def _work(works: Iterable[Callable[[], object]]) -> None:
    for work in works:
        with suppress(Exception):
            work()
