"""How good a model with more than two classes is: which class it predicts for those of each; and one with groups."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sqlsvm.measures import SEVERAL, Label
from sqlsvm.model.evaluation import Evaluation, Named, Residuals, Sampled
from sqlsvm.solve.arrays import Array

REPEATS = 400  # samples that are drawn again to see how far the measures vary


@dataclass(frozen=True)
class Confusion(Sampled):
    kind: ClassVar[Label] = SEVERAL
    values: tuple[object, ...]  # the classes: the label's own values
    matrix: Array  # rows of the join: of class i that are predicted as class j
    drawn: Array | None = None  # how many rows of each class were looked at; None if all were
    seed: int = 0
    chances: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The Brier score and the log loss, each with its standard error; nothing if the model has no probabilities."""

    @property
    def exact(self) -> bool:
        return self.drawn is None

    @property
    def rows(self) -> Array:
        """Of each class."""
        return np.asarray(self.matrix.sum(axis=1))

    @property
    def measures(self) -> dict[str, float]:
        found = {name: measure(self.matrix) for name, measure in MEASURES.items()}
        return found | {name: value for name, (value, _) in self.chances.items()}

    @property
    def errors(self) -> dict[str, float]:
        """The standard error of each measure, which comes from looking at some of the rows only."""
        if self.drawn is None:
            return dict.fromkeys(self.measures, 0.0)
        rng, rows = np.random.default_rng(self.seed), self.rows
        again = np.zeros((REPEATS, *self.matrix.shape))
        for i, drawn in enumerate(self.drawn.astype(int).tolist()):
            if drawn:
                again[:, i] = rng.multinomial(drawn, self.matrix[i] / rows[i], REPEATS) / drawn * rows[i]
        found = {name: float(np.std([measure(m) for m in again])) for name, measure in MEASURES.items()}
        return found | {name: error for name, (_, error) in self.chances.items()}

    def of_classes(self) -> Iterator[tuple[Any, ...]]:
        """Of each its value, its rows, precision, recall and F1."""
        rates = precision(self.matrix), recall(self.matrix), f1(self.matrix)
        return zip(self.values, self.rows.tolist(), *(rate.tolist() for rate in rates), strict=True)

    def as_json(self) -> dict[str, Any]:
        names = ("value", "rows", "precision", "recall", "f1")
        found: dict[str, Any] = {"exact": self.exact, "confusion": self.matrix.tolist()}
        found |= {"classes": [dict(zip(names, row, strict=True)) for row in self.of_classes()], **self.measures}
        if self.drawn is not None:
            found |= {"rows_drawn": float(self.drawn.sum()), "standard_errors": self.errors}
        return found | self.intervals_as_json()


def accuracy(matrix: Array) -> float:
    return float(_share(np.trace(matrix), matrix.sum()))


def precision(matrix: Array) -> Array:
    """Of each class; 0 if it is never predicted."""
    return np.asarray(_share(np.diag(matrix), matrix.sum(axis=0)))


def recall(matrix: Array) -> Array:
    return np.asarray(_share(np.diag(matrix), matrix.sum(axis=1)))


def f1(matrix: Array) -> Array:
    return np.asarray(_share(2.0 * np.diag(matrix), matrix.sum(axis=0) + matrix.sum(axis=1)))


MEASURES: dict[str, Callable[[Array], float]] = {
    "accuracy": accuracy,
    "balanced_accuracy": lambda m: float(recall(m).mean()),
    "macro_f1": lambda m: float(f1(m).mean()),
    "weighted_f1": lambda m: float(f1(m) @ _share(m.sum(axis=1), m.sum())),
}
"""Macro: the mean over the classes. Weighted: each class counts as much as it has rows."""


def slopes(matrix: Array) -> dict[str, Array]:
    """By how much each measure rises with each cell of the matrix."""
    n, rows, k = matrix.sum(), matrix.sum(axis=1), len(matrix)
    of_weights = (f1(matrix) - MEASURES["weighted_f1"](matrix)) / n
    return {
        "accuracy": (np.eye(k) - accuracy(matrix)) / n,
        "balanced_accuracy": _share(np.eye(k) - recall(matrix)[:, None], np.full((k, k), k) * rows[:, None]),
        "macro_f1": _slopes_of_f1(matrix, np.full(k, 1.0 / k)),
        "weighted_f1": _slopes_of_f1(matrix, rows / n) + of_weights[:, None],
    }


def _slopes_of_f1(matrix: Array, weights: Array) -> Array:
    """Of the sum of F1 over the classes, each with its weight."""
    per_row = _share(weights, matrix.sum(axis=0) + matrix.sum(axis=1))
    lost = per_row * f1(matrix)
    return np.asarray(2.0 * np.diag(per_row) - lost[None, :] - lost[:, None])


def _share(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.asarray(whole) > 0)


Found = Evaluation | Residuals | Confusion


@dataclass(frozen=True)
class Measured:
    value: object  # of the column that makes the groups
    found: Found

    @property
    def rows(self) -> float:
        return float(np.sum(self.found.rows))


@dataclass(frozen=True)
class ByGroup:
    """How good a model with groups is."""

    by: str
    groups: tuple[Measured, ...]
    whole: Found | None
    """Over all groups together, without what compares scores; None if no row is in a group with a model."""
    missed: float  # the rows of the join that are in no group with a model
    of: Named = field(default=Named(), compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        each = [{"value": one.value, **_short(one.found)} for one in self.groups]
        whole = {} if self.whole is None else _short(self.whole)
        return {"by": self.by, "rows_without_model": self.missed, "all": whole, "groups": each}


def _short(found: Found) -> dict[str, Any]:
    """Without histograms and curves: there may be a thousand groups."""
    return {name: value for name, value in found.as_json().items() if name not in ("histogram", "reliability")}
