"""The probability of the positive class, fitted to the scores of rows that the training has not seen."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from sqlsvm.ask.groups import in_each
from sqlsvm.ask.scored import of_each
from sqlsvm.model.model import Model, OfGroup
from sqlsvm.model.raw import theta_of
from sqlsvm.model.scored import Scored, fit
from sqlsvm.model.several import with_curves
from sqlsvm.options import ProbabilityMethod
from sqlsvm.run.data import Data
from sqlsvm.run.groups import Groups
from sqlsvm.run.notes import listed
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)


def fitted(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """With its probability, on the rows held out. With folds, the scores there give it."""
    steps.info("fitting the probabilities")
    return (_of_groups if model.groups else _of_all)(problem, model, method)


def _of_all(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """The rows held out have all classes, or they could not be prepared."""
    each = of_each(problem, _thetas(problem, model))
    return with_curves(model, [fit(method, scored) for scored in each])


def _of_groups(problem: Data, model: Model, method: ProbabilityMethod) -> Model:
    """Each group has a curve of its own, if its rows have all classes."""

    def scored(problem: Data, part: Model) -> list[Scored]:
        return of_each(problem, _thetas(problem, part))

    found = {group.value: own for group, own in in_each(Groups.of(problem), model, scored)}
    fitted = [_with_curves(of, method, found.get(of.value, ())) for of in model.groups]
    lacking = [before.value for before, of in zip(model.groups, fitted, strict=True) if of is before]
    said = f"there is no probability for {model.by} {listed(lacking)}: a class has no rows that are held out"
    return replace(model, groups=tuple(fitted), notes=(*model.notes, *([said] if lacking else [])))


def _with_curves(of: OfGroup, method: ProbabilityMethod, each: Sequence[Scored]) -> OfGroup:
    if not each or not all(own.counts.any() for scored in each for own in scored.own):
        return of
    return with_curves(of, [fit(method, scored) for scored in each])


def _thetas(problem: Data, model: Model) -> list[Array]:
    return [theta_of(problem.plan, part) for part in model.parts]
