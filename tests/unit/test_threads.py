"""The libraries of BLAS whose threads are limited."""

from typing import Any

from threadpoolctl import LibController, ThreadpoolController

from sqlsvm.solve.threads import BLAS, FEW_COLUMNS, blas, fitting_threads


def test_every_library_of_blas_is_found() -> None:
    known = ThreadpoolController().select(user_api="blas").info()
    assert known
    assert blas().info() == known


def test_every_name_of_blas_that_threadpoolctl_knows_is_looked_at() -> None:
    kinds: list[type[Any]] = LibController.__subclasses__()
    prefixes = [prefix for kind in kinds if kind.user_api == "blas" for prefix in kind.filename_prefixes]
    assert len(prefixes) > 4
    assert all(BLAS.search(f"/usr/lib/{prefix}.so.3") for prefix in prefixes)


def test_few_columns_take_one_thread() -> None:
    with fitting_threads(FEW_COLUMNS):
        assert {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()} == {1}
