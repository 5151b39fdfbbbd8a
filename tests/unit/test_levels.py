"""The levels of a sketch: what the recursion promises, how many there are, and what compressions cost."""

from collections.abc import Sequence
from math import log, log1p

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sqlsvm.lab.compile.sketch import compressions, levels, real_levels, step_for

STEPS = st.floats(0.003, 3.0)
SIZES = st.floats(1.0, 1e30)
Ties = list[tuple[int, int]]


@given(STEPS, SIZES)
def test_a_count_between_two_levels_is_within_the_step_of_the_lower_one(step: float, largest: float) -> None:
    """In whole numbers, so that no rounding hides a violation: the next double below f' is at most (1 + step) f."""
    found = levels(step, largest)
    numerator, denominator = step.as_integer_ratio()
    assert found[0] == 1
    for level, after in zip(found[:-1].tolist(), found[1:].tolist(), strict=True):
        assert level.is_integer()
        below = after - 1 if after <= 2.0**53 else np.nextafter(after, 0.0)
        assert level < after
        assert int(below) * denominator <= int(level) * (denominator + numerator)


@given(STEPS, SIZES)
def test_levels_go_on_to_the_largest_count(step: float, largest: float) -> None:
    found = levels(step, largest)
    assert found[-1] <= largest < (found[-1] * (1 + step) + 1) * (1 + 1e-15)


@given(STEPS)
def test_small_counts_are_levels(step: float) -> None:
    """Up to 1/step nothing is lost."""
    exact = int(1 / step)
    assert levels(step, 1000)[:exact].tolist() == list(range(1, min(exact, 1000) + 1))


@given(STEPS, SIZES)
def test_there_are_few_levels(step: float, largest: float) -> None:
    assert len(levels(step, largest)) <= 1 / step + max(0.0, log(step * largest)) / log1p(step) + 2


@given(STEPS, st.floats(1e-9, 10.0), st.floats(1.0, 1e12))
def test_real_levels_span_what_weights_can_add_up_to(step: float, smallest: float, spread: float) -> None:
    found = real_levels(step, smallest, smallest * spread)
    assert found[0] == smallest
    assert np.all(found[1:] <= found[:-1] * (1 + step) * (1 + 1e-12))
    assert found[-1] * (1 + step) >= smallest * spread * (1 - 1e-12)


def test_without_rows_there_is_no_level() -> None:
    assert not len(levels(0.1, 0.0))
    assert not len(real_levels(0.1, 1.0, 0.0))


def path(m: int) -> Ties:
    return [(i, i + 1) for i in range(m - 1)]


def star(m: int) -> Ties:
    return [(0, i) for i in range(1, m)]


@st.composite
def trees(draw: st.DrawFn) -> Ties:
    m = draw(st.integers(1, 9))
    return [(draw(st.integers(0, i - 1)), i) for i in range(1, m)]


def seen_from(root: int, ties: Sequence[tuple[int, int]]) -> int:
    """By walking the tree: a message for each bag but the root, and the products that each bag keeps."""

    def behind(bag: int, parent: int) -> int:
        children = [a + b - bag for a, b in ties if bag in (a, b) and a + b - bag != parent]
        products = max(0, len(children) - 1)
        return products + sum(1 + behind(child, bag) for child in children)

    neighbours = sum(root in tie for tie in ties)
    return behind(root, -1) - (neighbours >= 2)


@given(trees())
def test_compressions_are_the_same_from_every_root(ties: Ties) -> None:
    assert {seen_from(root, ties) for root in range(len(ties) + 1)} == {compressions(ties)}


@given(trees())
def test_no_tree_is_worse_than_a_star(ties: Ties) -> None:
    m = len(ties) + 1
    assert m - 1 <= compressions(ties) <= max(m - 1, 2 * m - 4)


def test_paths_and_stars() -> None:
    assert [compressions(path(m)) for m in (1, 2, 3, 4, 7)] == [0, 1, 2, 3, 6]
    assert [compressions(star(m)) for m in (3, 4, 5, 7)] == [2, 4, 6, 10]
    assert compressions([(0, 1), (1, 2), (1, 3), (3, 4)]) == 5


@given(st.floats(0.001, 10.0), st.integers(0, 20))
def test_steps_multiply_up_to_epsilon(epsilon: float, compressed: int) -> None:
    step = step_for(epsilon, compressed)
    assert (1 + epsilon) * (1 - 1e-8) <= (1 + step) ** max(1, compressed) <= 1 + epsilon
