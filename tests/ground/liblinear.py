"""The peer that minimises the same F on a materialised join."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from sqlsvm.solve.arrays import Array


def liblinear_beta(
    rows: Array, labels: Array, lam: float, weights: Array | None = None, max_iter: int = 20_000
) -> Array:
    """argmin F by LIBLINEAR's dual, C = 1 / (2 lam N). It may stop early: then it is just another point to compare."""
    shares = np.ones(len(rows)) if weights is None else weights
    model = LinearSVC(
        loss="hinge",
        C=1.0 / (2.0 * lam * float(shares.sum())),
        fit_intercept=False,
        tol=1e-8,
        max_iter=max_iter,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, labels, sample_weight=shares)
    beta: Array = model.coef_[0].astype(float)
    return beta if model.classes_[1] == 1.0 else -beta
