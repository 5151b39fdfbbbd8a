"""Every loss keeps what the solvers take for granted."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlsvm.errors import OptionError
from sqlsvm.options import LossPiece
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.blocks import BLOCK
from sqlsvm.solve.loss import HINGE, MODIFIED_HUBER, PERCEPTRON, SQUARED_HINGE, Logistic, Loss, Piecewise, smooth_hinge
from sqlsvm.solve.loss.arms import Parts, conjugates, slopes, split_of, values
from sqlsvm.solve.loss.custom import given as pieces_given
from sqlsvm.solve.loss.custom import of_margin, of_pieces
from tests.ground.losses import HIGH, HUBER, MIXED, QUANTILE, SQUARED, TUBE

LOSSES: dict[str, Loss] = {
    "hinge": HINGE,
    "smooth hinge": smooth_hinge(0.3),
    "squared hinge": SQUARED_HINGE,
    "modified huber": MODIFIED_HUBER,
    "logistic": Logistic(),
    "quantile": QUANTILE,
    "tube": TUBE,
    "huber": HUBER,
    "squared": SQUARED,
    "mixed": MIXED,
    "high": HIGH,
    "mixed, smoothed": MIXED.smoothed(0.2),
}
FORMULAS: dict[str, Callable[[Array], Array]] = {
    "hinge": lambda z: np.maximum(z, 0.0),
    "squared hinge": lambda z: np.maximum(z, 0.0) ** 2,
    "modified huber": lambda z: np.where(z < 2.0, np.maximum(z, 0.0) ** 2, 4.0 * z - 4.0),
    "logistic": lambda z: np.log1p(np.exp(z)),
    "quantile": lambda z: np.maximum(0.9 * z, -0.1 * z),
    "tube": lambda z: np.maximum(np.abs(z) - 0.3, 0.0),
    "huber": lambda z: np.where(np.abs(z) < 0.5, z * z / 2.0, 0.5 * np.abs(z) - 0.125),
    "squared": lambda z: z * z / 2.0,
    "smooth hinge": lambda z: np.clip(z + 0.3, 0.0, 0.6) ** 2 / 1.2 + np.maximum(z - 0.3, 0.0),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def grid() -> Array:
    """Residuals from -2.5 to 2.5, none of them on a knot."""
    return np.linspace(-2.5, 2.5, 4000)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_value_is_that_of_the_formula(name: str) -> None:
    np.testing.assert_allclose(LOSSES[name].value(grid()), FORMULAS[name](grid()), atol=1e-14)


@every_loss
def test_a_line_of_any_slope_is_below_the_loss(loss: Loss) -> None:
    """Fenchel and Young: this makes every pass a valid cut, for any rounding of the residuals."""
    z, other = grid(), np.random.default_rng(0).permutation(grid())
    assert (loss.value(z) >= 0.0).all()
    assert (loss.shortfall(z, loss.slope(other)) >= -1e-13).all()
    np.testing.assert_allclose(loss.shortfall(z, loss.slope(z)), 0.0, atol=1e-13)


@every_loss
def test_the_line_of_a_slope_between_those_of_a_knot_touches_there(loss: Loss) -> None:
    for knot in loss.knots:
        sides = loss.slope(np.array([knot, np.nextafter(knot, np.inf)]))
        u = np.linspace(float(sides[0]), float(sides[1]), 5)
        np.testing.assert_allclose(loss.shortfall(np.full(5, knot), u), 0.0, atol=1e-13)


@every_loss
def test_the_slope_is_the_derivative(loss: Loss) -> None:
    z = grid()
    step = 1e-6
    away = np.all([np.abs(z - knot) > 2 * step for knot in loss.knots] or [z == z], axis=0)
    differences = (loss.value(z + step) - loss.value(z - step)) / (2 * step)
    np.testing.assert_allclose(loss.slope(z)[away], differences[away], atol=4e-6)


@every_loss
def test_the_slope_grows_by_the_curvature_and_jumps_at_the_knots(loss: Loss) -> None:
    z = grid()
    rise, curvature = np.diff(loss.slope(z)), loss.curvature(z)
    jumps = np.any([(z[:-1] <= knot) & (knot < z[1:]) for knot in loss.knots] or [z[:-1] != z[:-1]], axis=0)
    piece = np.abs(np.diff(curvature)) <= 1e-3  # the logistic curvature changes slowly
    smooth = piece & ~jumps
    between = (curvature[1:] + curvature[:-1]) / 2.0
    np.testing.assert_allclose(rise[smooth], (between * np.diff(z))[smooth], atol=1e-8)
    assert (rise[jumps] > 0.1).all()
    assert smooth.mean() > 0.99


@every_loss
def test_a_smoothed_loss_has_no_knots_and_differs_near_them_only(loss: Loss) -> None:
    z, width = grid(), 0.2
    smooth = loss.smoothed(width)
    far = np.all([np.abs(z - knot) > width for knot in loss.knots] or [z == z], axis=0)
    assert smooth.knots == ()
    assert smooth.origin == loss.origin
    np.testing.assert_allclose(smooth.value(z)[far], loss.value(z)[far], atol=1e-13)
    assert (smooth.value(z) >= loss.value(z) - 1e-13).all()
    assert (loss.shortfall(z, smooth.slope(z)) >= -1e-13).all()
    assert loss.smoothed(0.0) is loss


@pytest.mark.parametrize("loss", [HUBER, smooth_hinge(0.3), MODIFIED_HUBER])
def test_a_ramp_that_is_narrower_becomes_one_of_that_width(loss: Piecewise) -> None:
    start, end = (change.at for change in loss.changes)
    half, middle = (end - start) / 2.0, (start + end) / 2.0
    assert loss.smoothed(half) is loss
    assert loss.creases(half) == ()
    wide = loss.smoothed(3.0 * half)
    assert loss.creases(3.0 * half) == (middle,)
    assert [change.at for change in wide.changes] == pytest.approx([middle - 3.0 * half, middle + 3.0 * half])
    z = middle + np.linspace(-9.0, 9.0, 401) * half
    np.testing.assert_allclose(
        wide.value(z)[np.abs(z - middle) > 3.0 * half], loss.value(z)[np.abs(z - middle) > 3.0 * half]
    )
    assert (loss.shortfall(z, wide.slope(z)) >= -1e-13).all()


@every_loss
@pytest.mark.parametrize("width", [1e-5, 1e-9, 1e-14, 1e-18])
def test_a_narrow_ramp_ends_at_the_slope_of_the_loss(loss: Loss, width: float) -> None:
    """Rounding left a slope of 1e-3 on a flat piece, and slopes that the loss does not have: these make no cuts."""
    z, smooth = grid(), loss.smoothed(width)
    np.testing.assert_allclose(smooth.slope(z), loss.slope(z), rtol=1e-13, atol=1e-15)
    least, most = loss.slopes
    assert (smooth.slope(z) >= least).all()
    assert (smooth.slope(z) <= most).all()


@every_loss
@pytest.mark.parametrize("delta", [0.01, 1.0, 1e6])
def test_a_tangent_is_no_farther_below_than_is_said(loss: Loss, delta: float) -> None:
    """Beyond their bends slopes stay as they are: for huber 10^6 away it was 10^12."""
    near = loss.near.loss
    for by in (-delta, delta):
        found = near.value(grid() + by) - near.value(grid()) - by * near.slope(grid())
        assert (found <= near.most_beyond(delta) * (1.0 + 1e-9) + 1e-12).all()
    assert near.most_beyond(delta) <= (near.slopes[1] - near.slopes[0]) * delta


@every_loss
@pytest.mark.parametrize("wide", [1e-9, 0.1, 1.0, 30.0])
def test_the_size_is_not_exceeded(loss: Loss, wide: float) -> None:
    z = wide * np.random.default_rng(1).normal(size=1000)
    u = loss.slope(z)
    origin = wide if loss.origin is None else loss.origin
    offset, slope = loss.size(float(loss.value(z).mean()), origin)
    assert float(np.sqrt((u * u).mean())) <= slope * (1.0 + 1e-12)
    assert float((np.abs(u * origin) + np.abs(loss.conjugate(u))).mean()) <= offset * (1.0 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_many_residuals_have_the_values_that_each_has(loss: Loss) -> None:
    """They are computed in blocks, of which the last one is not full."""
    z = np.linspace(-3.0, 3.0, 2 * BLOCK + 7)
    for of in (loss.value, loss.slope, loss.curvature, loss.smoothed(0.1).value):
        np.testing.assert_array_equal(of(z), np.concatenate([of(part) for part in np.array_split(z, 100)]))
    u = loss.slope(z)
    np.testing.assert_array_equal(
        loss.conjugate(u), np.concatenate([loss.conjugate(part) for part in np.array_split(u, 100)])
    )


@pytest.mark.parametrize("wide", [1e-9, 1e-5, 1e-2])
def test_the_size_of_small_residuals_is_small(wide: float) -> None:
    """However large delta is, up to what computing one row may lose."""
    z = wide * np.random.default_rng(1).normal(size=1000)
    for loss in (HUBER, SQUARED, SQUARED_HINGE, MODIFIED_HUBER):
        offset, slope = loss.size(float(loss.value(z).mean()), wide, 1e-3)
        assert slope <= 3.0 * wide + 1e-12
        assert offset <= 5.0 * wide * wide + 1e-12


def test_the_size_of_the_hinge_is_one() -> None:
    assert HINGE.size(0.0, 1.0) == HINGE.size(100.0, 1.0) == Logistic().size(1.0, 0.0) == (1.0, 1.0)


def test_a_row_on_the_knot_of_the_hinge_does_not_count() -> None:
    assert HINGE.slope(np.array([-1e-300, 0.0, 1e-300])).tolist() == [0.0, 0.0, 1.0]
    assert PERCEPTRON.origin == 0.0


@pytest.mark.thin(3)
@pytest.mark.parametrize(("pieces", "error"), [(40, 1e-4), (80, 1e-5), (160, 1e-6), (320, 2e-7), (640, 2e-8)])
def test_pieces_near_the_logistic_loss(pieces: int, error: float) -> None:
    near, z = Logistic(pieces).near, np.concatenate([np.linspace(-20, 20, 400_001), [-1e6, 1e3, 1e6]])
    above = near.loss.value(z) - near.above
    psi = Logistic().value(z)
    assert (above <= psi + 1e-12 * (1.0 + psi)).all()
    assert (psi <= above + near.error + 1e-12 * (1.0 + psi)).all()
    assert near.error < error
    assert HINGE.near.loss is HINGE


def test_a_small_objective_takes_more_pieces() -> None:
    loss = Logistic()
    assert loss.finer(1e-4) is loss
    assert loss.finer(1e-5).near.error < 1e-5
    assert loss.finer(1e-5).finer(0.0).near.error < 2e-8
    assert HINGE.finer(0.0) is HINGE


def test_the_logistic_loss_bears_large_residuals() -> None:
    z = np.array([-1e308, -800.0, 800.0, 1e308])
    assert Logistic().value(z).tolist() == [0.0, 0.0, 800.0, 1e308]
    assert Logistic().slope(z).tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("width", [0.0, 0.1, 0.7, 1e-4])
@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if isinstance(loss, Piecewise)])
def test_arms_add_up_to_the_function(name: str, width: float) -> None:
    """psi, its slopes and what they give to psi*, also on the places themselves."""
    loss = LOSSES[name]
    assert isinstance(loss, Piecewise)
    counted, places = loss.smoothed(width), [change.at for change in loss.changes]
    z = np.concatenate([grid(), places, [change.at for change in counted.changes]])
    split, least, u = split_of(counted), float(loss.value(np.array([split_of(loss)]))[0]), counted.slope(z)
    assert least == pytest.approx(loss.value(np.concatenate([grid(), places])).min(), abs=1e-6)
    at_split = float(loss.value(np.array([split]))[0])
    np.testing.assert_allclose(added_up(values(loss), split, at_split, z), loss.value(z), atol=1e-12)
    # On a knot that was smoothed by very little, rounding decides.
    away = np.all([np.abs(z - change.at) > 1e-9 for change in counted.changes], axis=0) | (width == 0.0)
    np.testing.assert_allclose(added_up(slopes(counted), split, 0.0, z)[away], u[away], atol=1e-7)
    found = added_up(conjugates(loss, counted), split, -least, z)
    np.testing.assert_allclose(found[away], loss.conjugate(u)[away], atol=1e-7)


def added_up(parts: Parts, split: float, least: float, z: Array) -> Array:
    found = np.full(len(z), least)
    for (at, direction), (step, slope, bend) in parts.arms(split, least).items():
        beyond, d = z > at if direction > 0 else z <= at, np.abs(z - at)
        found += beyond * (step + slope * d + bend * d * d / 2.0)
    return found


def of_formula(pieces: Sequence[tuple[Any, ...]], z: Array) -> Array:
    found = np.zeros_like(z)
    for *ends, slope, constant in pieces:
        w = np.maximum(0.0, slope * z + constant)
        tau = (np.inf if ends[0] is None else ends[0]) if ends else 0.0
        beyond = tau * (w - tau / 2.0) if 0.0 < tau < np.inf else w
        found += np.where(w <= tau, w * w / 2.0, beyond)
    return found


numbers_of_pieces = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
some_pieces = st.lists(
    st.tuples(numbers_of_pieces, numbers_of_pieces)
    | st.tuples(st.sampled_from([None, 0.5, 1.0, 4.0]), numbers_of_pieces, numbers_of_pieces),
    min_size=1,
    max_size=5,
).filter(lambda pieces: any(piece[-2] for piece in pieces))


@given(some_pieces)
def test_a_loss_of_any_pieces_is_their_sum(pieces: list[LossPiece]) -> None:
    loss, z = of_pieces(pieces), np.linspace(-9.0, 9.0, 500)
    np.testing.assert_allclose(loss.value(z), of_formula(pieces, z), atol=1e-11)
    np.testing.assert_allclose(of_margin(pieces).value(-z), loss.value(z), atol=1e-11)
    test_a_line_of_any_slope_is_below_the_loss(loss)


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ((), "has no pieces"),
        (((0.0, 1.0),), "is the same for all residuals"),
        (((1e9, 1.0),), "has the number 1e\\+09"),
        (((1.0, 1e-9),), "has the number 1e-09"),
    ],
)
def test_pieces_that_are_no_loss_are_refused(pieces: tuple[LossPiece, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        of_pieces(pieces)


@pytest.mark.parametrize("text", ["[[1, 2, 3, 4]]", "[[0, 1, 1]]", "[1]", "[[1, null]]", '[["1", 2]]'])
def test_what_is_no_piece_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="pieces must be a list of pieces"):
        pieces_given(text)


def test_pieces_come_from_a_text_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "loss.json"
    file.write_text("[[1, -0.5], [null, -1, 0]]")
    assert pieces_given("[[1, -0.5], [null, -1, 0]]") == pieces_given(str(file)) == ((1, -0.5), (None, -1, 0))
    with pytest.raises(OptionError, match="cannot read the pieces"):
        pieces_given("nowhere.json")


def test_a_step_over_several_bags_has_its_knot_at_0() -> None:
    """max(0, 1 - y score) as pieces of the margin is the hinge, and its knot is elsewhere."""
    assert not of_margin([(-1.0, 1.0)]).is_step
    assert of_margin([(-1.0, 0.0)]).is_step
    assert not of_pieces([(1.0, 0.0)]).is_step
