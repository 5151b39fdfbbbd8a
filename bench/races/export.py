"""The whole join out of the database: the query that a peer of sqlsvm has to wait for."""

from typing import Any

from sqlglot import exp

from bench.races.alone import WIDEST, copied
from bench.races.tasks import Task, parsed
from sqlsvm import sql
from sqlsvm.engine import connect
from sqlsvm.engine.base import Column, Engine, Values


def exported(url: str, task: Task) -> dict[str, Values]:
    return copied(url, **asked(url, task))


def asked(url: str, task: Task) -> dict[str, Any]:
    """The text of the query, and the names and kinds of its columns."""
    with connect(url) as engine:
        query = parsed(task, engine)
        columns = engine.describe(query)
        if engine.dialect != "duckdb":
            query = exp.select(*(_fixed(c) for c in columns)).from_(query.subquery("j"))
        return {"text": str(engine.text(query)), "columns": [(c.name, c.kind) for c in columns]}


def _fixed(column: Column) -> exp.Expr:
    """One width for all cells of a column: then the bytes are an array, and nothing has to be parsed."""
    cell = exp.column(column.name, quoted=True)
    if column.kind == "categorical":
        filled = sql.coalesce(sql.text(cell), exp.Literal.string(""))
        return exp.alias_(exp.func("rpad", filled, sql.integer(WIDEST)), column.name, quoted=True)
    number = exp.cast(cell, exp.DType.INT) if column.kind == "boolean" else cell
    filled = sql.coalesce(sql.double(number), sql.double(exp.Literal.string("NaN")))
    return exp.alias_(filled, column.name, quoted=True)


def join_size(engine: Engine, task: Task, rows: float) -> float:
    """Bytes of the join as a table: 8 for each number, 8 for each category's text."""
    columns = engine.describe(parsed(task, engine))
    return 8.0 * rows * len(columns)
