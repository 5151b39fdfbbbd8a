"""Models written by hand: weights on the columns of the truth, without a training."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlsvm.model import Model, Weight


def modelled(
    weights: Sequence[Weight],
    intercept: float = 0.0,
    *,
    query: str = "SELECT 1",
    dialect: str = "postgres",
    label: str = "y",
    nulls: str = "error",
    trained_on: Mapping[str, Any] | None = None,
) -> Model:
    return Model(
        name="m",
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
        weights=tuple(weights),
        trained_on=trained_on or {},
    )


def number(feature: str, weight: float, missing: float | None = None) -> Weight:
    return Weight(feature, None, weight, weight, missing)


def category(feature: str, value: object, weight: float) -> Weight:
    return Weight(feature, value, weight, weight)
