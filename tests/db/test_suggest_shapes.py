"""Databases of other shapes: many tables, none that is related, empty ones, two keys to one table, odd names, a time
that is a number, tables without a time."""

from time import process_time

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.suggestion.suggest import Suggestion, Wanted, suggest
from tests.ground.opened import build
from tests.typed import asked


def names(engine: Engine, found: Suggestion, rows: int) -> set[str]:
    made = asked(engine, found.query)
    assert {len(values) for values in made.values()} == {rows}
    return set(made)


@pytest.mark.slow
def test_a_hundred_tables(engine: Engine) -> None:
    tables = "CREATE TABLE t0 (id INT PRIMARY KEY, y BOOLEAN, d DATE, v FLOAT8);" + ";".join(
        f"CREATE TABLE t{n} (id INT PRIMARY KEY, t{n // 2}_id INT REFERENCES t{n // 2} (id), happened DATE, a FLOAT8)"
        for n in range(1, 100)
    )
    rows = "SELECT n, {}, DATE '2024-01-01' + CAST(n * 3 % 50 AS INT), n % 11 FROM GENERATE_SERIES(1, 50) AS g(n)"
    build(engine, f"{tables}; INSERT INTO t0 {rows.format('n % 3 = 0')}")
    build(engine, "; ".join(f"INSERT INTO t{n} {rows.format('1 + n * 7 % 50')}" for n in (1, 2, 5, 10, 20, 40, 41, 80)))
    began = process_time()
    found = suggest(engine, Wanted("t40", "a", "happened"))
    assert process_time() - began < 5
    assert {"a", "earlier_t40_count", "t80_mean_a", "t41_days_since"} <= names(engine, found, 50)


def test_nothing_is_related(engine: Engine) -> None:
    build(
        engine,
        """
        CREATE TABLE a (k INT, d DATE, x INT, y BOOLEAN); CREATE TABLE b (z INT, d DATE);
        INSERT INTO a SELECT n % 9, DATE '2024-01-01' + CAST(n % 50 AS INT), n * 7 % 5, n * n % 7 > 3
            FROM GENERATE_SERIES(1, 200) AS g(n);
        INSERT INTO b SELECT n, DATE '2024-01-01' FROM GENERATE_SERIES(1, 9) AS g(n)
        """,
    )
    assert names(engine, suggest(engine, Wanted("a", "y", "d")), 200) == {"y", "k", "x"}
    mine = suggest(engine, Wanted("a", "y", "d", entity=("k",), windows=()))
    assert {"earlier_a_count", "earlier_a_mean_x", "earlier_a_last_x"} <= names(engine, mine, 200)


def test_empty_tables(engine: Engine) -> None:
    build(
        engine,
        """
        CREATE TABLE c (id INT PRIMARY KEY, x INT); CREATE TABLE v (c_id INT REFERENCES c (id), day DATE, m INT);
        CREATE TABLE o (id INT, c_id INT REFERENCES c (id), day DATE, y BOOLEAN)
        """,
    )
    names(engine, suggest(engine, Wanted("o", "y", "day")), 0)


@pytest.mark.slow
def test_two_keys_to_one_table_and_one_to_itself(engine: Engine) -> None:
    build(
        engine,
        """
        CREATE TABLE people (id INT PRIMARY KEY, boss INT REFERENCES people (id), age INT);
        CREATE TABLE mails (id INT PRIMARY KEY, sender INT REFERENCES people (id), receiver INT REFERENCES people (id),
            sent DATE, length INT, y BOOLEAN);
        INSERT INTO people VALUES (0, NULL, 50);
        INSERT INTO people SELECT n, 0, n % 5 FROM GENERATE_SERIES(1, 30) AS g(n);
        INSERT INTO mails SELECT n, n % 30, n * 7 % 30, DATE '2024-01-01' + CAST(n % 70 AS INT), n * 11 % 17, n % 2 = 0
            FROM GENERATE_SERIES(1, 300) AS g(n)
        """,
    )
    found = suggest(engine, Wanted("mails", "y", "sent"))
    made = names(engine, found, 300)
    assert {"people_age", "earlier_mails_mean_length", "earlier_mails_2_mean_length"} <= made
    assert found.questions == ("people has no time, so its rows may be of before or after: when is a row of it known?",)


def test_odd_names_in_a_view(engine: Engine) -> None:
    build(
        engine,
        """
        CREATE TABLE "Cust omer" ("Id" INT PRIMARY KEY, "SELECT" INT);
        CREATE TABLE base ("Id" INT, "Cust omer_Id" INT, "When""x" TIMESTAMP, "Y y" TEXT, "group" INT, "c -- */" TEXT);
        INSERT INTO "Cust omer" SELECT n, n * n % 7 FROM GENERATE_SERIES(0, 9) AS g(n);
        INSERT INTO base SELECT n, n % 10, TIMESTAMP '2024-01-01' + n % 150 * INTERVAL '1 hour',
            CASE WHEN n * n % 7 > 3 THEN 'ye''s' ELSE 'no' END, n % 5,
            CASE n % 3 WHEN 0 THEN 'a"' WHEN 1 THEN '*/ b' END
            FROM GENERATE_SERIES(1, 200) AS g(n);
        CREATE VIEW "Or ders" AS SELECT * FROM base
        """,
    )
    found = suggest(engine, Wanted("Or ders", "Y y", 'When"x', tables=("Cust omer",)))
    made = names(engine, found, 200)
    assert {"Y y", "group", "c -- */", "cust_omer_select", "earlier_or_ders_share_c_a"} <= made


@pytest.mark.parametrize("entity", [(), ("user_id",)])
def test_times_that_are_numbers(engine: Engine, entity: tuple[str, ...]) -> None:
    build(
        engine,
        """
        CREATE TABLE o (user_id INT, t INT, y INT, z INT); CREATE TABLE e (user_id INT, t INT, w INT);
        CREATE TABLE timeless (user_id INT, q INT);
        INSERT INTO o SELECT n % 7, CASE WHEN n % 5 > 0 THEN n END, n % 2, n * 5 % 11
            FROM GENERATE_SERIES(1, 300) AS g(n);
        INSERT INTO e SELECT n % 7, n % 290, n % 13 FROM GENERATE_SERIES(1, 900) AS g(n);
        INSERT INTO timeless SELECT n % 7, n FROM GENERATE_SERIES(1, 50) AS g(n)
        """,
    )
    found = suggest(engine, Wanted("o", "y", "t", entity=entity, windows=("50",)))
    made = names(engine, found, 300)
    assert ({"e_since", "e_mean_w_50", "earlier_o_count"} <= made) == bool(entity)
    assert bool(found.questions) == bool(entity)
