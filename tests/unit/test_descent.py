"""The paper's algorithm: what its theorem promises, and no claim beyond it."""

from math import floor, log, sqrt
from typing import Literal

import numpy as np
import pytest

from sqlsvm.lab.solve import descent
from sqlsvm.solve import dane
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort
from tests.ground.numpy_oracle import NumpyOracle, flat_oracle, levels_sum

LAM = 0.05


def small() -> NumpyOracle:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (800, 4))
    return flat_oracle(rows, np.where(rows[:, 0] + 0.3 * rng.normal(size=800) > 0, 1.0, -1.0))


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5])
def test_its_bounds_hold_for_the_model(epsilon: float) -> None:
    oracle = small()
    solution = descent.solve(oracle, L2(LAM), Effort(max_passes=40, epsilon=epsilon))
    proof = solution.certificate
    assert proof.objective <= oracle.objective(solution.beta, LAM) <= proof.objective_upper
    assert proof.lower_bound <= dane.solve(oracle, L2(LAM), Effort(sample=800)).certificate.objective_upper


@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_the_additive_guarantee(epsilon: float) -> None:
    oracle, passes = small(), 300
    solution = descent.solve(oracle, L2(LAM), Effort(max_passes=passes, epsilon=epsilon))
    optimum = dane.solve(oracle, L2(LAM), Effort(tol=1e-5, sample=800)).certificate.lower_bound
    radius = descent.ball_radius(4, LAM)
    slope = 2.0 * LAM * radius + 2.0
    error = slope**2 * (1.0 + log(passes)) / (4.0 * LAM * passes) + 3.0 * epsilon * 2.0 * radius
    assert oracle.objective(solution.beta, LAM) <= optimum + error


@pytest.mark.parametrize("step", ["strong", "paper"])
def test_both_step_rules_come_near(step: Literal["strong", "paper"]) -> None:
    oracle = small()
    solution = descent.solve(oracle, L2(LAM), Effort(max_passes=200, epsilon=0.02, step=step))
    optimum = dane.solve(oracle, L2(LAM), Effort(tol=1e-5, sample=800)).certificate.lower_bound
    assert oracle.objective(solution.beta, LAM) <= 1.1 * optimum


def test_the_first_steps_by_hand() -> None:
    """One row x = 1/2, y = 1, lam = 1/4: ghat = -1/2 at 0, the step is 2; at 1 the row is far and ghat = 1/2 - 1/2."""
    state = descent.solve(
        flat_oracle(np.full((1, 1), 0.5), np.ones(1)), L2(0.25), Effort(max_passes=3, epsilon=0.1)
    ).state
    assert state.points[:, 0].tolist() == [0.0, 1.0, 1.0]


def test_the_iterates_stay_in_the_ball() -> None:
    state = descent.solve(small(), L2(1e-3), Effort(max_passes=30)).state
    assert np.linalg.norm(state.points, axis=1).max() <= descent.ball_radius(4, 1e-3) * (1.0 + 1e-12)


def test_running_out_of_passes_is_not_convergence() -> None:
    solution = descent.solve(small(), L2(LAM), Effort(max_passes=50))
    assert not solution.converged
    assert solution.certificate.gap > 0.1


def test_the_theorem_is_convergence() -> None:
    options = Effort(tol=0.5, epsilon=0.01, max_passes=1000)
    needed = descent.theorem_passes(1, 2.0, options)
    oracle = flat_oracle(np.array([[1.0], [-1.0], [0.5]]), np.array([1.0, 1.0, -1.0]))
    solution = descent.solve(oracle, L2(2.0), options)
    assert solution.converged
    assert len(solution.history) <= floor(needed) + 1


def test_the_theorem_of_the_paper_asks_for_more() -> None:
    strong = descent.theorem_passes(20, 1e-2, Effort())
    paper = descent.theorem_passes(20, 1e-2, Effort(step="paper"))
    assert 1e6 < strong < paper


@pytest.mark.parametrize(("dimension", "lam"), [(1, 0.1), (3, 5.0), (8, 1e-3)])
def test_the_trivial_bound_is_below_every_optimum(dimension: int, lam: float) -> None:
    rows = np.ones((1, dimension))
    best = dane.solve(flat_oracle(rows, np.ones(1)), L2(lam), Effort(tol=1e-6, sample=10, max_passes=40))
    bound = descent.trivial_lower_bound(dimension, lam)
    assert 0.0 < bound <= best.certificate.objective_upper * (1 + 1e-12)  # they are equal, up to rounding
    assert bound == pytest.approx(best.certificate.objective_upper, rel=1e-4)


def test_a_resumed_descent_is_the_one_that_never_stopped() -> None:
    whole = descent.solve(small(), L2(LAM), Effort(max_passes=20))
    half = descent.solve(small(), L2(LAM), Effort(max_passes=8))
    rest = descent.solve(small(), L2(LAM), Effort(max_passes=20), state=half.state)
    assert np.array_equal(rest.state.points, whole.state.points)
    assert sqrt(float(np.sum((rest.beta - whole.beta) ** 2))) == 0.0


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.9])
def test_levels_lose_at_most_a_factor(epsilon: float) -> None:
    values = np.random.default_rng(1).normal(0.3, 0.7, 400)
    exact = float(np.maximum(values, 0.0).sum())
    assert exact / (1.0 + epsilon) <= levels_sum(values, epsilon) <= exact
