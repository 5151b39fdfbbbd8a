"""The allowances for the rounding of sums: each makes a bound wider, and none narrower."""

import numpy as np
import pytest

from sqlsvm.solve.rounding import UNIT, Rounding

ROUNDING = Rounding(0.5, np.array([2.0, 0.0, 0.0]), 3.0)
"""One number, and two categories."""


def test_a_slope_is_longer_by_what_rounding_may_add() -> None:
    slope = np.array([-3.0, 0.0, 0.0])
    assert ROUNDING.longest(slope) == pytest.approx(3.0 + 0.5 * 2.0 + 0.5 * 3.0)
    assert Rounding().longest(slope) == pytest.approx(3.0)


def test_scores_reach_as_far_as_their_terms() -> None:
    """Of all categories of a feature a row has one."""
    assert ROUNDING.reach(np.array([-1.0, 4.0, -5.0])) == pytest.approx(2.0 * 1.0 + 3.0 * 5.0)
    assert Rounding(0.5, np.array([2.0])).reach(np.array([-1.0])) == pytest.approx(2.0)
    assert Rounding(0.5, np.array([2.0]), 1.0).reach(np.array([-1.0])) == pytest.approx(2.0)


def test_larger_terms_are_rounded_more() -> None:
    """The offset by 4 times as much, and the slope by 8 times."""
    found = ROUNDING.times(4.0, 8.0)
    assert found.share == pytest.approx(4.0 * 0.5)
    np.testing.assert_allclose(found.share * found.sizes, 8.0 * 0.5 * ROUNDING.sizes)
    assert found.share * found.features == pytest.approx(8.0 * 0.5 * 3.0)


def test_each_step_is_off_by_a_unit() -> None:
    assert Rounding.after(1e6, np.ones(1), 0.0).share >= 1e6 * UNIT
    assert Rounding.after(1e6, np.ones(1), 0.0).share == pytest.approx(1e6 * UNIT)
    assert Rounding.after(1.0 / UNIT, np.ones(1), 0.0).share == float("inf")
    assert ROUNDING.of_value(3.0, 1.0) == 2.0
