"""A model and its JSON: strict, and back to the same model."""

import json
from dataclasses import fields
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlsvm.errors import OptionError
from sqlsvm.model.model import FORMAT, Model, TrainedOn
from sqlsvm.model.plain import plain
from sqlsvm.model.weights import Weight, Weights
from sqlsvm.reading import Bound, made
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
finite = st.floats(allow_nan=False, allow_infinity=False)
weights = st.builds(Weight, st.text(), categories, finite, finite, st.none() | st.floats(-1e300, 1e300))


@pytest.mark.slow
@given(floats, floats, finite, st.lists(weights, unique_by=lambda w: w.feature))
def test_every_digit_and_every_category_survives(a: float, b: float, c: float, found: list[Weight]) -> None:
    made = model(objective_upper=a, lower_bound=b, intercept=c, lam=c, weights=tuple(found))
    back = through_json(made)
    assert [json.loads(line) for line in made.weights.lines()] == made.as_json()["weights"]
    assert back == made
    assert [type(w.category) for w in back.weights] == [type(w.category) for w in made.weights]


@given(st.lists(st.integers(-3, 3)), st.none() | st.integers(0, 20))
def test_the_heaviest_weights(found: list[int], top: int | None) -> None:
    """Those that weigh the same are in their order."""
    made = Weights.of([Weight("c", place, 0.0, float(value)) for place, value in enumerate(found)])
    assert made.heaviest(top) == tuple(sorted(made, key=lambda w: -abs(w.scaled_weight))[:top])


BOUNDS = [f.name for f in fields(Model) if f.type is Bound]
FLOATS = [f.name for f in fields(Model) if f.type is float]


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_numbers_that_json_lacks(name: str, value: float) -> None:
    changed: dict[str, Any] = {name: value}
    back = getattr(through_json(model(**changed)), name)
    assert back == value or (isnan(back) and isnan(value))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_other_numbers_are_finite(name: str, value: float) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(OptionError, match=r"the model: (lambda|\w+): expected a finite number, found \"-?(Inf|NaN)"):
        through_json(model(**changed))


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


# -- facts of the training ---------------------------------------------------------------------------------------------


def test_facts_there_and_back() -> None:
    facts = TrainedOn(
        fingerprint="f1",
        rows={"f": 3},
        relations={"x": "f"},
        booleans=("b",),
        padded=(),
        label_values=("no", None),
        held_out={"-1": 1.0, "1": 2.0},
    )
    assert made(TrainedOn, json.loads(json.dumps(facts.as_json())), "") == facts


def test_facts_that_are_not_known_are_left_out() -> None:
    """A program in SQL writes null for some of them, and asks whether `padded` is there at all."""
    assert TrainedOn().as_json() == {"booleans": [], "caseless": [], "label_values": [-1, 1]}
    assert made(TrainedOn, {"label_values": None, "sqlsvm": "0.1.0"}, "") == TrainedOn()


@pytest.mark.parametrize(
    ("facts", "spelling"),
    [
        (TrainedOn(), "padded"),
        (TrainedOn(padded=()), "exact"),
        (TrainedOn(padded=("c",)), "padded"),
        (TrainedOn(caseless=("c",)), "caseless"),
    ],
)
def test_how_categories_are_spelled(facts: TrainedOn, spelling: str) -> None:
    assert facts.spelling("c") == spelling


def test_terms_say_how_values_are_read() -> None:
    made = model(trained_on=TrainedOn(booleans=("heavy",)))
    kinds = [(term.feature, term.kind, len(term.weights)) for term in made.terms]
    assert kinds == [
        ("distance", "numeric", 1),
        ("heavy", "boolean", 1),
        ("carrier", "categorical", 3),
        ("month", "numeric", 1),
    ]


def test_a_format_of_a_later_sqlsvm_is_refused() -> None:
    stored = model().as_json()
    assert stored.pop("format") == FORMAT
    assert Model.from_json(stored) == model()
    said = rf"^late\.json: made by a newer sqlsvm \(format 99; this one reads up to {FORMAT}\)\nHINT: upgrade sqlsvm$"
    with pytest.raises(OptionError, match=said):
        Model.from_json(stored | {"format": 99, "losses": []}, "late.json")
