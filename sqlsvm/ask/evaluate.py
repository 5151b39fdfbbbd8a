"""The quality of a model on the rows of a join, which is not built: confusion matrix, rates, ROC AUC, histogram.

A row is predicted +1 iff its score is above 0, as scikit-learn does; a score of exactly 0 predicts -1. A row of weight
w counts as w rows. Class weights do not count: they belong to the training.
"""

from dataclasses import replace

from sqlsvm.ask.intervals import with_intervals
from sqlsvm.ask.rows import options_of
from sqlsvm.ask.scored import of_plan
from sqlsvm.lab.ask.machine import evaluate_machine
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.model.scored import BINS, of_two_classes
from sqlsvm.run.data import Data

NO_SUM = "the score of a kernel machine is no sum over the tables"


def evaluate(
    problem: Data, model: Model, *, buckets: int = 256, bins: int = BINS, held_out: bool = False
) -> Evaluation:
    """With intervals, if the training has not seen these rows."""
    if model.support:
        found = evaluate_machine(problem, model, bins)
        return replace(found, no_intervals=NO_SUM) if held_out else found
    theta = theta_of(problem.plan, model)
    scored = of_plan(problem.work, problem.plan, theta, buckets, bins)
    found = of_two_classes(scored, bins, model.probability)
    return with_intervals(found, scored, problem, theta, options_of(model)) if held_out else found
