"""The penalty of a training: lambda alone, or the elastic net with what is known of the join's classes and columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

from sqlsvm.plan.constraints import constraint
from sqlsvm.run.data import Data
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.constraint import Constraint
from sqlsvm.solve.elastic import Elastic, Free, Side
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.penalty import L2, Penalty


@dataclass(frozen=True)
class Penalising:
    """What a training asks of the penalty."""

    strength: float
    l1: float = 0.0
    free: bool = False
    """Is the intercept not penalised?"""
    constrain: tuple[str, ...] = ()

    @property
    def strengths(self) -> tuple[float, float]:
        return self.strength, self.l1

    @property
    def is_plain(self) -> bool:
        return not (self.l1 or self.free or self.constrain)

    def of(self, problem: Data) -> Penalty:
        strength, l1 = self._in_deviations(problem.scaling.label, problem.plan.loss)
        if self.is_plain:
            return L2(strength)
        scaling, centre = problem.scaling, problem.plan.design.target.centre
        fold, rows = problem.work.engine.fold, None
        if self.constrain:
            rows = constraint(self.constrain, scaling, centre, problem.covariances, fold)
        place = next((e.place for e in scaling.numbers if not e.feature), None)
        free = Free(place, problem.plan.loss, tuple(sides(problem))) if self.free and place is not None else None
        return Elastic(strength, l1, rows or Constraint.none(scaling.dimension), place, free)

    def _in_deviations(self, width: float | None, loss: Loss) -> tuple[float, float]:
        """Both are for a label in deviations of this width, where weights are as much smaller, and psi is smaller by
        its unit. These are what they are in the unit of the label."""
        if width is None:
            return self.strength, self.l1
        unit = loss.unit(width)
        return self.strength * unit / width**2, self.l1 * unit / width


def sides(problem: Data) -> Iterator[Side]:
    """The rows of each class, or all of them where the label is a number."""
    moments, loss, n = problem.moments, problem.plan.loss, problem.moments.n

    def means(sums: Array, rows: float) -> Array:
        return problem.scaling.from_raw(sums / rows)

    if moments.label:
        origin, size = moments.label.total / n, sqrt(moments.label.squares / n)
        yield Side(1.0, 1.0, origin, size, means(moments.total, n))
        return
    origin, negative = loss.origin or 0.0, moments.n_negative
    yield Side(negative / n, -1.0, origin, abs(origin), means(moments.total_negative, negative))
    positive = moments.total - moments.total_negative
    yield Side(1.0 - negative / n, 1.0, origin, abs(origin), means(positive, n - negative))
