"""The sample problem against LIBLINEAR: the same optimum, and a proof of it, for rows of every kind."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from sqlsvm.solve import curvature, local
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.cuts import Bundle
from sqlsvm.solve.local import LocalProblem
from sqlsvm.solve.loss import HINGE
from sqlsvm.solve.oracle import Sample
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.rows import SampleRows
from tests.ground.liblinear import liblinear_beta

WIDTH = 1e-3


@dataclass(frozen=True)
class Case:
    """Numbers, the place of the 1 of each category, labels, weights."""

    numbers: Array
    ones: Indices
    labels: Array
    weights: Array
    width: int

    @property
    def sample(self) -> Sample:
        origins = np.ones(len(self.labels))
        return Sample(SampleRows(self.numbers, self.ones, self.width), self.labels, origins, self.weights)


def case(numbers: Array, labels: Array, weights: Array | None = None, *categories: Indices) -> Case:
    ones, width = [], numbers.shape[1]
    for values in categories:
        ones.append(values + width)
        width += int(values.max()) + 1
    places = np.array(ones, dtype=np.int64).reshape(len(ones), len(numbers)).T
    return Case(numbers, places, labels, np.ones(len(labels)) if weights is None else weights, width)


def noisy(rng: np.random.Generator, score: Array) -> Array:
    return np.where(score + 0.7 * rng.normal(size=len(score)) > 0, 1.0, -1.0)


def dense(rng: np.random.Generator) -> Case:
    x = rng.normal(size=(300, 6))
    return case(x, noisy(rng, x[:, 0] - x[:, 1]))


def sparse(rng: np.random.Generator) -> Case:
    """Heavy-tailed categories of two features, and a few numbers."""
    one, two = (np.minimum(rng.geometric(p, 600) - 1, most) for p, most in ((0.02, 150), (0.1, 40)))
    x, taste = rng.normal(size=(600, 2)), rng.normal(size=200)
    return case(x, noisy(rng, x[:, 0] + taste[one] + taste[two]), None, one, two)


def weighted(rng: np.random.Generator) -> Case:
    found = sparse(rng)
    return Case(found.numbers, found.ones, found.labels, rng.uniform(0.1, 5.0, len(found.labels)), found.width)


def repeated(rng: np.random.Generator) -> Case:
    x = np.round(rng.normal(size=(40, 3))).repeat(10, axis=0)
    return case(x, noisy(rng, x[:, 0]), None, rng.integers(0, 5, 40).repeat(10))


def constant(rng: np.random.Generator) -> Case:
    """A feature that never changes, one that is always 0, and one that is there twice."""
    x = rng.normal(size=(200, 1))
    return case(np.hstack([np.full((200, 1), 3.0), np.zeros((200, 1)), x, x]), noisy(rng, x[:, 0]))


def one_class(rng: np.random.Generator) -> Case:
    return case(rng.normal(size=(100, 3)), np.ones(100))


def one_row(rng: np.random.Generator) -> Case:
    return case(rng.normal(size=(1, 3)), -np.ones(1), np.full(1, 7.0), np.zeros(1, dtype=np.int64))


CASES = [dense, sparse, weighted, repeated, constant, one_class, one_row]


def optimum(problem: LocalProblem, tilt: Array, width: float = WIDTH, accuracy: float = 1e-8) -> Array:
    """Narrower step by step, as the solver does it."""
    beta = np.zeros_like(tilt)
    for wide in (0.2, 0.02):
        beta = problem.minimise(beta, tilt, max(wide, width), accuracy)
    return problem.minimise(beta, tilt, width, accuracy)


@pytest.mark.parametrize("few", [0, 1000], ids=["by rows", "as a matrix"])
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-4])
@pytest.mark.parametrize("made", CASES)
def test_the_optimum_of_liblinear_between_two_bounds(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[np.random.Generator], Case], lam: float, few: int
) -> None:
    monkeypatch.setattr(local, "DENSE_UP_TO", few)
    found = made(np.random.default_rng(0))
    problem, nothing = LocalProblem.of(found.sample, HINGE, L2(lam)), np.zeros(found.width)
    beta = optimum(problem, nothing)
    proof, value = Bundle(L2(lam), found.width), problem.value(beta, nothing, 0.0)
    proof.add(problem.cut(beta, WIDTH))
    if made is one_class or made is one_row:  # LIBLINEAR needs two classes
        peer = value
    else:
        peer_beta = liblinear_beta(found.sample.rows.dense(), found.labels, lam, found.weights, max_iter=500)
        peer = problem.value(peer_beta, nothing, 0.0)
    assert proof.lower_bound() <= peer
    assert value <= peer + WIDTH / 2 + 1e-6
    assert value - proof.lower_bound() <= WIDTH / 2 + 1e-6


@pytest.mark.parametrize("made", [dense, sparse, weighted])
def test_by_rows_and_as_a_matrix_is_the_same(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[np.random.Generator], Case]
) -> None:
    """With a tilt as well."""
    found = made(np.random.default_rng(1))
    problem, tilt = LocalProblem.of(found.sample, HINGE, L2(1e-3)), np.full(found.width, 0.003)
    as_matrix = optimum(problem, tilt, 0.05, 1e-12)
    monkeypatch.setattr(local, "DENSE_UP_TO", 0)
    assert np.allclose(optimum(problem, tilt, 0.05, 1e-12), as_matrix, atol=1e-5)


def test_the_accuracy_that_was_asked_for() -> None:
    found = sparse(np.random.default_rng(2))
    problem, nothing = LocalProblem.of(found.sample, HINGE, L2(1e-3)), np.zeros(found.width)
    best = problem.value(problem.minimise(nothing, nothing, 0.05, 1e-12), nothing, 0.05)
    for accuracy in (1e-1, 1e-3, 1e-5):
        value = problem.value(problem.minimise(nothing, nothing, 0.05, accuracy), nothing, 0.05)
        assert best <= value <= best * (1.0 + accuracy)


def test_columns_that_repeat_each_other_where_lambda_is_nothing() -> None:
    """The Hessian is singular to the last bit: a step is still made."""
    half = np.random.default_rng(0).choice([-1.0, 1.0], (50, 1))
    labels = np.where(np.arange(50) % 5 > 0, half[:, 0], -half[:, 0])
    problem = LocalProblem.of(case(np.hstack([half, half]), labels).sample, HINGE, L2(1e-18))
    beta = problem.minimise(np.full(2, 0.5), np.zeros(2), 0.05, 1e-6)
    assert np.isfinite(beta).all()
    assert problem.value(beta, np.zeros(2), 0.0) < 0.5


@pytest.mark.parametrize("few", [0, 1000], ids=["by rows", "as a matrix"])
def test_the_metric_is_the_inverse_of_the_curvature(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(local, "DENSE_UP_TO", few)
    found = sparse(np.random.default_rng(3))
    problem = LocalProblem.of(found.sample, HINGE, L2(1e-3))
    rng, beta = np.random.default_rng(4), np.zeros(found.width)
    metric = curvature.Metric(problem.curvature(beta + 0.3, 0.5))
    slopes = rng.normal(size=(3, found.width))
    first = metric.images(slopes[:1])
    images = metric.images(slopes)
    assert np.array_equal(images[0], first[0])
    step = 1e-6
    for slope, image in zip(slopes, images, strict=True):
        change = problem.loss_slope(beta + 0.3 + step * image, 0.5) - problem.loss_slope(beta + 0.3, 0.5)
        assert np.allclose(change / step + problem.penalty.slope(image), slope, atol=0.02)


def test_a_part_of_the_rows_stands_for_all_of_them() -> None:
    """Evenly spaced rows, whose weights add up to 1."""
    whole = LocalProblem.of(dense(np.random.default_rng(0)).sample, HINGE, L2(1e-3))
    assert whole.thinned(151) is whole
    part = whole.thinned(100)
    assert len(part.rows) == 100
    np.testing.assert_array_equal(part.rows.numbers, whole.rows.numbers[::3])
    np.testing.assert_array_equal(part.signs, whole.signs[::3])
    assert part.shares.sum() == pytest.approx(1.0)
