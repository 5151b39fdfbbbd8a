"""A model with more than two classes, put together from the models of each class against all others."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from sqlsvm.model.model import Model, OfClass, Proven


def together(parts: Sequence[Model], values: Sequence[object]) -> Model:
    """`values` are those of the label, in the order of the parts. One part is the model itself."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names = [f.name for f in fields(Proven)]
    classes = tuple(
        OfClass(
            value=value,
            rows=part.label_rows["1"],
            held_out=part.trained_on.held_out.get("1", 0.0),
            **{name: getattr(part, name) for name in names},
        )
        for value, part in zip(values, parts, strict=True)
    )
    return replace(
        first,
        classes=classes,
        label_rows={},
        trained_on=replace(first.trained_on, held_out={}),
        passes=sum(part.passes for part in parts),
        seconds=sum(part.seconds for part in parts),
        objective=_mean(parts, "objective"),
        objective_upper=_mean(parts, "objective_upper"),
        lower_bound=_mean(parts, "lower_bound"),
        gap=max(part.gap for part in parts),
        converged=all(part.converged for part in parts),
        intercept=0.0,
        scaled_intercept=None,
        weights=(),
        constraints=(),
        history=(),
    )


def _mean(parts: Sequence[Model], name: str) -> float:
    return float(np.mean([getattr(part, name) for part in parts]))
