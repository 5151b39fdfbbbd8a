"""Make the shop's tables in a schema of their own."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp, parse_one

from sqlsvm.demo.shop import shop
from sqlsvm.engine import lasting
from sqlsvm.engine.base import Engine, StatementError
from sqlsvm.errors import OptionError

steps = logging.getLogger(__name__)

SCHEMA = "sqlsvm_demo"
LABEL = "returned"
MODEL = "returned"
QUERY_FILE = "shop.sql"

# An item meets every tag of its product, and every visit of its customer: two many-to-many joins.
QUERY = """\
SELECT i.returned, i.quantity, i.discount, o.channel, o.express, c.age, c.segment,
       p.price, p.category, t.tag, v.device, v.minutes
FROM items i
JOIN orders o ON o.id = i.order_id
JOIN customers c ON c.id = o.customer_id
JOIN products p ON p.id = i.product_id
JOIN product_tags pt ON pt.product_id = i.product_id
JOIN tags t ON t.id = pt.tag_id
JOIN visits v ON v.customer_id = o.customer_id"""

_TYPES = {
    **dict.fromkeys(("id", "order_id", "customer_id", "product_id", "tag_id", "quantity"), "int"),
    **dict.fromkeys(("age", "price", "discount", "minutes"), "double"),
    **dict.fromkeys(("returned", "express"), "boolean"),
}
_MARKER = "made_by_sqlsvm"


@dataclass(frozen=True)
class Shop:
    """The tables that were made, and their database."""

    query: str
    engine: str
    url: str
    schema: str | None
    rows: int
    seconds: float


def schema_in(url: str) -> str | None:
    """The schema for the shop; None (the default schema) in a database that does not outlive its session."""
    return SCHEMA if lasting(url) else None


def make(engine: Engine, schema: str | None) -> Shop:
    """Make and fill the shop's tables."""
    if engine.abilities.spread:
        hint = "sqlsvm demo makes it in a DuckDB in memory; --dsn names a PostgreSQL or a DuckDB"
        raise OptionError("the demo makes its shop in PostgreSQL or DuckDB", hint=hint)
    began = time.monotonic()
    steps.info("inventing a shop")
    tables = shop()
    if schema is not None:
        _make_room(engine, schema, tables)
    for name, columns in tables.items():
        steps.info("making the table %s", name)
        types = {column: _TYPES.get(column, "text") for column in columns}
        table = engine.placed(exp.table_(name, schema))
        engine.execute(exp.Create(this=_columns(table, types), kind="TABLE"))
        engine.copy_in(table, columns)
    rows = sum(len(next(iter(columns.values()))) for columns in tables.values())
    return Shop(_query(engine, schema), engine.version, engine.url, schema, rows, time.monotonic() - began)


def _make_room(engine: Engine, schema: str, names: Iterable[str]) -> None:
    """Make the schema. If it has an earlier demo, drop the tables of that demo and nothing else."""
    taken = [name for name in names if _exists(engine, exp.table_(name, schema))]
    marker = exp.table_(_MARKER, schema)
    if taken and not _exists(engine, marker):
        raise OptionError(
            f"the schema {schema} holds a table {taken[0]} that sqlsvm did not make",
            hint=f"rename the schema, or drop it if you do not need it: DROP SCHEMA {schema} CASCADE",
        )
    engine.execute(exp.Create(this=exp.table_("", schema), kind="SCHEMA", exists=True))
    engine.execute(exp.Create(this=_columns(marker, {"version": "int"}), kind="TABLE", exists=True))
    for name in taken:
        engine.execute(exp.Drop(tables=[exp.table_(name, schema)], kind="TABLE"))


def _exists(engine: Engine, table: exp.Table) -> bool:
    try:
        return bool(engine.describe(exp.select("*").from_(table)))
    except StatementError as error:
        if error.kind != "no such name":
            raise
        return False


def _columns(table: exp.Table, types: dict[str, str]) -> exp.Schema:
    """table (column type, ...); a column named id is the primary key."""
    unique = exp.ColumnConstraint(kind=exp.PrimaryKeyColumnConstraint())
    definitions = [
        exp.ColumnDef(
            this=exp.to_identifier(name),
            kind=exp.DataType.build(type),
            constraints=[unique.copy()] if name == "id" else [],
        )
        for name, type in types.items()
    ]
    return exp.Schema(this=table, expressions=definitions)


def _query(engine: Engine, schema: str | None) -> str:
    """The query with this schema before its tables."""
    if schema is None:
        return QUERY
    tree = parse_one(QUERY, read=engine.dialect)
    for table in tree.find_all(exp.Table):
        table.set("db", exp.to_identifier(schema))
    return tree.sql(dialect=engine.dialect, pretty=True, max_text_width=100)
