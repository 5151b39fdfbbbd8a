"""The SVM's truths on a materialised join, in plain numpy and in the letters of theory.md."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sqlsvm.engine.base import Values
from tests.ground.reference import Joined

Nulls = Literal["error", "mean", "drop"]
Scale = Literal["standard", "maxabs", "none"]
Column = tuple[str, str | None]
"""(feature, category), the category None for a number; the constant feature is CONSTANT."""

CONSTANT: Column = ("", None)


@dataclass(frozen=True)
class Design:
    """Row i of the join: y[i], x[i] and its weight. Columns are (x - centre) / width of the original ones."""

    x: Values
    y: Values
    w: Values
    columns: tuple[Column, ...]
    centre: Values
    width: Values
    kept: Values
    """Which join rows these are; all of them but with nulls="drop"."""


@dataclass(frozen=True)
class Hinge:
    """R(beta), and the exact cut there: R(b) >= b0 + a.b for every b, with equality at beta."""

    value: float
    active: Values
    a: Values
    b: float


def design_matrix(joined: Joined, nulls: Nulls = "error", scale: Scale = "none", constant: bool = True) -> Design:
    """The constant feature first, then each feature; a category becomes a 0/1 column for each value, in sorted order.

    A NULL number under "mean" is the mean of the rest over the join; a NULL category has no 0/1 column set."""
    assert joined.label is not None, "this world has no label"
    kept = _kept(joined, nulls)
    parts = [(CONSTANT, np.ones(int(kept.sum())))] if constant else []
    scaled = [False] * len(parts)
    for name, values in joined.features.items():
        fresh = _one_hot(name, values[kept]) if values.dtype == object else [((name, None), _filled(values[kept]))]
        parts += fresh
        scaled += [values.dtype != object] * len(fresh)
    x = np.column_stack([c for _, c in parts]) if parts else np.zeros((int(kept.sum()), 0))
    centre, width = _scaling(x, np.array(scaled, dtype=bool), scale)
    y = np.where(joined.label[kept] > 0, 1.0, -1.0)
    return Design((x - centre) / width, y, np.ones(len(y)), tuple(c for c, _ in parts), centre, width, kept)


def hinge(design: Design, beta: Values) -> Hinge:
    """R = mean max(0, z) with z = 1 - y beta.x; a row is active where z > 0."""
    z = 1 - design.y * (design.x @ beta)
    active = z > 0
    share = design.w / design.w.sum()
    a = -(share * active * design.y) @ design.x
    return Hinge(float(share @ np.maximum(z, 0)), active, a, float(share @ active))


def objective(design: Design, beta: Values, lam: float) -> float:
    """F(beta) = R(beta) + lambda |beta|^2."""
    return hinge(design, beta).value + lam * float(beta @ beta)


def row_counts(joined: Joined, design: Design, beta: Values, bound: float = 1.0) -> dict[tuple[str, object, int], int]:
    """(feature, value, label) -> join rows with y*score < bound. Values are floats or categories, None for NULL."""
    below = design.y * (design.x @ beta) < bound
    labels = design.y[below].astype(int).tolist()
    counts: Counter[tuple[str, object, int]] = Counter()
    for name, values in joined.features.items():
        cells = [None if v != v else v for v in values[design.kept][below].tolist()]
        counts.update((name, v, y) for v, y in zip(cells, labels, strict=True))
    return dict(counts)


def thresholds(design: Design, beta: Values, label: int, ranks: Values) -> Values:
    """For each rank f the largest h such that at least f rows of that label have 1 - y*score >= h; -inf if too few."""
    z = np.sort((1 - design.y * (design.x @ beta))[design.y == label])[::-1]
    return np.array([z[f - 1] if f <= len(z) else -np.inf for f in ranks.tolist()])


def _kept(joined: Joined, nulls: Nulls) -> Values:
    missing = np.zeros(joined.rows, dtype=bool)
    for values in joined.features.values():
        missing |= np.array([v is None or v != v for v in values.tolist()], dtype=bool)
    if nulls == "error" and missing.any():
        raise ValueError(f"{int(missing.sum())} join rows have a NULL feature")
    return ~missing if nulls == "drop" else np.ones(joined.rows, dtype=bool)


def _filled(values: Values) -> Values:
    missing = np.isnan(values)
    mean = values[~missing].mean() if not missing.all() else 0.0
    return np.where(missing, mean, values)


def _one_hot(name: str, values: Values) -> list[tuple[Column, Values]]:
    categories = sorted({v for v in values.tolist() if v is not None})
    return [((name, c), np.array([float(v == c) for v in values.tolist()])) for c in categories]


def _scaling(x: Values, scaled: Values, scale: Scale) -> tuple[Values, Values]:
    """Centre and width of each column; only numbers are scaled, and a constant one keeps its width."""
    centre, width = np.zeros(x.shape[1]), np.ones(x.shape[1])
    if len(x) and scale == "standard":
        centre = np.where(scaled, x.mean(axis=0), 0.0)
        width = np.where(scaled, x.std(axis=0), 1.0)
        width[width <= 1e-6 * np.sqrt((x * x).mean(axis=0))] = 0.0  # what rounding leaves of a constant
    if len(x) and scale == "maxabs":
        width = np.where(scaled, np.abs(x).max(axis=0), 1.0)
    return centre, np.where(width > 0, width, 1.0)
