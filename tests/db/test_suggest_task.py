"""A label of what comes next: the rows of a task and their labels are made again from the raw rows, one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.suggestion.suggest import Suggestion, Wanted, suggest
from sqlsvm.suggestion.task import Next, next_of
from tests.ground.opened import build
from tests.typed import asked

DAY = 86_400.0
TYPES = {
    "timestamp": "TIMESTAMP '2024-01-01' + {} * INTERVAL '1 hour'",
    "timestamptz": "TIMESTAMPTZ '2024-01-01 00:00:00+00' + {} * INTERVAL '1 hour'",
    "date": "DATE '2024-01-01' + CAST(FLOOR({} / 24) AS INT)",
    "integer": "CAST(FLOOR({} / 24) AS INT)",
}
ORDERS = "SELECT customer_id, amount, CAST(EXTRACT(EPOCH FROM placed_at) AS DOUBLE PRECISION) AS second FROM orders"


def shop(engine: Engine, type: str, seed: int) -> None:
    """Some times are the same, some are on the edge of a window; some times, keys and amounts are NULL."""
    rng = np.random.default_rng(seed)

    def rows(many: int) -> str:
        some = rng.random((many, 3)) > 0.05
        grain = rng.choice([1, 24], many)
        hours = rng.integers(0, 24 * 60, many) // grain * grain
        hours[0] = 24 * 60
        values = zip(rng.integers(1, 13, many), hours, rng.integers(-9, 30, many), some, strict=True)
        return ", ".join(
            f"({c if has[0] else 'NULL'}, {TYPES[type].format(h) if has[1] else 'NULL'}, {a if has[2] else 'NULL'})"
            for c, h, a, has in values
        )

    build(
        engine,
        f"""
        CREATE TABLE customers (id INT PRIMARY KEY, age INT, joined_at {type});
        CREATE TABLE orders (customer_id INT REFERENCES customers (id), placed_at {type}, amount FLOAT8);
        CREATE TABLE visits (customer_id INT REFERENCES customers (id), placed_at {type}, minutes FLOAT8);
        INSERT INTO customers SELECT n, n * 7 % 50, {TYPES[type].format("(n * 31)")}
            FROM GENERATE_SERIES(1, 14) AS g(n);
        INSERT INTO orders VALUES {rows(150)};
        INSERT INTO visits VALUES {rows(150)}
        """,
    )


def made(engine: Engine, found: Suggestion) -> Mapping[tuple[int, float], float]:
    """The label of each customer at each time."""
    query = parse_one(found.query, read=engine.dialect)
    assert isinstance(query, exp.Select)
    is_date = found.time == "at_time"
    at = exp.Extract(this=exp.var("EPOCH"), expression=exp.column(found.time, "task"))
    second = exp.cast(at if is_date else exp.column(found.time, "task"), "double")
    rows = asked(engine, query.select("task.customer_id AS of", exp.alias_(second, "second"), copy=False))
    labels = np.asarray(rows[found.label], dtype=float)
    cells = {(int(c), float(s)): float(y) for c, s, y in zip(rows["of"], rows["second"], labels, strict=True)}
    assert len(cells) == len(labels), "each customer is there once at each time"
    return cells


def expected(orders: Mapping[str, Any], wanted: Next, unit: float, since: Mapping[int, float] | None) -> dict[Any, Any]:
    ok = ~np.isnan(orders["second"])
    within, every = (float(text.split()[0]) * unit for text in (wanted.within, wanted.every or wanted.within))
    low, high = orders["second"][ok].min(), orders["second"][ok].max()
    cells, t = dict[Any, Any](), np.floor((high - within) / unit) * unit
    while t >= low:
        for customer in range(1, 15):
            own = ok & (orders["customer_id"] == customer)
            at = orders["second"][own]
            if since:
                exists = since[customer] <= t
            elif wanted.active:
                exists = bool(((at <= t) & (at > t - float(wanted.active.split()[0]) * unit)).any())
            else:
                exists = bool((at <= t).any())
            comes = (at > t) & (at <= t + within)
            label = float(not comes.any()) if wanted.none else comes.sum()
            label = np.nansum(orders["amount"][own][comes]) if wanted.sum else label
            if exists:
                cells[customer, t] = label
        t -= every
    return cells


WISHES: Sequence[Next] = (
    Next("orders", "9 days", "4 days", none=True),
    Next("orders", "5 days"),
    Next("orders", "3 days", "7 days", sum="amount", active="11 days"),
)


@pytest.mark.parametrize("type", TYPES)
def test_rows_and_labels_made_again(engine: Engine, type: str) -> None:
    shop(engine, type, 3)
    unit = 1.0 if type == "integer" else DAY
    second = "CAST(placed_at AS DOUBLE PRECISION) AS second" if type == "integer" else ORDERS.split(", ")[2]
    orders = asked(engine, f"SELECT customer_id, amount, {second.removesuffix(' FROM orders')} FROM orders")
    for wish in WISHES:
        wanted = wish
        if type == "integer":
            spans = {n: s.split()[0] for n in ("within", "every", "active") if (s := getattr(wish, n))}
            wanted = Next("orders", none=wish.none, sum=wish.sum, label_time="placed_at", **spans)
        found = suggest(
            engine, Wanted("customers", next=wanted, windows=("12",) if type == "integer" else ("12 days",))
        )
        truth = expected(orders, wanted, unit, None)
        assert len(truth) > 40
        assert made(engine, found) == pytest.approx(truth)


def test_from_when_a_customer_exists(engine: Engine) -> None:
    """With --time an order before need not be."""
    shop(engine, "timestamp", 4)
    found = suggest(engine, Wanted("customers", "gone", "joined_at", next=WISHES[0]))
    assert (found.label, found.time) == ("gone", "at_time")
    orders = asked(engine, ORDERS)
    since = {n: 1704067200.0 + n * 31 * 3600 for n in range(1, 15)}
    assert made(engine, found) == expected(orders, WISHES[0], DAY, since)
    assert "each customer_id from customers.joined_at on; its label says whether no rows of orders come" in found.query


def test_an_entity_without_a_table(engine: Engine) -> None:
    shop(engine, "date", 5)
    build(
        engine,
        "CREATE TABLE sales AS SELECT customer_id, placed_at AS day, amount FROM orders;"
        "CREATE TABLE calls AS SELECT customer_id, placed_at AS day, minutes FROM visits",
    )
    wanted = Wanted(
        "sales", entity=("customer_id",), tables=("calls",), next=Next("sales", "9 days", "4 days", none=True)
    )
    found = suggest(engine, wanted)
    assert made(engine, found) == expected(asked(engine, ORDERS), WISHES[0], DAY, None)
    names = set(asked(engine, found.query))
    assert {"label", "sales_count", "sales_mean_amount", "calls_mean_minutes"} <= names
    assert not [name for name in names if "task" in name]


def test_history_is_before_each_time(engine: Engine) -> None:
    shop(engine, "timestamp", 6)
    found = suggest(engine, Wanted("customers", next=WISHES[0], windows=()))
    query = parse_one(found.query, read=engine.dialect).select(  # type: ignore[attr-defined]
        "task.customer_id AS of", "CAST(EXTRACT(EPOCH FROM task.at_time) AS FLOAT8) AS second", copy=False
    )
    rows, orders = asked(engine, query), asked(engine, ORDERS)
    counts = [
        float(((orders["customer_id"] == c) & (orders["second"] < s)).sum())
        for c, s in zip(rows["of"], rows["second"], strict=True)
    ]
    assert rows["orders_count"].tolist() == counts


def test_what_cannot_be(engine: Engine) -> None:
    shop(engine, "date", 7)
    build(
        engine,
        "CREATE TABLE mails (sender INT REFERENCES customers (id), receiver INT REFERENCES customers (id), d DATE)",
    )

    def refused(message: str, wanted: Next, **more: Any) -> None:
        with pytest.raises((OptionError, DataError), match=message):
            suggest(engine, Wanted("customers", next=wanted, **more))

    refused("label_next: 2 foreign keys of mails refer to customers", Next("mails", "5 days"))
    refused("mails.d has no first and last time", Next("mails", "5 days"), entity=("sender",))
    refused("within: 36 hours is not whole days", Next("orders", "36 hours"))
    refused("the 400 days after a time are never whole", Next("orders", "400 days"))
    refused("sum: orders has no column price", Next("orders", "5 days", sum="price"))
    refused("label_next: no foreign key of customers refers to customers", Next("customers", "5 days"))
    with pytest.raises(OptionError, match="label_next needs within"):
        next_of("orders", within=None)
    with pytest.raises(OptionError, match="within is only for label_next"):
        next_of(None, within="5 days")
    with pytest.raises(OptionError, match="count, sum and none exclude each other"):
        next_of("orders", within="5 days", sum="amount", none=True)
