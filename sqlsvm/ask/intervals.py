"""How far the measures of a model may be off, as its rows are a sample.

Rows of the join that share a row of the label's relation are not independent: they have the same label and the same
columns of that row. So the sample is one of rows of that relation (clusters). A measure is off by the sum, over the
clusters, of what each adds to it; the sum of their squares is its variance (the sandwich, or linearisation). What a
cluster adds is a sum over its rows of the join of a function of their scores:
    accuracy    1 for each wrong row, less the share of wrong rows
    loss        the loss of a row, less the mean
    auc         of a positive row the share of the negative ones below it, of a negative row that of the positive ones
                above it, less the AUC; from the histogram of the scores, and linear within its bins
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from sqlsvm.ask.listed import steps_per_unit
from sqlsvm.ask.rows import options_of
from sqlsvm.ask.selecting import mean_loss
from sqlsvm.compile.clusters import SIZES, SQUARES, apart, interpolated, sizes, squares, stepping
from sqlsvm.model.evaluation import Clusters, Evaluation, Interval
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.parameters import BOUND, BUCKETS, THETA
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.problem import Problem
from sqlsvm.run.workspace import Program, Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss, Piecewise
from sqlsvm.solve.loss.arms import Parts

PLACES, FEW = 24, 12
"""Between which a function is taken to be linear; with several bags each of them makes the lists longer."""
FINE = 256
"""On the grid, how many places scores are rounded to."""


def with_intervals_of(found: Evaluation, problem: Problem, model: Model) -> Evaluation:
    """Of a model that is linear: the scores of a kernel machine cannot be counted."""
    if found.sample:
        return found
    return with_intervals(found, problem, theta_of(problem.plan, model), options_of(model))


def with_intervals(found: Evaluation, problem: Problem, theta: Array, options: ProblemOptions) -> Evaluation:
    """The same if the label's relation is joined up front, or one of the classes has no rows."""
    plan = apart(problem.plan)
    if plan is None or found.auc is None:
        return found
    work = problem.work
    with work.scratch():
        answer = work.run(sizes(plan))[SIZES]
    clusters, negative, rows, square = (float(answer[n][0]) for n in ("clusters", "negative", "rows", "squares"))
    if min(negative, clusters - negative) < 2:
        return found
    reader = _Reader(work, plan, theta, found, clusters, negative)
    loss = mean_loss(problem, theta, options)
    intervals = {
        "accuracy": reader.accuracy(),
        "auc": reader.auc(),
        "loss": reader.loss(options.named_loss, loss),
    }
    value, error = intervals["accuracy"].value, intervals["accuracy"].standard_error
    effective = value * (1.0 - value) / error**2 if error > 0.0 else rows**2 / square
    return replace(found, intervals=intervals, clusters=Clusters(clusters, min(effective, rows)))


@dataclass(frozen=True)
class _Reader:
    work: Workspace
    plan: Plan
    theta: Array
    found: Evaluation
    clusters: float
    negative: float
    """Clusters of the negative class."""

    def accuracy(self) -> Interval:
        """A row is wrong if its residual, without an origin, is above 0."""
        value = self.found.accuracy.value
        wrong = 1.0 - value
        error = self._error(stepping(0.0, -wrong, 1.0 - wrong), self._rows)
        return Interval.around(value, error, 0.0, 1.0)

    def loss(self, loss: Loss, mean: float) -> Interval:
        places = np.array(_places(loss, self._reach, self._fine))
        parts = interpolated(places, loss.value(places) - mean)
        return Interval.around(mean, self._error(parts, self._rows, loss.origin or 0.0), 0.0)

    def auc(self) -> Interval:
        assert self.found.auc
        value, edges = self.found.auc.value, np.array(self.found.histogram.edges)
        negative, positive = (
            np.concatenate([[0.0], np.cumsum(rows) / sum(rows)])
            for rows in (self.found.histogram.negative, self.found.histogram.positive)
        )
        some = _spread((negative + positive) / 2.0, self._fine)
        places, below, above = edges[some], negative[some] - value, (1.0 - positive[some]) - value
        of_positive = interpolated(-places[::-1], below[::-1])
        of_negative = interpolated(places, above)
        variance = 0.0
        for parts, code, rows, clusters in (
            (of_positive, 1, self.found.positives, self.clusters - self.negative),
            (of_negative, -1, self.found.negatives, self.negative),
        ):
            variance += self._squares(parts, code=code) / rows**2 * clusters / (clusters - 1.0)
        return Interval.around(value, sqrt(variance), 0.0, 1.0)

    @property
    def _rows(self) -> float:
        return self.found.negatives + self.found.positives

    @property
    def _fine(self) -> int:
        return FEW if self.plan.links else PLACES

    @property
    def _reach(self) -> float:
        """The largest score."""
        return max(map(abs, (self.found.histogram.edges[0], self.found.histogram.edges[-1])))

    def _error(self, parts: Parts, rows: float, origin: float = 0.0) -> float:
        return sqrt(self._squares(parts, origin) * self.clusters / (self.clusters - 1.0)) / rows

    def _squares(self, parts: Parts, origin: float = 0.0, code: int | None = None) -> float:
        buckets = steps_per_unit([{"least": np.array([-self._reach]), "largest": np.array([self._reach])}], FINE)
        program = Program(self.work.engine, squares(self.plan, parts, code))
        answers = self.work.run_and_drop(program, {THETA: self.theta, BOUND: origin, BUCKETS: buckets})
        return float(answers[SQUARES]["squares"][0])


def _places(loss: Loss, reach: float, most: int) -> list[float]:
    """Residuals between which a loss is, or is nearly, linear; the last ones are those of the largest scores."""
    low, high = (loss.origin or 0.0) - reach - 1.0, (loss.origin or 0.0) + reach + 1.0
    if isinstance(loss, Piecewise) and not any(piece.bend for piece in loss.pieces):
        return [low, *(change.at for change in loss.changes if low < change.at < high), high]
    return list(np.linspace(low, high, most).tolist())


def _spread(shares: Array, most: int) -> list[int]:
    """The places of edges so that about as many rows are between each two."""
    wanted = np.linspace(0.0, 1.0, most)
    return sorted({0, *np.searchsorted(shares, wanted[1:-1]).tolist(), len(shares) - 1})
