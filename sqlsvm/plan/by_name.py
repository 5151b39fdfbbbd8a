"""Weights that a user gives by name, as a vector."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from sqlsvm.errors import OptionError, nearest
from sqlsvm.plan.design import OTHER, Design, Dictionary, without_other
from sqlsvm.plan.scaling import Scaling
from sqlsvm.solve.arrays import Array

FORM = 'write {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}'

Given = Mapping[str, Any]
"""{"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}, or the JSON of a model."""


def read_beta(scaling: Scaling, given: Given, said: str = "beta") -> Array:
    """The vector of a beta that is given by names. A name that is left out has weight 0. `said` is what it is called in
    messages."""
    given = _of_model(given)
    weights = _weights(scaling.design, given, said)
    beta = np.zeros(scaling.dimension)
    for e in scaling.elements():
        if e.category is not None:
            others = given.get("other", {}).get(e.feature, 0.0)
            value = others if e.category is OTHER else weights.get(e.feature, {}).get(str(e.category), others)
        else:
            value = weights.get(e.feature, 0.0) if e.feature else given.get("intercept", 0.0)
        beta[e.place] = _number(e.feature or "intercept", value)
    return beta


def _of_model(given: Given) -> Given:
    """What `weights --json` and `show --json` print has a list of weights."""
    listed = given.get("weights") if isinstance(given, Mapping) else None
    names = {"feature", "category", "weight"}
    if not isinstance(listed, list) or not all(isinstance(e, Mapping) and e.keys() >= names for e in listed):
        return given
    weights: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for entry in listed:
        if entry["category"] is None:
            weights[entry["feature"]] = entry["weight"]
        elif isinstance(entry["category"], Mapping):
            others[entry["feature"]] = entry["weight"]
        else:
            weights.setdefault(entry["feature"], {})[str(entry["category"])] = entry["weight"]
    return {"intercept": given.get("intercept", 0.0), "weights": weights, "other": others}


def _weights(design: Design, given: Given, said: str) -> Mapping[str, Any]:
    """The weights, after all names are checked."""
    known = {"intercept", "weights", "other"}
    if not isinstance(given, Mapping) or not all(isinstance(given.get(n, {}), Mapping) for n in ("weights", "other")):
        raise OptionError(f"{said} is not an object of weights by name", hint=FORM)
    for name in given.keys() - known:
        raise OptionError(f"{said} has a {name}, which is neither the intercept nor the weights", hint=FORM)
    names = {c.feature for c in design.coordinates} | {d.feature for d in design.dictionaries}
    if "" not in names and given.get("intercept"):
        raise OptionError(f"{said} has an intercept, which the features do not", hint="leave it out")
    weights: Mapping[str, Any] = given.get("weights", {})
    for name in (*weights, *given.get("other", {})):
        if not name or name not in names:
            close = nearest(name, sorted(names - {""}))
            raise OptionError(f"{said} has a weight for {name}, which is not a feature", hint=close)
    for d in design.dictionaries:
        if not isinstance(weights.get(d.feature, {}), Mapping):
            raise OptionError(
                f"the weight of the categorical feature {d.feature} is one number",
                hint=f'write {{"{d.feature}": {{"VALUE": 0.1}}}}',
            )
        _check_known(d, weights.get(d.feature, {}), said)
    return weights


def _check_known(d: Dictionary, given: Mapping[str, Any], said: str) -> None:
    """Of several values that share a place, none can have a weight of its own."""
    known = set(map(str, without_other(d.categories)))
    if d.categories[-1:] == (OTHER,):
        for category in given.keys() - known:
            which = f"is none of the top {d.top}" if d.top else "is rare"
            raise OptionError(
                f"{said} has a weight for the category {category} of {d.feature}, which {which}",
                hint=f"leave out --top {d.feature}:{d.top}" if d.top else "leave out --rare",
            )


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"the weight of {name} is not a number: {value!r}")
    if not isfinite(value):
        raise OptionError(f"the weight of {name} is not finite: {value}")
    return float(value)
