"""The certificate on problems made to break it: it may be loose, never wrong."""

from collections.abc import Callable
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from sqlsvm.solve import bundle, dane
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort, Solution
from tests.ground.liblinear import liblinear_beta
from tests.ground.numpy_oracle import NumpyOracle, flat_oracle

Problem = tuple[Array, Array]
LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


def noisy(rng: np.random.Generator) -> Problem:
    rows = rng.uniform(-1, 1, (int(rng.integers(5, 150)), int(rng.integers(1, 12))))
    return rows, np.where(rows[:, 0] + rng.normal(size=len(rows)) > 0, 1.0, -1.0)


def separable(rng: np.random.Generator) -> Problem:
    rows = rng.uniform(-1, 1, (60, 5))
    rows[:, 0] += np.where(rows[:, 0] > 0, 1.0, -1.0)
    return rows, np.sign(rows[:, 0])


def constant_features(rng: np.random.Generator) -> Problem:
    return np.ones((40, 4)), rng.choice([-1.0, 1.0], 40)


def duplicated_features(rng: np.random.Generator) -> Problem:
    rows, labels = noisy(rng)
    return np.hstack([rows, rows, rows]), labels


def one_hot(rng: np.random.Generator) -> Problem:
    return np.eye(6)[rng.integers(0, 6, 80)], rng.choice([-1.0, 1.0], 80)


def one_category(rng: np.random.Generator) -> Problem:
    return np.eye(6)[np.zeros(30, dtype=int)], rng.choice([-1.0, 1.0], 30)


def one_row(rng: np.random.Generator) -> Problem:
    return rng.normal(size=(1, 3)), np.ones(1)


def one_feature(rng: np.random.Generator) -> Problem:
    return rng.normal(size=(50, 1)), rng.choice([-1.0, 1.0], 50)


def zero_matrix(rng: np.random.Generator) -> Problem:
    return np.zeros((20, 3)), rng.choice([-1.0, 1.0], 20)


def wide(rng: np.random.Generator) -> Problem:
    return rng.choice([-1.0, 0.0, 1.0], (60, 200)), rng.choice([-1.0, 1.0], 60)


KINDS = (
    noisy,
    separable,
    constant_features,
    duplicated_features,
    one_hot,
    one_category,
    one_row,
    one_feature,
    zero_matrix,
    wide,
)


def assert_certificate_holds(solution: Solution, oracle: NumpyOracle, lam: float, points: list[Array]) -> None:
    proof, slack = solution.certificate, 1e-12
    value = oracle.objective(solution.beta, lam)
    assert proof.objective - slack <= value <= proof.objective_upper + slack
    assert all(proof.lower_bound <= oracle.objective(p, lam) + slack for p in [solution.beta, *points])
    assert all(a.lower_bound <= b.lower_bound for a, b in pairwise(solution.history))
    assert all(a.objective_upper >= b.objective_upper for a, b in pairwise(solution.history))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_is_never_wrong(kind: Callable[[np.random.Generator], Problem]) -> None:
    """300 problems: 10 kinds, 5 lambdas, 3 seeds, 2 solvers, half of them counted on a grid."""
    for number in range(30):
        rng = np.random.default_rng(number)
        lam, exact = LAMBDAS[number % 5], number % 2 == 0
        solver: ModuleType = dane if number < 15 else bundle
        rows, labels = kind(rng)
        oracle = flat_oracle(rows, labels, exact=exact)
        options = Effort(max_passes=5 if solver is dane else 12, sample=100, seed=number)
        solution = solver.solve(oracle, L2(lam), options)
        points = [np.zeros(rows.shape[1]), *(solution.beta + rng.normal(size=(20, rows.shape[1])) * 0.3)]
        if len(set(labels)) == 2:
            points.append(liblinear_beta(rows, labels, lam, max_iter=500))
        assert_certificate_holds(solution, oracle, lam, points)


@pytest.mark.parametrize("solver", [dane, bundle])
@pytest.mark.parametrize("buckets", [1, 2, 5])
def test_coarse_counting_loosens_but_never_lies(solver: ModuleType, buckets: int) -> None:
    rng = np.random.default_rng(buckets)
    rows, labels = noisy(rng)
    oracle = flat_oracle(rows, labels, exact=False)
    solution = solver.solve(oracle, L2(1e-3), Effort(max_passes=10, sample=200, buckets=buckets))
    assert set(oracle.asked) == {buckets}
    assert_certificate_holds(solution, oracle, 1e-3, [liblinear_beta(rows, labels, 1e-3)])


@pytest.mark.parametrize("solver", [dane, bundle])
def test_a_sloppy_dual_is_still_a_bound(solver: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def lazy(gram: Array, offsets: Array, curvature: float, start: Array) -> Array:
        shares = np.random.default_rng(len(offsets)).dirichlet(np.ones(len(offsets)))
        return 0.9 * start + 0.1 * shares

    monkeypatch.setattr("sqlsvm.solve.penalty.solve_simplex_qp", lazy)
    rows, labels = noisy(np.random.default_rng(8))
    oracle = flat_oracle(rows, labels)
    solution = solver.solve(oracle, L2(1e-2), Effort(max_passes=8, sample=200))
    assert_certificate_holds(solution, oracle, 1e-2, [liblinear_beta(rows, labels, 1e-2)])
