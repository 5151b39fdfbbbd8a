"""The history of a row: cells of the suggested query are computed again from the raw rows, one by one. None of them may
see a row at or after the time of its row."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.engine.base import Engine
from sqlsvm.suggestion.suggest import Wanted, suggest
from tests.ground.opened import build
from tests.typed import asked

WINDOWS = {"": np.inf, "_10_days": 10.0, "_40_days": 40.0}
TYPES = {
    "timestamp": "TIMESTAMP '2024-01-01' + {} * INTERVAL '6 hours'",
    "timestamptz": "TIMESTAMPTZ '2024-01-01 00:00:00+00' + {} * INTERVAL '6 hours'",
    "date": "DATE '2024-01-01' + CAST(FLOOR({} / 4) AS INT)",
    "integer": "{}",
}
Rows = Mapping[str, Any]


def shop(engine: Engine, type: str) -> None:
    """Times are in quarters of a day, many are the same, and some are NULL, as some keys and values are."""
    time = TYPES[type].format
    n_orders, n_visits = "GENERATE_SERIES(1, 400) AS g(n)", "GENERATE_SERIES(1, 1500) AS g(n)"
    build(
        engine,
        f"""
        CREATE TABLE customers (id INT PRIMARY KEY, age INT);
        CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT REFERENCES customers (id), "When" {type},
            quarter INT, amount FLOAT8, late BOOLEAN);
        CREATE TABLE visits (customer_id INT REFERENCES customers (id), "When" {type}, quarter INT,
            "order" FLOAT8, page TEXT, paid BOOLEAN);
        CREATE TABLE items (order_id INT REFERENCES orders (id), price FLOAT8);
        INSERT INTO customers SELECT n, 20 + n * 7 % 50 FROM GENERATE_SERIES(1, 20) AS g(n);
        INSERT INTO orders SELECT n, CASE WHEN n % 31 > 0 THEN 1 + n * 7 % 20 END, {time("(n * 37 % 800)")},
            n * 37 % 800, n * 13 % 40, n * n * 11 % 9 > 4 FROM {n_orders};
        INSERT INTO visits SELECT CASE WHEN n % 41 > 0 THEN 1 + n * n % 20 END,
            CASE WHEN n % 29 > 0 THEN {time("(n * 53 % 801)")} END, n * 53 % 801,
            CASE WHEN n % 7 > 0 THEN 1000 + n * 17 % 23 END,
            CASE n % 4 WHEN 0 THEN 'it''s' WHEN 1 THEN 'A "b"' WHEN 2 THEN 'SELECT' END, n % 3 > 0 FROM {n_visits};
        INSERT INTO items SELECT 1 + n * 3 % 400, n * 19 % 31 FROM {n_orders}
        """,
    )


def day(rows: Rows, type: str) -> Any:
    quarter = np.asarray(rows["quarter"], dtype=float)
    return {"date": np.floor(quarter / 4), "integer": quarter}.get(type, quarter / 4)


AGGREGATES: Mapping[str, Callable[[Any], float]] = {"mean": np.mean, "share": np.mean}


def expected(name: str, values: Any, at: Any, now: float, columns: Rows) -> float:
    """Of the rows of an owner before a time."""
    window = next(suffix for suffix in reversed(WINDOWS) if name.endswith(suffix))
    kind, _, column = name.removesuffix(window).partition("_")
    within = (at < now) & (at >= now - WINDOWS[window])
    if kind == "count":
        return float(within.sum())
    if name.startswith(("days_since", "since")):
        return now - at[within].max() if within.any() else np.nan
    x = columns[column][within]
    x = x[~np.isnan(x)]
    return float(AGGREGATES[kind](x)) if len(x) else np.nan


@pytest.mark.slow
@pytest.mark.parametrize("type", TYPES)
def test_cells_computed_again(engine: Engine, type: str) -> None:
    shop(engine, type)
    windows = ("10", "40") if type == "integer" else ("10 days", "40 days")
    found = suggest(engine, Wanted("orders", "late", "When", windows=windows))
    query = parse_one(found.query, read=engine.dialect).select("orders.id AS row_id", copy=False)  # type: ignore[attr-defined]
    rows = asked(engine, query)
    assert len(rows["row_id"]) == 400
    orders, visits = asked(engine, ORDERS), asked(engine, VISITS)
    items = asked(engine, ITEMS)
    tables = {"earlier_orders": orders, "visits": visits, "items": items}
    owner = dict(zip(orders["id"].tolist(), orders["customer_id"].tolist(), strict=True))
    times = dict(zip(orders["id"].tolist(), day(orders, type).tolist(), strict=True))
    names = [name for name in rows if name.startswith(tuple(f"{table}_" for table in tables))]
    assert len(names) > 30
    rng = np.random.default_rng(1)
    for _ in range(600):
        name, at = names[rng.integers(len(names))], int(rng.integers(400))
        table = next(table for table in tables if name.startswith(f"{table}_"))
        row = int(rows["row_id"][at])
        what = name.removeprefix(f"{table}_")
        if what.startswith("last_"):
            continue  # of several rows of one time any may be the last
        if type == "integer":
            what = what.replace("_10", "_10_days").replace("_40", "_40_days")
        own = tables[table]
        mine = (own["customer_id"] == owner[row]) & (own["dated"] > 0)
        values = {column: np.asarray(own[column], dtype=float)[mine] for column in own}
        wanted = expected(what, own, day(own, type)[mine], times[row], values)
        assert rows[name][at] == pytest.approx(wanted, rel=1e-9, abs=1e-7, nan_ok=True), (name, row)


ORDERS = "SELECT id, customer_id, quarter, amount, 1 AS dated FROM orders"
VISITS = """
    SELECT customer_id, quarter, "order", CASE WHEN paid THEN 1.0 ELSE 0.0 END AS paid,
    CASE WHEN page = 'it''s' THEN 1.0 ELSE 0.0 END AS page_it_s,
    CASE WHEN page = 'A "b"' THEN 1.0 ELSE 0.0 END AS page_a_b,
    CASE WHEN page = 'SELECT' THEN 1.0 ELSE 0.0 END AS page_select, CASE WHEN "When" IS NULL THEN 0 ELSE 1 END AS dated
    FROM visits"""
ITEMS = "SELECT o.customer_id, o.quarter, i.price, 1 AS dated FROM items i JOIN orders o ON o.id = i.order_id"
