"""How good a model is on the rows of a problem, whatever its label is."""

from sqlsvm.ask.class_intervals import confusion_held_out
from sqlsvm.ask.confusion import confusion_of
from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.fairness import with_fairness
from sqlsvm.ask.groups import by_group
from sqlsvm.ask.intervals import with_intervals_of, with_intervals_of_residuals
from sqlsvm.ask.residuals import residuals
from sqlsvm.model.by_group import ByGroup
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.run.data import Data

Measured = Evaluation | Residuals | Confusion | ByGroup


def measure(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100) -> Measured:
    if model.groups:
        return by_group(problem, model, bins)
    if model.classes:
        return confusion_of(problem, model)
    return with_fairness(_of_two(problem, model, buckets=buckets, bins=bins), problem, model)


def measure_held_out(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100) -> Measured:
    """With intervals: the training has not seen these rows."""
    if model.classes:
        return confusion_held_out(problem, model)
    if model.groups:
        return measure(problem, model, bins=bins)
    found = _of_two(problem, model, buckets=buckets, bins=bins)
    if isinstance(found, Residuals):
        return with_fairness(with_intervals_of_residuals(found, problem, model), problem, model)
    return with_fairness(with_intervals_of(found, problem, model), problem, model)


def _of_two(problem: Data, model: Model, *, buckets: int, bins: int) -> Evaluation | Residuals:
    if model.of_numbers:
        return residuals(problem, model, bins)
    return evaluate(problem, model, buckets=buckets, bins=bins)
