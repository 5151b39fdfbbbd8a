"""Features from the future: planted ones are found, with the share of join rows that the join itself has, and a clean
query has none."""

import numpy as np
import pytest

from sqlsvm import RelationalSVC
from sqlsvm.ask.leaks import leaks
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from tests.ground.opened import build
from tests.typed import asked, meant, run, typed

pytestmark = pytest.mark.twin

N = 200


def shop(engine: Engine) -> None:
    rng, i = np.random.default_rng(2), np.arange(N)
    build(
        engine,
        """
        CREATE TABLE orders (id INT, c INT, amount FLOAT8, day INT, y BOOLEAN);
        CREATE TABLE visits (c INT, minutes FLOAT8, day INT); CREATE TABLE states (id INT, state TEXT, day INT)
        """,
    )
    day = i * 7 % 100
    rows = {"id": i, "c": i % 20, "amount": rng.normal(size=N), "day": day, "y": rng.random(N) < 0.4}
    engine.copy_in(meant(engine, "orders"), rows)
    engine.copy_in(meant(engine, "visits"), {"c": i % 20, "minutes": rng.normal(size=N), "day": i * 11 % 120})
    state = np.array(["open", "late"], dtype=object)[i % 2]
    engine.copy_in(meant(engine, "states"), {"id": i, "state": state, "day": day + i % 4 - 2})
    for table, column, time in (
        ("orders", "placed", "DATE"),
        ("visits", "ended", "TIMESTAMP"),
        ("states", "at", "DATE"),
    ):
        typed(engine, f'ALTER TABLE {table} ADD COLUMN "{column}" {time}')
        typed(engine, f"UPDATE {table} SET \"{column}\" = DATE '2024-01-01' + day")


PLANTED = {
    "a later visit": (
        "SELECT o.y, o.amount, v.minutes FROM orders o JOIN visits v ON v.c = o.c",
        "visits.ended",
        "SELECT AVG(CASE WHEN v.day >= o.day THEN 1.0 ELSE 0.0 END) AS x FROM orders o JOIN visits v ON v.c = o.c",
    ),
    "an aggregate over the whole table": (
        "SELECT o.y, o.amount, a.n FROM orders o JOIN (SELECT c, COUNT(*) AS n FROM visits GROUP BY c) a ON a.c = o.c",
        "visits.ended",
        "SELECT AVG(CASE WHEN o.day <= (SELECT MAX(v.day) FROM visits v WHERE v.c = o.c) THEN 1.0 ELSE 0.0 END) AS x "
        "FROM orders o",
    ),
    "a state set afterwards": (
        "SELECT o.y, o.amount, s.state FROM orders o JOIN states s ON s.id = o.id",
        "states.at",
        "SELECT AVG(CASE WHEN s.day >= o.day THEN 1.0 ELSE 0.0 END) AS x FROM orders o JOIN states s ON s.id = o.id",
    ),
    "a scalar sub-query": (
        "SELECT o.y, o.amount, o.placed, (SELECT COUNT(*) FROM visits v WHERE v.c = o.c) AS n FROM orders o",
        "visits.ended",
        "SELECT AVG(CASE WHEN o.day <= (SELECT MAX(v.day) FROM visits v WHERE v.c = o.c) THEN 1.0 ELSE 0.0 END) AS x "
        "FROM orders o",
    ),
    "a window": (
        "SELECT o.y, o.amount, w.m FROM orders o "
        "JOIN (SELECT c, AVG(minutes) OVER (PARTITION BY c) AS m FROM visits) w ON w.c = o.c",
        "visits.ended",
        "SELECT AVG(CASE WHEN o.day <= w.last THEN 1.0 ELSE 0.0 END) AS x FROM orders o "
        "JOIN (SELECT c, MAX(day) OVER (PARTITION BY c) AS last FROM visits) w ON w.c = o.c",
    ),
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("case", PLANTED)
def test_planted_leaks_are_found(engine: Engine, case: str) -> None:
    text, date, truth = PLANTED[case]
    shop(engine)
    found = leaks(engine, text, "placed", "y")
    assert {leak.date for leak in found.leaks} == {date}
    assert 0 < found.leaks[0].share <= 1
    assert found.leaks[-1].share == pytest.approx(float(asked(engine, truth)["x"][0]))
    with pytest.raises(DataError, match=f"as_of: {date} is at or after .*placed in"):
        RelationalSVC(1e-2, as_of="placed").fit(engine, text, "y")


CLEAN = {
    "one table": "SELECT y, amount FROM orders",
    "states before": "SELECT o.y, o.amount, s.state FROM orders o JOIN states s ON s.id = o.id AND s.at < o.placed",
    "a history": "SELECT o.y, o.amount, o.placed, "
    "(SELECT COUNT(*) FROM visits v WHERE v.c = o.c AND v.ended < o.placed) AS n FROM orders o",
    "the visits before": "SELECT o.y, v.minutes FROM orders o JOIN visits v ON v.c = o.c AND v.ended < o.placed",
    "an aggregate of these": "SELECT o.y, o.amount, o.placed, COUNT(*) AS n FROM orders o "
    "JOIN visits v ON v.c = o.c AND v.ended < o.placed GROUP BY o.id, o.y, o.amount, o.placed",
}


@pytest.mark.twin(False)
@pytest.mark.thin(4)
@pytest.mark.parametrize("case", CLEAN)
def test_a_clean_query_has_none(engine: Engine, case: str) -> None:
    shop(engine)
    found = leaks(engine, CLEAN[case], "placed", "y")
    assert found.leaks == ()
    assert found.afterwards == ()
    assert case == "one table" or found.dates
    RelationalSVC(1e-2, as_of="placed").fit(engine, CLEAN[case], "y")


def test_rows_without_a_date_and_unused_dates(engine: Engine) -> None:
    """A LEFT JOIN that finds nothing leaks nothing. A date of the label's own table that is not used is only named."""
    shop(engine)
    typed(engine, "DELETE FROM states WHERE day >= (SELECT MIN(day) FROM orders) + 30")
    typed(engine, "ALTER TABLE orders ADD COLUMN closed DATE")
    typed(engine, "UPDATE orders SET closed = placed + 3")
    text = "SELECT o.y, o.amount, s.state FROM orders o LEFT JOIN states s ON s.id = o.id"
    found = leaks(engine, text, "placed", "y")
    rows = asked(engine, f"SELECT COUNT(*) AS n FROM ({text.replace('s.state', 's.day, o.day AS d')}) q WHERE day >= d")
    assert [leak.rows for leak in found.leaks] == [float(rows["n"][0])]
    assert [(leak.date, leak.share) for leak in found.afterwards] == [("orders.closed", 1.0)]
    used = text.replace("o.amount", "EXTRACT(EPOCH FROM o.closed) AS closed")
    assert {leak.date for leak in leaks(engine, used, "placed", "y").leaks} == {"orders.closed", "states.at"}


def test_a_date_that_no_row_has(engine: Engine) -> None:
    """What refers to a row itself comes after it, and is no history of it."""
    shop(engine)
    typed(engine, 'UPDATE states SET "at" = NULL')
    for join in ("JOIN states s ON s.id = o.id", "LEFT JOIN states s ON s.id = -o.id - 1"):
        found = leaks(engine, f"SELECT o.y, o.amount, s.state FROM orders o {join}", "placed", "y")
        assert (found.dates, found.leaks) == (("states.at",), ())


def test_what_is_no_time(duckdb: Engine) -> None:
    shop(duckdb)
    with pytest.raises(OptionError, match="as_of: amount is of type"):
        leaks(duckdb, CLEAN["one table"], "amount", "y")
    grouped = "SELECT c, y, COUNT(*) AS n FROM orders GROUP BY c, y"
    with pytest.raises(OptionError, match="as_of: the query has no output placed"):
        leaks(duckdb, grouped, "placed", "y")
    with pytest.raises(OptionError, match="as_of: the query has no output placed"):
        leaks(duckdb, "SELECT 1 AS y, 2 AS amount", "placed", "y")


def test_a_label_that_a_left_join_finds_has_no_time(duckdb: Engine) -> None:
    """The hint works."""
    shop(duckdb)
    found = "SELECT s.id IS NOT NULL AS y, o.amount FROM orders o LEFT JOIN states s ON s.id = o.id"
    with pytest.raises(OptionError, match="placed is not a column of s, which has the label") as refused:
        leaks(duckdb, found, "placed", "y")
    assert str(refused.value.hint).startswith("write the label as EXISTS (SELECT 1 FROM ... WHERE ...)")
    exists = "SELECT EXISTS (SELECT 1 FROM states s WHERE s.id = o.id) AS y, o.amount FROM orders o"
    assert leaks(duckdb, exists, "placed", "y").leaks == ()


def test_the_time_is_found_as_the_engine_reads_a_name(duckdb: Engine) -> None:
    at = "CAST(DATE '2024-01-01' + CAST(g AS INT) AS DATE)"
    run(duckdb, f'CREATE TABLE o AS SELECT g % 2 = 0 AS y, g AS x, {at} AS "Placed" FROM range(9) r(g)')
    found = leaks(duckdb, "SELECT y, x FROM o LIMIT 9", "placed", "y")
    assert found.time.casefold().endswith(".placed")
