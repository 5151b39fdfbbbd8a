"""--constrain: what the weights of the columns must satisfy, as rows over beta."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from sqlsvm.errors import OptionError, nearest
from sqlsvm.plan.design import OTHER, Design, Dictionary, without_other
from sqlsvm.plan.scaling import Element, Scaling
from sqlsvm.query import Fold
from sqlsvm.query.ir import gathered
from sqlsvm.query.names import named
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.constraint import Constraint

BETA_FORM = 'write {"intercept": 0.1, "weights": {"distance": 0.3, "carrier": {"UA": -0.2}}}'

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
        raise OptionError(f"{said} is not an object of weights by name", hint=BETA_FORM)
    for name in given.keys() - known:
        raise OptionError(f"{said} has a {name}, which is neither the intercept nor the weights", hint=BETA_FORM)
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
            fact = f"the weight of the categorical feature {d.feature} is one number"
            raise OptionError(fact, hint=f'write {{"{d.feature}": {{"VALUE": 0.1}}}}')
        _check_known(d, weights.get(d.feature, {}), said)
    return weights


def _check_known(d: Dictionary, given: Mapping[str, Any], said: str) -> None:
    """Of several values that share a place, none can have a weight of its own."""
    known = set(map(str, without_other(d.categories)))
    if d.categories[-1:] == (OTHER,):
        for category in given.keys() - known:
            which = f"is none of the top {d.top}" if d.top else "is rare"
            fact = f"{said} has a weight for the category {category} of {d.feature}, which {which}"
            raise OptionError(fact, hint=f"leave out ⟦top {d.feature}:{d.top}⟧" if d.top else "leave out ⟦rare⟧")


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionError(f"the weight of {name} is not a number: {value!r}")
    if not isfinite(value):
        raise OptionError(f"the weight of {name} is not finite: {value}")
    return float(value)


T = TypeVar("T")

MOST = 1000  # rows. The systems that are solved have one unknown for each.
FORM = 'write [{"weights": {"distance": 1, "carrier": {"UA": -2}}, "at_least": 0}]; at_most and intercept are possible'

Covariances = Mapping[str, Array]  # for a column its covariance with each raw coordinate


def given(texts: Sequence[str]) -> tuple[str, ...]:
    """The constraints with what their files hold, so that a model can keep them."""
    return tuple(_inlined(text) for text in texts)


def fair(texts: Sequence[str]) -> Iterator[tuple[str, float]]:
    """The columns that scores must not go with, and how far they may."""
    wanted = (_last(text.partition(":")[2]) for text in texts if text.startswith("fair:"))
    return ((column, float(rho)) for column, rho in wanted)


def audited(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict(fair(texts)))


def limits(texts: Sequence[str], features: Iterable[str], fold: Fold) -> Iterator[dict[str, Any]]:
    """Ends for a weight, or an order for those of categories, of a feature or of all: what _limits.sql reads."""
    known = {name: name for name in features}
    for text in texts:
        kind, _, rest = text.partition(":")
        if kind == "box":
            (rest, high), (column, low) = _last(rest), _last(_last(rest)[0])
            found = _feature(column, known, fold)
            yield {"feature": found, "low": float(low) if low else None, "high": float(high) if high else None}
        elif kind == "nonnegative":
            yield {"low": 0}
        else:
            way = 1 if kind == "increasing" else -1
            yield {"feature": _feature(rest, known, fold), "way": way, ("low" if way > 0 else "high"): 0}


def constraint(
    texts: Sequence[str], scaling: Scaling, centre: float, covariances: Covariances, fold: Fold
) -> Constraint:
    """`centre` is what was subtracted from the label: the user's intercept is that plus the one of beta."""
    rows = [row for text in texts for row in _Rows(scaling, centre, covariances, fold).of(text)]
    if len(rows) > MOST:
        hint = "constrain numbers one by one, with increasing:COLUMN; or give fewer categories weights, with ⟦top⟧"
        raise OptionError(f"the constraints are {len(rows):,} rows, and there can be {MOST:,}", hint=hint)
    made = Constraint(
        tuple(row.name for row in rows),
        np.array([scaling.from_raw(row.coefficients) for row in rows]).reshape(len(rows), scaling.dimension),
        np.array([row.shift for row in rows]),
    )
    if conflict := made.conflict():
        said = f"no weights satisfy all constraints: {' and '.join(conflict.names)}"
        raise OptionError(said, hint="these cannot hold together: leave one out, or make it wider")
    return made


def _feature(column: str, by_name: Mapping[str, T], fold: Fold) -> T:
    return named("⟦constrain⟧", column, by_name, fold, "the model has no weight for")


def _last(text: str) -> tuple[str, str]:
    column, _, value = text.rpartition(":")
    return column, value


def _inlined(text: str) -> str:
    kind, _, rest = text.partition(":")
    if kind != "custom":
        return text
    try:
        if not rest.lstrip().startswith("["):
            with open(rest, encoding="utf-8-sig") as file:
                rest = file.read()
        return f"custom:{json.dumps(json.loads(rest))}"
    except (OSError, ValueError, RecursionError) as error:
        raise OptionError("cannot read the rows of custom", detail=str(error), hint=FORM) from error


@dataclass(frozen=True)
class _Row:
    """coefficients.theta + shift >= 0, on raw coordinates."""

    name: str
    coefficients: Array
    shift: float


@dataclass(frozen=True)
class _Rows:
    scaling: Scaling
    centre: float
    covariances: Covariances
    fold: Fold

    def of(self, text: str) -> Iterator[_Row]:
        kind, _, rest = text.partition(":")
        match kind:
            case "nonnegative":
                yield from self._between(self._weights(), 0.0, None)
            case "increasing" | "decreasing":
                yield from self._monotone(rest, 1.0 if kind == "increasing" else -1.0)
            case "box":
                (rest, high), (column, low) = _last(rest), _last(_last(rest)[0])
                yield from self._between(self._named(column), *(float(end) if end else None for end in (low, high)))
            case "fair":
                column, rho = _last(rest)
                said, covariance = f"covariance of {column} and the score", self.covariances[column]
                yield _Row(f"{said} <= {float(rho):g}", -covariance, float(rho))
                yield _Row(f"{said} >= {-float(rho):g}", covariance, float(rho))
            case "custom":
                rows = json.loads(_inlined(text).partition(":")[2])
                if not isinstance(rows, list):
                    raise OptionError("the rows of custom are no list", hint=FORM)
                yield from (each for n, row in enumerate(rows, 1) for each in self._one(row, f"row {n} of custom"))

    def _weights(self) -> list[Element]:
        return [e for e in self.scaling.elements() if e.feature]

    def _named(self, column: str) -> list[Element]:
        """The weight of a number, or those of all categories."""
        return _feature(column, gathered((e.feature, e) for e in self._weights()), self.fold)

    def _between(self, weights: Sequence[Element], low: float | None, high: float | None) -> Iterator[_Row]:
        for e in weights:
            if low is not None:
                yield _Row(f"{_said(e)} >= {low:g}", self._only(e), -low)
            if high is not None:
                yield _Row(f"{_said(e)} <= {high:g}", -self._only(e), high)

    def _monotone(self, column: str, way: float) -> Iterator[_Row]:
        """A number has a weight of this kind. The weights of categories rise or fall with their values."""
        found, less = self._named(column), ">=" if way > 0 else "<="
        if found[0].category is None:
            yield _Row(f"{_said(found[0])} {less} 0", way * self._only(found[0]), 0.0)
            return
        if any(e.category is OTHER for e in found):
            raise OptionError(f"the categories of {column} have no order", hint=f"leave out ⟦top {column}⟧")
        for before, after in pairwise(found):
            both = way * (self._only(after) - self._only(before))
            yield _Row(f"{_said(after)} {less} {_said(before)}", both, 0.0)

    def _only(self, e: Element) -> Array:
        found = np.zeros(self.scaling.design.size)
        found[e.index] = 1.0
        return found

    def _one(self, row: Any, name: str) -> Iterator[_Row]:
        ends = {"at_least": 1.0, "at_most": -1.0}
        if not isinstance(row, Mapping) or not ends.keys() & row.keys():
            raise OptionError(f"{name} has neither at_least nor at_most", hint=FORM)
        asked = read_beta(self.scaling, {key: value for key, value in row.items() if key not in ends}, name)
        coefficients, shift = np.zeros(self.scaling.design.size), 0.0
        for e in self.scaling.elements():
            coefficients[e.index] = asked[e.place]
            if not e.feature:  # what the model says of the intercept is for numbers from 0 on
                shift += asked[e.place] * self.centre
                intercept = e
        for c in self.scaling.design.coordinates:
            if c.origin:
                coefficients[c.index] -= coefficients[intercept.index] * c.origin
        for end in ends.keys() & row.keys():
            if isinstance(row[end], bool) or not isinstance(row[end], int | float) or not np.isfinite(row[end]):
                raise OptionError(f"{end} of {name} is not a number: {row[end]!r}", hint=FORM)
            said = f"{name} is {'at least' if end == 'at_least' else 'at most'} {row[end]:g}"
            yield _Row(said, ends[end] * coefficients, ends[end] * (shift - row[end]))


def _said(e: Element) -> str:
    return e.feature if e.category is None else f"{e.feature} = {e.category}"
