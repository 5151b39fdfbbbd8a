"""Several vectors of weights as one model: those of each class against all others, or those of groups."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from sqlsvm.model.model import Model, OfClass, OfGroup, Proven, Skipped
from sqlsvm.model.probability import Probability
from sqlsvm.model.weights import Weights


def together(parts: Sequence[Model], values: Sequence[object]) -> Model:
    """`values` are those of the label, in the order of the parts. One part is the model itself."""
    first = parts[0]
    if len(parts) == 1:
        return first
    classes = tuple(
        OfClass(
            value=value,
            rows=part.label_rows["1"],
            held_out=part.trained_on.held_out.get("1", 0.0),
            **{f.name: getattr(part, f.name) for f in fields(Proven)},
        )
        for value, part in zip(values, parts, strict=True)
    )
    rest = replace(first.trained_on, held_out={})
    return replace(_without_weights(parts), classes=classes, label_rows={}, trained_on=rest)


Curved = TypeVar("Curved", Model, OfGroup)


def with_curves(model: Curved, curves: Sequence[Probability]) -> Curved:
    """One of the positive class, or one of each class against all others."""
    if not model.classes:
        return replace(model, probability=curves[0])
    each = zip(model.classes, curves, strict=True)
    return replace(model, classes=tuple(replace(of, probability=curve) for of, curve in each))


def grouped(by: str, parts: Mapping[object, Model], skipped: Sequence[Skipped], ungrouped: float) -> Model:
    """The models of groups, by their values. Where these have penalties of their own, it has that of most rows."""
    models = list(parts.values())
    names = [f.name for f in fields(OfGroup) if f.name not in ("value", "chosen")]
    groups = tuple(
        OfGroup(value=value, chosen=part.chosen and part.chosen.short, **{name: getattr(part, name) for name in names})
        for value, part in parts.items()
    )
    rows = [part.join_rows for part in models]
    labels = {label: sum(part.label_rows[label] for part in models) for label in models[0].label_rows}
    model = replace(
        _without_weights(models, rows),
        by=by,
        classes=(),
        groups=groups,
        skipped=tuple(skipped),
        ungrouped=ungrouped,
        join_rows=sum(rows),
        label_rows=labels,
        label_centre=0.0,
        label_width=None,
        scaling={},
        notes=(),
        validation={},
        chosen=None,
        probability=None,
    )
    return model.with_usual_strengths()


def _without_weights(parts: Sequence[Model], rows: Sequence[float] | None = None) -> Model:
    """The first part, with the certificate of the mean of all: weighted by their rows, or not."""

    def mean(name: str) -> float:
        return float(np.average([getattr(part, name) for part in parts], weights=rows))

    return replace(
        parts[0],
        passes=sum(part.passes for part in parts),
        seconds=sum(part.seconds for part in parts),
        objective=mean("objective"),
        objective_upper=mean("objective_upper"),
        lower_bound=mean("lower_bound"),
        gap=max(part.gap for part in parts),
        converged=all(part.converged for part in parts),
        intercept=0.0,
        threshold=0.0,
        scaled_intercept=None,
        base=None,
        weights=Weights.of(),
        constraints=(),
        history=(),
    )
