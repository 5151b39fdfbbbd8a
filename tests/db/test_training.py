"""Training end to end, compared with LIBLINEAR on the materialised join: the certificate and the model."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import Counting
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from tests.ground import svm
from tests.ground.joins import JOINS, chain
from tests.ground.liblinear import liblinear_beta
from tests.ground.opened import Wish, build, truth
from tests.ground.schemas import random_world
from tests.ground.trained import assert_beside_liblinear, assert_proven, beta_of, training, wish_of
from tests.ground.world import noted
from tests.sized import sized
from tests.typed import meant, typed

pytestmark = pytest.mark.slow

LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


def with_counting(asked: Training, counting: Counting) -> Training:
    return replace(asked, counting=counting)


@pytest.mark.parametrize("shape", JOINS)
def test_parity(engine: Engine, shape: str) -> None:
    """On some thousand rows, by both ways to count; one bag is always counted exactly."""
    join = JOINS[shape](np.random.default_rng(3))
    join.create(engine)
    asked = training(nulls="mean", categorical=join.categorical, sample=5000)
    rows = truth(engine, join.query, wish_of(asked))
    assert 2e3 <= len(rows.y) <= 2e4
    server = engine.dialect == "postgres"
    for place, lam in enumerate(LAMBDAS[::2] if server else LAMBDAS):
        counting: Counting = "grid" if place % 2 != server else "exact"
        model = train(engine, shape, join.query, with_counting(replace(asked, lam=lam), counting))
        assert model.converged
        assert model.counting == (counting if model.bags > 1 else "exact")
        assert_proven(engine, model, rows)
        assert_beside_liblinear(model, rows, max_iter=2000)


def test_parity_on_many_rows(duckdb: Engine) -> None:
    join = chain(np.random.default_rng(4), rows=1500, fan_out=12)
    join.create(duckdb)
    rows = truth(duckdb, join.query, Wish(scale="standard"))
    assert len(rows.y) > 2e5
    model = train(duckdb, "large", join.query, training(lam=1e-3))
    assert model.converged
    assert_proven(duckdb, model, rows)
    assert_beside_liblinear(model, rows, max_iter=300)


@pytest.mark.parametrize("counting", ["exact", "grid"])
def test_the_bundle_alone(engine: Engine, counting: Counting) -> None:
    join = chain(np.random.default_rng(5), rows=150, fan_out=4)
    join.create(engine)
    rows = truth(engine, join.query, Wish(scale="standard"))
    model = train(engine, "b", join.query, training(lam=1e-1, solver="bundle", tol=1e-2, counting=counting))
    assert (model.converged, model.solver) == (True, "bundle")
    assert_proven(engine, model, rows)
    assert_beside_liblinear(model, rows, tol=1e-2)


REFUSALS = "has one class only|the join has no rows|has the value"


@pytest.mark.parametrize("nulls", ["mean", "drop"])
def test_the_certificate_is_never_wrong(shared_engine: Engine, nulls: svm.Nulls) -> None:
    """On small worlds of any shape: separable, with constant features, with one row of one class, with evil names."""
    trained = 0
    for seed in range(0, 40, 2) if nulls == "mean" else range(1, 40, 2):
        rng = np.random.default_rng(seed)
        world = random_world(rng, max_relations=3, continuous=seed % 3 == 0)
        assert world.label
        counting: Counting = "grid" if seed % 4 < 2 else "exact"
        scale: svm.Scale = ("standard", "none", "maxabs")[seed % 3]
        lam = float(10.0 ** -rng.integers(0, 5))
        asked = training(
            world.label.name, nulls=nulls, scale=scale, counting=counting, lam=lam, sample=100, max_passes=4
        )
        with noted(f"seed {seed}"), world.created(shared_engine) as live:
            text = live.query(shared_engine.dialect)
            rows = truth(shared_engine, text, wish_of(asked))
            if len(set(rows.y.tolist())) < 2:
                with pytest.raises(DataError, match=REFUSALS):
                    train(shared_engine, "w", text, asked)
                continue
            model = train(shared_engine, "w", text, asked)
            assert_proven(shared_engine, model, rows)
            assert_beside_liblinear(model, rows)
            trained += 1
    assert trained >= 8


@pytest.mark.parametrize("columns", ["f.x", "f.x, f.x * 0 + 3 AS three, f.x * 2 AS twice, f.c"])
def test_separable(engine: Engine, columns: str) -> None:
    """And a constant, a duplicate, a category that all rows share."""
    build(engine, "CREATE TABLE f (y INT, x INT, c TEXT); INSERT INTO f VALUES (1, 2, 'a'), (0, -2, 'a'), (1, 3, 'a')")
    text = f"SELECT f.y, {columns} FROM f"
    model = train(engine, "s", text, training(lam=1e-4, scale="none", sample=200))
    rows = truth(engine, text, Wish())
    beta = assert_proven(engine, model, rows)
    assert model.converged
    assert (rows.y * (rows.x @ beta) > 0).all()
    assert_beside_liblinear(model, rows)


@pytest.mark.slow
def test_descent_on_a_stable_instance(engine: Engine) -> None:
    """No row is near the hinge for a beta near the optimum: there (1 + epsilon)-counts come within 1 + gamma of it."""
    gamma, rng = 0.1, np.random.default_rng(0)
    x, key = rng.choice([-1.0, -0.9, 0.9, 1.0], 60), np.arange(60) % 6
    build(engine, "CREATE TABLE f (k INT, y INT, x FLOAT8); CREATE TABLE g (k INT, z FLOAT8)")
    engine.copy_in(
        meant(engine, "f"), {"k": key, "y": np.where(x > 0, 1, -1) * np.where(np.arange(60) < 4, -1, 1), "x": x}
    )
    engine.copy_in(meant(engine, "g"), {"k": np.arange(12) % 6, "z": rng.uniform(-1, 1, 12)})
    text = "SELECT f.y, f.x, g.z FROM f JOIN g ON g.k = f.k"
    asked = training(lam=0.2, solver="descent", scale="maxabs", counting="sketch", epsilon=0.02, max_passes=25)
    model = train(engine, "d", text, asked)
    rows = truth(engine, text, wish_of(asked))
    best = svm.objective(rows, liblinear_beta(rows.x, rows.y, 0.2), 0.2)
    found = svm.objective(rows, assert_proven(engine, model, rows), 0.2)
    assert best <= found + 1e-12
    assert found <= (1 + gamma) * best
    assert model.lower_bound <= best


def test_descent_needs_features_in_the_unit_cube(engine: Engine) -> None:
    """Its lower bound would be far above what separable rows reach: 0.005 above 1e-6."""
    build(engine, "CREATE TABLE f (y INT, x FLOAT8); INSERT INTO f VALUES (1, 100), (-1, -100)")
    asked = training(lam=0.01, solver="descent", scale="none", epsilon=0.01, max_passes=30)
    with pytest.raises(DataError, match="feature x reaches 100, and descent needs features in"):
        train(engine, "d", "SELECT y, x FROM f", asked)
    text = "SELECT y, x / 100 AS x FROM f"
    model = train(engine, "d", text, asked)
    assert_proven(engine, model, truth(engine, text, wish_of(asked)))


def test_descent_does_not_count_on_the_grid(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where passes of cuts would, it sketches: only that keeps counts within a factor."""
    sized(monkeypatch, sorted=0)
    join = chain(np.random.default_rng(3), rows=60, fan_out=3)
    join.create(engine)
    asked = training(lam=1e-2, solver="descent", scale="maxabs", max_passes=2)
    model = train(engine, "d", join.query, asked)
    assert model.counting == "sketch"
    assert_proven(engine, model, truth(engine, join.query, wish_of(asked)))
    with pytest.raises(OptionError, match="descent needs counts within a factor"):
        train(engine, "d", join.query, with_counting(asked, "grid"))


# -- the model ---------------------------------------------------------------------------------------------------------


def test_weights_are_on_the_original_columns(engine: Engine) -> None:
    """intercept + sum weight * column is the scaled score, with the mean where a column is NULL."""
    for shape in ("left join", "categories"):
        join = JOINS[shape](np.random.default_rng(6))
        join.create(engine)
        asked = training(nulls="mean", categorical=join.categorical, lam=1e-2, sample=2000)
        model = train(engine, "m", join.query, asked)
        scaled = truth(engine, join.query, wish_of(asked))
        plain = truth(engine, join.query, replace(wish_of(asked), scale="none"))
        weights = beta_of(engine, plain_weights(model), plain)
        np.testing.assert_allclose(plain.x @ weights, scaled.x @ beta_of(engine, model, scaled), rtol=1e-9, atol=1e-9)
        found = engine.fetch(predict(engine, model))["score"]
        np.testing.assert_allclose(np.sort(found), np.sort(plain.x @ weights), rtol=1e-9, atol=1e-9)


def plain_weights(model: Model) -> Model:
    return replace(model, weights=replace(model.weights, scaled=model.weights.values))


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({"class_weight": (2.0, 5.0)}, {"class_weights": (2, 5)}),
        ({"weight": "times"}, {}),
        ({"weight": "times", "class_weight": (3.0, 1.0)}, {"class_weights": (3, 1)}),
    ],
)
def test_weights_are_repeated_rows(engine: Engine, options: dict[str, Any], more: dict[str, Any]) -> None:
    join = chain(np.random.default_rng(7), rows=120, fan_out=3)
    join.create(engine)
    text = join.query.replace("m.v,", "m.v, CASE WHEN m.u > 0 THEN 3 ELSE 1 END AS times,")
    asked = training(lam=1e-2, sample=2000, **options)
    rows = truth(engine, text, wish_of(asked, **more))
    model = train(engine, "w", text, asked)
    assert model.converged
    plain = truth(engine, text, wish_of(asked))
    assert_proven(engine, model, rows, len(plain.y))
    assert len(plain.y) < len(rows.y) or not more
    assert_beside_liblinear(model, rows)


def test_balanced_classes_weigh_the_same(engine: Engine) -> None:
    """W- N- = W+ N+ = N / 2: as if every row of one class were repeated as often as there are rows of the other."""
    build(engine, "CREATE TABLE f (y INT, x FLOAT8); INSERT INTO f VALUES (1, 2), (0, -2), (0, 1), (0, 0.5), (0, -1)")
    text = "SELECT f.y, f.x FROM f"
    found = train(engine, "b", text, training(lam=1e-2, class_weight="balanced", scale="none", sample=200))
    pair = train(engine, "p", text, training(lam=1e-2, class_weight=(5 / 8, 5 / 2), scale="none", sample=200))
    assert found.label_rows == pair.label_rows
    assert found.weights == pair.weights


def test_the_same_seed_gives_the_same_model(engine: Engine) -> None:
    join = chain(np.random.default_rng(8), rows=200, fan_out=4)
    join.create(engine)
    if engine.dialect == "duckdb":
        typed(engine, parse_one("SET threads = 1", read="duckdb"))
    asked = training(lam=1e-3, sample=1500, seed=7)
    first, again = (train(engine, "m", join.query, asked) for _ in range(2))
    other = train(engine, "m", join.query, replace(asked, seed=8))
    assert first.weights == again.weights
    assert (first.intercept, first.gap) == (again.intercept, again.gap)
    assert first.weights != other.weights
