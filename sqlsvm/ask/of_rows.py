"""The quality of a model from scores that are in memory, and how far its measures may be off as their rows are a sample
of clusters (ask/intervals.py). The scores are those of rows of the join, or of a list that the database has made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from math import sqrt

import numpy as np

from sqlsvm.compile.categories import number_column
from sqlsvm.compile.joined import CLUSTER, TIMES
from sqlsvm.engine.base import Rows
from sqlsvm.measures import values_of
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.interval import Sizes, of_strata
from sqlsvm.model.of_rows import of_number, of_several_classes, of_two_classes
from sqlsvm.options import NUMBER_LOSSES
from sqlsvm.plan.design import Design
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.target import CODE, Classes
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.ranks import ranks

Measures = Mapping[str, float]


def scores_of(design: Design, rows: Rows, theta: Array) -> Array:
    """Of raw weights. Equal rows have equal scores, wherever they are: a product of matrices may round them apart."""
    found = np.zeros(len(rows[CODE]))
    for c in design.coordinates:
        found += theta[c.index] * (1.0 if c.role == "intercept" else rows[c.column].astype(float))
    for d in design.dictionaries:
        places = rows[number_column(d)]
        found += np.append(theta, 0.0)[np.where(np.isnan(places), len(theta) + 1, places).astype(int) - 1]
    return found


def with_errors_of_rows(design: Design, rows: Rows, theta: Array, options: ProblemOptions) -> tuple[Measures, Measures]:
    """The measures of two classes, or of a number, and the standard errors of those for which they are known. Each row
    knows which row of the label's relation it is of."""
    codes, loss = rows[CODE].astype(float), options.named_loss
    scores = scores_of(design, rows, theta)
    signs, origins = design.target.as_rows(codes, loss.origin or 0.0)
    z, clusters = origins - signs * scores, Counted(rows[TIMES].astype(float), rows[CLUSTER].astype(int))
    costs = loss.value(z)
    cost = clusters.mean(costs)
    if options.loss in NUMBER_LOSSES:
        measures, errors = _of_numbers(z, codes, clusters, options)
    else:
        found, known = of_two(scores, codes, clusters)
        measures, errors = values_of(found), {name: error for name, (error, _) in known.items()}
    return {"loss": cost} | measures, {"loss": clusters.error(costs - cost)} | errors if errors else {}


def several_of_rows(
    design: Design, rows: Rows, thetas: Sequence[Array], options: ProblemOptions
) -> tuple[float, Confusion]:
    """Of more than two classes: the mean loss over all of them, and which class is predicted."""
    target, loss = design.target, options.named_loss
    assert isinstance(target, Classes)
    codes, weights = rows[CODE].astype(int), rows[TIMES].astype(float)
    scores = np.array([scores_of(design, rows, theta) for theta in thetas])
    signs = [np.where(codes == k, 1.0, -1.0) for k in range(1, len(thetas) + 1)]
    costs = [loss.value((loss.origin or 0.0) - y * s) for y, s in zip(signs, scores, strict=True)]
    found = of_several_classes(scores, codes, weights, target.names)
    return float(np.mean(costs @ weights)) / float(weights.sum()), found


def _of_numbers(
    z: Array, codes: Array, clusters: "Counted", options: ProblemOptions
) -> tuple[dict[str, float], dict[str, float]]:
    found = of_number(z, codes, clusters.counts, options.quantile)
    measures = values_of(found)
    if clusters.sizes.clusters < 2:
        return measures, {}
    of_square = clusters.error(z**2 - found.rmse**2)
    of_root = of_square / (2.0 * found.rmse) if found.rmse else 0.0
    return measures, {"mae": clusters.error(np.abs(z) - found.mae), "rmse": of_root}


def of_two(scores: Array, codes: Array, rows: "Counted") -> tuple[Evaluation, dict[str, tuple[float, float]]]:
    """Of two classes, and the standard errors that are known, each with its degrees of freedom."""
    each = {y: rows.of(codes == y) for y in (1, -1)}
    below, above = ranks(scores, each[-1].counts, each[1].counts)
    found = of_two_classes(scores, codes, rows.counts, below=below)
    if found.auc is None or min(own.sizes.clusters for own in each.values()) < 2:
        return found, {}
    wrong = (scores > 0.0) != (codes > 0.0)
    of_accuracy = rows.error(wrong - (1.0 - found.accuracy.value))
    of_auc = _error_of_auc(below, above, found.auc.value, each)
    return found, {"accuracy": (of_accuracy, rows.sizes.degrees), "auc": of_auc}


def _error_of_auc(below: Array, above: Array, auc: float, each: Mapping[int, "Counted"]) -> tuple[float, float]:
    adds = {1: below / each[-1].sizes.rows - auc, -1: above / each[1].sizes.rows - auc}
    squares = (each[y].squares(adds[y]) / each[y].sizes.rows ** 2 for y in (1, -1))
    variance, degrees = of_strata(squares, [each[y].sizes for y in (1, -1)])
    return sqrt(variance), degrees


@dataclass(frozen=True)
class Counted:
    """How often each score counts, and the cluster that it is of; if there is none, it counts so many clusters of one
    row."""

    counts: Array
    clusters: Indices | None = None

    def of(self, these: Array) -> "Counted":
        """Of these alone; the others do not count."""
        return Counted(np.where(these, self.counts, 0.0), self.clusters)

    @cached_property
    def sizes(self) -> Sizes:
        if self.clusters is None:
            return Sizes(*[float(self.counts.sum())] * len(fields(Sizes)))
        size = np.bincount(self.clusters, self.counts)
        powers = accumulate([size] * (len(fields(Sizes)) - 1), np.multiply)
        return Sizes(float((size > 0.0).sum()), *(float(power.sum()) for power in powers))

    def mean(self, values: Array) -> float:
        return float(self.counts @ values) / self.sizes.rows

    def squares(self, adds: Array) -> float:
        """The sum of the squares of what each cluster adds."""
        if self.clusters is None:
            return float(self.counts @ adds**2)
        return float((np.bincount(self.clusters, self.counts * adds) ** 2).sum())

    def error(self, adds: Array) -> float:
        """That of a mean, from what each row adds to it."""
        return sqrt(self.squares(adds) * self.sizes.factor) / self.sizes.rows
