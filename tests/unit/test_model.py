"""A model and its JSON: strict, and back to the same model."""

import json
from dataclasses import fields
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlsvm.model.model import Model, Weight, plain
from tests.ground.models import HOSTILE, model


def through_json(made: Model) -> Model:
    return Model.from_json(json.loads(json.dumps(made.as_json(), allow_nan=False)))


def test_there_and_back() -> None:
    made = model(version=3)
    assert through_json(made) == made


def test_the_keys_are_those_of_train_json() -> None:
    promised = {
        *("model", "engine", "lambda", "solver", "counting", "bags", "features", "join_rows", "label_rows", "passes"),
        *("seconds", "objective", "objective_upper", "lower_bound", "gap", "converged", "intercept", "weights"),
        "history",
    }
    found = model().as_json()
    assert promised <= found.keys()
    assert found["features"] == 4
    assert {"name", "lam"} & found.keys() == set()
    assert {"feature", "category", "weight", "scaled_weight"} <= found["weights"][0].keys()


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name(name: str) -> None:
    made = model(name, label=name, query=name, positive=name, weights=(Weight(name, name, 1.0, 2.0),))
    assert through_json(made) == made


floats = st.floats(allow_nan=False)
categories = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
weights = st.builds(Weight, st.text(), categories, floats, floats, st.none() | st.floats(-1e300, 1e300))


@given(floats, floats, floats, st.lists(weights))
def test_every_digit_and_every_category_survives(a: float, b: float, c: float, found: list[Weight]) -> None:
    made = model(objective_upper=a, lower_bound=b, intercept=c, lam=c, weights=tuple(found))
    back = through_json(made)
    assert back == made
    assert [type(w.category) for w in back.weights] == [type(w.category) for w in made.weights]


FLOATS = [f.name for f in fields(Model) if f.type is float]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_numbers_that_json_lacks(name: str, value: float) -> None:
    changed: dict[str, Any] = {name: value}
    back = getattr(through_json(model(**changed)), name)
    assert back == value or (isnan(back) and isnan(value))


def test_numbers_that_json_lacks_in_a_history() -> None:
    assert through_json(model()).history[0]["gap"] == inf
    assert through_json(model()).history[0]["lower_bound"] == -inf
    assert through_json(model()).history[0]["buckets"] is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.array([1.0, nan]), [1.0, "NaN"]),
        (-inf, "-Infinity"),
        ({1: (True, None)}, {"1": [True, None]}),
        (2**70, 2**70),
    ],
)
def test_plain(value: object, expected: Any) -> None:
    found = plain(value)
    assert (found, type(found)) == (expected, type(expected))


def test_a_text_category_is_not_taken_for_a_number() -> None:
    assert [w.category for w in through_json(model()).weights if w.category == "NaN"] == ["NaN"]
