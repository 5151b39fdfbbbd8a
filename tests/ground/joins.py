"""Joins of some thousand rows with something to learn in them: one for each shape that training has to cope with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sqlglot import parse_one

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Rows, Values
from tests.ground.opened import build
from tests.typed import meant, typed


@dataclass(frozen=True)
class Join:
    """Tables and a query over them whose label is y."""

    script: str
    rows: dict[str, Rows]
    query: str
    categorical: tuple[str, ...] = ()

    def create(self, engine: Engine) -> None:
        build(engine, self.script)
        for table, rows in self.rows.items():
            engine.copy_in(meant(engine, table), rows)

    @contextmanager
    def created(self, engine: Engine) -> Iterator[None]:
        """For a database that lives on: the tables go again."""
        self.create(engine)
        try:
            yield
        finally:
            for table in self.rows:
                typed(engine, sql.drop(table))


def star(rng: np.random.Generator, rows: int = 3000) -> Join:
    """A fact with two foreign keys: one bag, N = rows."""
    store, item = rng.integers(0, 40, rows), rng.integers(0, 60, rows)
    size, weight, qty = rng.normal(30, 9, 40), rng.uniform(0, 2, 60), rng.normal(size=rows)
    signal = qty + (size[store] - 30) / 9 - weight[item] + 1
    return Join(
        """
        CREATE TABLE sales (store INT, item INT, y BOOLEAN, qty FLOAT8, price FLOAT8);
        CREATE TABLE stores (store INT PRIMARY KEY, size FLOAT8, open BOOLEAN);
        CREATE TABLE items (item INT PRIMARY KEY, weight FLOAT8)
        """,
        {
            "sales": {
                "store": store,
                "item": item,
                "y": noisy(rng, signal),
                "qty": qty,
                "price": rng.normal(size=rows),
            },
            "stores": {"store": np.arange(40), "size": size, "open": rng.random(40) < 0.7},
            "items": {"item": np.arange(60), "weight": weight},
        },
        """SELECT s.y, s.qty, s.price, st.size, st.open, i.weight
        FROM sales s JOIN stores st ON st.store = s.store JOIN items i ON i.item = s.item""",
    )


def chain(rng: np.random.Generator, rows: int = 400, fan_out: int = 5) -> Join:
    """Many to many on both sides: three bags, N = about rows * fan_out^2."""
    side = 30 * fan_out
    to_left, to_right = rng.integers(0, 30, (2, rows))
    left_key, right_key = rng.integers(0, 30, (2, side))
    a, c, u, v = rng.normal(size=side), rng.uniform(-1, 1, side), rng.normal(size=rows), rng.integers(-1, 2, rows)
    signal = u + 2 * key_mean(a, left_key)[to_left] + 2 * key_mean(c, right_key)[to_right]
    return Join(
        """
        CREATE TABLE l (k INT, a FLOAT8, b FLOAT8);
        CREATE TABLE m (k INT, j INT, y INT, u FLOAT8, v INT);
        CREATE TABLE r (j INT, c FLOAT8)
        """,
        {
            "l": {"k": left_key, "a": a, "b": rng.normal(size=side)},
            "m": {"k": to_left, "j": to_right, "y": noisy(rng, signal).astype(int), "u": u, "v": v},
            "r": {"j": right_key, "c": c},
        },
        "SELECT m.y, l.a, l.b, m.u, m.v, r.c FROM l JOIN m ON m.k = l.k JOIN r ON r.j = m.j",
    )


def left_join(rng: np.random.Generator) -> Join:
    """A third of the calls has no match, and some matches say nothing: NULLs of two kinds."""
    key, x = rng.integers(0, 90, 2500), rng.normal(size=2500)
    rate = np.round(rng.normal(size=60), 1)
    signal = x + np.where(key < 60, rate[np.minimum(key, 59)], 0.5)
    return Join(
        "CREATE TABLE calls (k INT, y INT, x FLOAT8, z FLOAT8); CREATE TABLE plans (k INT PRIMARY KEY, rate FLOAT8)",
        {
            "calls": {"k": key, "y": np.where(noisy(rng, signal), 1, -1), "x": x, "z": np.round(rng.normal(size=2500))},
            "plans": {"k": np.arange(60), "rate": rate},
        },
        "SELECT c.y, c.x, NULLIF(c.z, 0) AS z, p.rate FROM calls c LEFT JOIN plans p ON p.k = c.k",
    )


def left_join_to_many(rng: np.random.Generator, unknown: float = 0.1) -> Join:
    """Clients with no visit, with one, and with many; some have no key. A visit may have several orders."""
    number, visit, order = 400, 900, 700
    client = rng.integers(0, 300, visit)
    minutes, age = np.round(rng.exponential(size=visit), 1), rng.normal(size=number)
    signal = age + np.where(np.isin(np.arange(number), client), 1.0, -1.0)
    return Join(
        """
        CREATE TABLE clients (k INT, y BOOLEAN, age FLOAT8); CREATE TABLE visits (k INT, v INT, minutes FLOAT8);
        CREATE TABLE orders (v INT, price FLOAT8)
        """,
        {
            "clients": {
                "k": np.ma.masked_array(np.arange(number), rng.random(number) < unknown),
                "y": noisy(rng, signal),
                "age": age,
            },
            "visits": {"k": client, "v": np.arange(visit), "minutes": minutes},
            "orders": {"v": rng.integers(0, visit, order), "price": np.round(rng.normal(size=order), 2)},
        },
        """SELECT c.y, c.age, v.minutes, v.v IS NULL AS absent, o.price FROM clients c LEFT JOIN visits v
        ON v.k = c.k AND v.minutes < 2 LEFT JOIN orders o ON o.v = v.v WHERE o.price > -1 OR o.price IS NULL""",
    )


def categories(rng: np.random.Generator) -> Join:
    """Texts on either side of a many-to-many key, an integer that is a name, a category that is rare: two bags."""
    city, month, key = rng.integers(0, 7, 600), rng.integers(1, 5, 600), rng.integers(0, 40, 600)
    x, offer, effect = rng.normal(size=600), rng.integers(0, 40, 400), rng.normal(size=7)
    colour = np.where(rng.random(400) < 0.01, 0, rng.integers(1, 4, 400))
    return Join(
        """
        CREATE TABLE trips (k INT, y BOOLEAN, city TEXT, month INT, x FLOAT8);
        CREATE TABLE offers (k INT, colour TEXT, price FLOAT8)
        """,
        {
            "trips": {"k": key, "y": noisy(rng, x + effect[city]), "city": words(city), "month": month, "x": x},
            "offers": {"k": offer, "colour": words(colour), "price": rng.normal(5, 2, 400)},
        },
        "SELECT t.y, t.city, t.month, t.x, o.colour, o.price FROM trips t JOIN offers o ON o.k = t.k",
        ("month",),
    )


def cyclic(rng: np.random.Generator) -> Join:
    """A triangle."""
    keys = rng.integers(0, 14, (6, 250))
    x, z, w = rng.normal(size=250), rng.uniform(-1, 1, 250), rng.integers(-1, 2, 250)
    signal = x + key_mean(z, keys[2])[keys[1]] + key_mean(w, keys[5])[keys[0]]
    return Join(
        """
        CREATE TABLE ab (a INT, b INT, y INT, x FLOAT8);
        CREATE TABLE bc (b INT, c INT, z FLOAT8);
        CREATE TABLE ca (c INT, a INT, w INT)
        """,
        {
            "ab": {"a": keys[0], "b": keys[1], "y": noisy(rng, signal).astype(int), "x": x},
            "bc": {"b": keys[2], "c": keys[3], "z": z},
            "ca": {"c": keys[4], "a": keys[5], "w": w},
        },
        "SELECT ab.y, ab.x, bc.z, ca.w FROM ab JOIN bc ON bc.b = ab.b JOIN ca ON ca.c = bc.c AND ca.a = ab.a",
    )


def heap(rng: np.random.Generator, rows: int = 4000) -> Join:
    """One row in six is positive, and hardly anything says which: the best score is about -1 for every row, so that the
    margins of the others lie in a heap on the hinge. One bag."""
    plane, x = rng.integers(0, 50, rows), rng.normal(size=rows)
    return Join(
        """
        CREATE TABLE trips (plane INT, y BOOLEAN, x FLOAT8, city TEXT);
        CREATE TABLE planes (plane INT PRIMARY KEY, age FLOAT8)
        """,
        {
            "trips": {
                "plane": plane,
                "y": x + 5 * rng.normal(size=rows) > 5,
                "x": x,
                "city": words(rng.integers(0, 7, rows)),
            },
            "planes": {"plane": np.arange(50), "age": rng.normal(10, 4, 50)},
        },
        "SELECT t.y, t.x, t.city, p.age FROM trips t JOIN planes p ON p.plane = t.plane",
    )


def towns(rng: np.random.Generator, values: int, shops: int = 0, rows: int = 1200, fan_out: int = 10) -> Join:
    """A category of many values, and in the other bag one more or none; N = rows * fan_out."""
    town, key, effect = rng.integers(0, values, rows), rng.integers(0, 40, rows), rng.normal(size=values)
    x, offer, price = rng.normal(size=rows), rng.integers(0, 40, 40 * fan_out), rng.normal(5, 2, 40 * fan_out)
    shop = rng.integers(0, max(shops, 1), 40 * fan_out)
    bought = x + effect[town] + key_mean(price - 5, offer)[key]
    return Join(
        """
        CREATE TABLE journeys (k INT, y BOOLEAN, town INT, x FLOAT8);
        CREATE TABLE prices (k INT, shop INT, price FLOAT8)
        """,
        {
            "journeys": {"k": key, "y": noisy(rng, bought), "town": town, "x": x},
            "prices": {"k": offer, "shop": shop, "price": price},
        },
        f"""SELECT j.y, j.town, j.x, p.price{", p.shop" if shops else ""}
        FROM journeys j JOIN prices p ON p.k = j.k""",
        ("town", "shop") if shops else ("town",),
    )


JOINS: dict[str, Callable[[np.random.Generator], Join]] = {
    "star": star,
    "chain": chain,
    "left join": left_join,
    "categories": categories,
    "cyclic": cyclic,
    "heap": heap,
}


def noisy(rng: np.random.Generator, signal: Values) -> Values:
    return np.asarray(signal + 0.6 * rng.normal(size=len(signal)) > 0)


def key_mean(values: Values, key: Values) -> Values:
    """The mean over the rows of each key, 0 for a key without rows."""
    rows = int(key.max()) + 1
    found = np.zeros(max(rows, 90))
    found[:rows] = np.bincount(key, values, rows) / np.maximum(np.bincount(key, minlength=rows), 1)
    return found


def words(numbers: Values) -> Values:
    return np.array([f"n° {n}" for n in numbers.tolist()], dtype=object)


def even_chain(engine: Engine, tables: int, rows: int, keys: int) -> str:
    """A chain in which every key of a table meets every row of its neighbours with that key: the join has
    rows ** tables / keys ** (tables - 1) rows. Features are 0 or 1, in equal shares; so is the label, in t0."""
    number = np.arange(rows)
    for t in range(tables):
        typed(engine, parse_one(f"CREATE TABLE t{t} (l INT, r INT, x INT, y INT)"))
        columns = {"l": number % keys, "r": number // keys % keys, "x": number // keys**2 % 2, "y": number % 2}
        engine.copy_in(meant(engine, f"t{t}"), columns)
    features = ", ".join(f"t{t}.x AS x{t}" for t in range(tables))
    joins = " ".join(f"JOIN t{t} ON t{t}.l = t{t - 1}.r" for t in range(1, tables))
    return f"SELECT t0.y, {features} FROM t0 {joins}"
