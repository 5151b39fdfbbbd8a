"""The predictions of a model with more than two classes, next to the label. With one bag all rows of the join are
counted. With more, the best of several scores is no sum over tables: then a sample of the join is scored, unless the
join is so small that it can be read whole.

How far off its measures may be (see `intervals`): each is a function of the matrix of classes and predictions. A row of
the label's relation adds to it the sum, over its rows of the join, of the slope of the measure by the cell that each is
in. With one bag these sums are made in the database."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sqlsvm.ask.intervals import JOINED, sizes_by_code
from sqlsvm.compile import confusion as compiled
from sqlsvm.compile.clusters import apart
from sqlsvm.errors import OptionError
from sqlsvm.model.confusion import Confusion, slopes
from sqlsvm.model.model import Model
from sqlsvm.model.probability import Probability
from sqlsvm.model.score import chance
from sqlsvm.model.scored import Scored, costs_of_chances, of_clusters, of_several_classes, squares_by_class
from sqlsvm.model.several import theta_of
from sqlsvm.plan.parameters import SLOPES, THETA
from sqlsvm.plan.target import Classes
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Drawn
from sqlsvm.run.sampling import drawn_sample, whole_join
from sqlsvm.solve.arrays import Array
from sqlsvm.terminal import NOTE

steps = logging.getLogger(__name__)

NEVER = -1e100  # the score of a class that is never predicted
DRAWN = 200_000  # rows of the join: the accuracy is then known to about a thousandth


def scored_by(problem: Data, model: Model) -> "Classed":
    return classed(problem, [theta_of(problem.plan, part) for part in model.parts], model.curves)


def classed(problem: Data, known: Sequence[Array], curves: Sequence[Probability] = ()) -> "Classed":
    """The rows of the problem. Of a class that the model has not seen none is predicted: each is a miss."""
    target = problem.plan.design.target
    assert isinstance(target, Classes)
    others = target.names[len(known) :]
    if not others:
        return Classed(problem, known, curves)
    label, names, constant = target.label.name, ", ".join(map(str, others)), problem.plan.design.constant
    if constant is None:
        hint = "train the model again"
        raise OptionError(f"the label {label} has values that the model was not trained on: {names}", hint=hint)
    steps.log(NOTE, "note: the model knows no %s %s: such rows are misses", label, names)
    never = np.zeros(problem.plan.design.size)
    never[constant] = NEVER
    none = Probability("isotonic", scores=(0.0,), shares=(0.0,))
    return Classed(problem, [*known, *[never] * len(others)], [*curves, *[none] * len(others)] if curves else ())


@dataclass(frozen=True)
class Classed:
    """The rows of a problem, and what scores them."""

    problem: Data
    thetas: Sequence[Array]  # raw weights for each class
    curves: Sequence[Probability] = ()  # the probability of each class, if there is one

    @property
    def names(self) -> tuple[object, ...]:
        target = self.problem.plan.design.target
        assert isinstance(target, Classes)
        return target.names

    @property
    def parameters(self) -> dict[str, object]:
        return {THETA: np.concatenate(self.thetas)}


def confusion(classed: Classed, *, held_out: bool = False) -> Confusion:
    """`held_out`: with intervals, unless the label's relation is part of a cycle."""
    problem, plan = classed.problem, apart(classed.problem.plan) if held_out else classed.problem.plan
    if plan is None:
        return replace(confusion(classed), no_intervals=JOINED)
    classed = replace(classed, problem=replace(problem, plan=plan))
    if plan.centre is None:
        found = Confusion(classed.names, _counted(classed), chances=_chances(classed) if classed.curves else {})
        squares = _squares(classed, found) if held_out else None
    else:
        found, scored = _seen(classed, apart=held_out)
        squares = squares_by_class(found, scored) if held_out else None
    return found if squares is None else of_clusters(found, sizes_by_code(problem.work, plan), squares)


# -- with one bag: in the database


def _counted(classed: Classed) -> Array:
    steps.info("counting the classes that are predicted")
    return classed.problem.work.ask(compiled.confusion(classed.problem.plan), classed.parameters)


def _chances(classed: Classed) -> Mapping[str, tuple[float, float]]:
    steps.info("counting the losses of the probabilities")
    problem = classed.problem
    found = problem.work.ask(
        compiled.chances(problem.plan, [partial(chance, curve) for curve in classed.curves]), classed.parameters
    )
    return {name: (total / problem.moments.n, 0.0) for name, total in found.items()}


def _squares(classed: Classed, found: Confusion) -> Array:
    """For each class and each measure."""
    steps.info("adding up what the rows of the label's table add to the measures")
    problem, each = classed.problem, list(slopes(found.matrix).values())
    parameters = classed.parameters | {SLOPES: np.concatenate([of.ravel() for of in each])}
    return problem.work.ask(compiled.squares(problem.plan, len(each)), parameters)


# -- with more: from rows of the join


def _seen(classed: Classed, *, apart: bool) -> tuple[Confusion, Scored]:
    """From rows of the join, all of them or drawn ones, each of which stands for others of its class. `apart`: they
    know which row of the label's relation they are of; the sums of those are off by what was drawn, so their squares
    are as much larger as the drawing makes a measure vary."""
    steps.info("scoring rows of the join")
    problem = classed.problem
    whole = whole_join(problem, DRAWN, apart=apart)
    drawn = whole or drawn_sample(problem, DRAWN, 0, apart=apart)
    scores = np.array([drawn.rows.scores(problem.scaling.to_scaled(theta)) for theta in classed.thetas])
    clusters = None if drawn.clusters is None else np.unique(drawn.clusters, return_inverse=True)[1]
    codes = drawn.codes.astype(int) - 1
    of_classes = np.bincount(codes, drawn.weights, len(classed.names)).astype(float)
    rows = of_classes if whole else np.array(problem.moments.of_codes)
    scored = Scored(scores, drawn.codes, drawn.weights, clusters)
    if not whole:
        scored = replace(scored, counts=(rows / np.maximum(of_classes, 1.0))[codes])
    found = of_several_classes(scored, classed.names)
    costs = costs_of_chances(scored, classed.curves) if classed.curves else {}
    chances = {name: _mean(drawn, cost, rows, sampled=not whole) for name, cost in costs.items()}
    return replace(found, drawn=None if whole else of_classes, chances=chances), scored


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
