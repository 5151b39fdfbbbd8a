"""How good a model is on the rows of a problem, whatever its label is."""

from functools import partial

from sqlsvm.ask.fairness import with_fairness
from sqlsvm.ask.groups import by_group, ungrouped
from sqlsvm.model.by_group import ByGroup
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.run.data import Data

Measured = Evaluation | Residuals | Confusion | ByGroup


def measure(problem: Data, model: Model, *, buckets: int = 256, bins: int = 100, held_out: bool = False) -> Measured:
    """With intervals, if the training has not seen these rows."""
    if model.groups:
        return by_group(problem, model, bins, held_out=held_out)
    found = ungrouped(problem, model, buckets=buckets, bins=bins, held_out=held_out)
    return found if isinstance(found, Confusion) else with_fairness(found, problem, model)


measure_held_out = partial(measure, held_out=True)
