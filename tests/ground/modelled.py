"""Models written by hand: weights on the columns of the truth, without a training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.model import Model, TrainedOn
from sqlsvm.model.plain import plain
from sqlsvm.model.weights import Weight, Weights
from sqlsvm.options import Nulls
from sqlsvm.plan.target import read_label_values, target_of
from sqlsvm.query.read_query import read_query
from sqlsvm.reading import made
from tests.ground import svm
from tests.ground.reference import Joined


def modelled(
    weights: Sequence[Weight],
    intercept: float = 0.0,
    *,
    name: str = "m",
    query: str = "SELECT 1",
    dialect: str = "postgres",
    label: str = "y",
    nulls: Nulls = "error",
    trained_on: Mapping[str, Any] | None = None,
) -> Model:
    return Model(
        name=name,
        engine="",
        query=query,
        dialect=dialect,
        label=label,
        positive=None,
        lam=1e-4,
        solver="dane",
        counting="exact",
        nulls=nulls,
        bags=1,
        join_rows=1.0,
        label_rows={"-1": 0.5, "1": 0.5},
        passes=1,
        seconds=0.0,
        objective=1.0,
        objective_upper=1.0,
        lower_bound=1.0,
        gap=0.0,
        converged=True,
        intercept=intercept,
        weights=Weights.of(weights),
        trained_on=made(TrainedOn, plain(trained_on or {}), "the facts"),
    )


def number(feature: str, weight: float, missing: float | None = None) -> Weight:
    return Weight(feature, None, weight, weight, missing)


def category(feature: str, value: object, weight: float) -> Weight:
    return Weight(feature, value, weight, weight)


def model_of(engine: Engine, text: str, label: str, rows: Joined, truth: svm.Design, beta: Values) -> Model:
    """The model that has these weights, as training would have written it down."""
    query = read_query(engine, text, label=label)
    booleans = [f.name for f in query.features if f.kind == "boolean"]
    weights: list[Weight] = []
    for feature in query.features:
        name = next(n for n in rows.features if engine.fold(n, True) == engine.fold(feature.name, True))
        values = rows.features[name]
        for (owner, value), weight in zip(truth.columns, beta.tolist(), strict=True):
            if owner == name and value is None:
                weights.append(number(feature.name, weight, missing=float(np.mean(values[~np.isnan(values)]))))
            elif owner == name:
                weights.append(category(feature.name, value, weight))
    return modelled(
        weights,
        float(beta[0]),
        query=text,
        dialect=engine.dialect,
        label=label,
        nulls="mean",
        trained_on={
            "booleans": booleans,
            "label_values": read_label_values(
                engine, query, target_of(engine, query, "hinge", positive=None, centred=False)
            ),
        },
    )
