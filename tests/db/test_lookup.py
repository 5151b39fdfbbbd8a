"""Partners that are looked up in memory are those that the database would join."""

from dataclasses import replace

import numpy as np
import pytest

from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import DataError
from sqlsvm.plan.preflight import ProblemOptions, planned
from sqlsvm.query.facts import Facts
from sqlsvm.run.opening import labelled
from sqlsvm.run.small import _joined, _looked_up, pays
from sqlsvm.run.workspace import workspace
from tests.ground.opened import build
from tests.ground.schemas import random_world
from tests.sized import sized

TABLES = """
CREATE TABLE f (k BIGINT, m INT, y INT, x FLOAT8, c TEXT); CREATE TABLE d (k SMALLINT, m INT, z FLOAT8, w INT);
CREATE TABLE e (k INT, v FLOAT8);
INSERT INTO f VALUES (1, 1, 1, 0.5, 'a'), (1, 2, 0, 1.5, 'b'), (2, 3, 1, NULL, 'a'), (3, NULL, 0, 2, NULL),
    (NULL, 1, 1, 3, 'b'), (4611686018427387904, 2, 0, 4, 'a'), (-4611686018427387904, 2, 0, 4, 'a'), (-3, 2, 1, 5, 'c');
INSERT INTO d VALUES (1, 7, 10, 2), (2, 8, 20, 0), (-3, 9, 30, 1), (9, 7, 40, 3), (NULL, 7, 50, 1);
INSERT INTO e VALUES (7, 100), (9, NULL), (8, 300), (2147483647, 400);
"""


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few numbers it saves."""
    sized(monkeypatch, sent=-np.inf)


def sorted_rows(rows: Rows) -> list[tuple[float, ...]]:
    """The rows in an order that their values give, where NULL and NaN are alike."""
    values = [rows[name].astype(float).tolist() for name in sorted(rows)]
    return sorted(zip(*values, strict=True), key=lambda row: [(v != v, 0.0 if v != v else v) for v in row])


def is_as_joined(engine: Engine, text: str, options: ProblemOptions) -> bool:
    """Can partners be looked up? Then the rows are checked."""
    with workspace(engine) as work:
        plan, catalog = planned(Facts(engine), labelled(engine, text, options), options)
        if not pays(plan, catalog, np.inf):
            return False
        found, wanted = _looked_up(work, plan), _joined(work, plan)
    wanted.pop("times" if "times" not in found else "", None)
    assert found.keys() == wanted.keys()
    assert np.array_equal(np.array(sorted_rows(found)), np.array(sorted_rows(wanted)), equal_nan=True)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("many_to_many", [False, True])
def test_random_worlds(shared_engine: Engine, always: None, many_to_many: bool) -> None:
    engine, seen = shared_engine, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        world = random_world(rng, min_relations=2, max_relations=4, many_to_many=many_to_many, left_joins=False)
        assert world.label
        options = ProblemOptions(world.label.name, nulls="mean")
        with world.created(engine) as live:
            try:
                seen += is_as_joined(engine, live.query(engine.dialect), options)
            except DataError:
                continue
    assert seen > 12


QUERIES = {
    "a star": "SELECT y, x, z FROM f JOIN d ON f.k = d.k",
    "a snowflake": "SELECT y, x, z, v FROM f JOIN d ON f.k = d.k JOIN e ON e.k = d.m",
    "categories": "SELECT y, x, c, z FROM f JOIN d ON f.k = d.k",
    "conditions": "SELECT y, x, z FROM f JOIN d ON f.k = d.k WHERE d.z > 10 AND f.x IS NOT NULL",
    "a table without features": "SELECT y, x FROM f JOIN d ON f.k = d.k",
    "the label elsewhere": "SELECT d.w > 1 AS y, x, z FROM f JOIN d ON f.k = d.k",
    "no partners": "SELECT y, x, z FROM f JOIN d ON f.k = d.k WHERE d.z > 99",
    "an expression of the key": "SELECT y, x, z, f.k AS key FROM f JOIN d ON f.k = d.k",
    "many to many": "SELECT f.y, f.x, v FROM f JOIN d ON f.m = d.w JOIN e ON e.k = d.m",
    "a table twice": "SELECT f.y, f.x, g.x AS other, z FROM f JOIN d ON f.k = d.k JOIN f g ON g.k = d.k",
    "a chain of three": "SELECT f.y, f.x, d.z, g.x AS far FROM f JOIN d ON f.m = d.w JOIN f g ON g.m = d.m - 6",
    "a hub": "SELECT f.y, f.x, d.z, g.x AS far FROM f JOIN d ON f.m = d.w JOIN f g ON g.m = d.w",
    "many to many without features": "SELECT f.y, f.x FROM f JOIN d ON f.m = d.w",
    "a copy of a table": "SELECT y, x, z FROM f JOIN (SELECT DISTINCT k, z FROM d) d ON f.k = d.k",
}


@pytest.fixture
def tables(engine: Engine, always: None) -> Engine:
    build(engine, TABLES)
    return engine


@pytest.mark.parametrize("name", QUERIES)
def test_every_shape(tables: Engine, name: str) -> None:
    assert is_as_joined(tables, QUERIES[name], ProblemOptions("y", nulls="mean"))


@pytest.mark.parametrize("options", [{"weight": "w"}, {"class_weight": (2.0, 3.0)}], ids=str)
def test_weights(tables: Engine, options: dict[str, object]) -> None:
    """Of any table, and of the classes. A row may weigh nothing."""
    asked = replace(ProblemOptions("y", nulls="mean"), **options)  # type: ignore[arg-type]
    assert is_as_joined(tables, "SELECT y, x, z, d.w FROM f JOIN d ON f.k = d.k", asked)


OTHERS = {
    "two columns": "SELECT y, x, z FROM f JOIN d ON f.k = d.k AND f.m = d.m",
    "a LEFT JOIN": "SELECT y, x, z FROM f LEFT JOIN d ON f.k = d.k",
    "text": "SELECT y, x, v FROM f JOIN (SELECT CAST(k AS TEXT) AS k, v FROM e) e ON f.c = e.k",
    "a number that is not whole": "SELECT y, x, v FROM f JOIN e ON f.x = e.k",
    "all pairs": "SELECT y, x, v FROM f CROSS JOIN e",
    "one table": "SELECT y, x FROM f",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_database_joins(tables: Engine, name: str) -> None:
    options = ProblemOptions("y", nulls="mean")
    plan, catalog = planned(Facts(tables), labelled(tables, OTHERS[name], options), options)
    assert not pays(plan, catalog, np.inf)


def test_it_has_to_save_numbers(engine: Engine) -> None:
    """Of 40,000 rows with 5 numbers of a table of 3 rows, at least 100,000."""
    assert Engine.sizes.sent == 100_000
    build(engine, "CREATE TABLE f (k INT, y INT); CREATE TABLE d (k INT, a INT, b INT, c INT, d INT, e INT)")
    build(engine, "INSERT INTO d VALUES (0, 1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 6), (2, 3, 4, 5, 6, 7)")
    build(engine, "INSERT INTO f SELECT i % 3, i % 2 FROM generate_series(1, 20000) AS s(i)")
    text, options = "SELECT y, a, b, c, d.d, e FROM f JOIN d ON f.k = d.k", ProblemOptions("y")
    assert not pays(*planned(Facts(engine), labelled(engine, text, options), options), 20_000)
    build(engine, "INSERT INTO f SELECT i % 3, i % 2 FROM generate_series(1, 20000) AS s(i)")
    assert pays(*planned(Facts(engine), labelled(engine, text, options), options), 40_000)
