"""Support vector machines over the join of relational tables, inside the database, without building the join."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlsvm.estimator import (
        ConvergenceWarning,
        NotFittedError,
        RelationalHuberRegressor,
        RelationalLogisticRegression,
        RelationalQuantileRegressor,
        RelationalRidge,
        RelationalSVC,
        RelationalSVR,
    )

__all__ = [
    "ConvergenceWarning",
    "NotFittedError",
    "RelationalHuberRegressor",
    "RelationalLogisticRegression",
    "RelationalQuantileRegressor",
    "RelationalRidge",
    "RelationalSVC",
    "RelationalSVR",
]


def __getattr__(name: str) -> object:
    """The estimator brings numpy and sqlglot with it, which `sqlsvm --help` need not wait for."""
    if name not in __all__:
        raise AttributeError(f"module 'sqlsvm' has no attribute '{name}'")
    from sqlsvm import estimator

    return getattr(estimator, name)
