"""Models made by hand, for what keeps, shows and uses them."""

from math import inf
from typing import Any

from sqlsvm.model.model import Model, TrainedOn
from sqlsvm.model.weights import Weight, Weights

HOSTILE = (
    "late flights",
    'Quote"d',
    "o'clock'; DROP TABLE sqlsvm.versions; --",
    "$1",
    "%s %I {0}",
    "back\\slash\nnew line\ttab",
    "\x1b[31mred",
    "größe 模型 🛫",
    "MiXed",
    "x" * 63,
    "ü" * 5000,
)


def record(number: int, gap: float, **more: Any) -> dict[str, Any]:
    found = {"pass": number, "objective": 0.4, "objective_upper": 0.41, "lower_bound": 0.41 * (1 - gap), "gap": gap}
    return {**found, "buckets": None, "seconds": 0.25, **more}


def model(name: str = "late", **more: Any) -> Model:
    """A model with a number, a boolean, categories that are text, integers and almost each other, and two passes."""
    facts: dict[str, Any] = {
        "engine": "PostgreSQL 15.18",
        "query": "SELECT f.late, f.distance, f.carrier\nFROM flights AS f",
        "dialect": "postgres",
        "label": "late",
        "positive": None,
        "lam": 1e-4,
        "solver": "dane",
        "counting": "exact",
        "nulls": "mean",
        "bags": 2,
        "join_rows": 1.5e12,
        "label_rows": {"-1": 1e12, "1": 0.5e12},
        "passes": 2,
        "seconds": 0.8125,
        "objective": 0.4,
        "objective_upper": 0.41,
        "lower_bound": 0.409,
        "gap": 0.0024,
        "converged": True,
        "intercept": -0.1,
        "weights": (
            Weight("distance", None, 1e-3, 0.7, missing=1040.5),
            Weight("heavy", None, 0.25, 0.25),
            Weight("carrier", "UA", -0.2, -0.2),
            Weight("carrier", "Ünïted 'n' \"Co\"", 1 / 3, 1 / 3),
            Weight("carrier", "NaN", 0.05, 0.05),
            Weight("month", 7, -1.5, -1.5),
        ),
        "history": (record(1, inf, lower_bound=-inf), record(2, 0.0024, buckets=16)),
        "options": {"tol": 1e-3, "seed": 0, "categorical": ["month"]},
        "trained_on": TrainedOn(rows={"f": 1000}, versions={"sqlsvm": "0.1.0"}),
    }
    facts |= more
    return Model(name=name, **facts | {"weights": Weights.of(facts["weights"])})
