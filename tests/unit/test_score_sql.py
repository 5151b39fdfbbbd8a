"""The scoring expression as text."""

import math
import random
import struct
from dataclasses import replace

import duckdb
import pytest
from sqlglot import exp, parse_one

from sqlsvm.model.literals import exact
from sqlsvm.model.predict import score_sql
from sqlsvm.model.score import prediction
from tests.ground.modelled import category, modelled, number
from tests.ground.names import EVIL_NAMES, EVIL_TEXTS

HALF = "CAST(0.5e0 AS DOUBLE PRECISION)"
ONE = "CAST(1.0e0 AS DOUBLE PRECISION)"
ZERO = "CAST(0.0e0 AS DOUBLE PRECISION)"


def test_numbers_and_categories() -> None:
    model = modelled([number("distance", -0.1), category("carrier", "UA", 0.5), category("carrier", "o'k", 1)], 1)
    assert score_sql(model) == (
        f'{ONE} + CAST(-0.1e0 AS DOUBLE PRECISION) * CAST("distance" AS DOUBLE PRECISION)'
        f" + CASE \"carrier\" WHEN 'UA' THEN {HALF} WHEN 'o''k' THEN {ONE} ELSE {ZERO} END"
    )


def test_a_comment_names_another_zone_than_utc() -> None:
    made = modelled([number("distance", 0.5)], 1)
    for zone, said in (
        ("Asia/Tokyo", " /* for a session in the time zone Asia/Tokyo */"),
        ("Etc/UTC", ""),
        ("*/ x", ""),
    ):
        known = replace(made, trained_on=replace(made.trained_on, zone=zone))
        assert score_sql(known) == score_sql(made) + said
        assert parse_one(score_sql(known)) == parse_one(score_sql(made))


def test_every_dialect_gets_its_own_text() -> None:
    model = modelled([number("x", 0.5)])
    assert score_sql(model, "duckdb") == 'CAST(0.0e0 AS DOUBLE) + CAST(0.5e0 AS DOUBLE) * CAST("x" AS DOUBLE)'


def test_missing_numbers_are_their_mean() -> None:
    assert score_sql(modelled([number("x", 1, missing=0.5)], nulls="mean")) == (
        f'{ZERO} + {ONE} * COALESCE(CAST("x" AS DOUBLE PRECISION), {HALF})'
    )


def test_without_a_category_there_is_no_score_where_such_rows_were_dropped() -> None:
    assert score_sql(modelled([category("c", "a", 0.5)], nulls="drop")) == (
        f'{ZERO} + CASE WHEN NOT "c" IS NULL THEN CASE "c" WHEN \'a\' THEN {HALF} ELSE {ZERO} END END'
    )


def test_booleans() -> None:
    model = modelled([number("late", 0.5)], trained_on={"booleans": ["late"]})
    one, zero = "CAST(1.0 AS DOUBLE PRECISION)", "CAST(0.0 AS DOUBLE PRECISION)"
    assert score_sql(model) == f'{ZERO} + {HALF} * CASE WHEN "late" THEN {one} WHEN NOT "late" THEN {zero} END'


@pytest.mark.parametrize(
    ("output", "feature", "operand"),
    [
        ("2013 - p.year AS age", "age", "2013 - p.year"),
        ("p.year", "year", "p.year"),
        ("p.year::int", "year", "CAST(p.year AS INT)"),
        ("p.year AS Age", "age", "p.year"),
        ('p.year AS "Age"', "Age", "p.year"),
        ("2013 - p.year", "2013 - p.year", "2013 - p.year"),
        ("*", "year", '"year"'),
        ("p.*", "year", '"year"'),
    ],
)
def test_over_the_expressions_of_the_query(output: str, feature: str, operand: str) -> None:
    model = modelled([number(feature, 0.5)], query=f"SELECT y, {output} FROM p")
    assert score_sql(model, of="query") == f"{ZERO} + {HALF} * CAST({operand} AS DOUBLE PRECISION)"


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
def test_evil_names_and_values_stay_one_expression(dialect: str) -> None:
    """Read back, the text has the same columns and the same literals, and nothing else."""
    weights = [number(name, 1.0) for name in EVIL_NAMES] + [category("c", text, 1.0) for text in EVIL_TEXTS]
    tree = parse_one(score_sql(modelled(weights), dialect), read=dialect)
    columns = {column.name for column in tree.find_all(parse_one("x").__class__)}
    assert columns == {*EVIL_NAMES, "c"}
    assert tree.sql(dialect=dialect) == score_sql(modelled(weights), dialect)


def test_many_terms() -> None:
    """As many as a wide table has columns: text is made without recursion."""
    text = score_sql(modelled([number(f"x{i}", 1.0) for i in range(1500)]))
    assert text.count(" + ") == 1500


def test_doubles_come_back_to_the_last_bit() -> None:
    rng = random.Random(0)
    drawn = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(300)] + [rng.gauss(0, 1) for _ in range(300)]
    doubles = [d for d in drawn if math.isfinite(d)] + [
        0.1,
        1 / 3,
        5e-324,
        1.7976931348623157e308,
        -123456789.123456789,
    ]
    with duckdb.connect() as connection:
        texts = ", ".join(exact(d).sql("duckdb") for d in doubles)
        rows = connection.execute(f"SELECT UNNEST([{texts}])").fetchall()
    assert [row[0] for row in rows] == doubles


def test_no_prediction_of_nan() -> None:
    """Both engines say that NaN is above 0."""
    found = prediction(exp.column("s"), ("no", "yes")).sql("postgres")
    assert found == "CASE WHEN s <= 0 THEN 'no' WHEN s < CAST('NaN' AS DOUBLE PRECISION) THEN 'yes' END"
    with duckdb.connect() as connection:
        scores = "UNNEST([1, 0, -1, 'Infinity'::DOUBLE, '-Infinity'::DOUBLE, 'NaN'::DOUBLE, NULL])"
        rows = connection.execute(f"SELECT {found} FROM (SELECT {scores} AS s)").fetchall()
    assert [row[0] for row in rows] == ["yes", "no", "no", "yes", "no", None, None]
