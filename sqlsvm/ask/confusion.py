"""The predictions of a model with more than two classes, next to the label. With one bag all rows of the join are
counted. With more, the best of several scores is no sum over tables: then a sample of the join is scored, unless the
join is so small that it can be read whole."""

import logging
from collections.abc import Sequence

import numpy as np

from sqlsvm.compile import confusion as compiled
from sqlsvm.errors import OptionError
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.plan.parameters import THETA
from sqlsvm.plan.target import CODE, Classes
from sqlsvm.run.problem import Problem
from sqlsvm.run.sampling import Drawn, drawn_sample, whole_join
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
    return confusion(problem, [theta_of(problem.plan, part) for part in model.parts])


def _spelled(name: str) -> str:
    """A number as text may be 1.0 for 1, and a text may lack the blanks that its type has at the end."""
    try:
        return str(int(float(name))) if float(name).is_integer() else name
    except ValueError:
        return name.rstrip(" ")


def confusion(problem: Problem, thetas: Sequence[Array], values: Sequence[object] = ()) -> Confusion:
    """Of raw weights for each class."""
    target = problem.plan.design.target
    assert isinstance(target, Classes)
    names = tuple(values or target.names)
    if problem.plan.centre is None:
        return Confusion(names, _counted(problem, thetas))
    steps.info("scoring rows of the join")
    whole = whole_join(problem, DRAWN)
    drawn = whole or drawn_sample(problem, DRAWN, 0)
    found = _predicted(problem, drawn, thetas)
    if whole:
        return Confusion(names, found)
    rows, seen = np.array(problem.moments.of_codes), found.sum(axis=1)
    shares = np.divide(found, seen[:, None], out=np.zeros(found.shape), where=seen[:, None] > 0)
    return Confusion(names, shares * rows[:, None], seen)


def _counted(problem: Problem, thetas: Sequence[Array]) -> Array:
    steps.info("counting the classes that are predicted")
    plan, classes = problem.plan, len(thetas)
    answers = problem.work.run([compiled.confusion(plan)], {THETA: np.concatenate(thetas)})[compiled.CONFUSION]
    found = np.zeros((classes, classes))
    for y, p, n in zip(answers[CODE], answers[compiled.PREDICTED], answers["n"], strict=True):
        found[int(y) - 1, int(p) - 1] += float(n)
    return found


def _predicted(problem: Problem, drawn: Drawn, thetas: Sequence[Array]) -> Array:
    scores = [drawn.rows.scores(problem.scaling.to_scaled(theta)) for theta in thetas]
    predicted = np.argmax(np.array(scores), axis=0)
    found = np.zeros((len(thetas), len(thetas)))
    np.add.at(found, (drawn.codes.astype(int) - 1, predicted), drawn.weights)
    return found
