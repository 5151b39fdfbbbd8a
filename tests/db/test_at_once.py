"""Passes of one scan: which plans have them, and that they count what passes that keep the active rows count."""

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.engine.base import Engine
from sqlsvm.plan.planner import FEW_COLUMNS
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.train import Training, train
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.solution import Effort
from tests.db.test_places import ONE_BAG, assert_same, plan_of
from tests.ground.opened import Wish, build, opened, opened_world
from tests.typed import meant


def star(engine: Engine, columns: int) -> str:
    """f (k, y, x, s), and d (k, z0, z1, ...), which points to a row of e (k, u)."""
    names = [f"z{i}" for i in range(columns)]
    build(engine, "CREATE TABLE f (k INT, y INT, x INT, s TEXT); CREATE TABLE e (k INT, u INT)")
    build(engine, f"CREATE TABLE d (k INT, e INT, {', '.join(f'{n} INT' for n in names)})")
    n = np.arange(60)
    texts = np.array(["a", "b"], dtype=object)[n % 2]
    engine.copy_in(meant(engine, "f"), {"k": n % 7, "y": n % 2, "x": n * 7 % 5, "s": texts})
    engine.copy_in(meant(engine, "d"), {"k": n[:6], "e": n[:6] % 3, **{c: n[:6] * i % 4 for i, c in enumerate(names)}})
    engine.copy_in(meant(engine, "e"), {"k": n[:3], "u": n[:3]})
    return f"SELECT y, x, {', '.join(f'd.{n}' for n in names)}, u FROM f JOIN d ON d.k = f.k JOIN e ON e.k = d.e"


def test_all_dimensions_have_few_columns_together(duckdb: Engine) -> None:
    text = star(duckdb, FEW_COLUMNS)
    assert not plan_of(duckdb, text).at_once
    assert plan_of(duckdb, text.replace(", u", "")).at_once


def test_joins_of_rows_carry_nothing_for_free(postgres: Engine) -> None:
    text = star(postgres, 1)
    assert not plan_of(postgres, text).at_once
    assert plan_of(postgres, "SELECT y, x FROM f").at_once
    assert plan_of(postgres, "SELECT f.y, f.x FROM f JOIN d ON d.k = f.k").at_once


@pytest.mark.parametrize(
    "text",
    ["SELECT y, s FROM f", "SELECT f.y, f.x, g.x AS z FROM f JOIN f g ON g.k = f.k"],
    ids=["categories", "two bags"],
)
def test_others_keep_the_active_rows(engine: Engine, text: str) -> None:
    star(engine, 1)
    assert not plan_of(engine, text).at_once


@pytest.mark.parametrize("text", ["SELECT y, x FROM f", "SELECT f.y, f.x, d.z0 FROM f JOIN d ON d.k = f.k"])
def test_the_papers_descent_does_without(engine: Engine, text: str) -> None:
    """It counts far rows, of one label at a time, and keeps them."""
    star(engine, 1)
    training = Training(ProblemOptions("y", scale="maxabs"), lam=0.1, solver="descent", effort=Effort(max_passes=3))
    found = train(engine, "far", text, training)
    assert found.passes == 3
    assert found.objective == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("width", [0.0, 0.3, 10.0])
@pytest.mark.parametrize("weighed", [False, True])
def test_one_scan_says_the_same(engine: Engine, width: float, weighed: bool) -> None:
    text = star(engine, 2)
    wish = Wish(scale="standard", at_once=True)
    if weighed:
        text, wish = text.replace("y, x", "y, f.x AS times"), Wish(weight="times", class_weights=(1, 3), at_once=True)
    with workspace(engine) as work:
        found = opened(work, text, wish)
        assert [s.table for s in found.oracle.program.statements] == [None]
        for seed in range(3):
            beta = found.normal(np.random.default_rng(seed))
            cut = found.cut(beta, width=width)
            assert_same(cut, found.again(at_once=False).cut(beta, width=width))
            assert cut.value_low == pytest.approx(found.hinge(beta).value, rel=1e-9)


def test_random_worlds_say_the_same(shared_engine: Engine) -> None:
    compared = 0
    for seed in range(540, 560):
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
    plan = plan_of(postgres, text)
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
