"""Passes of one scan: which plans have them, and that they count what passes that keep the active rows count."""

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.engine.base import Engine
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import workspace
from tests.db.test_places import ONE_BAG, assert_same, plan_of
from tests.ground.opened import Wish, build, opened, opened_world
from tests.typed import meant

NUMBERS = ProblemOptions("y")
SOME_NULLS = "UPDATE f SET x = NULL WHERE x = 3; UPDATE d SET z1 = NULL WHERE e = 1; UPDATE e SET u = NULL WHERE k = 2"


def star(engine: Engine, columns: int, facts: int = 60, rows: int = 6, step: int = 1) -> str:
    """f (k, y, x, s), and d (k, z0, z1, ...), which points to a row of e (k, u). One row of f has no partner."""
    names = [f"z{i}" for i in range(columns)]
    build(engine, "CREATE TABLE f (k INT, y INT, x INT, s TEXT); CREATE TABLE e (k INT, u INT)")
    build(engine, f"CREATE TABLE d (k INT, e INT, {', '.join(f'{n} INT' for n in names)})")
    n, m = np.arange(facts), np.arange(rows)
    texts = np.array(["a", "b"], dtype=object)[n % 2]
    engine.copy_in(meant(engine, "f"), {"k": n % (rows + 1) * step, "y": n % 2, "x": n * 7 % 5, "s": texts})
    engine.copy_in(meant(engine, "d"), {"k": m * step, "e": m % 3, **{c: m * i % 4 for i, c in enumerate(names)}})
    engine.copy_in(meant(engine, "e"), {"k": np.arange(3), "u": np.arange(3)})
    return f"SELECT y, x, {', '.join(f'd.{n}' for n in names)}, u FROM f JOIN d ON d.k = f.k JOIN e ON e.k = d.e"


@pytest.mark.parametrize(
    ("columns", "facts", "rows", "at_once"),
    [
        (18, 200_000, 6, True),
        (40, 200_000, 6, False),
        (40, 10_000, 6, True),
        (18, 200_000, 20_000, False),
        (1590, 10, 6, True),
        (1600, 10, 6, False),
    ],
    ids=["few columns", "many", "few rows, so statements take longer", "no cache has the columns", "wide", "too wide"],
)
def test_columns_are_joined_where_that_costs_less(
    duckdb: Engine, columns: int, facts: int, rows: int, at_once: bool
) -> None:
    assert plan_of(duckdb, star(duckdb, columns, facts, rows), NUMBERS).at_once == at_once


@pytest.mark.parametrize(
    ("columns", "rows", "step", "at_once", "placed"),
    [
        (3, 6, 1, True, True),
        (12, 6, 1, True, True),
        (40, 6, 1, False, True),
        (3, 5000, 1, False, True),
        (3, 5000, 100, True, False),
    ],
    ids=["few columns", "more", "many", "large arrays", "no array for these keys"],
)
def test_columns_are_looked_up_where_that_costs_less(
    postgres: Engine, columns: int, rows: int, step: int, at_once: bool, placed: bool
) -> None:
    plan = plan_of(postgres, star(postgres, columns, 20_000, rows, step), NUMBERS)
    assert (plan.at_once, bool(plan.placed)) == (at_once, placed)


@pytest.mark.parametrize(("width", "nulls"), [(0.0, ""), (0.3, ""), (0.0, SOME_NULLS), (0.3, SOME_NULLS)])
def test_columns_in_arrays_say_the_same(postgres: Engine, width: float, nulls: str) -> None:
    """Behind d is e: its column is in an array over the keys of d."""
    text = star(postgres, 2)
    build(postgres, nulls)
    with workspace(postgres) as work:
        found = opened(work, text, Wish(scale="standard", at_once=True, placed=True, nulls="mean"))
        (scan,) = found.oracle.program.statements
        assert found.plan.places_read
        assert {join.side for join in scan.query.args["from_"].this.find_all(exp.Join)} <= {"LEFT", ""}
        for seed in range(3):
            beta = found.normal(np.random.default_rng(seed))
            cut = found.cut(beta, width=width)
            assert_same(cut, found.again(placed={}).cut(beta, width=width))
            assert cut.value_low == pytest.approx(found.hinge(beta).value, rel=1e-9)


@pytest.mark.parametrize(
    "text",
    ["SELECT y, s FROM f", "SELECT f.y, f.x, g.x AS z FROM f JOIN f g ON g.k = f.k"],
    ids=["categories", "two bags"],
)
def test_others_keep_the_active_rows(engine: Engine, text: str) -> None:
    star(engine, 1)
    assert not plan_of(engine, text, NUMBERS).at_once


@pytest.mark.parametrize("text", ["SELECT y, x FROM f", "SELECT f.y, f.x, d.z0 FROM f JOIN d ON d.k = f.k"])
def test_the_papers_descent_does_without(engine: Engine, text: str) -> None:
    """It counts far rows, of one label at a time, and keeps them."""
    star(engine, 1)
    training = Training("y", scale="maxabs", lam=0.1, solver="descent", max_passes=3)
    found = train(engine, "far", text, training)
    assert found.passes == 3
    assert found.objective == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("width", [0.0, 0.3, 10.0])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("nulls", ["", SOME_NULLS])
def test_one_scan_says_the_same(engine: Engine, width: float, weighed: bool, nulls: str) -> None:
    text = star(engine, 2)
    build(engine, nulls.replace("f SET x", "f SET s") if weighed else nulls)
    wish = Wish(scale="standard", at_once=True, nulls="mean")
    if weighed:
        text, wish = (
            text.replace("y, x", "y, f.x AS times"),
            Wish(weight="times", class_weights=(1, 3), at_once=True, nulls="mean"),
        )
    with workspace(engine) as work:
        found = opened(work, text, wish)
        assert [s.table for s in found.oracle.program.statements] == [None]
        for seed in range(3):
            beta = found.normal(np.random.default_rng(seed))
            cut = found.cut(beta, width=width)
            assert_same(cut, found.again(at_once=False).cut(beta, width=width))
            assert cut.value_low == pytest.approx(found.hinge(beta).value, rel=1e-9)


@pytest.mark.slow
def test_random_worlds_say_the_same(shared_engine: Engine) -> None:
    """On either engine every other one."""
    compared = 0
    for seed in range(540 + (shared_engine.dialect == "duckdb"), 560, 2):
        with opened_world(shared_engine, seed, Wish(at_once=True, nulls="mean"), **ONE_BAG) as found:
            if not found or not found.plan.at_once:
                continue
            compared += 1
            rng = np.random.default_rng(seed)
            for beta, width in ((found.dyadic(rng), 0.0), (found.normal(rng), 0.5)):
                assert_same(found.cut(beta, width=width), found.again(at_once=False).cut(beta, width=width))
    assert compared >= 2


def test_a_dimension_without_columns_is_looked_up(postgres: Engine) -> None:
    """It only drops rows, and that needs no join either."""
    star(postgres, 1)
    text = "SELECT f.y, f.x FROM f JOIN d ON d.k = f.k WHERE d.z0 < 3"
    plan = plan_of(postgres, text, NUMBERS)
    assert plan.at_once
    assert set(plan.placed) == {plan.tree.node_of("d")}
    with workspace(postgres) as work:
        found = opened(work, text, Wish(at_once=True)).again(placed=plan.placed)
        (scan,) = found.oracle.program.statements
        assert [join.side for join in scan.query.find_all(exp.Join)] == ["LEFT"]
        for seed in range(3):
            beta = found.normal(np.random.default_rng(seed))
            assert found.cut(beta).value_low == pytest.approx(found.hinge(beta).value, rel=1e-9)
            assert_same(found.cut(beta), found.again(placed={}).cut(beta))
