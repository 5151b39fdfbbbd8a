"""Conditions of order between relations that meet many-to-many: a bridge has the pairs that the database finds."""

from collections import Counter
from io import StringIO

import numpy as np
import pytest

from sqlsvm.ask.explain import explain
from sqlsvm.ask.inspect import inspect
from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.query.read_query import read_query
from sqlsvm.query.rows import render
from sqlsvm.show.inspection import draw
from sqlsvm.show.plan import draw_plan
from sqlsvm.show.training import draw_certificate
from tests.ground.trained import training
from tests.typed import asked, run

pytestmark = pytest.mark.twin

CONDITIONS = (
    "v.c = o.c AND v.lo < o.lo",
    "v.c = o.c AND o.lo >= v.hi",
    "v.lo > o.hi",
    "v.c = o.c AND o.lo < v.hi AND v.lo < o.hi",
    "v.c = o.c AND v.lo BETWEEN o.lo - 2 AND o.hi",
    "v.c = o.c AND o.lo BETWEEN v.lo AND 7",
    "v.c = o.c AND v.lo < o.lo AND v.hi <= o.hi",
    "v.c = o.c AND v.lo BETWEEN o.lo - 3 AND o.lo AND o.hi > v.hi AND o.hi <= v.hi + 4",
)


def world(engine: Engine, seed: int) -> None:
    """With NULLs and ties; in one world v is empty, in others one of the relations is much larger."""
    rng = np.random.default_rng(seed)
    most = int(rng.integers(3, 14))
    for name, size in zip("ovw", [(12, 0, 9), (30, 25, 12), (10, 150, 9), (120, 8, 9)][seed % 4], strict=True):
        run(
            engine,
            f"CREATE TABLE {name} (id INT, c BIGINT, lo INT, hi {'BIGINT' if name == 'o' else 'INT'}, y BOOLEAN)",
        )
        drawn = rng.integers(-1, [4, most, most], (size, 3)).tolist()
        values = (", ".join("NULL" if n < 0 else str(n) for n in row) for row in drawn)
        made = ", ".join(f"({i}, {each}, {i % 2 == 0})" for i, each in enumerate(values))
        if made:
            run(engine, f"INSERT INTO {name} VALUES {made}")


def check(engine: Engine, text: str, bridged: int | None = 1) -> None:
    query = read_query(engine, text, label="y")
    assert bridged is None or sum(" nodes " in r.alias for r in query.relations) == 2 * bridged, text
    assert rows(engine.fetch(render(query))) == rows(asked(engine, text)), text


def rows(found: dict[str, np.ndarray]) -> Counter[tuple[object, ...]]:
    names = sorted(found)
    return Counter(zip(*(found[name].tolist() for name in names), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_pairs(engine: Engine, seed: int) -> None:
    world(engine, seed)
    for condition in CONDITIONS:
        check(engine, f"SELECT o.y, o.id, v.id AS other FROM o JOIN v ON {condition}", bridged=1 if seed else None)


def test_other_conditions(engine: Engine) -> None:
    """The database joins what is no interval on two lines."""
    world(engine, 1)
    for condition in ("v.c = o.c AND v.lo <> o.hi", "o.lo <= v.hi AND o.hi > v.lo AND v.id < o.id"):
        check(engine, f"SELECT o.y, o.id, v.id AS other FROM o JOIN v ON {condition}", 0)


@pytest.mark.parametrize("seed", [1, 3])
def test_several_edges(engine: Engine, seed: int) -> None:
    """A chain and a star."""
    world(engine, seed)
    select = "SELECT o.y, o.id, v.id AS other, w.id AS third FROM o JOIN v ON v.c = o.c AND v.lo < o.lo JOIN w ON"
    check(engine, f"{select} w.c = v.c AND w.lo BETWEEN v.lo - 2 AND v.lo", 2)
    check(engine, f"{select} w.c = o.c AND w.hi > o.hi", 2)


def test_names_that_postgresql_would_cut(postgres: Engine) -> None:
    """The nodes of a relation have its name and more, which may be longer than 63 bytes."""
    world(postgres, 1)
    o, v = "o" * 63, "v" * 63
    check(postgres, f"SELECT {o}.y, {v}.id FROM o AS {o} JOIN v AS {v} ON {v}.lo < {o}.hi", None)


def test_it_is_an_edge(duckdb: Engine) -> None:
    """inspect and explain draw no relation that the query does not have."""
    world(duckdb, 1)
    text = f"SELECT o.y, o.id, v.id AS other FROM o JOIN v ON {CONDITIONS[0]}"
    for drawn in (
        draw(inspect(duckdb, text, label="y"), StringIO()),
        draw_plan(explain(duckdb, text, training(label="y")), StringIO()),
    ):
        assert "on v.lo < o.lo (" in drawn
        assert " entries)" in drawn
        assert "2 bags: 1 (o), 2 (v)" in drawn
        assert "nodes" not in drawn.split("phase")[0]


def test_a_join_that_was_made(duckdb: Engine) -> None:
    world(duckdb, 1)
    made, never = "SELECT DISTINCT o.y, o.id, v.id AS other FROM o JOIN v USING (c)", "SELECT o.y, v.id FROM o, v"
    for text, said in ((made, "; the database made it"), (never, "; it was never made")):
        (model,) = trained(duckdb, text, {"m": training(in_memory=0, tol=0.1)})
        assert said in draw_certificate(model, "", StringIO())


def test_training(engine: Engine) -> None:
    world(engine, 1)
    text = f"SELECT o.y, o.lo, o.hi, v.lo + v.hi AS both FROM o JOIN v ON {CONDITIONS[7]} WHERE v.lo IS NOT NULL"
    run(engine, f"CREATE TABLE flat AS {text}")
    options = {"m": training(in_memory=0, max_passes=40, tol=1e-4)}
    (model,), (flat,) = (trained(engine, each, options) for each in (text, 'SELECT y, lo, hi, "both" FROM flat'))
    assert model.objective == pytest.approx(flat.objective, rel=2e-4)
