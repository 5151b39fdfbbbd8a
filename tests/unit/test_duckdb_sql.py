"""How statements are spelled for the threads of DuckDB."""

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.duckdb_sql import BLOCK, PARTS, spelled


@pytest.fixture
def session() -> Iterator[duckdb.DuckDBPyConnection]:
    """A table of three columns, with ties and NULLs, whose rows do not fill their last block."""
    rows = f"SELECT i, i % 3 AS k, nullif(i % 101, 7) AS x FROM range({3 * BLOCK + 5}) AS r(i)"
    with duckdb.connect() as made:
        made.execute(f"CREATE TABLE t AS {rows}")
        yield made


def test_a_table_in_parts_has_all_of_its_rows_once(session: duckdb.DuckDBPyConnection) -> None:
    query = sql.select([(sql.count(), "n"), (sql.total(sql.column("i", "q")), "i")], sql.slowly_read("t", "q"))
    text = spelled(query).sql("duckdb")
    assert text.count("UNION ALL") == PARTS - 1
    assert session.execute(text).fetchall() == session.execute("SELECT COUNT(*), SUM(i) FROM t").fetchall()
    assert spelled(exp.select("*").from_("t")).sql("duckdb") == "SELECT * FROM t"
    assert "UNION" not in query.sql("duckdb"), "the statement itself has not changed"


def test_a_window_reads_the_same_rows_in_the_other_order(session: duckdb.DuckDBPyConnection) -> None:
    """Rows at the same place may come in any order, so the last column of the order tells them apart."""
    window = sql.window(sql.total(sql.column("i")), ["k"], ("x", "i"), running=True, descending=True)
    query = sql.select([(sql.column("i"), "i"), (window, "v")], exp.to_table("t")).order_by("i")
    text = spelled(query).sql("duckdb")
    assert "DESC" in query.sql("duckdb")
    assert "DESC" not in text
    wanted, found = (session.execute(each).fetchnumpy()["v"] for each in (query.sql("duckdb"), text))
    np.testing.assert_array_equal(found, wanted)
