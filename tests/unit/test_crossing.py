"""What rounding may have taken past a change of the slope: never less than it has, and much less than it could have."""

import numpy as np
import pytest

from sqlsvm.engine.base import Values
from sqlsvm.solve.crossing import crossed


def bound(d: float, exact: Values, rows: Values, delta: float) -> float:
    rest = exact - d
    place, size, first, second = (np.array([each]) for each in (d, rows.sum(), rows @ rest, rows @ rest**2))
    return float(crossed(place, size, first, second, delta)[0])


@pytest.mark.parametrize("seed", range(200))
def test_it_is_never_too_low_nor_more_than_all_rows_could_miss(seed: int) -> None:
    """Also where all rows are as far off as they can be, to one side or to both."""
    rng = np.random.default_rng(seed)
    delta, size = rng.uniform(0.1, 3), rng.integers(1, 6)
    d = float(rng.choice([0.0, rng.uniform(-3, 3), float(rng.integers(-2, 3))]))
    off = [rng.uniform(-1, 1, size), rng.choice([-1.0, 1.0], size), np.full(size, rng.choice([-1.0, 1.0]))][seed % 3]
    exact, rows = d + delta * off, rng.uniform(0, 5, size)
    missed = float(rows @ (np.maximum(0, exact) - (d > 0) * exact))
    found = bound(d, exact, rows, delta)
    assert missed - 1e-12 * (1 + missed) <= found <= rows.sum() * max(0.0, delta - abs(d)) + 1e-12


def test_it_is_close_where_the_rounding_of_three_bags_adds_up() -> None:
    """Near 0 a worst case of 2.5 buckets comes down to less than 0.4, where 0.125 were missed."""
    rng = np.random.default_rng(1)
    total = 0.0
    for d in (-1.0, 0.0, 1.0):
        off = rng.uniform(-0.5, 0.5, (20_000, 3)).sum(axis=1)
        total += bound(d, d + off, np.full(20_000, 1 / 20_000), 1.5)
    assert 0.125 < total < 0.4


def test_what_is_not_rounded_misses_nothing() -> None:
    assert bound(0.0, np.zeros(3), np.ones(3), 0.0) == 0.0


def test_rounding_does_not_hide_rows_that_are_almost_on_the_knot() -> None:
    """Their squares are the difference of larger numbers, and may come out as 0 or less."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        exact = rng.uniform(0, 3e-9, 1000)
        assert bound(-1.0, exact, np.full(1000, 1e6), 1.5) >= 1e6 * exact.sum()
