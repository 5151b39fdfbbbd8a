"""Values in strict JSON."""

import json
import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from sqlsvm.plan.design import OTHER

OTHER_IN_JSON = {"other": True}
BETWEEN = "\0"  # in JSON no text has it as it is. So a list is made into a text at once, and taken apart there.
joined = json.JSONEncoder(ensure_ascii=False, separators=(BETWEEN, ": ")).encode
_AS_THEY_ARE = frozenset({type(None), str, int, bool})


def plain(value: object) -> Any:
    """A value in strict JSON. JSON has no infinite numbers: they become texts that PostgreSQL can cast. An object may
    have an `as_json` of its own.

    >>> plain({"gap": float("inf"), "weights": (np.float64(1), None)})
    {'gap': 'Infinity', 'weights': [1.0, None]}
    """
    if type(value) in _AS_THEY_ARE or (type(value) is float and math.isfinite(value)):
        return value
    if value is OTHER:
        return dict(OTHER_IN_JSON)
    if as_json := getattr(value, "as_json", None):
        return as_json()
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, np.generic | np.ndarray):
        is_finite = value.dtype.kind == "f" and np.isfinite(value).all()
        value = value.tolist()
        if is_finite:
            return value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return list(value) if _AS_THEY_ARE.issuperset(map(type, value)) else [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def texts(values: object) -> list[str]:
    """The JSON of each of these. None is a list."""
    found = plain(values)
    return joined(found)[1:-1].split(BETWEEN) if found else []
