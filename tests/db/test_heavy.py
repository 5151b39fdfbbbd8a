"""The keys that make most rows of a join, next to the rows of the join."""

import io

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.ask.explain import explain
from sqlsvm.ask.inspect import as_json, inspect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.show.inspection import draw
from sqlsvm.show.plan import draw_plan
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked, meant

TABLES = """
CREATE TABLE f (k INT, j TEXT, y INT, d INT); CREATE TABLE g (k INT, z FLOAT8);
CREATE TABLE h (j TEXT, d INT, v FLOAT8)"""
QUERY = """SELECT f.y, g.z, h.v FROM f JOIN g ON g.k = f.k JOIN h ON h.j = f.j AND h.d = f.d WHERE g.z > 0.1"""


def made(engine: Engine) -> None:
    """Keys with a heavy tail, some without a partner, some NULL."""
    rng = np.random.default_rng(8)
    build(engine, TABLES)
    letters = np.array(["a", "b", "c", "it's"])

    def heavy(n: int) -> np.ndarray:
        return np.minimum(rng.zipf(1.6, n), 12)

    f = {"k": heavy(200), "j": rng.choice(letters, 200, p=[0.6, 0.2, 0.1, 0.1]), "y": rng.integers(0, 2, 200)}
    engine.copy_in(meant(engine, "f"), f | {"d": rng.integers(0, 2, 200)})
    engine.copy_in(meant(engine, "g"), {"k": heavy(80), "z": rng.random(80)})
    engine.copy_in(meant(engine, "h"), {"j": rng.choice(letters, 30), "d": rng.integers(0, 3, 30), "v": rng.random(30)})


@pytest.mark.parametrize(("edge", "columns"), [("k", "f.k"), ("j", "f.j, f.d")])
def test_the_heaviest_keys_are_those_of_the_join(engine: Engine, edge: str, columns: str) -> None:
    made(engine)
    found = inspect(engine, QUERY, label="y", heavy=3)
    place = next(i for i, e in enumerate(as_json(found)["edges"]) if f'"{edge}"' in e["on"])
    heavy = found.heavy[place]
    counted = f"SELECT {columns}, COUNT(*) AS n {QUERY[QUERY.index('FROM') :]} GROUP BY {columns} ORDER BY n DESC"
    query = parse_one(counted, read=engine.dialect)
    assert isinstance(query, exp.Query)
    rows = asked(engine, query)
    *keys, sizes = rows.values()
    assert [k.rows for k in heavy.keys] == sizes[:3].tolist()
    wanted = {tuple(own[i] for own in keys): n for i, n in enumerate(sizes.tolist())}
    assert {k.key: k.rows for k in heavy.keys}.items() <= wanted.items()
    assert heavy.others == sizes[3:].sum()
    assert heavy.keys[0].share == pytest.approx(sizes[0] / sizes.sum())
    said = as_json(found)["edges"][place]
    assert said["rows_without_heavy"] == heavy.others
    assert said["heavy"][0]["rows"] == heavy.keys[0].rows
    assert "(the join without them)" in draw(found, io.StringIO())


def test_only_many_to_many_edges_have_some(engine: Engine) -> None:
    build(engine, "CREATE TABLE f (k INT, y INT); CREATE TABLE g (k INT PRIMARY KEY, z FLOAT8)")
    assert inspect(engine, "SELECT f.y, g.z FROM f JOIN g ON g.k = f.k", heavy=3).heavy == {}


def test_a_sketch_finds_them_too(duckdb: Engine) -> None:
    """The rows of each key are exact, and no other key has more than all the others together."""
    made(duckdb)
    exact, found = (inspect(duckdb, QUERY, label="y", heavy=3, approximate=sketched) for sketched in (False, True))
    for place, heavy in found.heavy.items():
        one_column = len(found.tree.edges[place].on) == 1
        assert heavy.approximate is one_column
        assert heavy.keys[0] == exact.heavy[place].keys[0]
        missed = set(exact.heavy[place].keys) - set(heavy.keys)
        assert all(k.rows <= heavy.others for k in missed)
    assert "(found by a sketch)" in draw(found, io.StringIO())


def test_not_every_database_has_a_sketch(postgres: Engine) -> None:
    made(postgres)
    with pytest.raises(OptionError, match="no sketch of frequent values"):
        inspect(postgres, QUERY, heavy=3, approximate=True)


def test_explain_shows_the_heaviest_key(engine: Engine) -> None:
    made(engine)
    found = explain(engine, QUERY, training(label="y"))
    for facts, columns, other in ((found.links[0], "k", "g"), (found.links[1], "j, d", "h")):
        own = [asked(engine, _counts(engine, table, columns)) for table in ("f", other)]
        sizes = [dict(zip(zip(*list(rows.values())[:-1], strict=True), rows["n"], strict=True)) for rows in own]
        pairs = {key: n * sizes[1].get(key, 0) for key, n in sizes[0].items()}
        assert facts.heaviest
        assert facts.heaviest.left * facts.heaviest.right == max(pairs.values()) == pairs[facts.heaviest.key]
        assert facts.heaviest.share == pytest.approx(max(pairs.values()) / sum(pairs.values()))
    assert "heaviest key" in draw_plan(found, io.StringIO())
    assert found.as_json()["links"][0]["heaviest"]["share"] > 0


def _counts(engine: Engine, table: str, columns: str) -> exp.Query:
    where = "WHERE z > 0.1" if table == "g" else ""
    query = parse_one(f"SELECT {columns}, COUNT(*) AS n FROM {table} {where} GROUP BY {columns}", read=engine.dialect)
    assert isinstance(query, exp.Query)
    return query
