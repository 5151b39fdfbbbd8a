"""Choosing among several models by how well they do on the rows held out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sqlsvm.ask.evaluate import evaluate
from sqlsvm.ask.residuals import residuals
from sqlsvm.ask.rows import on_parts, options_of
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.model.raw import theta_of
from sqlsvm.options import MEASURES_OF_CLASSES
from sqlsvm.plan.scaling import Scaling
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.problem import Problem

BUCKETS = 256
"""On the grid, of a unit of the score."""

SMALLER = "loss", "mae", "rmse"
"""Of these the least is the best."""

Measures = Mapping[str, float]


def on_holdout(engine: Engine, models: Sequence[Model], *, offload: bool = False) -> list[Measures]:
    """What each model does on the rows held out, which are read once."""

    def measures(problem: Problem) -> list[Measures]:
        return [_measures(problem, model) for model in models]

    return on_parts(engine, models[0], measures, ["holdout"], offload=offload)["holdout"]


def best(measures: Sequence[Measures], by: str) -> int:
    """The place of the best. Of several, the first."""
    values = [found[by] for found in measures]
    return values.index(min(values) if by in SMALLER else max(values))


def _measures(problem: Problem, model: Model) -> Measures:
    if model.of_numbers:
        found = residuals(problem, model)
        return {"loss": _loss(problem, model), "mae": found.mae, "rmse": found.rmse, "coverage": found.coverage}
    rates = evaluate(problem, model)
    known = ((name, getattr(rates, name)) for name in MEASURES_OF_CLASSES if name != "loss")
    return {"loss": _loss(problem, model)} | {name: rate.value if rate else 0.0 for name, rate in known}


def _loss(problem: Problem, model: Model) -> float:
    """The mean loss of the training, without class weights and penalty; on the grid at most this."""
    design = problem.plan.design
    as_it_is = replace(problem, scaling=Scaling(design, np.eye(len(design.coordinates))))
    cut = JoinOracle(as_it_is, options_of(model).named_loss).pass_(theta_of(problem.plan, model), BUCKETS)
    return cut.value_low + cut.error
