"""Frames of the caller's kind. No library is imported that is not there."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sqlsvm.engine.base import Values


def frame(columns: Mapping[str, Any], kind: str | None = None) -> Any:
    """Columns by name as a frame of pandas, polars or pyarrow, by this choice or the first that is installed; without
    them as they are."""
    for library in [kind] if kind else ["pandas", "polars", "pyarrow"]:
        try:
            module = __import__(library)
        except ImportError:
            continue
        make = module.table if library == "pyarrow" else module.DataFrame
        plain = library == "pandas"
        return make({name: values if plain else np.asarray(values).tolist() for name, values in columns.items()})
    return dict(columns)


def kind_of(given: object) -> str | None:
    """The library of a frame."""
    module = type(given).__module__.partition(".")[0]
    return module if module in ("pandas", "polars", "pyarrow") else None


def columns_of(given: Any) -> Any:
    """The columns by name of a frame that has another way to give them."""
    if kind_of(given) == "pyarrow":
        return {name: given[name].to_numpy() for name in given.column_names}
    return given.collect() if kind_of(given) == "polars" and hasattr(given, "collect") else given


def like(given: Any, values: Values, name: str, columns: Iterable[object] = ()) -> Any:
    """Values for the rows of a frame, in its kind: a series or an array, and a frame if there are several columns."""
    kind = kind_of(given)
    if kind is None:
        return values
    named = dict(zip(map(str, columns), values.T, strict=True)) if values.ndim == 2 else {name: values}
    found = frame(named, kind)
    if kind == "pandas":
        found.index = given.index
        found.columns = list(columns) if values.ndim == 2 else [name]
    if values.ndim == 2:
        return found
    return found[name].combine_chunks() if kind == "pyarrow" else found[name]
