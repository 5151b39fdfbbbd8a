"""A new loss is a new weighting: one bag counts by the slope of other losses without a change anywhere else."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.oracle import oracle_pass, totals_name
from sqlsvm.compile.weighting import OFFSET, SHORTFALL, Ramp, Residual, Step, Weighting
from sqlsvm.engine.base import Engine, Values
from sqlsvm.plan.parameters import BOUND, THETA, WIDTH
from sqlsvm.run.join_oracle import sums
from sqlsvm.run.workspace import workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.sql import Named
from tests.ground.opened import Wish, build, opened

TABLES = """
    CREATE TABLE f (k INT, y INT, x INT, w INT); CREATE TABLE d (k INT PRIMARY KEY, v INT);
    INSERT INTO f VALUES (1, 0, 3, 1), (1, 1, 1, 2), (2, 1, -2, 3), (2, 0, 2, 1), (2, 1, 0, 2), (1, 0, -1, 1);
    INSERT INTO d VALUES (1, 2), (2, -1)"""
TEXT = "SELECT f.y, f.x, d.v, f.w FROM f JOIN d ON f.k = d.k"
TAU, REACH = 0.9, 1.5


def z_of(row: Residual) -> exp.Expression:
    return exp.Neg(this=row.negated())


@dataclass(frozen=True)
class Squared:
    """psi = max(0, z)^2: u = 2 z, psi* = u^2 / 4."""

    def counts(self, z: Residual) -> exp.Expression:
        return Step().counts(z)

    def value(self, z: Residual) -> list[exp.Expression]:
        return [sql.number(2), z_of(z)]

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        u = sql.product(*self.value(z))
        conjugate = sql.product(u.copy(), u.copy(), sql.number(0.25))
        one = exp.Sub(this=sql.product(u, z.origin), expression=conjugate)
        return [(sql.product(*([weight] if weight else []), exp.paren(one)), OFFSET)]

    def totals(self, weighted: bool) -> Named:
        return [(sql.column(OFFSET, "r"), OFFSET)]


@dataclass(frozen=True)
class Quantile:
    """psi = max(tau z, (tau - 1) z): u is tau or tau - 1, less than 0 as well, and psi* = 0."""

    def counts(self, z: Residual) -> exp.Expression:
        return exp.true()

    def value(self, z: Residual) -> list[exp.Expression]:
        return [sql.case(Step().counts(z), sql.number(TAU), sql.number(TAU - 1))]

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        return [(sql.product(*([weight] if weight else []), *self.value(z), z.origin), OFFSET)]

    def totals(self, weighted: bool) -> Named:
        return [(sql.column(OFFSET, "r"), OFFSET)]


Numbers = Callable[[Array], Values]
LOSSES: dict[str, tuple[Weighting, Numbers, Numbers]] = {
    "step": (Step(), lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0)),
    "ramp": (Ramp(), lambda z: np.maximum(z, 0), lambda z: np.clip((1 + z / REACH) / 2, 0, 1)),
    "squared": (Squared(), lambda z: np.maximum(z, 0) ** 2, lambda z: 2 * np.maximum(z, 0)),
    "quantile": (Quantile(), lambda z: np.maximum(TAU * z, (TAU - 1) * z), lambda z: np.where(z > 0, TAU, TAU - 1)),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("wish", [Wish(), Wish(at_once=True), Wish(weight="w")], ids=["back", "at once", "weights"])
def test_a_pass_counts_by_its_weighting(engine: Engine, name: str, wish: Wish) -> None:
    """The slope is that of the loss, and offset, slope and shortfall are its value."""
    weighting, psi, slope = LOSSES[name]
    build(engine, TABLES)
    text = TEXT if wish.weight else TEXT.replace(", f.w", "")
    with workspace(engine) as work:
        found = opened(work, text, wish)
        plan, rows = found.plan, found.truth
        theta = np.array([0.25, -0.5, 0.75])
        answers = work.run(oracle_pass(plan, weighting), {THETA: theta, BOUND: 1.0, WIDTH: REACH})
        totals = answers[totals_name(plan)]
        g, offset = sums(plan, answers), float(totals[OFFSET].sum())
        missed = float(totals[SHORTFALL].sum()) if SHORTFALL in totals else 0.0
    z = 1.0 - rows.y * (rows.x @ theta)
    np.testing.assert_allclose(g, (rows.w * slope(z) * rows.y) @ rows.x, rtol=1e-12, atol=1e-12)
    assert offset - g @ theta + missed == pytest.approx(float(rows.w @ psi(z)), rel=1e-12)
