"""X and y of scikit-learn: frames by name with one name, and the query that reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from sqlglot import exp

from sqlsvm.engine.base import Values
from sqlsvm.engine.given import is_query
from sqlsvm.errors import DataError
from sqlsvm.model.memory import Column
from sqlsvm.notebook.frames import columns_of, kind_of

NAME = "X"


@dataclass(frozen=True)
class Rows:
    frames: Mapping[str, Any]
    query: str
    label: str
    positive: str | None  # the later one of two classes, as in scikit-learn
    columns: int


def is_column(given: object) -> TypeGuard[Column]:
    """Is it a y, and no query?"""
    return isinstance(given, list | tuple | np.ndarray) or (hasattr(given, "__array__") and not is_query(given))


def given_rows(estimator: Any, X: Any, y: Any, of_numbers: bool) -> Rows:
    X, y = _checked(estimator, X, y, of_numbers)
    names = [str(name) for name in X.columns] if kind_of(X) in ("pandas", "polars") else list(X)
    label = getattr(y, "name", None) or "y"
    while label in names:
        label = f"{label}_"
    values = np.asarray(y)
    query = exp.select(*(exp.column(name, quoted=True) for name in [*names, label])).from_(NAME)
    positive = None if of_numbers else _positive(values)
    return Rows({NAME: _with(X, names, label, values)}, query.sql("duckdb"), label, positive, len(names))


def _is_array(X: Any) -> bool:
    """Is it rows without names?"""
    if kind_of(X) or isinstance(X, Mapping) or hasattr(X, "columns"):
        return False
    return isinstance(X, list) or getattr(getattr(X, "dtype", None), "names", None) is None


def _named(X: Values) -> dict[str, Values]:
    return {f"x{n}": column for n, column in enumerate(X.T)}


def checked_rows(estimator: Any, X: Any) -> Any:
    """Rows for a model that was trained on X and y. An array has its columns in the order of the training."""
    if not _is_array(X):
        return X
    X, wanted = _array(estimator, X), estimator.n_features_in_
    if X.shape[1] != wanted:
        has = f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {wanted} features as input"
        raise DataError(has, hint="give the columns of the training")
    return _named(X)


def _checked(estimator: Any, X: Any, y: Any, of_numbers: bool) -> tuple[Any, Any]:
    """Columns by name, and a value for each row."""
    X = _named(_array(estimator, X)) if _is_array(X) else columns_of(X)
    y = _column(estimator, y, of_numbers)
    rows = len(next(iter(X.values()))) if isinstance(X, dict) else len(X)
    if rows != len(y):
        raise DataError(f"X and y have {rows} and {len(y)} rows: inconsistent numbers of samples")
    return X, y


def _array(estimator: Any, X: Any) -> Values:
    try:
        from sklearn.utils.validation import check_array
    except ImportError:
        return np.asarray(X, dtype=float)
    finite: Any = True if estimator.nulls == "error" else "allow-nan"
    found: Values = check_array(X, dtype="numeric", ensure_all_finite=finite, estimator=estimator, input_name="X")
    return found


def _column(estimator: Any, y: Any, of_numbers: bool) -> Any:
    try:
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import column_or_1d
    except ImportError:
        return y
    name = getattr(y, "name", None)
    found = column_or_1d(y, warn=True)
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise DataError("Input y contains NaN or infinity", hint="leave these rows out")
    if of_numbers:
        found = found.astype(float)
    else:
        check_classification_targets(found)
    return _Column(found, name)


@dataclass(frozen=True)
class _Column:
    values: Values
    name: str | None

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Values:
        return self.values


def _positive(values: Values) -> str | None:
    different = np.unique(values)
    return str(different[1]) if len(different) == 2 and values.dtype.kind != "b" else None


def _with(X: Any, names: list[str], label: str, values: Values) -> Any:
    if kind_of(X) == "pandas":
        found = X.copy(deep=False)
        found.columns = names
        found[label] = values
        return found
    if kind_of(X) == "polars":
        import polars

        return X.with_columns(polars.Series(label, values.tolist()))
    return {**X, label: values}
