"""Rows by the block, into an engine and out of it."""

from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.engine.base import Engine, StatementError, Values
from sqlsvm.engine.wire import COPY_BLOCK
from tests.ground.opened import build
from tests.typed import asked, meant, query

pytestmark = pytest.mark.each


def test_masked_cells_are_null(engine: Engine) -> None:
    build(engine, "CREATE TEMPORARY TABLE t (place INT, d DOUBLE PRECISION, i INT, b BOOLEAN)")
    columns = {
        "place": np.arange(3),
        "d": np.ma.MaskedArray([np.nan, 1.5, 9.0], mask=[False, False, True]),
        "i": np.ma.MaskedArray([7, 7, 3], mask=[True, False, False]),
        "b": np.ma.MaskedArray([True, False, True], mask=[False, True, False]),
    }
    engine.copy_in(meant(engine, "t"), columns)
    rows = asked(engine, query(engine, "SELECT *, d IS NULL AS no_d, i IS NULL AS no_i FROM t ORDER BY place"))
    assert rows["no_d"].tolist() == [False, False, True]
    assert rows["no_i"].tolist() == [True, False, False]
    assert np.isnan(rows["d"][0])
    assert (rows["d"][1], rows["i"][1], rows["b"][0], np.isnan(rows["b"][1])) == (1.5, 7, 1, True)


OUT = """\
SELECT CAST(n % 1000 AS SMALLINT) AS s, n AS i, CAST(n AS BIGINT) * 4000000000 AS l, CAST(n / 2.0 AS REAL) AS r,
  CAST(CASE WHEN n % 7 = 1 THEN NULL WHEN n % 7 = 2 THEN 'NaN' ELSE '-0.5' END AS DOUBLE PRECISION) AS d, n % 2 = 0 AS b
FROM numbers"""


def _joined(parts: list[Values]) -> "np.ma.MaskedArray[Any, Any]":
    masks = np.concatenate([np.ma.getmaskarray(part) for part in parts])
    return np.ma.MaskedArray(np.concatenate([np.ma.getdata(part) for part in parts]), mask=masks)


def numbers_up_to(engine: Engine, rows: int) -> None:
    build(engine, "CREATE TEMPORARY TABLE numbers (n INT)")
    engine.copy_in(meant(engine, "numbers"), {"n": np.arange(rows)})


@pytest.mark.parametrize("rows", [0, 1, 5, COPY_BLOCK, COPY_BLOCK + 3])
def test_copy_out(engine: Engine, rows: int) -> None:
    """Blocks with a NULL and without, full ones, and none."""
    numbers_up_to(engine, rows)
    blocks = [block for block in engine.copy_out(query(engine, OUT)) if len(block["s"])]
    assert sum(len(block["s"]) for block in blocks) == rows
    if rows:
        found = {name: _joined([block[name] for block in blocks]) for name in blocks[0]}
        n = np.arange(rows)
        whole = {"s": n % 1000, "i": n, "l": n * 4_000_000_000, "r": n / 2, "b": n % 2 == 0}
        assert list(found) == ["s", "i", "l", "r", "d", "b"]
        assert [name for name, values in whole.items() if not np.array_equal(found[name].data, values)] == []
        assert np.array_equal(np.ma.getmaskarray(found["d"]), n % 7 == 1)
        assert np.array_equal(np.isnan(found["d"].filled(1.0)), n % 7 == 2)


def test_what_is_copied_out_can_be_copied_in(postgres: Engine, duckdb: Engine) -> None:
    numbers_up_to(postgres, 100)
    build(duckdb, "CREATE TABLE t (s SMALLINT, i BIGINT, l BIGINT, r DOUBLE PRECISION, d DOUBLE PRECISION, b BOOLEAN)")
    for block in postgres.copy_out(query(postgres, OUT)):
        duckdb.copy_in(exp.to_table("t"), block)
    there, here = (e.fetch(query(e, text)) for e, text in ((postgres, OUT), (duckdb, "SELECT * FROM t")))
    for name, values in there.items():
        assert np.array_equal(here[name], values, equal_nan=values.dtype.kind == "f")


def test_times_are_copied_out_as_integers(postgres: Engine) -> None:
    text = """SELECT CAST('2000-01-03' AS DATE) AS d, CAST('00:00:01' AS TIME) AS t,
        CAST('2000-01-01 00:00:02.000003' AS TIMESTAMP) AS ts, CAST('2000-01-01 01:00:00+01' AS TIMESTAMPTZ) AS tz"""
    (block,) = postgres.copy_out(query(postgres, text))
    assert [values.tolist() for values in block.values()] == [[2], [1_000_000], [2_000_003], [0]]


@pytest.mark.parametrize("at", [0, 10, COPY_BLOCK])
def test_an_error_on_the_way_out_is_told(postgres: Engine, at: int) -> None:
    numbers_up_to(postgres, 2 * COPY_BLOCK)
    with pytest.raises(StatementError, match="division by zero") as caught:
        list(postgres.copy_out(query(postgres, f"SELECT 1 / (n - {at}) AS x FROM numbers")))
    assert caught.value.kind == "value"
    assert asked(postgres, query(postgres, "SELECT 1 AS one"))["one"].tolist() == [1]


def test_a_copy_out_may_be_left_early(postgres: Engine) -> None:
    numbers_up_to(postgres, 3 * COPY_BLOCK)
    for _ in postgres.copy_out(query(postgres, OUT)):
        break
    assert asked(postgres, query(postgres, "SELECT 1 AS one"))["one"].tolist() == [1]
