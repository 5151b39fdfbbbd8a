"""How good a model is on the rows of a problem, whatever its label is."""

from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.fairness import with_fairness
from sqlsvm.ask.residuals import residuals
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.model import Model
from sqlsvm.run.problem import Problem


def measure(problem: Problem, model: Model, *, buckets: int = 256, bins: int = 100) -> Evaluation | Residuals:
    if model.of_numbers:
        return with_fairness(residuals(problem, model, bins), problem, model)
    return with_fairness(evaluate(problem, model, buckets=buckets, bins=bins), problem, model)
