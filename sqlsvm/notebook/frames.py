"""Frames of the caller's kind. No library is imported that is not there."""

from collections.abc import Mapping
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


def like(given: Any, values: Values, name: str) -> Any:
    """A column for the rows of a frame: a series of pandas with its index or one of polars, an array of pyarrow."""
    match kind_of(given):
        case "pandas":
            import pandas

            return pandas.Series(values, index=given.index, name=name)
        case "polars":
            import polars  # type: ignore[import-not-found,unused-ignore]

            return polars.Series(name, values.tolist())
        case "pyarrow":
            import pyarrow

            return pyarrow.array(values.tolist())
    return values
