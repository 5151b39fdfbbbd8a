"""Platt's sigmoid and the isotonic curve next to those of scikit-learn."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

from sqlsvm.engine.base import Values
from sqlsvm.model.probability import Probability
from sqlsvm.solve.calibration import isotonic, sigmoid


def points(seed: int, rows: int = 300) -> tuple[Values, Values, Values]:
    """Scores with a label each, some of them the same."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=rows) * 10.0 ** rng.integers(-2, 3), 2)
    positive = rng.random(rows) < expit(scores * rng.normal() * 3 / (np.abs(scores).max() or 1.0) + rng.normal())
    positive[:2] = True, False
    return scores, positive, rng.uniform(0.1, 3.0, rows)


def grouped(scores: Values, positive: Values, weights: Values) -> tuple[Values, Values, Values]:
    found, places = np.unique(scores, return_inverse=True)
    negatives, positives = (np.bincount(places, weights * side, len(found)) for side in (~positive, positive))
    return found, negatives, positives


@pytest.mark.parametrize("seed", range(20))
def test_the_sigmoid_is_that_of_scikit_learn(seed: int) -> None:
    scores, positive, weights = points(seed)
    slope, offset = sigmoid(*grouped(scores, positive, weights))
    a, b = _sigmoid_calibration(scores, positive.astype(float), weights)
    np.testing.assert_allclose(Probability("sigmoid", slope, offset)(scores), expit(-(a * scores + b)), atol=1e-5)
    assert log_loss(slope, offset, scores, positive, weights) <= log_loss(a, b, scores, positive, weights) + 1e-9


def log_loss(slope: float, offset: float, scores: Values, positive: Values, weights: Values) -> float:
    n, p = weights[~positive].sum(), weights[positive].sum()
    targets = np.where(positive, (p + 1) / (p + 2), 1 / (n + 2))
    z = slope * scores + offset
    return float((weights * (targets * np.logaddexp(0, z) + (1 - targets) * np.logaddexp(0, -z))).sum())


@pytest.mark.parametrize(
    ("scores", "negatives", "positives"),
    [
        ([0.0, 1.0], [5.0, 0.0], [0.0, 7.0]),
        ([-1e9, 1e9], [5.0, 0.0], [0.0, 7.0]),
        ([3.0], [5.0], [7.0]),
        ([0.0], [1e12], [1.0]),
        ([1.0, 2.0], [0.0, 0.0], [3.0, 4.0]),
        ([1e-12, 2e-12], [1.0, 3.0], [3.0, 1.0]),
    ],
)
def test_a_sigmoid_of_odd_rows(scores: list[float], negatives: list[float], positives: list[float]) -> None:
    """Separated, all alike, or of one class: the gradient is 0 there."""
    at, n, p = (np.array(values) for values in (scores, negatives, positives))
    slope, offset = sigmoid(at, n, p)
    targets = p * (p.sum() + 1) / (p.sum() + 2) + n / (n.sum() + 2)
    residual = targets - (n + p) * Probability("sigmoid", slope, offset)(at)
    np.testing.assert_allclose([residual.sum(), residual @ (at / np.abs(at).max())] if at.any() else residual.sum(),
                               0.0, atol=1e-6 * (n + p).sum())  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_the_curve_is_that_of_scikit_learn(seed: int) -> None:
    scores, positive, weights = points(seed)
    peer: Any = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weights)
    at, shares = isotonic(*grouped(scores, positive, weights))
    found = Probability("isotonic", scores=tuple(at), shares=tuple(shares))
    everywhere = np.concatenate([scores, np.linspace(scores.min() - 1, scores.max() + 1, 1001)])
    np.testing.assert_allclose(found(everywhere), peer.predict(everywhere), atol=1e-9)
    assert np.all(np.diff(at) > 0)
    assert np.all(np.diff(shares) >= 0)


def test_no_score_has_no_probability() -> None:
    for probability in (Probability("sigmoid", -1.0, 0.0), Probability("isotonic", scores=(0.0,), shares=(0.25,))):
        assert np.isnan(probability(np.array([np.nan, 1.0]))).tolist() == [True, False]


@pytest.mark.parametrize("seed", range(3))
def test_the_last_step_is_made(seed: int) -> None:
    """At the optimum the loss has no slope. A step less leaves one of 1e-6 or more of a row."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=40) * 3.0
    negatives, positives = rng.integers(0, 9, 40).astype(float), rng.integers(0, 9, 40).astype(float)
    a, b = sigmoid(scores, negatives, positives)
    n, p = negatives.sum(), positives.sum()
    targets = positives * (p + 1.0) / (p + 2.0) + negatives / (n + 2.0)
    slope = targets - (negatives + positives) * expit(-a * scores - b)
    assert abs(slope @ scores) <= 1e-8 * (n + p)
    assert abs(slope.sum()) <= 1e-8 * (n + p)
