"""A new loss is a new weighting: one bag counts by the slope of other losses without a change anywhere else."""

from collections.abc import Callable

import numpy as np
import pytest

from sqlsvm.compile.oracle import oracle_pass, totals_name
from sqlsvm.compile.weighting import OFFSET, SHORTFALL, Ramp, Step, Weighting, weighting_of
from sqlsvm.engine.base import Engine, Values
from sqlsvm.plan.parameters import BOUND, THETA, WIDTH
from sqlsvm.run.join_oracle import sums
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import MODIFIED_HUBER, SQUARED_HINGE, Change, Logistic, Piece, Piecewise, smooth_hinge
from tests.ground.opened import Wish, build, opened

pytestmark = pytest.mark.twin

TABLES = """
    CREATE TABLE f (k INT, y INT, x INT, w INT); CREATE TABLE d (k INT PRIMARY KEY, v INT);
    INSERT INTO f VALUES (1, 0, 3, 1), (1, 1, 1, 2), (2, 1, -2, 3), (2, 0, 2, 1), (2, 1, 0, 2), (1, 0, -1, 1);
    INSERT INTO d VALUES (1, 2), (2, -1)"""
TEXT = "SELECT f.y, f.x, d.v, f.w FROM f JOIN d ON f.k = d.k"
TAU, REACH = 0.9, 1.5


Numbers = Callable[[Array], Values]
QUANTILE = Piecewise(Piece(0.0, 0.0, TAU - 1.0, 0.0), (Change(0.0, jump=1.0),))
TUBE = Piecewise(Piece(0.5, 0.0, -1.0, 0.0), (Change(0.5, jump=1.0), Change(1.5, jump=1.0)))
"""max(0, |z - 1| - 1 / 2): it does not count what is within."""


def bent(z: Array) -> Values:
    """The slope of max(0, z)^2 up to z = 2."""
    found: Values = np.clip(2 * z, 0, 4)
    return found


LOSSES: dict[str, tuple[Weighting, Numbers, Numbers]] = {
    "step": (Step(), lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0)),
    "ramp": (Ramp(), lambda z: np.maximum(z, 0), lambda z: np.clip((1 + z / REACH) / 2, 0, 1)),
    "squared": (weighting_of(SQUARED_HINGE), lambda z: np.maximum(z, 0) ** 2, lambda z: 2 * np.maximum(z, 0)),
    "huber": (weighting_of(MODIFIED_HUBER), lambda z: np.where(z < 2, np.maximum(z, 0) ** 2, 4 * z - 4), bent),
    "smooth": (
        weighting_of(smooth_hinge(REACH)),
        lambda z: np.clip(z + REACH, 0, 2 * REACH) ** 2 / (4 * REACH) + np.maximum(z - REACH, 0),
        lambda z: np.clip((1 + z / REACH) / 2, 0, 1),
    ),
    "logistic": (weighting_of(Logistic()), lambda z: np.log1p(np.exp(z)), lambda z: 1 / (1 + np.exp(-z))),
    "quantile": (
        weighting_of(QUANTILE),
        lambda z: np.maximum(TAU * z, (TAU - 1) * z),
        lambda z: np.where(z > 0, TAU, TAU - 1),
    ),
    "tube": (
        weighting_of(TUBE),
        lambda z: np.maximum(np.abs(z - 1) - 0.5, 0),
        lambda z: 1.0 * (z > 1.5) - 1.0 * (z <= 0.5),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("wish", [Wish(), Wish(at_once=True), Wish(weight="w")], ids=["back", "at once", "weights"])
def test_a_pass_counts_by_its_weighting(engine: Engine, name: str, wish: Wish) -> None:
    """The slope is that of the loss, and offset, slope and shortfall are its value."""
    counted_by, psi, slope = LOSSES[name]
    build(engine, TABLES)
    text = TEXT if wish.weight else TEXT.replace(", f.w", "")
    with workspace(engine) as work:
        found = opened(work, text, wish)
        plan, rows = found.plan, found.truth
        theta = np.array([0.25, -0.5, 0.75])
        answers = work.run(oracle_pass(plan, counted_by), {THETA: theta, BOUND: 1.0, WIDTH: REACH})
        totals = answers[totals_name(plan)]
        g, offset = sums(plan, answers), float(totals[OFFSET].sum())
        missed = float(totals[SHORTFALL].sum()) if SHORTFALL in totals else 0.0
    z = 1.0 - rows.y * (rows.x @ theta)
    np.testing.assert_allclose(g, (rows.w * slope(z) * rows.y) @ rows.x, rtol=1e-12, atol=1e-12)
    assert offset - g @ theta + missed == pytest.approx(float(rows.w @ psi(z)), rel=1e-12)
