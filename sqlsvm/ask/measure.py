"""How good a model is on the rows of a problem, whatever its label is."""

from sqlsvm.ask.class_intervals import confusion_held_out
from sqlsvm.ask.fairness import with_fairness
from sqlsvm.ask.groups import by_group, ungrouped
from sqlsvm.ask.intervals import with_intervals_of, with_intervals_of_residuals
from sqlsvm.model.by_group import ByGroup
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.run.data import Data

Measured = Evaluation | Residuals | Confusion | ByGroup


def measure(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100) -> Measured:
    if model.groups:
        return by_group(problem, model, bins)
    found = ungrouped(problem, model, buckets=buckets, bins=bins)
    return found if isinstance(found, Confusion) else with_fairness(found, problem, model)


def measure_held_out(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100) -> Measured:
    """With intervals: the training has not seen these rows."""
    if model.classes:
        return confusion_held_out(problem, model)
    if model.groups:
        return measure(problem, model, bins=bins)
    found = ungrouped(problem, model, buckets=buckets, bins=bins)
    if isinstance(found, Residuals):
        return with_fairness(with_intervals_of_residuals(found, problem, model), problem, model)
    assert isinstance(found, Evaluation)
    return with_fairness(with_intervals_of(found, problem, model), problem, model)
