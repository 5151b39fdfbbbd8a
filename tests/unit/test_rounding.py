"""The allowances for the rounding of sums: each makes a bound wider, and none narrower."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sqlsvm.plan.plan import Plan, Rows, Terms
from sqlsvm.plan.scaling import LabelMoments, Moments, scaling
from sqlsvm.plan.target import Numeric, centred_at
from sqlsvm.query import Feature
from sqlsvm.run import rounding as of_rounding
from sqlsvm.run.rounding import CHANGES, FEW, _most, is_far, of_lists, of_rows, rounding
from sqlsvm.run.training import Penalising
from sqlsvm.solve.elastic import Elastic
from sqlsvm.solve.loss import named
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.rounding import UNIT, Rounding
from sqlsvm.sql import column
from tests.unit.test_plan import planned, tree

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
    assert UNIT == 2.0**-53
    assert Rounding.after(1e6, np.ones(1), 0.0).share >= 1e6 * UNIT
    assert Rounding.after(1e6, np.ones(1), 0.0).share == pytest.approx(1e6 * UNIT)
    assert Rounding.after(1.0 / UNIT, np.ones(1), 0.0).share == float("inf")
    assert ROUNDING.of_value(3.0, 1.0) == 2.0


# -- of a problem ------------------------------------------------------------------------------------------------------

ROWS, KEYS = 1000.0, 10.0
"""Rows of each table, and the most with one key."""


def problem(plan: Plan, label: LabelMoments | None = None, centre: float = 0.0) -> Any:
    """What is measured of a join: each number has the mean 2 and the mean square 9."""
    if label is not None:
        target = centred_at(Feature("y", "r0", column("y", "r0"), "numeric"), centre)
        plan = replace(plan, design=replace(plan.design, target=target))
        assert isinstance(target, Numeric)
    size, nothing = plan.design.size, np.zeros(plan.design.size)
    moments = Moments(ROWS, 0.0, 0.0, np.full(size, 2.0 * ROWS), np.full(size, 9.0 * ROWS), nothing, nothing, label)
    facts = SimpleNamespace(key=lambda on: SimpleNamespace(largest=KEYS if on else ROWS))
    return SimpleNamespace(
        plan=plan,
        moments=moments,
        scaling=scaling(plan.design, moments, "none"),
        catalog=SimpleNamespace(of=lambda alias: facts),
        rows=ROWS,
        work=SimpleNamespace(engine=SimpleNamespace(fold=str.lower)),
    )


def test_sums_with_weights_are_of_rounded_numbers() -> None:
    """With weights N and the class weights are sums too."""
    plan = planned(tree("0>1"), features="0 1")
    weighted = replace(plan, design=replace(plan.design, weight=Feature("w", "r0", column("w", "r0"), "numeric")))
    plain, rounded = rounding(problem(plan)), rounding(problem(weighted))
    others = FEW * 2 + 2 * 2
    assert plain.share / UNIT == pytest.approx(2.0 * ROWS + others, rel=0.6)
    assert rounded.share / UNIT >= 3.0 * (ROWS + others)
    assert rounded.share > 2.9 * plain.share
    assert of_rows(problem(plan), 50).share / UNIT == pytest.approx(3 * (50 + FEW + 2 * 2))


def test_the_size_of_a_number_is_the_root_of_its_mean_square() -> None:
    np.testing.assert_allclose(rounding(problem(planned(tree("0>1"), features="0 1"))).sizes, [3.0, 3.0])


@pytest.mark.parametrize(("deviation", "sums", "far"), [(1e3, 3, False), (1e-3, 3, True)])
def test_a_stored_score_is_rounded_next_to_the_centre_of_the_label(deviation: float, sums: int, far: bool) -> None:
    """That of 10^5 is far from 0 if it is more than 1000 deviations."""
    found = problem(planned(tree("0>1"), features="0"), LabelMoments(0.0, ROWS * deviation**2), 1e5)
    found.plan = replace(found.plan, loss=named("squared"))
    assert is_far(found) is far
    allowed = rounding(found)
    assert allowed.label == pytest.approx(sums * UNIT * 1e5)
    assert allowed.of_stored(np.zeros(1), 2.0) == pytest.approx(allowed.label * (2.0 + allowed.label))
    assert allowed.bend == 1.0


def test_an_allowance_for_sums_of_terms_grows_with_their_weight() -> None:
    made = Rounding(far=np.array([0.0, 1e-3]), label=1e-4)
    assert made.of_stored(np.array([9.0, -2.0]), 3.0) == pytest.approx(3.0 * (1e-4 + 2e-3))
    added = Rounding(sizes=np.array([2.0, 1.0]), terms=1e-3)  # terms that cancel
    assert added.of_stored(np.array([9.0, -2.0]), 3.0) == pytest.approx(3.0 * 1e-3 * 20.0)


def test_a_sum_has_no_more_terms_than_its_rows() -> None:
    """Nor than rows of the join, where each is a part of one; a row of a shared bag is two."""
    found, two = problem(planned(tree("0-1"), features="0 1")), (Rows("r0"), Rows("r1"))
    assert _most(found, Terms(two), ()) == ROWS * ROWS
    assert _most(found, Terms(two, most=7), ()) == 7
    assert _most(found, Terms(two, weighted=True), ()) == ROWS
    assert _most(found, Terms(two, weighted=True), (0,)) == 2 * ROWS
    assert _most(found, Terms(two), (0,)) == 2 * ROWS * ROWS


def test_running_sums_go_over_the_entries_of_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_rounding, "met", lambda _: (Terms((Rows("r0"),), most=20), Terms((Rows("r1"),), most=5)))
    found = of_lists(problem(planned(tree("0-1"), features="0 1")))
    assert found.share / UNIT == pytest.approx(CHANGES * (20 + 5) + FEW)


@pytest.mark.parametrize(("names", "far"), [("x0 x1", 0.0), ("x x", 3.0 * UNIT * 4e6)])
def test_each_term_of_a_number_that_is_a_sum_loses_digits_to_its_origin(names: str, far: float) -> None:
    """A number with one term is less its origin as it is read."""
    plan = planned(tree("0>1"), features="0 1")
    design = plan.design.with_origins({0: 1e6, 1: -3e6})
    named = zip(design.coordinates, names.split(), strict=True)
    design = replace(design, coordinates=tuple(replace(c, feature=name) for c, name in named))
    assert rounding(problem(replace(plan, design=design))).far.max() == pytest.approx(far)


@pytest.mark.parametrize(("loss", "strength", "l1"), [("absolute", 0.1 / 4.0, 0.3), ("squared", 0.1, 0.3 * 4.0)])
def test_penalties_are_for_a_label_in_its_deviations(loss: Any, strength: float, l1: float) -> None:
    found = problem(planned(tree("0>1"), features="0"))
    found.scaling, found.plan = replace(found.scaling, label=4.0), replace(found.plan, loss=named(loss))
    plain, sparse = Penalising(0.1).of(found), Penalising(0.1, 0.3).of(found)
    assert isinstance(plain, L2)
    assert isinstance(sparse, Elastic)
    assert (plain.lam, sparse.lam, sparse.l1) == pytest.approx((strength, strength, l1))
    assert sparse.free is None


def test_counts_that_doubles_do_not_hold_are_rounded() -> None:
    found, plain = (problem(planned(tree("0>1"), features="0 1")) for _ in range(2))
    found.moments = replace(found.moments, n=2.0**53)
    plain.moments = replace(plain.moments, n=2.0**53 - 1.0)
    assert rounding(found).share > 2.0 * rounding(plain).share
