"""Make the shop's tables in a schema of their own."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

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
QUERY = f"""\
SELECT i.returned, i.discount, o.channel, o.express, c.age, p.price, p.category, t.tag, v.device
FROM {SCHEMA}.items i
JOIN {SCHEMA}.orders o ON o.id = i.order_id
JOIN {SCHEMA}.customers c ON c.id = o.customer_id
JOIN {SCHEMA}.products p ON p.id = i.product_id
JOIN {SCHEMA}.product_tags pt ON pt.product_id = i.product_id
JOIN {SCHEMA}.tags t ON t.id = pt.tag_id
JOIN {SCHEMA}.visits v ON v.customer_id = o.customer_id"""

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
    kept: bool
    rows: int
    seconds: float


def make(engine: Engine) -> Shop:
    """Make and fill the shop's tables in their schema."""
    if engine.abilities.spread:
        hint = "sqlsvm demo makes it in a DuckDB in memory; --dsn names a PostgreSQL or a DuckDB"
        raise OptionError("the demo makes its shop in PostgreSQL or DuckDB", hint=hint)
    began = time.monotonic()
    steps.info("inventing a shop")
    tables = shop()
    _make_room(engine, tables)
    for name, columns in tables.items():
        steps.info("making the table %s", name)
        types = {column: _TYPES.get(column, "text") for column in columns}
        table = engine.placed(exp.table_(name, SCHEMA))
        engine.execute(exp.Create(this=_columns(table, types), kind="TABLE"))
        engine.copy_in(table, columns)
    rows = sum(len(next(iter(columns.values()))) for columns in tables.values())
    return Shop(QUERY, engine.version, engine.url, lasting(engine.url), rows, time.monotonic() - began)


def _make_room(engine: Engine, names: Iterable[str]) -> None:
    """Make the schema. If it has an earlier demo, drop the tables of that demo and nothing else."""
    taken = [name for name in names if _exists(engine, exp.table_(name, SCHEMA))]
    marker = exp.table_(_MARKER, SCHEMA)
    if taken and not _exists(engine, marker):
        raise OptionError(
            f"the schema {SCHEMA} holds a table {taken[0]} that sqlsvm did not make",
            hint=f"rename the schema, or drop it if you do not need it: DROP SCHEMA {SCHEMA} CASCADE",
        )
    engine.execute(exp.Create(this=exp.table_("", SCHEMA), kind="SCHEMA", exists=True))
    engine.execute(exp.Create(this=_columns(marker, {"version": "int"}), kind="TABLE", exists=True))
    for name in taken:
        engine.execute(exp.Drop(tables=[exp.table_(name, SCHEMA)], kind="TABLE"))


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
