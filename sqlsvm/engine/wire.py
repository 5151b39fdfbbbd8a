"""PostgreSQL's binary formats for fixed-width numbers, written and read by numpy: no Python object per value."""

import struct
from collections.abc import Mapping, Sequence

import numpy as np

from sqlsvm.engine.base import Values

BOOLEAN, FLOAT8, FLOAT8_ARRAY, UUID = 16, 701, 1022, 2950
DTYPES = {
    BOOLEAN: np.dtype("?"),
    20: np.dtype(">i8"),
    21: np.dtype(">i2"),
    23: np.dtype(">i4"),
    700: np.dtype(">f4"),
    FLOAT8: np.dtype(">f8"),
}
"""OID -> how one value of that type looks on the wire."""

_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_COPY_TRAILER = struct.pack(">h", -1)


def read_column(cells: Sequence[bytes | None], oid: int) -> Values:
    """Cells of one result column -> numbers: NULL becomes nan, and then integers and booleans become floats."""
    wire = DTYPES[oid]
    if None not in cells:
        return _native(np.frombuffer(b"".join(cells), dtype=wire))  # type: ignore[arg-type]
    filler = bytes(wire.itemsize)
    values = np.frombuffer(b"".join(filler if cell is None else cell for cell in cells), dtype=wire).astype(float)
    values[[cell is None for cell in cells]] = np.nan
    return values


def _native(values: Values) -> Values:
    """In the machine's byte order, and as wide as Python's own numbers."""
    return values.astype({"b": np.bool_, "i": np.int64, "f": np.float64}[values.dtype.kind])


def float8_array(values: Values) -> bytes:
    """A one-dimensional float8[] value."""
    flat = np.asarray(values, dtype=float).ravel()
    if not len(flat):
        return struct.pack(">iii", 0, 0, FLOAT8)
    cells = np.empty(len(flat), dtype=[("width", ">i4"), ("value", ">f8")])
    cells["width"], cells["value"] = 8, flat
    return struct.pack(">iiiii", 1, 0, FLOAT8, len(flat), 1) + cells.tobytes()


def copy_rows(columns: Mapping[str, Values], oids: Sequence[int]) -> bytes:
    """Whole columns as the body of COPY ... (FORMAT binary), each already of the width that its OID asks for."""
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for place, oid in enumerate(oids):
        layout += [(f"width{place}", ">i4"), (f"value{place}", DTYPES[oid].str)]
    rows = np.empty(len(next(iter(columns.values()))), dtype=layout)
    rows["fields"] = len(oids)
    for place, (values, oid) in enumerate(zip(columns.values(), oids, strict=True)):
        rows[f"width{place}"], rows[f"value{place}"] = DTYPES[oid].itemsize, values
    return _COPY_HEADER + rows.tobytes() + _COPY_TRAILER
