"""`sqlsvm demo`: a small shop whose join is large, the same one every time."""

import logging
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine, StatementError, Values
from sqlsvm.errors import OptionError
from sqlsvm.terminal import amount

steps = logging.getLogger(__name__)

SCHEMA = "sqlsvm_demo"
LABEL = "returned"
MODEL = "returned"

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

Table = dict[str, Values]

_CUSTOMERS, _PRODUCTS, _TAGS = 5_000, 2_000, 40
_ORDERS, _ITEMS, _VISITS = 40_000, 100_000, 185_000
_TYPES = {
    **dict.fromkeys(("id", "order_id", "customer_id", "product_id", "tag_id", "quantity"), "int"),
    **dict.fromkeys(("age", "price", "discount", "minutes"), "double"),
    **dict.fromkeys(("returned", "express"), "boolean"),
}
_MARKER = "made_by_sqlsvm"


# -- the generator -----------------------------------------------------------------------------------------------------


def shop(seed: int = 0) -> dict[str, Table]:
    """The tables, by name. A few customers are very busy and a few products sell most, as in life.

    What decides whether an item comes back, z being a standardised value and u logistic noise of scale 0.7:

        returned  <=>  -0.4 + 0.8 z(price) + 0.9 [category = clothing] + 0.6 [channel = app] - 0.5 z(age)
                       + 1.0 [the product has the tag 'fragile'] - 0.7 [express] + u  >  0

    so the signal lies in products, orders, customers and tags; quantity, discount, segment and visits have none.
    """
    rng = np.random.default_rng(seed)
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
        "tags": {"id": np.arange(1, _TAGS + 1), "tag": np.array(_tag_names())},
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


def _tag_names() -> list[str]:
    return ["fragile", "gift", "new", "sale", "eco", *(f"theme {n}" for n in range(6, _TAGS + 1))]


def _product_tags(rng: np.random.Generator) -> Table:
    """Up to six tags a product; a few have none."""
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
    """Numbers from 1 to `kinds`, the k-th as frequent as k ** -exponent."""
    weights = np.arange(1, kinds + 1) ** -exponent
    return rng.choice(kinds, size, p=weights / weights.sum()) + 1


def _some_null(rng: np.random.Generator, values: Values, fraction: float) -> Values:
    cells = values.astype(object)
    cells[rng.random(len(values)) < fraction] = None
    return cells


# -- in the database ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shop:
    """What was made, and where."""

    query: str
    engine: str
    url: str
    schema: str | None
    rows: int
    seconds: float

    @property
    def introduction(self) -> str:
        query = "\n".join(f"  {line}" for line in self.query.splitlines())
        place = (
            f"in a throw-away {self.engine}" if self.schema is None else f"in the schema {self.schema} of {self.url}"
        )
        made = f"A shop of {amount(self.rows)} rows, made {place} in {self.seconds:.1f} s."
        return f"{made}\nWill an item be returned? This query would give the rows to learn that from:\n\n{query}\n"

    @property
    def next_steps(self) -> str:
        if self.schema is None:
            return (
                "\nThis database is gone now. `sqlsvm demo --dsn embedded:shop` keeps one, and its model, in ./shop;\n"
                f"then `sqlsvm predict {MODEL} --dsn embedded:shop --sql` prints the score as SQL, for psql."
            )
        dsn = f"--dsn {shlex.quote(self.url)}"
        return (
            "\nTables and model stay. With the query above in shop.sql, look at it again, and predict, by\n"
            f"  sqlsvm inspect {dsn} --label {LABEL} --query shop.sql\n"
            f'  sqlsvm predict {MODEL} {dsn} --input "$(cat shop.sql) LIMIT 5"\n'
            f"  sqlsvm predict {MODEL} {dsn} --sql    # the score as SQL, for psql"
        )


def schema_in(url: str) -> str | None:
    """Where the shop goes: a schema of its own, but in a database that is thrown away the place where names lead."""
    return None if url in ("embedded:", "duckdb:") else SCHEMA


def make(engine: Engine, schema: str | None) -> Shop:
    """Make and fill the shop's tables."""
    began = time.monotonic()
    steps.info("inventing a shop")
    tables = shop()
    if schema is not None:
        _make_room(engine, schema, tables)
    for name, columns in tables.items():
        steps.info("making the table %s", name)
        engine.execute(_create(name, columns, schema))
        engine.copy_in(exp.table_(name, schema), columns)
    rows = sum(len(next(iter(columns.values()))) for columns in tables.values())
    return Shop(_query(engine, schema), engine.version, engine.url, schema, rows, time.monotonic() - began)


def _make_room(engine: Engine, schema: str, names: Iterable[str]) -> None:
    """An empty schema, or one that holds an earlier demo, which is dropped table by table: nothing else ever is."""
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
    except StatementError:
        return False


def _create(name: str, columns: Table, schema: str | None) -> exp.Create:
    types = {column: _TYPES.get(column, "text") for column in columns}
    return exp.Create(this=_columns(exp.table_(name, schema), types), kind="TABLE")


def _columns(table: exp.Table, types: dict[str, str]) -> exp.Schema:
    """table (column type, ...), a column named id being the primary key."""
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
    """The query as it reads in that schema."""
    if schema is None:
        return QUERY
    tree = parse_one(QUERY, read=engine.dialect)
    for table in tree.find_all(exp.Table):
        table.set("db", exp.to_identifier(schema))
    return tree.sql(dialect=engine.dialect, pretty=True, max_text_width=100)
