"""The penalty: each closed form against the sum that it stands for."""

import numpy as np
import pytest

from sqlsvm.errors import OptionError
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.penalty import L2

RNG = np.random.default_rng(0)


def linear(slope: Array, beta: Array, penalty: L2) -> float:
    return float(slope @ beta) + penalty.value(beta)


@pytest.mark.parametrize("lam", [1e-5, 0.3, 40.0])
def test_the_minimiser_reaches_the_inner_minimum_and_nothing_is_below_it(lam: float) -> None:
    penalty, slope = L2(lam), RNG.normal(size=7)
    reached = linear(slope, penalty.minimiser(slope), penalty)
    assert reached == pytest.approx(penalty.inner_minimum(slope, np.abs(slope), 0.0))
    assert reached == pytest.approx(-penalty.conjugate(float(np.linalg.norm(slope))))
    for _ in range(100):
        assert linear(slope, penalty.minimiser(slope) + RNG.normal(size=7), penalty) >= reached


def test_the_inner_minimum_allows_for_what_a_slope_may_be_off_by() -> None:
    penalty, slope, size, g = L2(1e-3), RNG.normal(size=7), np.full(7, 5.0), 1e-3
    bound = penalty.inner_minimum(slope, size, g)
    for _ in range(200):
        off = slope + g * size * RNG.choice([-1.0, 1.0], 7)
        assert bound <= penalty.inner_minimum(off, size, 0.0)


def test_the_slope_is_the_derivative() -> None:
    penalty, beta, step = L2(0.7), RNG.normal(size=5), 1e-6
    sides = [[penalty.value(beta + sign * step * axis) for sign in (1, -1)] for axis in np.eye(5)]
    np.testing.assert_allclose(penalty.slope(beta), [(up - down) / (2 * step) for up, down in sides], rtol=1e-6)


def test_a_proximal_penalty_differs_by_a_constant() -> None:
    penalty, centre, multiplier = L2(0.2), RNG.normal(size=4), 3.0
    both, shift = penalty.proximal(centre, multiplier)
    points = RNG.normal(size=(20, 4))
    apart = [penalty.value(p) + float((p - centre) @ (p - centre)) / multiplier - both.value(p - shift) for p in points]
    np.testing.assert_allclose(apart, apart[0])


@pytest.mark.parametrize("lam", [0.0, -1.0, float("nan")])
def test_lambda_is_positive(lam: float) -> None:
    with pytest.raises(OptionError, match="lambda must be a number above 0"):
        L2(lam)
