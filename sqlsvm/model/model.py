"""The result of a training: weights on the user's own columns, the proof, and facts about the data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import Any, Literal

import numpy as np

from sqlsvm.engine.base import Spelling
from sqlsvm.errors import OptionError

TermKind = Literal["numeric", "boolean", "categorical"]

FORMAT = 1
"""The number of the form of `Model.as_json`. Models stored without a number have this form."""


@dataclass(frozen=True)
class Weight:
    """score = intercept + sum of weight * column. `scaled_weight` is on the features as scaled for training.

    A category is a column that is 1 where the feature has that value. `missing` replaces a NULL; it is None if NULLs
    are refused or their rows dropped."""

    feature: str
    category: object
    weight: float
    scaled_weight: float
    missing: float | None = None


@dataclass(frozen=True)
class Term:
    """A feature of a model: its weights, and how to read a value of it."""

    feature: str
    weights: tuple[Weight, ...]
    kind: TermKind
    """The kind of its column, for categories too."""
    spelling: Spelling
    """How its texts are compared."""

    @property
    def number(self) -> Weight | None:
        """The weight of a feature that has no categories."""
        return self.weights[0] if self.weights[0].category is None else None


@dataclass(frozen=True)
class TrainedOn:
    """Facts about the query and its data when the model was trained. None and {} mean: not known."""

    fingerprint: str | None = None
    """Of the query."""
    rows: Mapping[str, float] = field(default_factory=dict)
    """Per relation."""
    relations: Mapping[str, str] = field(default_factory=dict)
    """The relation of each feature."""
    booleans: tuple[str, ...] = ()
    """Features that are true or false."""
    padded: tuple[str, ...] | None = None
    """Features of type character(n)."""
    caseless: tuple[str, ...] = ()
    """Features of type citext."""
    label_values: tuple[Any, Any] = (-1, 1)
    """The label's own values for -1 and +1."""
    database: str | None = None
    versions: Mapping[str, str | None] = field(default_factory=dict)
    """Of sqlsvm and sqlglot."""
    held_out: Mapping[str, float] = field(default_factory=dict)
    """Rows of each class that the training did not see."""

    def spelling(self, feature: str) -> Spelling:
        """If the padded features are not known, any feature may be one."""
        if feature in self.caseless:
            return "caseless"
        return "padded" if self.padded is None or feature in self.padded else "exact"

    def as_json(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in vars(self).items() if value is not None and value != {}}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "TrainedOn":
        known = ((name, found.get(name)) for name in cls.__dataclass_fields__)
        facts: dict[str, Any] = {n: tuple(f) if isinstance(f, list) else f for n, f in known if f is not None}
        return cls(**facts)


@dataclass(frozen=True)
class Model:
    name: str
    engine: str
    query: str
    dialect: str
    label: str
    positive: str | None
    lam: float
    solver: str
    counting: str
    nulls: str
    bags: int
    join_rows: float
    label_rows: Mapping[str, float]
    passes: int
    seconds: float
    objective: float
    objective_upper: float
    lower_bound: float
    gap: float
    converged: bool
    intercept: float
    weights: tuple[Weight, ...]
    history: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """Every option of the training, by name."""
    trained_on: TrainedOn = field(default_factory=TrainedOn)
    version: int = 0
    """Counted by the store; 0 for a model that was never stored."""

    @property
    def weighted(self) -> bool:
        """Did rows have weights? Then a number of rows is the total weight of these rows."""
        return bool(self.options.get("problem", {}).get("weight"))

    @property
    def terms(self) -> tuple[Term, ...]:
        groups = groupby(self.weights, key=lambda w: w.feature)
        return tuple(self._term(feature, tuple(weights)) for feature, weights in groups)

    def _term(self, feature: str, weights: tuple[Weight, ...]) -> Term:
        kind: TermKind = "categorical" if isinstance(weights[0].category, str) else "numeric"
        if feature in self.trained_on.booleans:
            kind = "boolean"
        return Term(feature, weights, kind, self.trained_on.spelling(feature))

    def as_json(self) -> dict[str, Any]:
        """The object that `train --json` prints and that is stored, in strict JSON (see `plain`)."""
        found = {name: plain(value) for name, value in vars(self).items() if name != "trained_on"}
        found["model"], found["lambda"] = found.pop("name"), found.pop("lam")
        return found | {"trained_on": self.trained_on.as_json(), "features": len(self.terms), "format": FORMAT}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Model":
        if found.get("format", FORMAT) > FORMAT:
            raise OptionError(
                f"model {found['model']} is stored in format {found['format']}, which this sqlsvm does not know",
                hint="read it with a newer sqlsvm",
            )
        values = {k: v for k, v in found.items() if k not in ("model", "lambda", "features", "format")}
        values |= {f.name: float(values[f.name]) for f in fields(cls) if f.type is float and f.name in values}
        values["label_rows"] = {k: float(v) for k, v in found["label_rows"].items()}
        values["weights"] = tuple(_weight(w) for w in found["weights"])
        values["trained_on"] = TrainedOn.from_json(found.get("trained_on", {}))
        values["history"] = tuple({k: _number(v) for k, v in record.items()} for record in found.get("history", ()))
        return cls(name=found["model"], lam=float(found["lambda"]), **values)


def plain(value: object) -> Any:
    """A value in strict JSON. JSON has no infinite numbers: they become texts that PostgreSQL can cast.

    >>> plain({"gap": float("inf"), "weights": (np.float64(1), None)})
    {'gap': 'Infinity', 'weights': [1.0, None]}
    """
    if value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value)):
        return value  # first, for speed: a category may have 100,000 weights
    if isinstance(value, Weight):
        value = vars(value)
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _number(value: Any) -> Any:
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def _weight(found: Mapping[str, Any]) -> Weight:
    return Weight(**{**found, **{k: float(found[k]) for k in ("weight", "scaled_weight")}})
