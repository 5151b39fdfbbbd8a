"""Models compared with the naive truth: their weights on its columns, and whether their claims hold."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sqlsvm.ask.scored import Measures
from sqlsvm.ask.validation import with_errors
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.model import Model
from sqlsvm.options import OPTIONS
from sqlsvm.run.data import Data
from sqlsvm.run.problems import Weighed
from sqlsvm.run.train import train_each
from sqlsvm.run.training import Training
from tests.ground import svm
from tests.ground.joins import Join
from tests.ground.liblinear import liblinear_beta
from tests.ground.opened import Wish, spelled

ROUNDING = 1e-9


def training(label: str = "y", **options: Any) -> Training:
    return Training.of(label=label, **options)


def sensible(**options: Any) -> Training:
    """With those of the options that the others read."""
    return training(**{name: value for name, value in options.items() if _is_read(name, options)})


def _is_read(name: str, options: Mapping[str, Any]) -> bool:
    other, values = OPTIONS[name].read_by or ("", ()) if name in OPTIONS else ("", ())
    return not other or options.get(other, OPTIONS[other].default) in values


def measured_both_ways(engine: Engine, join: Join, **options: Any) -> list[list[tuple[Measures, Measures]]]:
    """What two folds of a join in memory measure, with the errors: from the rows, and by the database."""
    asked = training(folds=2, categorical=join.categorical, **options)
    asked = replace(asked, in_memory=1_000_000)
    found = []

    def measure(problem: Data, weights: Mapping[str, Weighed]) -> None:
        assert problem.raw is not None
        ways = problem, replace(problem, raw=None)
        found.append([with_errors(way, weights["m"].thetas, asked) for way in ways])

    with join.created(engine):
        train_each(engine, join.query, {"m": asked}, on_fold=measure)
    assert len(found) == 2
    return found


def wish_of(trained: Training, **more: Any) -> Wish:
    """The truth of the same rows."""
    asked = trained
    assert asked.label is not None
    assert asked.nulls != "mean+indicator"
    return Wish(
        label=asked.label,
        scale=asked.scale,
        nulls=asked.nulls,
        intercept=bool(asked.intercept),
        weight=asked.weight,
        categorical=asked.categorical,
        positive=asked.positive,
        **more,
    )


def beta_of(engine: Engine, model: Model, truth: svm.Design) -> Values:
    """The scaled weights on the truth's columns; the constant takes back what centring moved into the intercept."""
    fold = engine.fold
    known = {(fold(w.feature, True), _category(w.category)): w.scaled_weight for w in model.weights}
    numbers = [(column, place) for place, column in enumerate(truth.columns) if column != svm.CONSTANT]
    beta = np.zeros(len(truth.columns))
    for (feature, category), place in numbers:
        beta[place] = known[fold(feature, True), category]
    if svm.CONSTANT in truth.columns:
        beta[truth.columns.index(svm.CONSTANT)] = model.intercept + float(beta @ (truth.centre / truth.width))
    return beta


def _category(value: object) -> str | None:
    return None if value is None else spelled(value)


def assert_proven(engine: Engine, model: Model, truth: svm.Design, join_rows: int | None = None) -> Values:
    """objective <= F(model) <= objective_upper, on all rows of the join; the model's beta.

    Rows that a class weight repeats are not `join_rows` more."""
    beta = beta_of(engine, model, truth)
    found = svm.objective(truth, beta, model.lam)
    assert model.join_rows == (len(truth.y) if join_rows is None else join_rows)
    assert model.objective - ROUNDING <= found <= model.objective_upper + ROUNDING
    assert model.lower_bound <= model.objective_upper
    assert model.gap == (model.objective_upper - model.lower_bound) / model.objective_upper
    return beta


def assert_beside_liblinear(model: Model, truth: svm.Design, tol: float = 1e-3, max_iter: int = 20_000) -> None:
    """The peer is no better than what is proven, and no better than the model by more than what was asked for.

    gap <= tol is (1 - tol) upper <= lower_bound <= F*: so upper <= F* / (1 - tol), which is (1 + tol) F* up to tol^2.
    """
    peer = svm.objective(truth, liblinear_beta(truth.x, truth.y, model.lam, max_iter=max_iter), model.lam)
    assert model.lower_bound <= peer + ROUNDING
    if model.converged:
        assert (1 - tol) * model.objective_upper <= peer + ROUNDING
