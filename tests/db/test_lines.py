"""Losses with any arms and knots, counted by lines where the two sides of a join meet, and the cuts of soft passes."""

import numpy as np
import pytest

from sqlsvm.engine.base import Engine, Values
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.loss import HINGE, MODIFIED_HUBER, SQUARED_HINGE, Piecewise
from sqlsvm.solve.oracle import Cut
from tests.db.test_golden import made
from tests.ground.losses import HIGH, HUBER, MIXED, QUANTILE, SQUARED, TUBE
from tests.ground.opened import Opened, Wish, opened, opened_world
from tests.ground.world import noted

ORIGIN = 1.0
LOSSES = {
    "hinge": HINGE,
    "squared hinge": SQUARED_HINGE,
    "modified huber": MODIFIED_HUBER,
    "quantile": QUANTILE,
    "tube": TUBE,
    "huber": HUBER,
    "squared": SQUARED,
    "mixed": MIXED,
    "high": HIGH,
}


def residuals(found: Opened, loss: Piecewise, beta: Values) -> Values:
    z: Values = ORIGIN - found.truth.y * (found.truth.x @ beta)
    return z


def mean(found: Opened, of: Values) -> float:
    return float(found.truth.w @ of / found.truth.w.sum())


def assert_cut(found: Opened, loss: Piecewise, beta: Values, cut: Cut, width: float) -> None:
    """The cut is that of the joined rows: its slope, its offset and R."""
    z, share = residuals(found, loss, beta), found.truth.w / found.truth.w.sum()
    u = loss.smoothed(width).slope(z)
    scale = 1.0 + float(np.abs(loss.value(z)).max() + np.abs(u).max())
    assert cut.value_low == pytest.approx(mean(found, loss.value(z)), rel=1e-9, abs=1e-9 * scale)
    np.testing.assert_allclose(cut.slope, -(share * u * found.truth.y) @ found.truth.x, rtol=1e-9, atol=1e-9 * scale)
    offset = mean(found, u * ORIGIN - loss.conjugate(u))
    assert cut.offset == pytest.approx(offset, rel=1e-9, abs=1e-9 * scale)
    assert (cut.error, cut.width) == (0.0, width)


def assert_minorant(found: Opened, loss: Piecewise, beta: Values, cut: Cut, rng: np.random.Generator) -> None:
    for _ in range(5):
        there = beta * rng.uniform(0, 2) + rng.normal(size=len(beta)) * rng.choice([0.01, 0.5, 5])
        value = mean(found, loss.value(residuals(found, loss, there)))
        assert value >= cut.offset + cut.slope @ there - 1e-9 * (1.0 + value + float(np.abs(there).sum()))


@pytest.mark.thin(12)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("many", [True, False], ids=["several bags", "one bag"])
def test_a_cut_is_that_of_the_joined_rows(shared_engine: Engine, seed: int, many: bool) -> None:
    """Where scores are dyadic, rows lie on the knots at 1, 0.5 and 0 themselves."""
    wish = Wish(scale=("none", "standard")[seed % 2], class_weights=((1, 1), (2, 1))[seed % 3 == 0])
    with opened_world(shared_engine, 500 + seed, wish, acyclic=True, many_to_many=many, max_rows=40) as world:
        if world is None:
            return
        for name, loss in LOSSES.items():
            rng, found = np.random.default_rng(seed), world.again(loss=loss)
            for beta in (found.dyadic(rng), found.normal(rng)):
                for width in (0.0, 0.4, 0.01) if found.oracle.soft else (0.0,):
                    with noted(f"{name}, width {width}"):
                        cut = found.cut(beta, width=width)
                        assert_cut(found, loss, beta, cut, width)
                        assert_minorant(found, loss, beta, cut, rng)


@pytest.mark.slow
@pytest.mark.thin(5)
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_on_the_grid_is_one_and_has_its_error(shared_engine: Engine, seed: int) -> None:
    wish = Wish(method="grid", class_weights=((1, 1), (2, 1))[seed % 3 == 0])
    with opened_world(shared_engine, 600 + seed, wish, acyclic=True, many_to_many=True, max_rows=40) as world:
        if world is None or world.plan.centre is None:
            return
        for name, loss in LOSSES.items():
            with noted(name):
                assert_certified(world.again(loss=loss), loss, np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.thin(10)
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("shape", ["chain", "true_hub", "five_bags"])
def test_a_cut_over_three_bags_and_more(engine: Engine, shape: str) -> None:
    """On the grid, and without it."""
    rng, text = np.random.default_rng(3), made(engine, shape)
    with workspace(engine) as work:
        world = opened(work, text, Wish(method="grid"))
        assert len(world.plan.bags) > 2
        for loss in (SQUARED_HINGE, QUANTILE, HUBER, MIXED):
            assert_certified(world.again(loss=loss), loss, rng)
            exact, beta = world.again(loss=loss, method="exact"), world.dyadic(rng)
            assert_cut(exact, loss, beta, exact.cut(beta), 0.0)


def assert_certified(found: Opened, loss: Piecewise, rng: np.random.Generator) -> None:
    """value_low <= R <= value_low + E, for scores on the grid and between."""
    for beta in (found.dyadic(rng), found.normal(rng)):
        errors = []
        for buckets in (3, 64):
            cut = found.cut(beta, buckets)
            value = mean(found, loss.value(residuals(found, loss, beta)))
            close = 1e-9 * (1.0 + value)
            assert cut.value_low == pytest.approx(cut.offset + cut.slope @ beta, rel=1e-9, abs=close)
            assert cut.value_low - close <= value <= cut.value_low + cut.error + close
            assert_minorant(found, loss, beta, cut, rng)
            errors.append(cut.error)
        assert 0.0 <= errors[-1] <= loss.most_beyond(found.oracle.roundings(beta, 64) / 128.0) + 1e-12
        assert errors[-1] <= errors[0]
