"""How far the measures of a model may be off, as its rows are a sample.

Rows of the join that share a row of the label's relation are not independent: they have the same label and the same
columns of that row. So the sample is one of rows of that relation (clusters). A measure is off by the sum, over the
clusters, of what each adds to it; the sum of their squares is its variance (the sandwich, or linearisation). What a
cluster adds is a sum over its rows of the join of a function of their scores:
    accuracy    1 for each wrong row, less the share of wrong rows
    loss        the loss of a row, less the mean
    auc         of a positive row the share of the negative ones below it, of a negative row that of the positive ones
                above it, less the AUC; from the histogram of the scores, and linear within its bins
    mae, rmse   |z| and z^2 of a residual z, less the mean; the error of a root is that of the square by 2 rmse
    r2          z^2 less (1 - R^2) (y - mean of y)^2, by the mean of the latter: a cluster has one label y. With A the
                sum of z^2 of a cluster and n its rows, the sum of w A n over clusters comes from that of w (A + t n)^2.
How far such a sum can be trusted depends on how unlike the clusters are in size (`Sizes`). An interval is symmetric on
the scale on which its measure varies by as much wherever it is (`Scale`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from sqlsvm.ask.scored import steps_per_unit
from sqlsvm.compile.clusters import POWERS, SQUARES, apart, are_rows, interpolated, sizes, squares, stepping
from sqlsvm.compile.evaluate import towards_centre
from sqlsvm.compile.statement import in_row
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.scored import FEW_ROWS, ONE_ROW, Scored, losses, of_classes, told, worth
from sqlsvm.plan.parameters import BOUND, BUCKETS, THETA
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.scaling import Scaling
from sqlsvm.plan.target import CODE
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.workspace import Program, Workspace
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.interval import LOG, LOGIT, UNEXPLAINED, Interval, Scale, Sizes, of_strata
from sqlsvm.solve.loss import Loss, Piece, Piecewise
from sqlsvm.solve.loss.arms import Parts, values

MEAN_BUCKETS = 256  # on the grid, of a unit of the score


def mean_loss(problem: Data, theta: Array, options: ProblemOptions) -> float:
    """The mean loss of the training, without the penalty; on the grid at most this."""
    design = problem.plan.design
    as_it_is = replace(problem, scaling=Scaling(design, np.eye(len(design.coordinates))))
    cut = JoinOracle(as_it_is, options.named_loss).pass_(theta, MEAN_BUCKETS)
    return cut.value_low + cut.error


PLACES, FEW = 24, 12
"""Between which a function is taken to be linear; with several bags each of them makes the lists longer."""
FINE = 64
"""On the grid, how many places scores are rounded to. What a cluster adds changes by little, and the error by less."""


JOINED = "the label's table is part of a cycle, which is joined up front"


def with_intervals(
    found: Evaluation, scored: Scored, problem: Data, theta: Array, options: ProblemOptions
) -> Evaluation:
    """None if the label's relation is part of a cycle, or one of the classes has hardly any rows. Where clusters are
    rows, their scores say all."""
    plan = apart(problem.plan)
    if plan is None:
        return replace(found, no_intervals=JOINED)
    if are_rows(plan):
        return of_classes(found, scored, options.named_loss)
    by_code = sizes_by_code(problem.work, plan)
    if found.auc is None or len(by_code) < 2 or min(each.clusters for each in by_code.values()) < 2:
        return replace(found, no_intervals=FEW_ROWS)
    reach = max(map(abs, (found.histogram.edges[0], found.histogram.edges[-1])))
    loss = options.named_loss
    mean = mean_loss(problem, theta, options) if scored.off else scored.mean(losses(scored, loss))
    with _reader(problem.work, plan, theta, by_code[-1] + by_code[1], reach) as reader:
        of_two = _OfClasses(reader, found, by_code)
        intervals = {"accuracy": of_two.accuracy(), "auc": of_two.auc(), "loss": reader.loss(loss, mean)}
    return told(found, intervals, reader.sizes)


def with_intervals_of_numbers(
    found: Residuals, problem: Data, theta: Array, options: ProblemOptions, loss: float | None = None
) -> Residuals:
    """None if the label's relation is part of a cycle, or has a single row in the join."""
    plan, label = apart(problem.plan), problem.moments.label
    assert label is not None
    centre = label.total / found.rows
    if plan is None:
        return replace(found, no_intervals=JOINED)
    answer, known = _sizes_around(problem.work, plan, centre)
    if known.clusters < 2:
        return replace(found, no_intervals=ONE_ROW)
    reach = max(map(abs, (found.edges[0], found.edges[-1])))
    loss = mean_loss(problem, theta, options) if loss is None else loss
    with _reader(problem.work, plan, theta, known, reach) as reader:
        of_numbers = _OfNumbers(reader, found, answer, centre)
        intervals = {
            "mae": of_numbers.mae(),
            **of_numbers.squared(label.squares / found.rows - centre**2),
            "loss": reader.loss(options.named_loss, loss),
        }
    clusters = worth(found.rmse**2 - found.mae**2, intervals["mae"], known)
    return replace(found, intervals=intervals, clusters=clusters)


def sizes_by_code(work: Workspace, plan: Plan) -> Mapping[int, Sizes]:
    """Of the clusters whose label has each code."""
    answer = work.ask(sizes(plan))
    each = zip(*(answer[name].astype(float).tolist() for name in POWERS), strict=True)
    return {int(code): Sizes(*powers) for code, powers in zip(answer[CODE], each, strict=True) if powers[0]}


def _sizes_around(work: Workspace, plan: Plan, centre: float) -> tuple[Mapping[str, float], Sizes]:
    answer = in_row(work.ask(sizes(plan, centre)))
    return answer, Sizes(*(answer[name] for name in POWERS))


# -- what clusters add up to -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    """The scores are there, on their way to the centre if there are several bags. All functions are of z = -y score, or
    of z = label - score."""

    work: Workspace
    plan: Plan
    parameters: Mapping[str, object]
    sizes: Sizes
    reach: float  # the largest |z|

    def squares(self, parts: Parts, code: int | None = None, centre: float | None = None) -> Mapping[str, float]:
        program = Program(self.work.engine, squares(self.plan, parts, code, centre))
        return in_row(self.work.run_and_drop(program, self.parameters)[SQUARES])

    def interval(self, value: float, parts: Parts, scale: Scale = LOG) -> Interval:
        """That of a mean, from what each row adds to it."""
        return self.around(value, self.error(self.squares(parts)["squares"]), scale)

    def error(self, square: float) -> float:
        return sqrt(max(square, 0.0) * self.sizes.factor) / self.sizes.rows

    def around(self, value: float, error: float, scale: Scale) -> Interval:
        return Interval.around(value, error, self.sizes.degrees, scale)

    def loss(self, loss: Loss, mean: float) -> Interval:
        """Exact if the loss is quadratic between a few places."""
        origin = loss.origin or 0.0
        if isinstance(loss, Piecewise):
            return self.interval(mean, _less(loss, mean))
        places = np.linspace(-self.reach - 1.0, self.reach + 1.0, self.fine)
        return self.interval(mean, interpolated(places, loss.value(places + origin) - mean))

    @property
    def fine(self) -> int:
        return FEW if self.plan.links else PLACES


def _less(loss: Piecewise, mean: float) -> Parts:
    """The loss less its mean, of z without an origin."""
    parts, origin = values(loss), loss.origin or 0.0
    pieces = (replace(p, at=p.at - origin, value=p.value - mean) for p in parts.pieces)
    return Parts(tuple(end - origin for end in parts.ends), tuple(pieces))


@contextmanager
def _reader(work: Workspace, plan: Plan, theta: Array, known: Sizes, reach: float) -> Iterator[_Reader]:
    """Messages towards the centre are the same for all functions."""
    buckets = steps_per_unit([{"least": -reach, "largest": reach}], FINE)
    parameters = {THETA: theta, BOUND: 0.0, BUCKETS: buckets}
    with work.scratch():
        if plan.centre is not None:
            work.run(towards_centre(plan), parameters)
        yield _Reader(work, plan, parameters, known, reach)


@dataclass(frozen=True)
class _OfClasses:
    reader: _Reader
    found: Evaluation
    sizes: Mapping[int, Sizes]  # by the code of the label

    def accuracy(self) -> Interval:
        """A row is wrong if z is above 0."""
        wrong = 1.0 - self.found.accuracy.value
        return self.reader.interval(1.0 - wrong, stepping(0.0, -wrong, 1.0 - wrong), LOGIT)

    def auc(self) -> Interval:
        assert self.found.auc
        value = self.found.auc.value
        added = self._squares(value)
        squares = (added[code] / self.sizes[code].rows ** 2 for code in (1, -1))
        variance, degrees = of_strata(squares, (self.sizes[1], self.sizes[-1]))
        return Interval.around(value, sqrt(variance), degrees, LOGIT)

    def _squares(self, value: float) -> dict[int, float]:
        """What the rows of each class add, squared: with ranks from the histogram, linear within its bins."""
        edges = np.array(self.found.histogram.edges)
        negative, positive = (
            np.concatenate([[0.0], np.cumsum(rows) / sum(rows)])
            for rows in (self.found.histogram.negative, self.found.histogram.positive)
        )
        some = _spread((negative + positive) / 2.0, self.reader.fine)
        places, below, above = edges[some], negative[some] - value, (1.0 - positive[some]) - value
        of_positive = interpolated(-places[::-1], below[::-1])
        of_negative = interpolated(places, above)
        each = {1: of_positive, -1: of_negative}
        return {code: self.reader.squares(parts, code)["squares"] for code, parts in each.items()}


def _spread(shares: Array, most: int) -> list[int]:
    """The places of edges so that about as many rows are between each two."""
    wanted = np.linspace(0.0, 1.0, most)
    return sorted({0, *np.searchsorted(shares, wanted[1:-1]).tolist(), len(shares) - 1})


@dataclass(frozen=True)
class _OfNumbers:
    reader: _Reader
    found: Residuals
    sizes: Mapping[str, float]
    centre: float  # the mean of the codes of the label

    def mae(self) -> Interval:
        mean = self.found.mae
        return self.reader.interval(mean, Parts((0.0,), (Piece(0.0, -mean, -1.0, 0.0), Piece(0.0, -mean, 1.0, 0.0))))

    def squared(self, variance: float) -> dict[str, Interval]:
        """Of the root mean square error, and of R^2 if the label varies."""
        n, t = self.reader.sizes.rows, self.found.rmse**2
        alone, more = self._squares(0.0), self._squares(t)
        with_rows, spread_rows = (
            (more[name] - alone[name] - t**2 * self.sizes[size]) / (2.0 * t) if t else 0.0
            for name, size in (("squares", "squares"), ("spread", "spread"))
        )
        m = alone["total"] / n
        error = self.reader.error(alone["squares"] - 2.0 * m * with_rows + m**2 * self.sizes["squares"])
        of_root = error / (2.0 * self.found.rmse) if t else 0.0
        found = {"rmse": self.reader.around(self.found.rmse, of_root, LOG)}
        if self.found.r2 is None:
            return found
        k = m / variance
        error = self.reader.error(alone["squares"] - 2.0 * k * spread_rows + k**2 * self.sizes["twice"])
        return found | {"r2": self.reader.around(self.found.r2, error / variance, UNEXPLAINED)}

    def _squares(self, more: float) -> Mapping[str, float]:
        bowl = Piece(0.0, more, 0.0, 2.0)
        return self.reader.squares(Parts((0.0,), (bowl, bowl)), centre=self.centre)
