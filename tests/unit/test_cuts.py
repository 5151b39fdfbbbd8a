"""The bundle: for all cuts the bound must hold to the last digit."""

from fractions import Fraction
from math import inf, isinf

import numpy as np
import pytest

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.curvature import Dense, Metric
from sqlsvm.solve.cuts import Bundle, Certificate, Root, dual_bound
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.rounding import Rounding
from sqlsvm.solve.simplex_qp import solve_simplex_qp


def cut(slope: list[float] | Array, offset: float) -> Cut:
    return Cut(np.asarray(slope, dtype=float), offset, offset, 0.0, None)


def exact_single_cut_minimum(slope: Array, offset: float, lam: float) -> Fraction:
    """min lam |b|^2 + max(0, slope.b + offset), in rationals."""
    square = sum((Fraction(float(s)) ** 2 for s in slope), Fraction(0))
    wanted = Fraction(offset), Fraction(lam)
    share = Fraction(1) if square == 0 else min(Fraction(1), wanted[0] * 2 * wanted[1] / square)
    return wanted[0] * share - square * share**2 / (4 * wanted[1])


def random_bundle(seed: int, lam: float, count: int = 15, dimension: int = 6) -> Bundle:
    rng = np.random.default_rng(seed)
    bundle = Bundle(L2(lam), dimension)
    for _ in range(count):
        bundle.add(cut(rng.normal(size=dimension), float(rng.uniform(0.0, 1.0))))
    return bundle


def test_no_cut_proves_nothing_but_zero() -> None:
    bundle = Bundle(L2(1e-3), 4)
    assert bundle.lower_bound() == 0.0
    assert np.array_equal(bundle.minimiser(), np.zeros(4))


@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5])
def test_the_bound_of_one_cut_is_never_above_the_rational_one(lam: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        slope, offset = rng.normal(size=5) * 10.0 ** rng.uniform(-4, 1), float(rng.uniform(0.0, 1.0))
        bundle = Bundle(L2(lam), 5)
        bundle.add(cut(slope, offset))
        bound, truth = bundle.lower_bound(), exact_single_cut_minimum(slope, offset, lam)
        assert Fraction(bound) <= truth
        assert bound >= float(truth) - 1e-9 * (1.0 + float(truth))


def test_the_rounding_allowance_is_needed_and_enough() -> None:
    """Weights that sum to more than 1 by rounding, and an optimum where the two terms cancel."""
    slopes, offsets = np.array([[0.0], [0.0]]), np.array([1.0, 1.0])
    alpha = np.array([0.5, 0.5 + 1e-10])
    assert float(offsets @ alpha) > 1.0
    assert dual_bound(slopes, offsets, alpha, L2(1e-5)) <= 1.0


@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5])
def test_any_feasible_alpha_bounds_the_model_from_below(lam: float) -> None:
    rng = np.random.default_rng(2)
    bundle = random_bundle(2, lam)
    lowest = bundle.model(bundle.minimiser())
    for _ in range(100):
        alpha = rng.dirichlet(np.full(len(bundle) + 1, 0.2))
        assert dual_bound(bundle._slopes, bundle._offsets, alpha, L2(lam)) <= lowest + 1e-12
    assert bundle.lower_bound() <= lowest + 1e-12


@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("seed", range(5))
def test_the_dual_is_solved_to_the_model_minimum(seed: int, lam: float) -> None:
    bundle = random_bundle(seed, lam)
    assert bundle.model(bundle.minimiser()) - bundle.lower_bound() <= 1e-7


def test_duplicated_cuts_change_nothing() -> None:
    once, often = Bundle(L2(1e-4), 6), Bundle(L2(1e-4), 6)
    rng = np.random.default_rng(3)
    for _ in range(8):
        new = cut(rng.normal(size=6), 0.5)
        once.add(new)
        for _ in range(4):
            often.add(new)
    assert often.lower_bound() == pytest.approx(once.lower_bound(), rel=1e-8, abs=1e-10)


def test_the_bound_never_falls() -> None:
    rng = np.random.default_rng(4)
    bundle, before = Bundle(L2(1e-4), 30), 0.0
    for _ in range(60):
        bundle.add(cut(rng.normal(size=30), float(rng.uniform(0, 1))))
        assert bundle.lower_bound() >= before
        before = bundle.lower_bound()


def test_the_qp_stays_on_the_simplex() -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 10, 40):
        slopes = rng.normal(size=(size, 3))
        start = np.zeros(size)
        start[0] = 1.0
        alpha = solve_simplex_qp(slopes @ slopes.T, rng.normal(size=size), 1e-5, start)
        assert alpha.min() >= 0.0
        assert alpha.sum() == pytest.approx(1.0, abs=1e-12)


def test_projection_reaches_the_level_by_the_shortest_way() -> None:
    bundle = random_bundle(6, 1e-2)
    rng = np.random.default_rng(6)
    centre = rng.normal(size=6) * 3.0
    level = 0.5 * (bundle.model(centre) + bundle.lower_bound())
    point = bundle.project(centre, level, 1e-4)
    assert bundle.model(point) <= level
    distance = float(np.linalg.norm(point - centre))
    for _ in range(2000):
        other = centre + rng.normal(size=6) * rng.choice([0.1, 0.5, 1.0]) + rng.uniform() * (point - centre)
        if bundle.model(other) <= level:
            assert np.linalg.norm(other - centre) >= distance - 1e-6


def test_a_centre_within_the_level_is_its_own_projection() -> None:
    bundle = random_bundle(7, 1e-2)
    centre = bundle.minimiser()
    assert np.array_equal(bundle.project(centre, bundle.model(centre)), centre)


def test_gaps_of_odd_certificates() -> None:
    assert Certificate(0.9, 1.0, 0.75).gap == 0.25
    assert Certificate(0.0, 0.0, 0.0).gap == 0.0
    assert isinf(Certificate(0.0, inf, 0.0).gap)
    assert Certificate(1.0, 1.0, 1.0 + 1e-16).gap == 0.0


def test_a_cut_from_far_off_does_not_blur_the_others() -> None:
    """Its sums may be rounded by much, and those of the cuts that make the bound are not."""
    near, rounding = cut(np.array([0.0, 0.1]), 0.5), Rounding(1e-9, np.ones(2))
    bundle = Bundle(L2(1e-2), 2, rounding)
    bundle.add(near)
    alone = bundle.lower_bound()
    both = Bundle(L2(1e-2), 2, rounding)
    both.add(cut(np.array([1e3, 0.0]), -1e3), (1e9, 1e9))
    both.add(near)
    assert alone > 0.2
    assert both.lower_bound() == pytest.approx(alone)


def test_a_cut_in_use_is_lowered_by_its_rounding() -> None:
    bundle = Bundle(L2(1e-2), 2, Rounding(1e-9, np.ones(2)))
    bundle.add(cut(np.zeros(2), 0.5), (1e7, 1e7))
    assert bundle.lower_bound() == pytest.approx(0.5 - 1e-2 - 2 * (1e-2) ** 2 / (4 * 1e-2), rel=1e-6)


@pytest.mark.parametrize("known", [False, True])
def test_a_step_from_the_mean_of_the_cuts_is_newtons(known: bool) -> None:
    """R is quadratic, and the metric is its curvature: then the step ends at the optimum, wherever cuts were made."""
    rng, lam = np.random.default_rng(5), 0.01
    root = rng.normal(size=(8, 4))
    matrix, linear = root.T @ root / 8.0, rng.normal(size=4)
    bundle = Bundle(L2(lam), 4)
    if known:  # it was made nowhere, and is far below
        bundle.add(cut(rng.normal(size=4), -100.0))
    both = matrix + 2.0 * lam * np.eye(4)
    optimum = np.linalg.solve(both, linear)
    constant = 10.0 + float(linear @ optimum)
    points = [optimum + rng.normal(size=4) for _ in range(3)]
    for point in points:
        slope = matrix @ point - linear
        value = float(point @ matrix @ point / 2.0 - linear @ point) + constant
        bundle.add(cut(slope, value - float(slope @ point)))
    _, found = bundle.step_between(points, Metric(Dense(both)))
    assert np.allclose(found, optimum)


@pytest.mark.parametrize("root", [-17.0, -3.3, 0.0, 0.4, 8.0, 17.9])
@pytest.mark.parametrize("bend", [0.2, 1.0, 5.0])
def test_a_root_is_found_in_few_steps(root: float, bend: float) -> None:
    """Of functions that are flat on both sides, as a value is along the logarithm of its multiplier."""
    search = Root(0.0)
    for _ in range(24):
        value = float(np.tanh(bend * (root - search.next)) + 0.01 * (root - search.next))
        if -1e-3 <= value <= 0.0:
            return
        search.take(value)
    pytest.fail(f"it is still at {search.next}")


def test_what_rounding_takes_from_a_bound_is_what_is_missing_in_it() -> None:
    exact, rounded = Bundle(L2(0.1), 2), Bundle(L2(0.1), 2, Rounding(1e-3, np.ones(2)))
    for bundle in (exact, rounded):
        bundle.add(cut(np.array([-0.1, 0.2]), 0.9))
    assert exact.rounded() == 0.0
    assert 1e-3 < rounded.rounded() == pytest.approx(exact.lower_bound() - rounded.lower_bound())


def test_a_root_that_there_is_none_of_is_not_looked_for_for_long() -> None:
    search = Root(0.0)
    for _ in range(18):
        assert not search.is_narrow
        search.take(1.0)
        if search.is_narrow:
            return
    pytest.fail(f"it is still at {search.next}")


def test_slopes_that_cancel_to_nine_digits_prove_a_bound() -> None:
    """Of their products, 10^19, doubles know no more than thousands: all multipliers went to the cut that is 0."""
    bundle = Bundle(L2(1.0), 2)
    for slope, offset in (([1e9, 0.3], 1.0), ([-3e9, 0.1], 0.8)):
        bundle.add(Cut(np.array(slope), offset, 0.0, 0.0, None))
    assert bundle.lower_bound() == pytest.approx(0.95 - 0.25**2 / 4.0, rel=1e-5)
    assert bundle.minimiser()[1] == pytest.approx(-0.125, rel=1e-6)
