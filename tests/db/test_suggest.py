"""A query written from what a database says of its tables: keys that are declared and keys that are guessed, names that
need quotes, columns that are no features."""

import re
from pathlib import Path

import pytest

from sqlsvm.ask.leaks import leaks
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.suggestion.schema import read_schema
from sqlsvm.suggestion.suggest import Suggestion, Wanted, suggest
from tests.ground.opened import build
from tests.typed import asked, typed

SHOP = """
    CREATE TABLE regions (id INT PRIMARY KEY, climate TEXT);
    CREATE TABLE customers (id INT PRIMARY KEY, region_id INT {regions}, name TEXT, age INT, born DATE);
    CREATE TABLE couriers (id INT PRIMARY KEY, rating INT, last_ride DATE);
    CREATE TABLE orders (
        id INT PRIMARY KEY, customer_id INT {customers}, placed_at TIMESTAMP, amount FLOAT8, channel TEXT,
        delivered_at TIMESTAMP, delay FLOAT8, refund FLOAT8, late BOOLEAN, "Order" INT, "Wei""rd name" INT,
        courier_id INT);
    INSERT INTO regions SELECT n, CASE WHEN n % 2 = 0 THEN 'wet' ELSE 'dry' END FROM GENERATE_SERIES(1, 6) AS g(n);
    INSERT INTO customers SELECT n, 1 + n % 6, 'name ' || n, 20 + n * 7 % 50,
        DATE '1970-01-01' + CAST(n * 100 % 9000 AS INT) FROM GENERATE_SERIES(1, 40) AS g(n);
    INSERT INTO couriers SELECT n, n * 7 % 5, DATE '2024-06-01' + CAST(n AS INT) FROM GENERATE_SERIES(1, 9) AS g(n);
    INSERT INTO orders SELECT n, 1 + n * 7 % 40, TIMESTAMP '2024-01-01 08:00:00' + n * INTERVAL '1 day', n * 13 % 40,
        CASE n % 3 WHEN 0 THEN 'web' WHEN 1 THEN 'shop' ELSE 'phone' END,
        TIMESTAMP '2024-01-01 08:00:00' + (n + n * 11 % 9) * INTERVAL '1 day', n * 11 % 9,
        CASE WHEN n * 11 % 9 > 4 THEN 5.0 + n % 3 END, n * 11 % 9 > 4, n * 17 % 23, n * 19 % 29,
        1 + n % 9
        FROM GENERATE_SERIES(1, 300) AS g(n)
"""


def shop(engine: Engine, declared: bool) -> None:
    keys = {name: f"REFERENCES {name} (id)" if declared else "" for name in ("regions", "customers")}
    build(engine, SHOP.format(**keys))


def plain(found: Suggestion) -> str:
    return " ".join(found.query.split())


@pytest.mark.parametrize("declared", [True, False])
def test_the_row_and_its_lookups(engine: Engine, declared: bool) -> None:
    shop(engine, declared)
    found = suggest(engine, Wanted("orders", "late", "placed_at"))
    rows = asked(engine, found.query)
    assert len(rows["late"]) == 300
    assert {name for name in rows if not name.startswith("earlier_orders_")} == {
        *("late", "amount", "channel", "Order", 'Wei"rd name'),
        *("customers_age", "customers_born_days", "regions_climate"),
    }
    said = plain(found)
    assert ("guessed by its name, and 40 of 40 values are there" in said) == (not declared)
    assert "left out, tells the label orders.late: orders.delay, orders.refund" in said
    assert "left out, at or after orders.placed_at in some rows, so set after it: orders.delivered_at" in said
    assert "left out, with a date at or after orders.placed_at in some rows: couriers.*" in said
    assert "left out, a text of its own in most rows of its table: customers.name" in said
    assert '"Order"' in found.query
    assert '"Wei""rd name"' in found.query
    assert '"amount"' not in found.query


def test_earlier_rows_do_not_tell_the_label(engine: Engine) -> None:
    """Nor whether they were late: that may not be known yet."""
    shop(engine, True)
    rows = asked(engine, suggest(engine, Wanted("orders", "late", "placed_at", windows=("7 days",))).query)
    earlier = [name for name in rows if name.startswith("earlier_orders_")]
    assert "earlier_orders_mean_amount_7_days" in earlier
    assert not [name for name in earlier if re.search("late|delay|refund|delivered", name)]


@pytest.mark.slow
def test_a_suggestion_has_no_rows_of_the_future(engine: Engine) -> None:
    shop(engine, True)
    found = leaks(engine, suggest(engine, Wanted("orders", "late", "placed_at")).query, "placed_at", "late")
    assert found.leaks == ()
    assert "orders.placed_at" in found.dates


def test_composite_keys(engine: Engine) -> None:
    build(
        engine,
        """
        CREATE TABLE legs (train INT, day INT, cars INT, PRIMARY KEY (train, day));
        CREATE TABLE delays (train INT, day INT, at_time DATE, late INT,
            FOREIGN KEY (train, day) REFERENCES legs (train, day));
        CREATE TABLE repairs (train INT, day INT, cost INT);
        INSERT INTO legs SELECT (n - n % 10) / 10, n % 10, n % 7 FROM GENERATE_SERIES(0, 99) AS g(n);
        INSERT INTO delays SELECT (n - n % 10) / 10, n % 10, DATE '2024-01-01' + CAST(n AS INT), n % 2
            FROM GENERATE_SERIES(0, 99) AS g(n);
        INSERT INTO repairs SELECT (n - n % 10) / 10, n % 10, n FROM GENERATE_SERIES(0, 49) AS g(n)
            UNION ALL VALUES (70, 1, 2), (70, 2, 3)
        """,
    )
    schema, _ = read_schema(engine, "delays")
    found = {(key.table.name, key.columns, key.of.name): key.guess for key in schema.foreign_keys}
    assert found == {
        ("delays", ("train", "day"), "legs"): None,
        ("repairs", ("train", "day"), "legs"): "by its name, and 50 of 52 values are there",
    }
    assert "legs.cars AS legs_cars" in suggest(engine, Wanted("delays", "late", "at_time")).query


def test_a_cycle_of_foreign_keys(engine: Engine) -> None:
    """It ends after two, and a row that may be of the future is no lookup."""
    build(
        engine,
        """
        CREATE TABLE people (id INT PRIMARY KEY, boss_id INT, last_call_id INT, pay FLOAT8);
        CREATE TABLE calls (id INT PRIMARY KEY, people_id INT, made_on DATE, minutes FLOAT8, sold INT);
        INSERT INTO people SELECT n, 1 + n % 13, 200 + n, n * 7 % 31 FROM GENERATE_SERIES(1, 30) AS g(n);
        INSERT INTO calls SELECT n, 1 + n % 30, DATE '2024-01-01' + CAST(n AS INT), n * 13 % 29, n * 5 % 2
            FROM GENERATE_SERIES(1, 260) AS g(n)
        """,
    )
    found = suggest(engine, Wanted("calls", "sold", "made_on"))
    assert "people.pay AS people_pay" in found.query
    assert len(asked(engine, found.query)["sold"]) == 260


def test_what_is_not_there(engine: Engine) -> None:
    shop(engine, True)
    with pytest.raises(OptionError, match=r"there is no table order\n") as no_table:
        suggest(engine, Wanted("order", "late", "placed_at"))
    assert "is it orders" in str(no_table.value.hint)
    with pytest.raises(OptionError, match=r"label: orders has no column lat\n"):
        suggest(engine, Wanted("orders", "lat", "placed_at"))
    with pytest.raises(OptionError, match="time: channel is of type"):
        suggest(engine, Wanted("orders", "late", "channel"))
    with pytest.raises(OptionError, match="placed_at is both the label and the time"):
        suggest(engine, Wanted("orders", "placed_at", "placed_at"))


def test_what_only_comes_after_a_row_is_no_history(engine: Engine) -> None:
    """Scans refer to an order. All are later than it, and then one is earlier."""
    shop(engine, True)
    build(engine, "CREATE TABLE scans (order_id INT REFERENCES orders (id), seen_at TIMESTAMP, weight FLOAT8)")
    typed(engine, "INSERT INTO scans SELECT id, placed_at + INTERVAL '1 hour', amount FROM orders")
    reason = "left out, no row is before the row of orders that it refers to: scans"
    late = suggest(engine, Wanted("orders", "late", "placed_at"))
    assert reason in plain(late)
    assert "this_orders" not in late.query
    typed(engine, "INSERT INTO scans SELECT id, placed_at - INTERVAL '1 hour', amount FROM orders WHERE id = 9")
    some = suggest(engine, Wanted("orders", "late", "placed_at"))
    assert reason not in plain(some)
    assert sum(asked(engine, some.query)["scans_3_count"]) == 1


def test_a_file_may_have_the_quotes_of_a_query(duckdb: Engine, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("y,at,x\n1,2024-01-01,3\n0,2024-01-02,5\n")
    assert suggest(duckdb, Wanted(f"'{file}'", "y", "at")).query == suggest(duckdb, Wanted(str(file), "y", "at")).query


def test_names_need_no_path(engine: Engine) -> None:
    if engine.dialect != "postgres":
        pytest.skip("only PostgreSQL has a path that matters")
    shop(engine, True)
    query = suggest(engine, Wanted("orders", "late", "placed_at")).query
    assert re.search(r"FROM public\.orders\b", query)
    assert not re.search(r"(FROM|JOIN) (orders|customers|regions|couriers)\s", query)
