"""Support vector machines over the join of relational tables, inside the database, without building the join."""

TYPE_CHECKING = False  # for type checkers it is True. To import typing would take longer than all else here.
if TYPE_CHECKING:
    from sqlsvm.estimator import (
        ConvergenceWarning,
        RelationalHuberRegressor,
        RelationalLogisticRegression,
        RelationalQuantileRegressor,
        RelationalRidge,
        RelationalSVC,
        RelationalSVR,
        load,
    )
    from sqlsvm.learning import Learned, learn, split
    from sqlsvm.notebook.fitted import NotFittedError, plot_path
    from sqlsvm.notebook.looking import components, count, describe, explain, inspect
    from sqlsvm.notebook.suggesting import suggest
    from sqlsvm.searching import GridSearch, cross_validate

__all__ = [
    "ConvergenceWarning",
    "GridSearch",
    "Learned",
    "NotFittedError",
    "RelationalHuberRegressor",
    "RelationalLogisticRegression",
    "RelationalQuantileRegressor",
    "RelationalRidge",
    "RelationalSVC",
    "RelationalSVR",
    "components",
    "count",
    "cross_validate",
    "describe",
    "explain",
    "inspect",
    "learn",
    "load",
    "plot_path",
    "split",
    "suggest",
]

_ELSEWHERE = {
    **dict.fromkeys(("components", "count", "describe", "explain", "inspect"), "sqlsvm.notebook.looking"),
    "suggest": "sqlsvm.notebook.suggesting",
    **dict.fromkeys(("GridSearch", "cross_validate"), "sqlsvm.searching"),
    **dict.fromkeys(("Learned", "learn", "split"), "sqlsvm.learning"),
    **dict.fromkeys(("NotFittedError", "plot_path"), "sqlsvm.notebook.fitted"),
}


def __getattr__(name: str) -> object:
    """The estimator brings numpy and sqlglot with it, which `sqlsvm --help` need not wait for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("sqlsvm")
    if name not in __all__:
        raise AttributeError(f"module 'sqlsvm' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_ELSEWHERE.get(name, "sqlsvm.estimator")), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
