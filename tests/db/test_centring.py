"""Columns that are far from 0, next to their deviation: they are measured from their means, and so proven."""

import json
from typing import Any

import numpy as np
import pytest

from sqlsvm.ask.validation import Validation
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.run.train import train, train_each
from tests.evaluating import evaluate_model
from tests.ground import svm
from tests.ground.joins import Join
from tests.ground.opened import truth
from tests.ground.trained import training, wish_of

TIME, FAR = 1_700_000_000.0, 1e12
TABLES = (
    "CREATE TABLE f (k INT, y INT, v FLOAT8, g INT, x FLOAT8, c FLOAT8, t FLOAT8); CREATE TABLE g (k INT, z FLOAT8)"
)
QUERY = "SELECT f.y, f.x, f.c, f.t, g.z, f.t - g.z AS s FROM f JOIN g ON g.k = f.k"


def join(query: str = QUERY, *, nulls: bool = False, rows: int = 300) -> Join:
    """c is constant, t a time of one day, z so far from 0 that doubles know it to 1e-4."""
    rng = np.random.default_rng(5)
    x, t = rng.normal(size=rows), rng.integers(0, 86_400, rows).astype(float)
    y = (x + t / 40_000 + 0.5 * rng.normal(size=rows) > 1).astype(int)
    missing = (rng.random(rows) < 0.2) & nulls
    f = {
        "k": rng.integers(0, 20, rows),
        "y": y,
        "v": x + 0.1 * rng.normal(size=rows),
        "g": np.arange(rows) % 3,
        "x": x,
        "c": np.full(rows, TIME),
        "t": np.where(missing, 0.0, t + TIME),
    }
    text = (
        query.replace("f.t", "NULLIF(f.t, 0)", 1).replace("NULLIF(f.t, 0)", "NULLIF(f.t, 0) AS t", 1)
        if nulls
        else query
    )
    return Join(TABLES, {"f": f, "g": {"k": np.arange(60) % 20, "z": FAR + rng.normal(size=60)}}, text)


def near(text: str) -> str:
    """The query of the columns less what they are far from 0 by: there plain numpy keeps its digits."""
    text = text.replace("f.t - g.z", "f.u - g.v")
    text = text.replace("NULLIF(f.t, 0) AS t", f"NULLIF(f.T, 0) - {TIME} AS t").replace("f.t,", f"f.t - {TIME} AS t,")
    text = text.replace("g.z FROM", f"g.z - {FAR} AS z FROM").replace("g.z,", f"g.z - {FAR} AS z,")
    return text.replace("f.u - g.v", f"(f.t - {TIME}) - (g.z - {FAR})").replace("f.c", f"f.c - {TIME} AS c")


def beta_of(model: Model, rows: svm.Design) -> Values:
    known = {w.feature: w.scaled_weight for w in model.weights}
    return np.array([known[name] if name else model.scaled_intercept for name, _ in rows.columns])


def assert_proven(model: Model, rows: svm.Design) -> Values:
    beta = beta_of(model, rows)
    found = svm.objective(rows, beta, model.lam)
    assert model.converged
    assert model.gap <= 1e-3
    assert model.objective * (1 - 1e-6) <= found <= model.objective_upper * (1 + 1e-6)
    return beta


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_it_is_proven_and_evaluated(engine: Engine, in_memory: int, nulls: bool) -> None:
    made = join("SELECT f.y, f.x, f.c, f.t, g.z FROM f JOIN g ON g.k = f.k" if nulls else QUERY, nulls=nulls)
    asked = training(lam=1e-2, in_memory=in_memory, nulls="mean")
    with made.created(engine):
        model = train(engine, "m", made.query, asked)
        rows = truth(engine, near(made.query), wish_of(asked))
        found = evaluate_model(engine, model)
    beta = assert_proven(model, rows)
    assert isinstance(found, Evaluation)
    right = float(np.mean(np.where(rows.x @ beta > 0, 1, -1) == rows.y))
    assert found.accuracy.value == pytest.approx(right, abs=2e-3)
    place = {name: n for n, (name, _) in enumerate(rows.columns)}
    assert "feature c is 1.7e+09 in every row of the join: its scaled weight is 0" in model.notes
    assert model.scaling["t"].centre == pytest.approx(rows.centre[place["t"]] + TIME, rel=1e-12)
    assert model.scaling["z"].width == pytest.approx(rows.width[place["z"]], rel=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smooth_hinge"])
@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_other_losses(shared_engine: Engine, in_memory: int, loss: str) -> None:
    made = join()
    with made.created(shared_engine):
        model = train(shared_engine, "m", made.query, training(lam=1e-2, in_memory=in_memory, loss=loss))
    assert model.converged
    assert model.gap <= 1e-3


@pytest.mark.parametrize("options", [{"in_memory": 0}, {"sample": 1}, {}])
def test_groups(engine: Engine, options: dict[str, Any]) -> None:
    made = join("SELECT f.y, f.x, f.c, f.t, f.g, g.z FROM f JOIN g ON g.k = f.k")
    with made.created(engine):
        model = train(engine, "m", made.query, training(by="g", lam=1e-2, **options))
        text = "SELECT f.y, f.x, f.c, f.t, g.z FROM f JOIN g ON g.k = f.k WHERE f.g = 1"
        rows = truth(engine, near(text), wish_of(training()))
    assert_proven(model.parts[1], rows)


@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_folds_and_a_holdout(shared_engine: Engine, in_memory: int) -> None:
    """The same as of the columns less what they are far from 0 by."""
    found = []
    for made in (join(), join(near(QUERY))):
        asked = training(lam=1e-2, folds=3, in_memory=in_memory, constrain=("nonnegative",), intercept="free")
        with made.created(shared_engine):
            validation = Validation({"m": asked})
            (model,) = train_each(shared_engine, made.query, {"m": asked}, on_fold=validation.measure)
        found.append(validation.of(model))
    ours, theirs = found
    assert ours.lower_bound <= theirs.objective_upper
    assert theirs.lower_bound <= ours.objective_upper
    assert ours.validation["auc"].mean == pytest.approx(theirs.validation["auc"].mean, abs=5e-3)


@pytest.mark.parametrize("in_memory", [0, 100_000])
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_label_is_centred_over_the_join(engine: Engine, weight: str | None, in_memory: int) -> None:
    """Rows of its table that join with nothing, or weigh nothing, have labels far away."""
    extra = ", CASE WHEN f.g = 0 THEN 0 ELSE 2 END AS w" if weight else ""
    columns = f"f.v + CASE WHEN f.g = 0 THEN 1e7 ELSE 1000 END AS y, f.x, g.z - {FAR} AS z{extra}"
    text = f"SELECT {columns} FROM f JOIN g ON g.k = f.k"
    made = join(text if weight else text + " + CASE WHEN f.g = 0 THEN 1000 ELSE 0 END")
    with made.created(engine):
        model = train(engine, "m", made.query, training(lam=1e-2, loss="absolute", in_memory=in_memory, weight=weight))
    assert model.converged
    assert model.label_centre == pytest.approx(1000, abs=1)


LOSSY = [(7.33e9, 1e-6), (1e9, 1e-5), (1e12, 1.0), (2.45e9, 6.6e-6)]
"""Means and deviations of which intercept + weight * column keeps few digits, or none."""


@pytest.mark.parametrize("in_memory", [0, 100_000])
@pytest.mark.parametrize(("mean", "deviation"), LOSSY)
def test_the_bounds_are_those_of_the_stored_scores(
    shared_engine: Engine, mean: float, deviation: float, in_memory: int
) -> None:
    made = one_column(mean, deviation)
    with made.created(shared_engine):
        model = train(shared_engine, "m", made.query, training(lam=1e-4, in_memory=in_memory, tol=1e-5))
        stored = Model.from_json(json.loads(json.dumps(model.as_json())))
        rows = shared_engine.fetch(predict(shared_engine, stored, made.query))
        found = evaluate_model(shared_engine, stored)
    sign = np.where(rows["y"] > 0, 1.0, -1.0)
    squares = sum(w.scaled_weight**2 for w in model.weights) + (model.scaled_intercept or 0.0) ** 2
    for ours in (rows["score"], scores(stored, rows)):
        value = np.maximum(0.0, 1.0 - sign * ours).mean() + model.lam * squares
        assert model.objective * (1 - 1e-12) <= value <= model.objective_upper * (1 + 1e-12)
    assert model.converged
    assert isinstance(found, Evaluation)
    assert found.accuracy.value == pytest.approx(np.mean(np.sign(rows["score"]) == sign), abs=1e-9)


def one_column(mean: float, deviation: float, rows: int = 200) -> Join:
    rng = np.random.default_rng(1)
    z, noise, x = rng.normal(size=rows), rng.normal(size=rows), mean + deviation * rng.normal(size=rows)
    f = {"y": (x - mean + 0.3 * deviation * noise > 0).astype(int), "x": x, "z": z, "g": np.arange(rows) % 2}
    f["c"] = np.where(np.arange(rows) % 3 == 0, np.nextafter(mean, np.inf), mean)
    f["t"] = mean + np.where(np.arange(rows) % 4, z, noise) * deviation
    created = "CREATE TABLE f (y INT, x FLOAT8, z FLOAT8, g INT, c FLOAT8, t FLOAT8)"
    return Join(created, {"f": f}, "SELECT f.y, f.x, f.z FROM f")


@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_a_column_that_differs_in_its_last_bit_is_constant(shared_engine: Engine, in_memory: int) -> None:
    made = one_column(7.33e9, 1.0)
    with made.created(shared_engine):
        model = train(shared_engine, "m", "SELECT y, z, c FROM f", training(lam=1e-2, in_memory=in_memory))
    weight = {w.feature: w.weight for w in model.weights}
    assert (weight["c"], model.converged) == (0.0, True)
    assert model.notes[0] == "feature c is 7.33e+09 in every row of the join: its scaled weight is 0"


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("in_memory", [0, 100_000])
def test_a_label_loses_digits_next_to_its_centre(shared_engine: Engine, in_memory: int, loss: str) -> None:
    """The upper bound is that of scores that are added to 10^9, which has a grain of 10^-7."""
    made = one_column(1e9, 1e-6)
    asked = training("t", loss=loss, lam=1e-4, in_memory=in_memory, scale="none")
    with made.created(shared_engine):
        model = train(shared_engine, "m", "SELECT t, z FROM f", asked)
        rows = shared_engine.fetch(predict(shared_engine, model, "SELECT t, z FROM f"))
    z = rows["t"] - rows["score"]
    squares = sum(w.scaled_weight**2 for w in model.weights) + (model.scaled_intercept or 0.0) ** 2
    value = (np.abs(z).mean() if loss == "absolute" else (z * z).mean() / 2) + model.lam * squares
    assert model.objective <= value <= model.objective_upper


@pytest.mark.parametrize("options", [{}, {"folds": 2}])
def test_a_group_far_from_the_others_keeps_the_digits_of_its_label(
    shared_engine: Engine, options: dict[str, Any]
) -> None:
    """Less the mean of all labels, those of group 0 had lost what the squares of its residuals are."""
    made = one_column(0.0, 1.0)
    text = "SELECT z + 0.001 * x + CASE WHEN g = 0 THEN 1e3 ELSE 3e12 END AS y, z, g FROM f"
    asked = training(loss="squared", lam=1e-4, by="g", scale="none", intercept="free", **options)
    with made.created(shared_engine):
        validation = Validation({"m": asked})
        (model,) = train_each(shared_engine, text, {"m": asked}, on_fold=validation.measure)
        rows = shared_engine.fetch(predict(shared_engine, model, text))
    for place, part in enumerate(model.parts):
        of = rows["g"] == place
        value = ((rows["y"] - rows["score"])[of] ** 2).mean() / 2
        value += model.lam * sum(w.scaled_weight**2 for w in part.weights)
        assert part.objective * (1 - 1e-12) <= value <= part.objective_upper * (1 + 1e-12)
