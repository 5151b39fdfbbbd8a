"""Intervals of measures: the t distribution, clusters of unlike sizes, and the scales."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sqlsvm.solve.interval import LOG, LOGIT, UNEXPLAINED, Interval, Scale, Sizes, student


@given(st.floats(1.0, 3e6))
def test_student_is_the_t_distribution(degrees: float) -> None:
    assert student(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=3e-6)


def sizes(n: np.ndarray) -> Sizes:
    return Sizes(*((n**power).sum() for power in range(6)))


@given(st.lists(st.floats(0.1, 100.0), min_size=2, max_size=20))
def test_sizes_say_how_the_sum_of_squares_varies(given_sizes: list[float]) -> None:
    """Its mean and its variance, if the means of clusters are independent and normal."""
    n = np.array(given_sizes, dtype=np.longdouble)  # where one cluster has nearly all rows, fifth powers cancel
    adds = np.diag(n) @ (np.eye(len(n)) - np.ones((len(n), 1)) @ (n / n.sum())[None, :])
    covariance = adds @ adds.T
    found = sizes(n)
    assert found.factor == pytest.approx((n**2).sum() / np.trace(covariance), rel=1e-6)
    assert found.degrees == pytest.approx(max(np.trace(covariance) ** 2 / np.trace(covariance @ covariance), 1), 1e-6)


def test_clusters_of_one_size_have_one_degree_less_than_there_are() -> None:
    found = sizes(np.full(12, 7.0))
    assert found.factor == pytest.approx(12 / 11)
    assert found.degrees == pytest.approx(11)
    assert found.effective == pytest.approx(12)
    assert sizes(np.full(5, 7.0)) + sizes(np.full(7, 7.0)) == found


@pytest.mark.parametrize(
    ("scale", "to", "values"),
    [
        (LOG, np.log, (0.2, 3.0)),
        (LOGIT, lambda x: np.log(x / (1 - x)), (0.02, 0.98)),
        (UNEXPLAINED, lambda x: -np.log(1 - x), (-0.3, 0.97)),
    ],
)
def test_an_interval_is_symmetric_on_its_scale(scale: Scale, to: object, values: tuple[float, float]) -> None:
    assert callable(to)
    for value in values:
        found = Interval.around(value, 0.05, 9.0, scale)
        off, slope = to(found.upper) - to(value), (to(value + 1e-6) - to(value - 1e-6)) / 2e-6
        assert off == pytest.approx(to(value) - to(found.lower))
        assert off == pytest.approx(stats.t.ppf(0.975, 9) * 0.05 * slope, rel=1e-6)
        assert scale.range[0] < found.lower < value < found.upper < scale.range[1]


@pytest.mark.parametrize(("value", "scale"), [(0.0, LOG), (1.0, LOGIT), (0.0, LOGIT), (1.0, UNEXPLAINED)])
def test_at_the_end_of_the_range_there_is_still_an_interval(value: float, scale: Scale) -> None:
    certain, unsure = (Interval.around(value, error, 3.0, scale) for error in (0.0, 0.1))
    assert certain.lower == certain.upper == value
    assert scale.range[0] <= unsure.lower <= value <= unsure.upper <= scale.range[1]
    assert unsure.upper - unsure.lower > 0.3


def test_one_cluster_with_nearly_all_rows_says_nothing() -> None:
    found = sizes(np.array([1e9, 0.5]))
    assert found.degrees == 1.0
    assert 1e6 < found.factor < np.inf
    assert found.effective == pytest.approx(1.0)


def test_an_error_that_says_nothing_is_a_number_all_the_same() -> None:
    found = Interval.around(1e-9, 1e3, 1.0, LOG)
    assert found.lower == 0.0
    assert 1e300 < found.upper < np.inf
