"""The keys that make most rows of a join, with the sketch of Spark, next to DuckDB."""

import io

import pytest

from sqlsvm.ask.inspect import as_json, inspect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.show.inspection import draw
from tests.db.test_heavy import QUERY, made
from tests.spark.conftest import Move


@pytest.mark.parametrize("approximate", [False, True])
def test_heavy_keys(spark: Engine, duckdb: Engine, move: Move, approximate: bool) -> None:
    """A sketch finds the candidates, and messages count their rows: so these are exact. Here it keeps all keys."""
    made(duckdb)
    move("f", "g", "h")
    exact = inspect(duckdb, QUERY, label="y", heavy=4)
    found = inspect(spark, QUERY, label="y", heavy=4, approximate=approximate)
    assert found.heavy.keys() == exact.heavy.keys()
    for place, heavy in found.heavy.items():
        one_column = len(found.tree.edges[place].on) == 1
        assert heavy.approximate is (approximate and one_column)
        assert heavy.keys[0] == exact.heavy[place].keys[0]
        missed = set(exact.heavy[place].keys) - set(heavy.keys)
        assert not missed or heavy.approximate
        assert all(k.rows <= heavy.others for k in missed)
    assert ("(found by a sketch)" in draw(found, io.StringIO())) is approximate
    assert any("heavy" in edge for edge in as_json(found)["edges"])


def test_a_sketch_of_many_texts(spark: Engine, duckdb: Engine, move: Move) -> None:
    """More keys than it keeps, and the heaviest is none of the most frequent ones on one side."""
    for text in (
        "CREATE TABLE a AS SELECT 'k' || CASE WHEN i % 3 = 0 THEN i % 5 ELSE i END AS k, i % 2 = 0 AS y, i AS x "
        "FROM range(60000) AS r(i)",
        "CREATE TABLE b AS SELECT 'k' || CASE WHEN i % 4 = 0 THEN i % 6 ELSE i END AS k, i AS z "
        "FROM range(60000) AS r(i)",
    ):
        duckdb.execute(Text(text))
    move("a", "b")
    query = "SELECT a.y, a.x, b.z FROM a JOIN b ON b.k = a.k"
    (exact,), (found,) = (
        inspect(engine, query, label="y", heavy=3, approximate=engine is spark).heavy.values()
        for engine in (duckdb, spark)
    )
    assert found.keys == exact.keys
    assert found.others == exact.others
