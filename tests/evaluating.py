"""What is measured of a stored model, on all rows of its query or on the parts of its holdout."""

from collections.abc import Sequence
from math import inf

from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.rows import on_all, on_parts
from sqlsvm.ask.scored import of_plan
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.model.scored import of_two_classes
from sqlsvm.query.rewrites.split import PARTS, Part
from sqlsvm.run.data import Data


def evaluate_beta(problem: Data, beta: Values, *, buckets: int = 256, bins: int = 100, here: bool = True) -> Evaluation:
    """Of weights on the features of a problem. `here`: the scores may be sorted in this process."""
    rows = problem.rows if here else inf
    scored = of_plan(problem.work, problem.plan, problem.scaling.to_raw(beta), buckets, bins, rows)
    return of_two_classes(scored, bins)


def evaluate_model(
    engine: Engine, model: Model, *, offload: bool | None = None, buckets: int = 256, bins: int = 100
) -> Evaluation:
    """On all rows that the model's query has now, prepared as for its training."""
    return on_all(engine, model, lambda problem: evaluate(problem, model, buckets=buckets, bins=bins), offload=offload)


def evaluate_parts(
    engine: Engine,
    model: Model,
    parts: Sequence[Part] = PARTS,
    *,
    offload: bool | None = None,
    buckets: int = 256,
    bins: int = 100,
) -> dict[Part, Evaluation]:
    """The same for a model that was trained with a holdout, on the rows of its training and on the rows held out."""

    def measured(problem: Data) -> Evaluation:
        return evaluate(problem, model, buckets=buckets, bins=bins)

    return on_parts(engine, model, measured, parts, offload=offload)
