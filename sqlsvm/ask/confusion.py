"""The predictions of a model with more than two classes, next to the label. With one bag all rows of the join are
counted. With more, the best of several scores is no sum over tables: then a sample of the join is scored, unless the
join is so small that it can be read whole."""

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from sqlsvm.compile import confusion as compiled
from sqlsvm.errors import OptionError
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.model import Model
from sqlsvm.model.probability import Probability, normalised
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.parameters import THETA
from sqlsvm.plan.target import CODE, Classes
from sqlsvm.run.drawn import Drawn
from sqlsvm.run.problem import Problem
from sqlsvm.run.sampling import drawn_sample, whole_join
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

DRAWN = 200_000
"""Rows of the join: the accuracy is then known to about a thousandth."""


def confusion_of(problem: Problem, model: Model) -> Confusion:
    """On the rows of the problem, whose classes must be those of the model."""
    target, known = problem.plan.design.target, [str(each.value) for each in model.classes]
    assert isinstance(target, Classes)
    if [*map(_spelled, known)] != [*map(_spelled, target.names)]:
        raise OptionError(
            f"the label {model.label} has other values now than those that model {model.name} was trained on",
            detail=f"now {', '.join(target.names)}; then {', '.join(known)}",
            hint="train the model again",
        )
    curves = [part.probability for part in model.parts if part.probability]
    return confusion(problem, [theta_of(problem.plan, part) for part in model.parts], curves=curves)


def _spelled(name: str) -> str:
    """A number as text may be 1.0 for 1, and a text may lack the blanks that its type has at the end."""
    try:
        return str(int(float(name))) if float(name).is_integer() else name
    except ValueError:
        return name.rstrip(" ")


def confusion(
    problem: Problem, thetas: Sequence[Array], values: Sequence[object] = (), curves: Sequence[Probability] = ()
) -> Confusion:
    """Of raw weights for each class, and of its probability."""
    target = problem.plan.design.target
    assert isinstance(target, Classes)
    names = tuple(values or target.names)
    if problem.plan.centre is None:
        return Confusion(names, _counted(problem, thetas), chances=_chances(problem, thetas, curves) if curves else {})
    steps.info("scoring rows of the join")
    whole = whole_join(problem, DRAWN)
    drawn = whole or drawn_sample(problem, DRAWN, 0)
    scores = np.array([drawn.rows.scores(problem.scaling.to_scaled(theta)) for theta in thetas])
    found = _predicted(drawn, scores)
    rows, seen = (found.sum(axis=1) if whole else np.array(problem.moments.of_codes)), found.sum(axis=1)
    costs = _costs(drawn, scores, curves) if curves else {}
    chances = {name: _mean(drawn, cost, rows, sampled=not whole) for name, cost in costs.items()}
    if whole:
        return Confusion(names, found, chances=chances)
    shares = np.divide(found, seen[:, None], out=np.zeros(found.shape), where=seen[:, None] > 0)
    return Confusion(names, shares * rows[:, None], seen, chances=chances)


def _counted(problem: Problem, thetas: Sequence[Array]) -> Array:
    steps.info("counting the classes that are predicted")
    plan, classes = problem.plan, len(thetas)
    answers = problem.work.run([compiled.confusion(plan)], {THETA: np.concatenate(thetas)})[compiled.CONFUSION]
    found = np.zeros((classes, classes))
    for y, p, n in zip(answers[CODE], answers[compiled.PREDICTED], answers["n"], strict=True):
        found[int(y) - 1, int(p) - 1] += float(n)
    return found


def _chances(
    problem: Problem, thetas: Sequence[Array], curves: Sequence[Probability]
) -> Mapping[str, tuple[float, float]]:
    steps.info("counting what the probabilities cost")
    answers = problem.work.run([compiled.chances(problem.plan, curves)], {THETA: np.concatenate(thetas)})
    rows = answers[compiled.CHANCES]
    return {name: (float(rows[name][0]) / problem.moments.n, 0.0) for name in (compiled.BRIER, compiled.LOG_LOSS)}


def _predicted(drawn: Drawn, scores: Array) -> Array:
    """`scores` has a row for each class."""
    found = np.zeros((len(scores), len(scores)))
    np.add.at(found, (drawn.codes.astype(int) - 1, np.argmax(scores, axis=0)), drawn.weights)
    return found


def _costs(drawn: Drawn, scores: Array, curves: Sequence[Probability]) -> Mapping[str, Array]:
    """What the probabilities of each row cost."""
    p = normalised(np.column_stack([curve(own) for curve, own in zip(curves, scores, strict=True)]))
    own = p[np.arange(len(p)), drawn.codes.astype(int) - 1]
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
