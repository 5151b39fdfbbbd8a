"""The exported join as a matrix: the same scaled features that sqlsvm trains on, so that F is the same function.

A number is (x - mean) / deviation over the join, a NULL counting as the mean; a category has a 0/1 column a value;
the first column is the constant 1, whose weight is penalised like the others.
"""

from __future__ import annotations  # what a peer is timed with imports nothing of sqlsvm

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sqlsvm.engine.base import Values

Given = Mapping[str, Any]
"""A model on the original columns: {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}."""


@dataclass(frozen=True)
class Matrix:
    x: Any
    """Rows by columns: dense, or sparse where there are categories."""
    y: Values
    names: tuple[str, ...]
    """The numbers, in the order of the columns after the constant."""
    centre: Values
    width: Values
    categories: Mapping[str, Values]
    """Values of each category, in the order of the columns after the numbers."""

    @property
    def rows(self) -> int:
        return len(self.y)

    def hinge(self, beta: Values) -> float:
        """R(beta)."""
        return float(np.maximum(0.0, 1.0 - self.y * (self.x @ beta)).mean())

    def objective(self, beta: Values, lam: float) -> float:
        """F(beta) = R(beta) + lam |beta|^2."""
        return self.hinge(beta) + lam * float(beta @ beta)

    def given(self, beta: Values) -> dict[str, Any]:
        """The model on the original columns."""
        slopes = beta[1 : 1 + len(self.names)] / self.width
        weights: dict[str, Any] = dict(zip(self.names, slopes.tolist(), strict=True))
        place = 1 + len(self.names)
        for name, values in self.categories.items():
            shares = beta[place : place + len(values)].tolist()
            weights[name] = dict(zip(map(str, values.tolist()), shares, strict=True))
            place += len(values)
        return {"intercept": float(beta[0] - slopes @ self.centre), "weights": weights}

    def beta(self, given: Given) -> Values:
        """The inverse of `given`."""
        weights = given["weights"]
        slopes = np.array([weights.get(name, 0.0) for name in self.names], dtype=float)
        parts = [np.array([given["intercept"] + float(slopes @ self.centre)]), slopes * self.width]
        for name, values in self.categories.items():
            found = weights.get(name, {})
            parts.append(np.array([found.get(str(v), 0.0) for v in values.tolist()], dtype=float))
        return np.concatenate(parts)


def scores(given: Given, columns: Mapping[str, Values], centre: Mapping[str, float]) -> Values:
    """Of a linear model on other rows: a NULL counts as the mean of the rows that were trained on, and a category that
    was not among them as nothing."""
    found = np.full(len(next(iter(columns.values()))), given["intercept"])
    for name, weight in given["weights"].items():
        if isinstance(weight, Mapping):
            ((_, values, codes),) = coded({name: columns[name]})
            found += np.array([weight.get(str(v), 0.0) for v in values.tolist()])[codes]
        else:
            cells = np.asarray(columns[name], dtype=float)
            found += weight * np.where(np.isnan(cells), centre[name], cells)
    return found


def texts(features: Mapping[str, Values], categorical: Sequence[str]) -> dict[str, Values]:
    """Those with a weight for each value."""
    return {n: values for n, values in features.items() if n in categorical or values.dtype.kind in "OSU"}


def matrix(label: str, categorical: Sequence[str], columns: Mapping[str, Values]) -> Matrix:
    """Takes the columns of an export apart."""
    y = np.where(columns[label] > 0, 1.0, -1.0)
    features = {name: values for name, values in columns.items() if name != label}
    text = texts(features, categorical)
    names = tuple(n for n in features if n not in text)
    dense = np.ones((len(y), 1 + len(names)))
    centre, width = np.zeros(len(names)), np.ones(len(names))
    for place, name in enumerate(names):
        values = np.asarray(features[name], dtype=float)
        centre[place] = np.nanmean(values)
        filled = np.where(np.isnan(values), centre[place], values)
        width[place] = filled.std() or 1.0
        dense[:, 1 + place] = (filled - centre[place]) / width[place]
    if not text:
        return Matrix(dense, y, names, centre, width, {})
    categories: dict[str, Values] = {}
    from scipy import sparse  # only here: the memory of those who need no such matrix is measured without it

    blocks = [sparse.csr_matrix(dense)]
    for name, values, codes in coded(text):
        categories[name] = values
        rows = np.arange(len(y) + 1)
        blocks.append(sparse.csr_matrix((np.ones(len(y)), codes, rows), shape=(len(y), len(values))))
    return Matrix(sparse.hstack(blocks, format="csr"), y, names, centre, width, categories)


def coded(features: Mapping[str, Values]) -> Iterator[tuple[str, Values, Values]]:
    """Each category with its values and the number of the value in every row. Integers arrive as doubles."""
    for name, cells in features.items():
        plain = cells.astype(np.int64) if cells.dtype.kind in "if" else cells.astype(str)
        values, codes = np.unique(plain, return_inverse=True)
        yield name, values, codes
