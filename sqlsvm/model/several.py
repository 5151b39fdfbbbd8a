"""Several vectors of weights as one model: those of each class against all others, or those of groups."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from sqlsvm.errors import DataError, OptionError, nearest
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model, OfClass, OfGroup, Proven, Skipped
from sqlsvm.model.probability import Probability
from sqlsvm.model.weights import Weights
from sqlsvm.plan.plan import Plan
from sqlsvm.solve.arrays import Array


def theta_of(plan: Plan, model: Model, *, decided: bool = True) -> Array:
    """A category that the model does not know weighs 0. It has to know each number, and the rows need an intercept if
    it has one. If it is `decided`, a score above 0 is of the positive class."""
    known = {term.feature: "a number" if term.number else "text" for term in model.linear().terms}
    for feature, here in _kinds(plan).items():
        there = known.get(feature)
        if there is None and here == "a number":
            hint = nearest(feature, [term.feature for term in model.terms])
            raise OptionError(f"model {model.name} has no weight for the number {feature}", hint=hint)
        if there not in (None, here):
            said = f"the feature {feature} is {here}, and was {there} when the model {model.name} was trained"
            raise DataError(said, hint="train it again, or cast the column in a view to what it was")
    if model.added[0] and plan.design.constant is None:
        raise OptionError(f"model {model.name} has an intercept, and these rows were prepared without one")
    return less(start_of(plan, model), plan, model.threshold if decided else 0.0)


def less(theta: Array, plan: Plan, threshold: float) -> Array:
    """Raw weights whose score is above 0 where that of these is above the threshold."""
    constant = plan.design.constant
    return theta if constant is None else theta - threshold * (np.arange(len(theta)) == constant)


def start_of(plan: Plan, model: Model) -> Array:
    """The weights of the training, and 0 for what the model does not know: a good place to begin another training."""
    design = plan.design
    model = model.linear()
    known = {term.feature: term for term in model.terms}
    theta, (before, after) = np.zeros(design.size), model.trained
    for c in design.coordinates:
        if not c.feature:
            theta[c.index] = before + (after - design.target.centre)
        elif (term := known.get(c.feature)) and term.number:
            filled = (term.number.missing or 0.0) - term.origin
            theta[c.index] = term.number.weight * (filled if c.role == "missing" else 1.0)
    theta = design.moved(theta, -1.0, {name: term.origin for name, term in known.items() if term.origin})
    spellings = {f.name: f.spelling for f in plan.tree.query.features}
    for d in design.dictionaries:
        if d.feature in known and not known[d.feature].number:
            weigh = category_weights(known[d.feature], spellings[d.feature])
            theta[d.offset : d.offset + len(d.categories)] = [weigh(category) for category in d.categories]
    return theta


def _kinds(plan: Plan) -> dict[str, str]:
    numbers = {c.feature: "a number" for c in plan.design.coordinates if c.feature}
    return numbers | {d.feature: "text" for d in plan.design.dictionaries}


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
    return model.with_usual()


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
