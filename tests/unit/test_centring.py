"""What numbers and labels are measured from."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sqlsvm.compile import messages, moments, tally
from sqlsvm.plan.design import Coordinate
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import LabelMoments, Moments
from sqlsvm.plan.target import CODE, Numeric, centred_at
from sqlsvm.query import Feature
from sqlsvm.run.centring import _centre, _origins, centred_rows
from sqlsvm.sql import column, number
from tests.unit.test_plan import planned, tree

N = 1000.0


def _measured(*means: float) -> Moments:
    """Numbers with these means and a deviation of 1."""
    each, nothing = np.array(means), np.zeros(len(means))
    return Moments(N, 0.0, 0.0, N * each, N * (each * each + 1.0), nothing, nothing)


def _plan() -> Plan:
    return planned(tree("0>1"), features="0 1")


@pytest.mark.parametrize(("ends", "origin"), [((1990.0, 2010.0), 2000.0), ((2005.0, 2010.0), 2005.0)])
def test_numbers_far_from_0_have_their_mean_for_an_origin(ends: tuple[float, float], origin: float) -> None:
    """Within their ends, as doubles know no mean exactly; those that are near 0 have none."""
    assert _origins(_plan(), _measured(2000.0, 2.0), lambda c: ends) == ({0: origin}, set())


def test_a_constant_is_its_own_origin_and_a_small_one_does_no_harm() -> None:
    large = 7.33e9
    assert _origins(_plan(), _measured(large, 2.0), lambda c: (large, np.nextafter(large, np.inf))) == ({0: large}, {0})
    assert _origins(_plan(), _measured(large, 2.0), lambda c: (large, large + 1.0)) == ({0: large}, set())
    assert _origins(_plan(), _measured(1e3 + 1.0, 2.0), lambda c: (1e3, 1e3)) == ({}, set())


def test_a_label_is_measured_from_its_mean_if_that_is_not_about_0() -> None:
    def moments(mean: float, deviation: float) -> LabelMoments:
        return LabelMoments(N * mean, N * (mean * mean + deviation * deviation))

    assert _centre(50.0, N, moments(100.0, 1.0)) == 150.0
    assert _centre(50.0, N, moments(5e-4, 1.0)) == 50.0
    assert _centre(50.0, 0.0, moments(100.0, 1.0)) == 50.0
    assert _centre(50.0, N, LabelMoments(np.inf, np.inf)) == 50.0


def test_rows_in_memory_are_measured_from_the_mean_by_their_weights() -> None:
    """Weights may be small."""
    plan = _plan()
    one = Coordinate(0, "r0", "", "intercept", number(1))
    design = replace(plan.design, coordinates=(one, Coordinate(1, "r0", "x0", "value", column("x", "r0"))))
    design = replace(design, target=centred_at(Feature("y", "r0", column("y", "r0"), "numeric"), 0.0))
    x, y, weights = 7e6 + np.arange(3.0), 1e3 + np.array([0.25, 0.26, 0.27]), np.array([0.1, 0.1, 0.2])
    found, rows = centred_rows(replace(plan, design=design), {CODE: y, "x1": x}, weights, "standard")
    target = found.design.target
    assert isinstance(target, Numeric)
    assert target.centre == pytest.approx(weights @ y / 0.4, abs=1e-6)
    np.testing.assert_array_equal(rows[CODE], y - target.centre)
    assert found.design.coordinates[1].origin == pytest.approx(weights @ x / 0.4)
    np.testing.assert_array_equal(rows["x1"], x - found.design.coordinates[1].origin)
    near, _ = centred_rows(
        replace(plan, design=design), {CODE: y, "x1": np.array([-1.0, 1.0, 2.0])}, weights, "standard"
    )
    assert near.design.coordinates[1].origin == 0.0
    same, before = centred_rows(replace(plan, design=design), {CODE: y, "x1": x}, 0.0 * weights, "standard")
    assert (same.design, before["x1"] is x) == (design, True)


def test_a_missing_number_in_memory_stays_0() -> None:
    """It is 0 before and after, where the others are measured from their mean."""
    plan = _plan()
    coordinates = (
        Coordinate(0, "r0", "", "intercept", number(1)),
        Coordinate(1, "r0", "x0", "value", column("x", "r0")),
        Coordinate(2, "r0", "x0", "missing", column("x", "r0")),
    )
    design = replace(plan.design, coordinates=coordinates)
    x = np.array([7e6, 7e6 + 1.0, 0.0, 7e6 + 2.0])
    given = {CODE: np.ones(4), "x1": x, "x2": (x == 0.0).astype(float)}
    found, rows = centred_rows(replace(plan, design=design), given, np.ones(4), "standard")
    origin = found.design.coordinates[1].origin
    assert origin > 1e6
    np.testing.assert_array_equal(rows["x1"], np.where(x == 0.0, 0.0, x - origin))


# -- the statements that count ----------------------------------------------------------------------------------------


def test_each_term_of_a_sum_meets_the_later_ones() -> None:
    design: Any = SimpleNamespace(numbers={"s": ("a", "b", "c"), "x": ("d",)})
    found: list[Any] = list(moments.multiplied(design))
    assert found == [("a", ("b", "c")), ("b", ("c",))]


def test_what_needs_the_rows_of_categories() -> None:
    assert moments.measures_categories(frozenset({"negative"}))
    assert moments.measures_categories(moments.CATEGORIES)
    assert not moments.measures_categories(frozenset({"largest"}))


def test_a_bucket_below_leaves_room_for_the_next() -> None:
    down, near = (tally.bucket_of(column("p"), down=way).sql() for way in (True, False))
    assert number(tally.LARGEST_BUCKET - 1).sql() in down
    assert number(tally.LARGEST_BUCKET).sql() in near


def test_the_span_of_a_grid_has_room_for_both_signs() -> None:
    made = messages.spanning(planned(tree("0-1"), 0))
    text = made.query.sql()
    assert made.gives
    assert "2.0 * (" in text or "2 * (" in text
    assert "+ 1" in text
    assert "COALESCE(MAX(ABS(s)), 0)" in text.replace("0.0", "0").replace("CAST(0 AS DOUBLE)", "0")
