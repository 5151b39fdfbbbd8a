"""Principal components of a join, next to those of scikit-learn on its rows."""

import io

import numpy as np
import pytest

from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import DataError, OptionError
from sqlsvm.options import Scale
from sqlsvm.run.components import as_json, components
from sqlsvm.show.description import draw_components
from tests.ground.described import agrees, compared_components
from tests.ground.opened import build
from tests.ground.schemas import random_world
from tests.typed import meant, typed

pytestmark = pytest.mark.twin


@pytest.mark.parametrize("seed", range(930, 934))
@pytest.mark.parametrize("scale", ["standard", "none"])
def test_components_of_random_worlds(shared_engine: Engine, seed: int, scale: Scale) -> None:
    with random_world(np.random.default_rng(seed), max_relations=3).created(shared_engine) as live:
        compared_components(shared_engine, live, scale)


TABLES = """CREATE TABLE f (k INT, y INT, x FLOAT8, z FLOAT8, b BOOLEAN, c TEXT); CREATE TABLE g (k INT, v FLOAT8)"""
QUERY = "SELECT f.y, f.x, f.z, f.b, f.c, g.v, f.x - 2 * g.v AS s FROM f JOIN g ON g.k = f.k"


def made(engine: Engine) -> Values:
    rng = np.random.default_rng(4)
    build(engine, TABLES)
    k, b = rng.integers(0, 5, 40), rng.random(40) < 0.3
    x = rng.normal(5.0, 2.0, 40)
    z = x + rng.normal(size=40)
    engine.copy_in(meant(engine, "f"), {"k": k, "y": b.astype(int), "x": x, "z": z, "b": b, "c": np.full(40, "a")})
    other = rng.integers(0, 5, 15)
    v = rng.normal(size=15) + other
    engine.copy_in(meant(engine, "g"), {"k": other, "v": v})
    i, j = (k[:, None] == other[None, :]).nonzero()
    return np.column_stack([x[i], z[i], b[i], v[j], x[i] - 2 * v[j]])


@pytest.mark.parametrize("scale", ["standard", "none"])
def test_many_to_many_with_a_sum(engine: Engine, scale: Scale) -> None:
    rows = made(engine)
    found = components(engine, QUERY, k=5, label="y", scale=scale)
    assert list(found.means) == ["x", "z", "b", "v", "s"]
    agrees(found, rows)
    assert "share" in draw_components(found, io.StringIO())
    assert sum(c["ratio"] for c in as_json(found)["components"]) == pytest.approx(1.0)


def test_it_takes_nulls_as_a_training_does(engine: Engine) -> None:
    rows = made(engine)
    text = "SELECT f.y, f.x, f.z, g.v FROM f JOIN g ON g.k = f.k"
    typed(engine, "UPDATE f SET x = NULL WHERE z > 6")
    x = np.where(rows[:, 1] > 6, np.nan, rows[:, 0])
    rows = np.column_stack([x, rows[:, 1], rows[:, 3]])
    with pytest.raises(DataError, match="feature x is NULL in"):
        components(engine, text, label="y", nulls="error")
    agrees(components(engine, text, k=3, label="y", nulls="drop"), rows[~np.isnan(x)])
    rows[np.isnan(x), 0] = np.nanmean(x)
    agrees(components(engine, text, k=3, label="y"), rows)


def test_what_it_refuses(duckdb: Engine) -> None:
    made(duckdb)
    with pytest.raises(OptionError, match="maxabs cannot scale s"):
        components(duckdb, QUERY, label="y", scale="maxabs")
    with pytest.raises(OptionError, match="no feature that is a number"):
        components(duckdb, "SELECT f.y, f.c FROM f", label="y")
    with pytest.raises(DataError, match="the join has no rows"):
        components(duckdb, f"{QUERY} WHERE f.k > 9", label="y")


def test_a_constant_has_no_part(duckdb: Engine) -> None:
    made(duckdb)
    typed(duckdb, "UPDATE f SET z = 7")
    found = components(duckdb, "SELECT f.x, f.z, g.v FROM f JOIN g ON g.k = f.k", k=3)
    assert [abs(c.loadings["z"]) < 1e-9 for c in found.components[:2]] == [True, True]
    assert found.variance == pytest.approx(2.0)
