"""PostgreSQL's binary formats for fixed-width numbers, written and read by numpy: no Python object per value."""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ma

from sqlsvm.engine.base import Values, widened
from sqlsvm.errors import EngineError

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

COPIED = {**DTYPES, 1082: np.dtype(">i4"), 1083: np.dtype(">i8"), 1114: np.dtype(">i8"), 1184: np.dtype(">i8")}
"""The same with date, time, timestamp and timestamptz."""

Message = bytes | bytearray | memoryview

COPY_BLOCK = 1 << 14  # rows of a COPY that are made into arrays at a time

_FIELDS, _WIDTH = np.dtype(">i2"), np.dtype(">i4")
_WIDTH_OF = struct.Struct(">i")
_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_COPY_TRAILER = struct.pack(">h", -1)


def fitted(name: str, values: Values, oid: int) -> Values:
    """Numbers in the width of the table's column. Other values stay as they are: the server parses them."""
    if ma.is_masked(values):
        return np.array([None if cell is ma.masked else cell for cell in values.astype(object)], dtype=object)
    if oid not in DTYPES or values.dtype.kind not in "biuf":
        return values.astype(object)
    if DTYPES[oid].kind == "f":
        return values.astype(float)
    with np.errstate(invalid="ignore"):
        fitted = values.astype(DTYPES[oid])
    if not np.array_equal(fitted, values):
        raise EngineError(f'column "{name}" holds a value that its type in the table cannot hold')
    return fitted


def read_column(cells: Sequence[bytes | None], oid: int) -> Values:
    """Cells of one result column -> numbers. With a NULL, which becomes nan, integers and booleans become floats."""
    wire = DTYPES[oid]
    if None not in cells:
        return widened(np.frombuffer(b"".join(cells), dtype=wire))  # type: ignore[arg-type]
    filler = bytes(wire.itemsize)
    values = np.frombuffer(b"".join(filler if cell is None else cell for cell in cells), dtype=wire).astype(float)
    values[[cell is None for cell in cells]] = np.nan
    return values


def array(value: bytes) -> tuple[int, list[bytes | None]]:
    """The type and the cells of an array with one dimension."""
    dimensions, _, oid = struct.unpack_from(">iii", value)
    cells: list[bytes | None] = []
    place, end = 20, len(value) if dimensions else 0
    while place < end:
        (width,) = _WIDTH_OF.unpack_from(value, place)
        place += 4
        cells.append(None if width < 0 else value[place : place + width])
        place += max(width, 0)
    return oid, cells


def float8_array(values: Values) -> bytes:
    """A one-dimensional float8[] value."""
    flat = np.asarray(values, dtype=float).ravel()
    if not len(flat):
        return struct.pack(">iii", 0, 0, FLOAT8)
    cells = np.empty(len(flat), dtype=[("width", ">i4"), ("value", ">f8")])
    cells["width"], cells["value"] = 8, flat
    return struct.pack(">iiiii", 1, 0, FLOAT8, len(flat), 1) + cells.tobytes()


def copy_rows(columns: Mapping[str, Values], oids: Sequence[int]) -> bytes:
    """Whole columns, each in the width of its OID, as the body of COPY ... (FORMAT binary)."""
    rows = np.empty(len(next(iter(columns.values()))), dtype=_row_layout([DTYPES[oid] for oid in oids]))
    rows["fields"] = len(oids)
    for place, (values, oid) in enumerate(zip(columns.values(), oids, strict=True)):
        rows[f"width{place}"], rows[f"value{place}"] = DTYPES[oid].itemsize, values
    return _COPY_HEADER + rows.tobytes() + _COPY_TRAILER


def read_copy(batches: Iterable[Sequence[Message]], dtypes: Sequence[np.dtype[Any]]) -> Iterator[list[Values]]:
    """COPY ... TO (FORMAT binary), a row a message, the header before the first row -> blocks of columns. Messages come
    as many at a time as have arrived."""
    data, sizes, cut = bytearray(), list[int](), len(_COPY_HEADER)
    for batch in batches:
        sizes += map(len, batch)
        data += b"".join(batch)
        if cut:
            sizes[0] -= cut
            del data[:cut]
            cut = 0
        if len(sizes) > COPY_BLOCK:  # the last message may be the trailer
            yield _columns(data, sizes, dtypes)
            data, sizes = bytearray(), []
    if sizes and (found := _columns(data, sizes, dtypes)):
        yield found


def _columns(data: bytearray, sizes: list[int], dtypes: Sequence[np.dtype[Any]]) -> list[Values]:
    """Rows without a NULL all have the same width: they are one array without a copy. Nothing if there is no row."""
    layout = _row_layout(dtypes)
    lengths = np.array(sizes)
    lengths = lengths[lengths > len(_COPY_TRAILER)]
    if not len(lengths):
        return []
    if (lengths == layout.itemsize).all():
        rows = np.frombuffer(data, dtype=layout, count=len(lengths))
        return [_in_order(rows[f"value{place}"]) for place in range(len(dtypes))]
    ends = np.cumsum(lengths)
    raw, at = np.frombuffer(data, dtype=np.uint8, count=ends[-1]), ends - lengths + _FIELDS.itemsize
    found = []
    for dtype in dtypes:
        missing = _picked(raw, at, _WIDTH) < 0
        values = _picked(raw, np.where(missing, 0, at + _WIDTH.itemsize), dtype)
        found.append(ma.MaskedArray(_in_order(values), mask=missing) if missing.any() else _in_order(values))
        at += np.where(missing, _WIDTH.itemsize, _WIDTH.itemsize + dtype.itemsize)
    return found


def _row_layout(dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    fields: list[tuple[str, np.dtype[Any]]] = [("fields", _FIELDS)]
    for place, dtype in enumerate(dtypes):
        fields += [(f"width{place}", _WIDTH), (f"value{place}", dtype)]
    return np.dtype(fields)


def _picked(raw: Values, at: Values, dtype: np.dtype[Any]) -> Values:
    """The values that begin at those bytes."""
    return raw[at[:, None] + np.arange(dtype.itemsize)].view(dtype)[:, 0]


def _in_order(values: Values) -> Values:
    """In the machine's byte order."""
    return values.astype(values.dtype.newbyteorder("="))
