"""`sqlsvm demo`: make the tables of a small shop whose join is large, and explain each step."""

import logging
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from sqlsvm.engine import lasting
from sqlsvm.engine.base import Engine, StatementError, Values
from sqlsvm.errors import OptionError
from sqlsvm.terminal import amount

Table = dict[str, Values]

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


def introduction(made: Shop) -> str:
    query = "\n".join(f"  {line}" for line in made.query.splitlines())
    place = f"in the schema {SCHEMA} of {made.url}" if made.kept else f"in a throw-away {made.engine}"
    return (
        f"A shop of {amount(made.rows)} rows, made {place} in {made.seconds:.1f} s.\n"
        f"Will an item be returned? This query would give the rows to learn that from:\n\n{query}\n"
    )


def next_steps(made: Shop, *, written: bool = False) -> str:
    """What to type next. The query is in a file, or the reader has to write it there."""
    if made.kept:
        return "\n  ".join(_now(made, written))
    postgres = ["sqlsvm demo --dsn embedded:shop       # in PostgreSQL, after pip install 'sqlsvm[embedded]'"]
    duckdb = ["sqlsvm demo --dsn duckdb:shop.duckdb  # in a file of DuckDB"]
    server = ["sqlsvm demo --dsn postgresql://user@host/database"]
    return "\n  ".join(["This database is gone now. To keep the tables and the model:", *duckdb, *postgres, *server])


def _now(made: Shop, written: bool) -> list[str]:
    dsn, duckdb = shlex.quote(made.url), made.url.startswith("duckdb:")
    quicker = "" if duckdb else " --offload"
    heading = f"The query is in {QUERY_FILE}." if written else f"With the query above in {QUERY_FILE}:"
    steps = [
        f"sqlsvm inspect --dsn {dsn} --label {LABEL} --query {QUERY_FILE}",
        f"sqlsvm train --dsn {dsn} --label {LABEL} --query {QUERY_FILE}{quicker}",
        f'sqlsvm predict {MODEL} --dsn {dsn} --input "$(cat {QUERY_FILE}) LIMIT 5"',
    ]
    if duckdb:
        steps.append("sqlsvm demo --dsn embedded:shop  # the same in PostgreSQL, after pip install 'sqlsvm[embedded]'")
    if made.url.startswith("postgresql:"):  # in SQL alone: a model is one expression
        score, rows = f"sqlsvm predict {MODEL} --dsn {dsn} --sql", f"($(cat {QUERY_FILE}) LIMIT 5) AS items"
        steps.append(f'psql {dsn} -c "SELECT *, $({score}) > 0 AS predicted FROM {rows}"')
    return [f"The tables and the model stay in the database. {heading}", *steps]


# -- the tables are small and always the same, and their join is large

_CUSTOMERS, _PRODUCTS, _TAGS = 5_000, 2_000, 40
_ORDERS, _ITEMS, _VISITS = 40_000, 100_000, 185_000


def shop(seed: int = 0) -> dict[str, Table]:
    """The tables, by name. A few customers buy most, and a few products sell most.

    An item is returned if, with z for a standardised value and logistic noise u of scale 0.7,

        -0.4 + 0.8 z(price) + 0.9 [category = clothing] + 0.6 [channel = app] - 0.5 z(age)
             + 1.0 [the product has the tag 'fragile'] - 0.7 [express] + u  >  0.

    Quantity, discount, segment and visits have no influence.
    """
    rng = np.random.default_rng(seed)
    tags = ["fragile", "gift", "new", "sale", "eco", *(f"theme {n}" for n in range(6, _TAGS + 1))]
    customers, products = _customers(rng), _products(rng)
    orders = {
        "id": np.arange(1, _ORDERS + 1),
        "customer_id": _some_null(rng, _zipf(rng, _CUSTOMERS, _ORDERS), 0.02),  # NULL: bought as a guest
        "channel": rng.choice(["web", "app", "store"], _ORDERS, p=[0.5, 0.3, 0.2]),
        "express": rng.random(_ORDERS) < 0.25,
    }
    product_tags = _product_tags(rng)
    items: Table = {
        "order_id": rng.integers(1, _ORDERS + 1, _ITEMS),
        "product_id": _zipf(rng, _PRODUCTS, _ITEMS, 0.7),
        "quantity": 1 + rng.geometric(0.6, _ITEMS),
        "discount": np.round(rng.beta(1, 6, _ITEMS), 2),
    }
    items["returned"] = _returned(rng, customers, products, product_tags, orders, items)
    return {
        "customers": {**customers, "age": _some_null(rng, customers["age"], 0.05)},
        "products": products,
        "tags": {"id": np.arange(1, _TAGS + 1), "tag": np.array(tags)},
        "product_tags": product_tags,
        "orders": orders,
        "items": items,
        "visits": _visits(rng),
    }


def _customers(rng: np.random.Generator) -> Table:
    return {
        "id": np.arange(1, _CUSTOMERS + 1),
        "age": np.round(np.clip(rng.normal(42, 14, _CUSTOMERS), 18, 90)),
        "segment": rng.choice(["private", "family", "business"], _CUSTOMERS, p=[0.6, 0.3, 0.1]),
    }


def _products(rng: np.random.Generator) -> Table:
    return {
        "id": np.arange(1, _PRODUCTS + 1),
        "price": np.round(np.exp(rng.normal(3, 0.8, _PRODUCTS)), 2),
        "category": rng.choice(["clothing", "kitchen", "books", "garden", "toys"], _PRODUCTS),
    }


def _product_tags(rng: np.random.Generator) -> Table:
    """Up to six tags per product; a few products have none."""
    many = rng.choice(7, _PRODUCTS, p=[0.03, 0.12, 0.2, 0.25, 0.2, 0.12, 0.08])
    picked = [np.sort(rng.choice(_TAGS, n, replace=False) + 1) for n in many]
    return {"product_id": np.repeat(np.arange(1, _PRODUCTS + 1), many), "tag_id": np.concatenate(picked)}


def _visits(rng: np.random.Generator) -> Table:
    return {
        "customer_id": _some_null(rng, _zipf(rng, _CUSTOMERS, _VISITS), 0.1),  # NULL: not signed in
        "device": rng.choice(["phone", "laptop", "tablet"], _VISITS, p=[0.6, 0.3, 0.1]),
        "minutes": _some_null(rng, np.round(rng.exponential(6, _VISITS), 1), 0.03),
    }


def _returned(
    rng: np.random.Generator, customers: Table, products: Table, product_tags: Table, orders: Table, items: Table
) -> Values:
    order, product = items["order_id"] - 1, items["product_id"] - 1
    customer = np.array([0 if c is None else c - 1 for c in orders["customer_id"]])[order]
    fragile = np.isin(items["product_id"], product_tags["product_id"][product_tags["tag_id"] == 1])
    score = -0.4 + 0.8 * _standardised(products["price"])[product] - 0.5 * _standardised(customers["age"])[customer]
    score += 0.9 * (products["category"] == "clothing")[product] + 1.0 * fragile
    score += 0.6 * (orders["channel"] == "app")[order] - 0.7 * orders["express"][order]
    return np.asarray(score + rng.logistic(0, 0.7, _ITEMS) > 0)


def _standardised(values: Values) -> Values:
    return np.asarray((values - values.mean()) / values.std())


def _zipf(rng: np.random.Generator, kinds: int, size: int, exponent: float = 1.0) -> Values:
    """Random numbers from 1 to `kinds`; the frequency of k is proportional to k ** -exponent."""
    weights = np.arange(1, kinds + 1) ** -exponent
    return rng.choice(kinds, size, p=weights / weights.sum()) + 1


def _some_null(rng: np.random.Generator, values: Values, fraction: float) -> Values:
    cells = values.astype(object)
    cells[rng.random(len(values)) < fraction] = None
    return cells
