"""Trees (--map trees, and those that --map auto offers) with the options that say which rows a training sees."""

from typing import Any

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import UNNAMED
from sqlsvm.rules import named
from sqlsvm.run.train import settled_on, train
from sqlsvm.run.training import Training
from sqlsvm.show.models import leaves
from sqlsvm.store import open_store
from tests.db.test_groups import alone
from tests.db.test_maps import with_maps
from tests.ground.opened import build, truth
from tests.ground.trained import assert_beside_liblinear, assert_proven, training, wish_of
from tests.typed import asked, meant

ORDERS, CUSTOMERS = 1600, 200


@pytest.fixture
def shop(engine: Engine) -> Engine:
    made(engine)
    return engine


def made(engine: Engine) -> None:
    """What an order is worth depends on signs of a number of its own and of its customer, of which some are NULL."""
    rng = np.random.default_rng(4)
    customer, n = rng.integers(0, CUSTOMERS, ORDERS), np.arange(ORDERS)
    x, z, age = rng.normal(size=ORDERS), rng.normal(size=ORDERS), np.round(rng.normal(50, 20, CUSTOMERS), 1)
    noise = 0.5 * rng.normal(size=ORDERS)
    gone, old = rng.random(ORDERS) < 0.1, age[customer] > 50.0
    batch = n // 80
    orders: dict[str, Values] = {
        "customer": customer,
        "crossed": np.where(gone, 1.0, np.sign(x)) * np.where(old, 1.0, -1.0) + noise > 0.0,
        "line": z + (age[customer] - 50.0) / 20.0 + noise > 0.0,
        "lucky": rng.random(ORDERS) < np.where(rng.random(batch.max() + 1) < 0.5, 0.1, 0.9)[batch],
        "x": np.ma.array(x, mask=gone),
        "z": z,
        "batch": batch,
        "day": np.datetime64("2024-01-01") + n // 4,
        "city": np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 3, ORDERS)],
    }
    build(
        engine,
        "CREATE TABLE customers (id INT PRIMARY KEY, age FLOAT8); CREATE TABLE visits (customer INT, minutes FLOAT8); "
        "CREATE TABLE orders (customer INT, crossed BOOLEAN, line BOOLEAN, lucky BOOLEAN, x FLOAT8, z FLOAT8, "
        "batch INT, day DATE, city TEXT)",
    )
    engine.copy_in(meant(engine, "customers"), {"id": np.arange(CUSTOMERS), "age": age})
    visits = rng.integers(0, CUSTOMERS, 400)
    engine.copy_in(meant(engine, "visits"), {"customer": visits, "minutes": rng.exponential(5.0, 400)})
    orders["day"] = orders["day"].astype(object)
    engine.copy_in(meant(engine, "orders"), orders)


ONE = "SELECT o.{} AS y, o.x, o.z, c.age FROM orders o JOIN customers c ON c.id = o.customer"
TWO = f"{ONE.replace(' FROM', ', v.minutes FROM')} JOIN visits v ON v.customer = c.id"


def chosen(engine: Engine, text: str, **options: Any) -> Model:
    """With all that is not named as the first command has it, measured if that is asked for."""
    asked_for = Training.of(**named({"label": "y", "in_memory": 100_000, **dict.fromkeys(UNNAMED), **options}))
    (model,) = trained(engine, text, {"m": asked_for})
    return model


@pytest.mark.parametrize("text", [ONE, pytest.param(TWO, marks=pytest.mark.slow)], ids=["one bag", "two bags"])
def test_auto_takes_trees_where_they_help(shop: Engine, text: str) -> None:
    """Where columns act together; where a line says all, curves stay without them."""
    grown, plain = (chosen(shop, text.format(label), map=("auto",)) for label in ("crossed", "line"))
    assert any(each.takes_nulls for each in grown.maps)
    assert any(each.map.startswith("spline:x") for each in grown.maps)
    assert [each.map.split(":")[0] for each in plain.maps] == ["spline"] * len(plain.maps)
    assert plain.notes[-1].startswith("trees are left out: the auc on rows not seen is 0.")
    fixed = train(shop, "m", text.format("crossed"), training(map=("auto",), lam=1e-2))
    assert not any(each.takes_nulls for each in fixed.maps)  # nobody asks rows that were not seen


@pytest.mark.slow
def test_a_program_and_folds_of_auto_have_what_was_taken(shop: Engine) -> None:
    for label, has in (("crossed", True), ("line", False)):
        text = ONE.format(label)
        model = chosen(shop, text, map=("auto",), folds=3)
        assert any(each.takes_nulls for each in model.maps) is has
        assert model.validation["auc"].mean > 0.8
        found = settled_on(shop, text, training(map=("auto",), lam="auto"))
        assert ("trees" in found.map, found.chooses) == (has, ())


OPTIONS: dict[str, dict[str, Any]] = {
    "time": {"time": "day", "holdout": 0.25, "gap": "3 days"},
    "drop": {"nulls": "drop"},
    "passes": {"in_memory": 0, "sample": 1200},
}


@pytest.mark.slow
@pytest.mark.thin(2)
@pytest.mark.parametrize("text", [ONE, TWO], ids=["one bag", "two bags"])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_model_is_proven_with_each_option(shop: Engine, options: str, text: str) -> None:
    asked_for = training(map=("trees:8:4",), **{"lam": 1e-2, "nulls": "mean", **OPTIONS[options]})
    model = train(shop, "m", text.format("crossed"), asked_for)
    assert any(each.takes_nulls for each in model.maps)
    assert model.converged
    if "holdout" not in OPTIONS[options]:
        rows = truth(shop, with_maps(shop, text.format("crossed"), model), wish_of(asked_for))
        assert_proven(shop, model, rows)
        assert_beside_liblinear(model, rows)
    found = shop.fetch(predict(shop, model))
    np.testing.assert_allclose(scores(model, found), found["score"], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_trees_of_a_copy_are_proven_where_the_rows_are(postgres: Engine) -> None:
    """The halves are those of the other engine's hash, so the trees differ; what is proven does not."""
    made(postgres)
    for text in (ONE, TWO):
        asked_for = training(map=("trees:8:4",), lam=1e-2, nulls="mean", offload=True)
        model = train(postgres, "m", text.format("crossed"), asked_for)
        rows = truth(postgres, with_maps(postgres, text.format("crossed"), model), wish_of(asked_for))
        assert_proven(postgres, model, rows)
        assert_beside_liblinear(model, rows)


@pytest.mark.slow
def test_each_group_is_proven_with_trees_of_all(shop: Engine) -> None:
    text = ONE.format("crossed").replace(" FROM", ", o.city FROM")
    asked_for = training(map=("trees:8:4",), lam=1e-2, nulls="mean", by="city")
    model = train(shop, "m", text, asked_for)
    assert any(each.takes_nulls for each in model.maps)
    assert len(model.groups) == 3
    for of, part in zip(model.groups, model.parts, strict=True):
        own = with_maps(shop, alone(shop, text, of.value, by="city"), model)
        assert_proven(shop, part, truth(shop, own, wish_of(asked_for)))


def test_trees_know_no_later_label(shop: Engine) -> None:
    """A batch is lucky or not, and later batches are others. Rows at random tell of all batches, so trees seem to help;
    earlier ones tell nothing of later ones."""
    text = "SELECT o.lucky AS y, o.z, o.batch FROM orders o"
    at_random, forward = (chosen(shop, text, map=("trees",), **more) for more in ({}, {"time": "day"}))
    assert at_random.maps
    assert not forward.maps
    later = train(shop, "m", text, training(map=("trees:9",), time="day", gap="10 days", holdout=0.2))
    (grown,) = later.maps
    assert grown.before is not None
    ends = [float(word) for line in leaves(later) for word in line.split() if word.replace(".", "").isdigit()]
    split = (ORDERS * 0.8 / 2.0 - 10 * 4) / 80.0  # the batch of the last day that trees know
    assert ends
    assert max(ends) <= split + 1.0
    assert (
        abs(grown.before - (np.datetime64("2024-01-01") - np.datetime64(0, "D")).astype(int) - ORDERS * 0.1) <= 5.0
    )  # of the fifth held out


def test_one_time_grows_no_trees(shop: Engine) -> None:
    text = f"{ONE.format('crossed')} WHERE o.batch = 3"
    text = text.replace("orders o", "(SELECT t.*, DATE '2024-01-01' AS once FROM orders t) AS o")
    model = train(shop, "m", text, training(map=("trees:9",), time="once", lam="auto"))
    assert not model.maps


def test_psql_predicts_with_the_trees_of_a_driver(installed: Engine, installed_dsn: str) -> None:
    """A row at a time and all of them, NULLs and new categories too."""
    made(installed)
    text = ONE.format("crossed").replace(" FROM", ", o.city FROM")
    model = train(installed, "grown", text, training(map=("trees:9:4",), lam=1e-2, nulls="mean"))
    open_store(installed).save(model)
    more = "SELECT NULL::boolean AS y, NULL::float8 AS x, 0.5::float8 AS z, NULL::float8 AS age, 'new' AS city"
    rows = f"(SELECT * FROM ({text}) AS t LIMIT 60) UNION ALL {more}"
    known = asked(installed, parse_one(rows, read="postgres"))
    found = asked(installed, f"SELECT sqlsvm.decision_function('grown', to_jsonb(q)) AS s FROM ({rows}) AS q")["s"]
    np.testing.assert_allclose(found, scores(model, known), rtol=1e-9, atol=1e-9)
