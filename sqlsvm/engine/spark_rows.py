"""Answers of Spark, which come as Arrow tables, as columns of numpy, and columns as Arrow tables."""

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DataType

from sqlsvm.engine.base import Kind, Rows, Values, as_rows, as_values, widened

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES: dict[str, Kind] = {"date": "date", "timestamp_ntz": "timestamp", "timestamp": "timestamptz"}
_TEXTS = ("string", "varchar", "char")
_DAY, _EPOCH = 86_400_000_000, 946_684_800_000_000
"""Microseconds in a day, and from 1970 to 2000."""


def kind(type: str) -> Kind:
    base = type.partition("(")[0].partition(" ")[0]
    if base in _NUMBERS:
        return "numeric"
    if type == "boolean":
        return "boolean"
    return "categorical" if base in _TEXTS else _TIMES.get(type, "other")


def name_of(type: DataType) -> str:
    return str(type.simpleString())


def rows(table: pa.Table) -> Rows:
    return as_rows(table.column_names, (_column(column) for column in table.columns))


def _column(column: pa.ChunkedArray) -> Values:
    type = column.type
    if pa.types.is_decimal(type):
        column, type = column.cast(pa.float64(), safe=False), pa.float64()
    if pa.types.is_boolean(type) and column.null_count:
        return as_values(column.to_pylist(), "boolean")
    if pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_boolean(type):
        if not len(column):
            return np.zeros(0)
        return widened(column.to_numpy())
    return as_values(column.to_pylist(), "other")


def masked(table: pa.Table) -> Rows:
    """Types do not change, and a NULL is masked. A time is in days or microseconds since 2000."""
    return as_rows(table.column_names, (_masked(column.combine_chunks()) for column in table.columns))


def _masked(column: pa.Array) -> Values:
    if pa.types.is_date32(column.type):
        column, since = column.cast(pa.int32()), _EPOCH // _DAY
    elif pa.types.is_timestamp(column.type):
        column, since = column.cast(pa.int64()), _EPOCH
    else:
        since = 0
    missing = np.asarray(column.is_null())
    values = column.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy(zero_copy_only=False)
    return np.ma.MaskedArray(values - since if since else values, missing if missing.any() else np.ma.nomask)


def table_of(columns: dict[str, Values]) -> pa.Table:
    """A masked cell, and None, is NULL; nan is a number."""
    return pa.table({name: _array(values) for name, values in columns.items()})


def _array(values: Values) -> pa.Array:
    missing = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None
    values = np.ma.getdata(values)
    if values.dtype == object:
        return pa.array([None if cell is None else cell for cell in values.tolist()], from_pandas=False)
    return pa.array(values, mask=missing, from_pandas=False)
