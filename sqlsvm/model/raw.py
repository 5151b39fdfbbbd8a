"""The weights of a model on the raw coordinates of a plan."""

import numpy as np

from sqlsvm.errors import DataError, OptionError, nearest
from sqlsvm.model.memory import category_weights
from sqlsvm.model.model import Model
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
