"""What `describe` says of the columns, next to the rows of the join."""

import io

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.ask.describe import as_json, describe
from sqlsvm.ask.inspect import inspect
from sqlsvm.ask.remarks import remarks
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import DataError
from sqlsvm.show.description import draw
from tests.ground.described import compared
from tests.ground.opened import build
from tests.ground.schemas import random_world
from tests.typed import asked, meant, typed

pytestmark = pytest.mark.twin

TABLES = """
CREATE TABLE f (k INT, y FLOAT8, x FLOAT8, twin FLOAT8, c TEXT, w INT);
CREATE TABLE g (k INT, z FLOAT8, part FLOAT8);
INSERT INTO f VALUES (1, 3, 1, 2, 'a', 1), (1, 5, 2, 4, 'b', 0), (2, 4, 7, 14, 'a', 2), (2, 9, 3, 6, NULL, 1);
INSERT INTO g VALUES (1, 0.5, 1), (1, 1.5, NULL), (2, 4, 3), (2, 5, NULL), (3, 9, 9)"""
QUERY = "SELECT f.y, f.x, f.twin, f.c, g.z, f.x - g.z AS s, f.x + g.part AS t FROM f JOIN g ON g.k = f.k"


@pytest.mark.parametrize("seed", range(900, 906))
def test_random_worlds(shared_engine: Engine, seed: int) -> None:
    with random_world(np.random.default_rng(seed), max_relations=4).created(shared_engine) as live:
        compared(shared_engine, live)


def test_offloaded_it_is_the_same(postgres: Engine) -> None:
    with random_world(np.random.default_rng(907), max_relations=3).created(postgres) as live:
        compared(postgres, live, offload=True)


@pytest.mark.twin(False)
def test_a_label_that_is_a_number_and_a_sum(engine: Engine) -> None:
    build(engine, TABLES)
    found = describe(engine, QUERY, label="y")
    rows = _numbers(engine)
    by_name = {f.name: f for f in found.features}
    assert (found.rows, found.label, found.classes) == (8.0, "y", False)
    for name in ("x", "z", "s"):
        f = by_name[name]
        assert f.mean == pytest.approx(rows[name].mean())
        assert f.deviation == pytest.approx(rows[name].std())
        assert f.correlation == pytest.approx(np.corrcoef(rows[name], rows["y"])[0, 1])
    assert (by_name["s"].least, by_name["s"].quantiles) == (None, {})
    assert (by_name["t"].mean, by_name["t"].correlation) == (None, None)
    assert [(c.value, c.rows, c.label_mean) for c in by_name["c"].categories] == [("a", 4, 3.5), ("b", 2, 5.0)]
    a, b = 3.5, 5.0
    y = np.array([3, 3, 5, 5, 4, 4])
    between = np.sqrt((4 * (a - y.mean()) ** 2 + 2 * (b - y.mean()) ** 2) / 6)
    assert by_name["c"].correlation == pytest.approx(between / y.std())
    assert as_json(found)["correlations"]["matrix"][0][1] == pytest.approx(1.0)


def _numbers(engine: Engine) -> Rows:
    query = parse_one(QUERY, read=engine.dialect)
    assert isinstance(query, exp.Query)
    rows = asked(engine, query)
    return {name: rows[name].astype(float) for name in ("y", "x", "z", "s")}


@pytest.mark.twin(False)
def test_rows_of_a_weight_count_so_often(engine: Engine) -> None:
    build(engine, TABLES)
    found = describe(engine, "SELECT f.y, f.x, f.w, g.z FROM f JOIN g ON g.k = f.k", label="y", weight="w")
    x = found.features[0]
    assert found.rows == 8.0  # 2 x 1 + 2 x 0 + 2 x 2 + 2 x 1
    values = np.array([1, 1, 7, 7, 7, 7, 3, 3])
    assert x.mean == pytest.approx(np.mean(values))
    assert (x.least, x.largest) == (1.0, 7.0)
    typed(engine, "UPDATE f SET w = -1 WHERE x = 7")
    with pytest.raises(DataError, match="the weight w is negative, NaN or infinite in 2 rows of the join"):
        describe(engine, "SELECT f.y, f.x, f.w, g.z FROM f JOIN g ON g.k = f.k", label="y", weight="w")


def test_numbers_that_are_none_are_left_out_and_counted(engine: Engine) -> None:
    build(engine, TABLES)
    typed(engine, "UPDATE f SET x = CAST('NaN' AS FLOAT8) WHERE x = 7")
    typed(engine, "UPDATE f SET x = 1e300 WHERE x = 3")
    found = describe(engine, QUERY)
    (x,) = (f for f in found.features if f.name == "x")
    assert (x.odd, x.mean, x.least, x.largest) == (4.0, 1.5, 1.0, 2.0)
    assert "x is NaN, infinite or beyond 1e100 in 4 rows" in draw(found, io.StringIO())


def test_an_empty_join_has_nothing_to_say(engine: Engine) -> None:
    build(engine, TABLES)
    found = describe(engine, QUERY + " WHERE f.k = 3", label="y")
    assert found.rows == 0
    assert {f.mean for f in found.features} == {None}
    assert as_json(found)["features"][2]["categories"] == []
    assert "The join has 0 rows" in draw(found, io.StringIO())


def test_inspect_names_features_that_are_nearly_the_same(engine: Engine) -> None:
    build(engine, TABLES)
    (pair,) = inspect(engine, QUERY).alike
    assert pair.said == "x and twin are nearly the same: their correlation is 1"


def test_inspect_compares_no_more_than_a_hundred_numbers(duckdb: Engine) -> None:
    build(duckdb, f"CREATE TABLE f ({', '.join(f'x{n} FLOAT8' for n in range(101))})")
    typed(duckdb, f"INSERT INTO f VALUES ({', '.join('1' * 101)}), ({', '.join('2' * 101)})")
    note = "more than 100 numbers were not compared with each other: describe() does that"
    found = inspect(duckdb, "SELECT * FROM f")
    assert (found.alike, ("note", note) in remarks(found)) == ((), True)
    fewer = inspect(duckdb, "SELECT x1, x2, x3 FROM f")
    assert (len(fewer.alike), ("note", note) in remarks(fewer)) == (3, False)


@pytest.mark.slow
def test_many_columns_take_several_statements(duckdb: Engine) -> None:
    rng = np.random.default_rng(0)
    build(duckdb, f"CREATE TABLE f ({', '.join(f'x{n} FLOAT8' for n in range(60))})")
    rows = {f"x{n}": rng.normal(n, 1.0, 50) for n in range(60)}
    duckdb.copy_in(meant(duckdb, "f"), rows)
    found = describe(duckdb, "SELECT * FROM f")
    np.testing.assert_allclose(found.correlations, np.corrcoef(np.array(list(rows.values()))), atol=1e-9)


def test_a_label_of_several_classes_is_a_column_like_others(engine: Engine) -> None:
    build(engine, TABLES)
    typed(engine, "INSERT INTO f VALUES (2, 9, 3, 6, 'c', 1)")
    found = describe(engine, "SELECT f.c, f.x, g.z FROM f JOIN g ON g.k = f.k", label="c")
    assert (found.label, found.compared) == ("c", None)
    assert [f.correlation for f in found.features] == [None, None, None]
    assert [(c.value, c.rows) for c in found.features[-1].categories] == [("a", 4), ("b", 2), ("c", 2)]
    assert "with label" not in draw(found, io.StringIO())
