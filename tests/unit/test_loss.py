"""Every loss keeps what the solvers take for granted."""

import numpy as np
import pytest

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Hinge, Loss

LOSSES: tuple[Loss, ...] = (Hinge(), Hinge().smoothed(0.3))
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def grid() -> Array:
    """Residuals from -2 to 2, none of them on a knot."""
    return np.linspace(-2.0, 2.0, 4000)


@every_loss
def test_a_line_of_any_slope_is_below_the_loss(loss: Loss) -> None:
    """Fenchel and Young: this makes every pass a valid cut, for any rounding of the residuals."""
    z, other = grid(), np.random.default_rng(0).permutation(grid())
    assert (loss.value(z) >= 0.0).all()
    assert (loss.shortfall(z, loss.slope(other)) >= -1e-15).all()
    np.testing.assert_allclose(loss.shortfall(z, loss.slope(z)), 0.0, atol=1e-15)


@every_loss
def test_the_slope_is_the_derivative(loss: Loss) -> None:
    z = grid()
    step = 1e-6
    away = np.all([np.abs(z - knot) > 2 * step for knot in loss.knots] or [z == z], axis=0)
    differences = (loss.value(z + step) - loss.value(z - step)) / (2 * step)
    np.testing.assert_allclose(loss.slope(z)[away], differences[away], atol=2e-6)


@every_loss
def test_the_slope_grows_by_the_bend_where_the_loss_is_curved_and_jumps_at_the_knots(loss: Loss) -> None:
    z = grid()
    step = z[1] - z[0]
    rise = np.diff(loss.slope(z))
    curved = loss.curved(z)
    inside = curved[1:] & curved[:-1]
    np.testing.assert_allclose(rise[inside], loss.bend * step, rtol=1e-6)
    jumps = np.any([(z[:-1] <= knot) & (knot < z[1:]) for knot in loss.knots] or [z[:-1] != z[:-1]], axis=0)
    flat = ~curved[1:] & ~curved[:-1] & ~jumps
    assert (rise[flat] == 0.0).all()
    assert (rise[jumps] > 0.1).all()


@every_loss
def test_a_smoothed_loss_has_no_knots_and_differs_near_them_only(loss: Loss) -> None:
    z, width = grid(), 0.2
    smooth = loss.smoothed(width)
    far = np.all([np.abs(z - knot) > width for knot in loss.knots] or [z == z], axis=0)
    assert smooth.knots == ()
    assert smooth.origin == loss.origin
    np.testing.assert_allclose(smooth.value(z)[far], loss.value(z)[far], atol=1e-15)
    assert loss.smoothed(0.0) is loss


def test_a_row_on_the_knot_of_the_hinge_does_not_count() -> None:
    assert Hinge().slope(np.array([-1e-300, 0.0, 1e-300])).tolist() == [0.0, 0.0, 1.0]
