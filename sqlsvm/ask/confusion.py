"""The predictions of a model with more than two classes, next to the label. With one bag all rows of the join are
counted. With more, the best of several scores is no sum over tables: then a sample of the join is scored, unless the
join is so small that it can be read whole."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlsvm.compile import confusion as compiled
from sqlsvm.errors import OptionError
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.model import Model
from sqlsvm.model.probability import Probability, normalised
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.parameters import THETA
from sqlsvm.plan.target import Classes
from sqlsvm.run.data import Data
from sqlsvm.run.drawn import Drawn
from sqlsvm.run.sampling import drawn_sample, whole_join
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.terminal import NOTE

steps = logging.getLogger(__name__)

NEVER = -1e100
"""The score of a class that is never predicted."""
DRAWN = 200_000
"""Rows of the join: the accuracy is then known to about a thousandth."""


def confusion_of(problem: Data, model: Model) -> Confusion:
    return confusion(scored_by(problem, model))


def scored_by(problem: Data, model: Model) -> "Scored":
    """The rows of the problem. Of a class that the model has not seen none is predicted: each is a miss."""
    target, known = problem.plan.design.target, len(model.classes)
    assert isinstance(target, Classes)
    thetas, curves = [theta_of(problem.plan, part) for part in model.parts], [*model.curves]
    if others := target.names[known:]:
        constant = problem.plan.design.constant
        if constant is None:
            raise OptionError(
                f"the label {model.label} has values that model {model.name} was not trained on: {', '.join(others)}",
                hint="train the model again",
            )
        steps.log(NOTE, "note: the model knows no %s %s: such rows are misses", model.label, ", ".join(others))
        never = np.zeros(problem.plan.design.size)
        never[constant] = NEVER
        thetas += [never] * len(others)
        curves += [Probability("isotonic", scores=(0.0,), shares=(0.0,))] * (len(others) if curves else 0)
    return Scored(problem, thetas, curves)


@dataclass(frozen=True)
class Scored:
    """The rows of a problem, and what scores them."""

    problem: Data
    thetas: Sequence[Array]
    """Raw weights for each class."""
    curves: Sequence[Probability] = ()
    """The probability of each class, if there is one."""

    @property
    def names(self) -> tuple[object, ...]:
        target = self.problem.plan.design.target
        assert isinstance(target, Classes)
        return target.names


def confusion(scored: Scored) -> Confusion:
    if scored.problem.plan.centre is None:
        chances = _chances(scored) if scored.curves else {}
        return Confusion(scored.names, _counted(scored), chances=chances)
    return of_seen(scored, seen(scored))


# -- with one bag: in the database


def _counted(scored: Scored) -> Array:
    steps.info("counting the classes that are predicted")
    problem = scored.problem
    return problem.work.ask(compiled.confusion(problem.plan), {THETA: np.concatenate(scored.thetas)})


def _chances(scored: Scored) -> Mapping[str, tuple[float, float]]:
    steps.info("counting what the probabilities cost")
    problem, parameters = scored.problem, {THETA: np.concatenate(scored.thetas)}
    found = problem.work.ask(compiled.chances(problem.plan, scored.curves), parameters)
    return {name: (total / problem.moments.n, 0.0) for name, total in found.items()}


# -- with more: from rows of the join


@dataclass(frozen=True)
class Seen:
    """Rows of the join, each with its scores: all of them, or drawn ones."""

    drawn: Drawn
    scores: Array
    """A row for each class."""
    rows: Array
    """How many rows of the join each class has."""
    whole: bool

    @property
    def codes(self) -> Indices:
        return np.asarray(self.drawn.codes, dtype=np.int64) - 1

    @cached_property
    def predictions(self) -> Indices:
        return np.asarray(np.argmax(self.scores, axis=0), dtype=np.int64)

    @cached_property
    def of_classes(self) -> Array:
        return np.bincount(self.codes, self.drawn.weights, len(self.rows)).astype(float)

    @property
    def weights(self) -> Array:
        """How many rows of the join each stands for."""
        if self.whole:
            return self.drawn.weights
        return np.asarray((self.rows / np.maximum(self.of_classes, 1.0))[self.codes])

    @property
    def matrix(self) -> Array:
        found = np.zeros((len(self.scores), len(self.scores)))
        np.add.at(found, (self.codes, self.predictions), self.weights)
        return found

    def squares(self, slopes: Mapping[str, Array]) -> Array:
        """For each class and each measure the sum, over the rows of the label's relation, of the square of what each
        adds. Where rows were drawn, that is as much larger as the drawing makes a measure vary."""
        assert self.drawn.clusters is not None
        clusters = np.unique(self.drawn.clusters, return_inverse=True)[1]
        class_of = np.zeros(int(clusters.max()) + 1, dtype=int)
        class_of[clusters] = self.codes
        found = np.zeros((len(self.rows), len(slopes)))
        for place, slope in enumerate(slopes.values()):
            adds = np.bincount(clusters, self.weights * slope[self.codes, self.predictions])
            found[:, place] = np.bincount(class_of, adds**2, len(self.rows))
        return found


def seen(scored: Scored, *, apart: bool = False) -> Seen:
    """`apart`: also which row of the label's relation each is of."""
    steps.info("scoring rows of the join")
    problem = scored.problem
    whole = whole_join(problem, DRAWN, apart=apart)
    drawn = whole or drawn_sample(problem, DRAWN, 0, apart=apart)
    scores = np.array([drawn.rows.scores(problem.scaling.to_scaled(theta)) for theta in scored.thetas])
    return Seen(drawn, scores, np.array(problem.moments.of_codes), whole is not None)


def of_seen(scored: Scored, rows: Seen) -> Confusion:
    costs = costs_of(rows.drawn.codes, rows.scores, scored.curves) if scored.curves else {}
    of_classes = rows.of_classes if rows.whole else rows.rows
    chances = {name: _mean(rows.drawn, cost, of_classes, sampled=not rows.whole) for name, cost in costs.items()}
    return Confusion(scored.names, rows.matrix, None if rows.whole else rows.of_classes, chances=chances)


def costs_of(codes: Array, scores: Array, curves: Sequence[Probability]) -> Mapping[str, Array]:
    """What the probabilities of each row cost."""
    p = normalised(np.column_stack([curve(own) for curve, own in zip(curves, scores, strict=True)]))
    own = p[np.arange(len(p)), codes.astype(int) - 1]
    brier = (p**2).sum(axis=1) - 2.0 * own + 1.0
    return {compiled.BRIER: brier, compiled.LOG_LOSS: -np.log(np.clip(own, compiled.LEAST, 1.0 - compiled.LEAST))}


def _mean(drawn: Drawn, cost: Array, rows: Array, *, sampled: bool) -> tuple[float, float]:
    """With its standard error: the rows of each class are known, their mean cost comes from those drawn."""
    mean, variance = 0.0, 0.0
    for code, share in enumerate((rows / rows.sum()).tolist(), 1):
        own = drawn.codes == code
        if own.any():
            at, weights = cost[own], drawn.weights[own] / drawn.weights[own].sum()
            mean += share * float(weights @ at)
            variance += share**2 * float(np.var(at)) / len(at)
    return mean, variance**0.5 if sampled else 0.0
