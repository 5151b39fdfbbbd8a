"""The same data told otherwise gives the same numbers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.oracle import Cut
from tests.ground.opened import Wish, build, opened
from tests.ground.schemas import World, random_world

pytestmark = pytest.mark.slow

BUCKETS = 5


def cuts(engine: Engine, world: World, wish: Wish) -> list[Cut] | None:
    """Cuts at a few points; None where the join is empty."""
    assert world.label
    rng = np.random.default_rng(0)
    with world.created(engine) as live, workspace(engine) as work:
        found = opened(work, live.query(engine.dialect), replace(wish, label=world.label.name))
        return [found.cut(found.normal(rng), BUCKETS) for _ in range(2)] if len(found.truth.y) else None


def non_empty(engine: Engine, seed: int, wish: Wish) -> tuple[World, list[Cut]]:
    """The first world from that seed on whose join has rows."""
    while True:
        world = random_world(np.random.default_rng(seed), max_relations=4, many_to_many=True)
        found = cuts(engine, world, wish)
        if found:
            return world, found
        seed += 1000


def assert_same(found: Sequence[Cut] | None, wanted: Sequence[Cut]) -> None:
    assert found
    for a, b in zip(found, wanted, strict=True):
        assert a.offset == pytest.approx(b.offset, rel=1e-12)
        assert a.value_low == pytest.approx(b.value_low, rel=1e-12, abs=1e-14)
        assert a.error == pytest.approx(b.error, rel=1e-12, abs=1e-14)
        np.testing.assert_allclose(a.slope, b.slope, rtol=1e-12, atol=1e-14)


def permuted(world: World, rng: np.random.Generator) -> World:
    tables = (replace(t, rows=tuple(t.rows[i] for i in rng.permutation(len(t.rows)))) for t in world.tables)
    return replace(world, tables=tuple(tables))


@pytest.mark.parametrize("seed", range(2))
def test_rows_have_no_order(shared_engine: Engine, seed: int) -> None:
    wish = Wish(method="grid" if seed % 2 else "exact")
    world, wanted = non_empty(shared_engine, seed, wish)
    found = cuts(shared_engine, permuted(world, np.random.default_rng(seed)), wish)
    assert_same(found, wanted)


@pytest.mark.parametrize("seed", range(10, 12))
def test_copies_and_merged_rows_are_as_good(shared_engine: Engine, seed: int) -> None:
    wish = Wish(method="exact" if seed % 2 else "grid")
    world, wanted = non_empty(shared_engine, seed, wish)
    for other in (replace(wish, copied=True), replace(wish, merged=True)):
        assert_same(cuts(shared_engine, world, other), wanted)


# -- one small database, told in several ways ----------------------------------------------------------------------

LEFT = [(1, 0.5, 2), (1, -1.25, 1), (2, 2.0, 3), (3, 7.0, 1)]
MIDDLE = [(1, 1, 1, 0.25), (1, 2, -1, 1.0), (2, 2, 1, -0.5), (2, 1, -1, 0.0), (1, 1, 1, 0.25)]
RIGHT = [(1, "a", 1), (2, "b", 2), (2, "a", 1), (2, "b", 2)]


def values(rows: Sequence[Sequence[object]]) -> str:
    return ", ".join(f"({', '.join(repr(v) for v in row)})" for row in rows)


def repeated(rows: Sequence[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Each row as often as its last column says, which then says 1."""
    return [(*row[:-1], 1) for row in rows for _ in range(int(str(row[-1])))]


def told(engine: Engine, left: Sequence[tuple[object, ...]], right: Sequence[tuple[object, ...]], wish: Wish) -> Cut:
    build(
        engine,
        f"""
        DROP TABLE IF EXISTS l; DROP TABLE IF EXISTS m; DROP TABLE IF EXISTS r;
        CREATE TABLE l (i INT, x FLOAT, w INT); INSERT INTO l VALUES {values(left)};
        CREATE TABLE m (i INT, j INT, y INT, x FLOAT); INSERT INTO m VALUES {values(MIDDLE)};
        CREATE TABLE r (j INT, v TEXT, w INT); INSERT INTO r VALUES {values(right)}
        """,
    )
    text = "SELECT m.y, m.x AS mx, l.x AS lx, r.v, l.w FROM l JOIN m ON m.i = l.i JOIN r ON r.j = m.j"
    with workspace(engine) as work:
        found = opened(work, text, replace(wish, weight="w"))
        return found.cut(found.normal(np.random.default_rng(0)), BUCKETS)


@pytest.mark.parametrize("wish", [Wish(scale="standard"), Wish("y", "grid", merged=True)])
def test_a_row_of_weight_2_is_two_rows(shared_engine: Engine, wish: Wish) -> None:
    wanted = told(shared_engine, LEFT, RIGHT, wish)
    assert_same([told(shared_engine, repeated(LEFT), RIGHT, wish)], [wanted])


def test_two_equal_rows_of_every_table_change_nothing(shared_engine: Engine) -> None:
    wish = Wish(scale="standard", merged=True)
    assert_same([told(shared_engine, LEFT * 2, RIGHT * 2, wish)], [told(shared_engine, LEFT, RIGHT, wish)])


PLAIN = """SELECT b.y, b.x AS first, a.x AS second, c.v AS third, c.z AS fourth
    FROM one a JOIN two b ON b.i = a.i JOIN three c ON c.j = b.j"""
# Names that the compiled SQL uses itself, and some that should not be used.
CLASHING = """SELECT q.y, q.c AS first, "r".k0 AS second, "sqlsvm_s0".v AS third, "sqlsvm_s0"."o" AS fourth
    FROM "p" AS "r" JOIN "n" AS q ON q.k1 = "r".s JOIN "ta ""ble" AS "sqlsvm_s0" ON "sqlsvm_s0"."w" = q."total" """
EVIL = """SELECT "f1"."y" AS y, "f1"."x0" AS first, "$1"."%s" AS second, "a"."SELECT" AS third, "a".";--" AS fourth
    FROM "side" "$1" JOIN "at" "f1" ON "f1"."p" = "$1"."rank" JOIN "sqlsvm" "a" ON "a"."e" = "f1"."é" """
NAMES = {
    PLAIN: ("one (i, x)", "two (i, j, y, x)", "three (j, v, z)"),
    CLASHING: ('p (s, "k0")', 'n (k1, "total", y, c)', '"ta ""ble" ("w", v, "o")'),
    EVIL: ('side (rank, "%s")', 'at (p, "é", y, x0)', 'sqlsvm (e, "SELECT", ";--")'),
}


def test_names_mean_nothing(engine: Engine) -> None:
    found = []
    for text, (left, middle, right) in NAMES.items():
        rows = ((left, [r[:2] for r in LEFT]), (middle, MIDDLE), (right, RIGHT))
        build(engine, ";".join(f"CREATE TABLE {n.split(' (')[0]} AS {selected(n, r)}" for n, r in rows))
        with workspace(engine) as work:
            world = opened(work, text, Wish(method="grid"))
            found.append(world.cut(world.normal(np.random.default_rng(0)), BUCKETS))
    assert_same(found[1:], [found[0]] * 2)


def selected(name: str, rows: Sequence[tuple[object, ...]]) -> str:
    columns = name[name.index(" (") :]
    return f"SELECT * FROM (VALUES {values(rows)}) AS rows{columns}"
