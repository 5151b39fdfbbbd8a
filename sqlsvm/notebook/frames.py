"""Frames of the caller's kind. No library is imported that is not there."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sqlsvm.engine.base import Values
from sqlsvm.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

DataFrame: TypeAlias = "pd.DataFrame"  # or one of polars or pyarrow, where pandas is not installed
Kind = Literal["pandas", "polars", "pyarrow"]


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
    module = _library(given)
    return module if module in ("pandas", "polars", "pyarrow") else None


def _library(given: object) -> str:
    return type(given).__module__.partition(".")[0]


LAZY = {
    "ibis": "to_pandas()",
    "duckdb": "df()",
    "_duckdb": "df()",
    "pyspark": "toPandas()",
    "sqlframe": "toPandas()",
    "dask": "compute()",
}
"""How each makes its rows. Until then they have no order, and each of their columns would be a query of its own."""


def columns_of(given: Any) -> Any:
    """The columns by name of a frame that has another way to give them, from rows that are made once."""
    library = _library(given)
    if library in LAZY:
        raise OptionError(
            f"a {type(given).__qualname__} of {library.strip('_')} has its rows in no order, so scores cannot be told "
            "to which row they belong",
            hint=f"give its rows: .{LAZY[library]}; or predict(database, query) returns rows and scores together",
        )
    if library == "narwhals":
        return columns_of(given.to_native())
    if library == "polars" and hasattr(given, "collect"):
        return given.collect()
    if library in ("pandas", "polars") or not (library == "pyarrow" or hasattr(given, "__arrow_c_stream__")):
        return given
    import pyarrow

    table = pyarrow.table(given)
    return {name: table[name].to_numpy() for name in table.column_names}


def like(given: Any, values: Values, name: str, columns: Iterable[object] = (), kind: str | None = None) -> Any:
    """Values for the rows of a frame: an array, as in scikit-learn, or of the kind that is wanted. Then the rows have
    the index of pandas."""
    if kind is None:
        return values
    named = dict(zip(map(str, columns), values.T, strict=True)) if values.ndim == 2 else {name: values}
    found = frame(named, kind)
    if kind == "pandas":
        found.index = given.index if kind_of(given) == "pandas" else found.index
        found.columns = list(columns) if values.ndim == 2 else [name]
    if values.ndim == 2:
        return found
    return found[name].combine_chunks() if kind == "pyarrow" else found[name]
