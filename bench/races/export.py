"""The whole join out of the database, the fastest way that we know: this is what a peer of sqlsvm has to wait for."""

import numpy as np
import psycopg
from sqlglot import exp

from bench.races.tasks import Task, parsed
from sqlsvm import sql
from sqlsvm.engine import connect
from sqlsvm.engine.base import Column, Engine, Values

HEADER = 19  # bytes before the first row of a binary COPY, where there are no extensions
WIDEST = 24  # characters of a category


def exported(url: str, task: Task) -> dict[str, Values]:
    """Every row of the query, column by column: numbers as doubles with nan for NULL, text as text."""
    with connect(url) as engine:
        if engine.dialect == "duckdb":
            return engine.fetch(engine.text(parsed(task, engine)))
        query = parsed(task, engine)
        columns = engine.describe(query)
        text = engine.text(exp.select(*(_fixed(c) for c in columns)).from_(query.subquery("j")))
    return _copied(url, text, columns)


def _fixed(column: Column) -> exp.Expr:
    """One width for all cells of a column: then the bytes are an array, and nothing has to be parsed."""
    cell = exp.column(column.name, quoted=True)
    if column.kind == "categorical":
        filled = sql.coalesce(sql.text(cell), exp.Literal.string(""))
        return exp.alias_(exp.func("rpad", filled, sql.integer(WIDEST)), column.name, quoted=True)
    number = exp.cast(cell, exp.DType.INT) if column.kind == "boolean" else cell
    filled = sql.coalesce(sql.double(number), sql.double(exp.Literal.string("NaN")))
    return exp.alias_(filled, column.name, quoted=True)


def _copied(dsn: str, text: str, columns: tuple[Column, ...]) -> dict[str, Values]:
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for place, c in enumerate(columns):
        layout += [(f"width{place}", ">i4"), (f"v{place}", f"S{WIDEST}" if c.kind == "categorical" else ">f8")]
    received, command = bytearray(), f"COPY ({text}) TO STDOUT (FORMAT binary)"
    with psycopg.connect(dsn) as connection, connection.cursor().copy(command.encode()) as copy:
        for block in copy:
            received += block
    dtype = np.dtype(layout)
    rows = np.frombuffer(received, dtype=dtype, offset=HEADER, count=(len(received) - HEADER - 2) // dtype.itemsize)
    return {c.name: _native(rows[f"v{place}"]) for place, c in enumerate(columns)}


def _native(cells: Values) -> Values:
    if cells.dtype.kind == "f":
        return cells.astype(float)
    return np.char.rstrip(cells.astype(str))


def join_size(engine: Engine, task: Task, rows: float) -> float:
    """Bytes of the join as a table: 8 for each number, 8 for each category's text."""
    columns = engine.describe(parsed(task, engine))
    return 8.0 * rows * len(columns)
