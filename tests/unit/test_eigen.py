"""The largest eigenvalues by power iteration, next to all of them."""

import numpy as np
import pytest

from sqlsvm.solve.eigen import DELTA, EPSILON, largest, steps_needed


@pytest.mark.parametrize("decay", [0.5, 0.9, 0.99])
def test_power_iteration_finds_the_largest(decay: float) -> None:
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(120, 120)))
    values = decay ** np.arange(120)
    matrix = turn * values @ turn.T
    found = largest(matrix, 4, large=100)
    np.testing.assert_allclose(found.values, values[:4], atol=10 * EPSILON)
    assert found.residual <= EPSILON
    assert 0 < found.steps <= steps_needed(120, values[3], values[17]) + 5
    whole = largest(matrix, 4)
    assert whole.steps == 0
    for v, w in zip(found.vectors.T, whole.vectors.T, strict=True):
        np.testing.assert_allclose(v, w, atol=1e-6)


def test_equal_eigenvalues_have_a_residual_that_proves_them() -> None:
    found = largest(np.eye(50), 3, large=10)
    np.testing.assert_allclose(found.values, 1.0)
    assert found.residual < 1e-12


def test_a_matrix_of_low_rank() -> None:
    x = np.random.default_rng(1).normal(size=(3, 80))
    found = largest(x.T @ x, 5, large=10)
    np.testing.assert_allclose(found.values[:3], np.linalg.eigvalsh(x @ x.T)[::-1], rtol=1e-9)
    np.testing.assert_allclose(found.values[3:], 0.0, atol=1e-6)


def test_the_bound_holds_for_one_vector() -> None:
    """So many steps are enough from a random start, which is far from a vector with the probability that it says."""
    rng, d = np.random.default_rng(2), 40
    values = 0.7 ** np.arange(d)
    steps = int(steps_needed(d, values[0], values[1]))
    for _ in range(20):
        u = rng.normal(size=d)
        u = values**steps * u / np.linalg.norm(u)
        assert abs(u[0]) / np.linalg.norm(u) >= 1 - EPSILON
    assert DELTA < 1e-6
