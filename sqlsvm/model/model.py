"""What training leaves behind: weights on the user's own columns, the proof, and what it was trained on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Weight:
    """score = intercept + sum of weight * column; `scaled_weight` is on the features as they were scaled for training.

    A category is a column that is 1 where the feature has that value. `missing` is what a NULL counts as: None where
    NULLs are refused or their rows dropped."""

    feature: str
    category: object
    weight: float
    scaled_weight: float
    missing: float | None = None


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
    trained_on: Mapping[str, Any] = field(default_factory=dict)
    """Fingerprint of the query, rows per relation, versions of sqlsvm and sqlglot, the time."""
    version: int = 0
    """Counted by the store; 0 for a model that was never stored."""

    @property
    def weighted(self) -> bool:
        """Did a column say how much a row counts? Then the numbers of rows are what these rows weigh in all."""
        return bool(self.options.get("problem", {}).get("weight"))

    def as_json(self) -> dict[str, Any]:
        """The object that `train --json` prints, and what is stored: strict JSON, see `plain`."""
        found = {name: plain(value) for name, value in vars(self).items()}
        found["model"] = found.pop("name")
        found["lambda"] = found.pop("lam")
        found["features"] = len({w.feature for w in self.weights})
        return found

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Model":
        fields = {k: v for k, v in found.items() if k not in ("model", "lambda", "features")}
        fields |= {k: float(found[k]) for k in _FLOATS}
        fields["label_rows"] = {k: float(v) for k, v in found["label_rows"].items()}
        fields["weights"] = tuple(_weight(w) for w in found["weights"])
        fields["history"] = tuple({k: _number(v) for k, v in record.items()} for record in found.get("history", ()))
        return cls(name=found["model"], lam=float(found["lambda"]), **fields)


_FLOATS = ("join_rows", "seconds", "objective", "objective_upper", "lower_bound", "gap", "intercept")


def plain(value: object) -> Any:
    """A value as strict JSON can hold it. JSON has no infinite numbers: they become the texts that PostgreSQL casts.

    >>> plain({"gap": float("inf"), "weights": (np.float64(1), None)})
    {'gap': 'Infinity', 'weights': [1.0, None]}
    """
    if value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value)):
        return value  # almost everything is, where a category has 100,000 weights
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
