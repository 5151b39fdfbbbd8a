"""`--top COL:N`: the most frequent categories in the join have weights of their own, and all others share one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.estimator import ParameterError, RelationalSVC
from sqlsvm.lab.ask.counting import row_counts
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import OPTIONS
from sqlsvm.plan.constraints import read_beta
from sqlsvm.plan.design import OTHER
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from tests.db.test_oracle import assert_exact
from tests.evaluating import evaluate_model
from tests.ground import svm
from tests.ground.opened import Opened, Wish, build, is_clear, joined
from tests.ground.reference import Joined
from tests.ground.schemas import random_world
from tests.ground.sql_program import call, compiled, trained
from tests.ground.trained import assert_proven, training, wish_of
from tests.ground.world import noted
from tests.psql import psql
from tests.typed import typed


def limited(engine: Engine, rows: Joined, feature: str, top: tuple[object, ...], n: int) -> Joined:
    """The rows with "(other)" for the values of a feature that are not in `top`, which must be its most frequent."""
    name = next(f for f in rows.features if engine.fold(f, True) == engine.fold(feature, True))
    values = rows.features[name].tolist()
    named = [str(category) for category in top if category is not OTHER]
    counts = Counter(v for v in values if v is not None)
    assert len(named) == min(n, len(counts))
    assert (OTHER in top) == (len(counts) > n)
    others = [c for v, c in counts.items() if v not in named]
    assert min((counts[v] for v in named), default=0) >= max(others, default=0)
    kept = np.array([v if v is None or v in named else str(OTHER) for v in values], dtype=object)
    return replace(rows, features={**rows.features, name: kept})


@contextmanager
def top_of_world(engine: Engine, seed: int, scale: svm.Scale, weight: bool) -> Iterator[Opened | None]:
    rng = np.random.default_rng(seed)
    with random_world(rng, max_relations=4).created(engine) as live:
        assert live.label
        names = [f.name for f in live.features if f.kind == "categorical"]
        text, n = live.query(engine.dialect), int(rng.integers(1, 4))
        wish = Wish(label=live.label.name, scale=scale, class_weights=(1, 3) if weight else (1, 1))
        rows = joined(engine, text, wish) if names else None
        if rows is None or len(set(rows.label.tolist() if rows.label is not None else ())) < 2:
            yield None
            return
        name = str(rng.choice(names))
        options = ProblemOptions(wish.label, scale=scale, nulls="mean", top=(f"{name}:{n}",))
        if weight:
            options = replace(options, class_weight=(1.0, 3.0))
        with open_problem(engine, text, options) as problem:
            (d,) = (d for d in problem.plan.design.dictionaries if d.top)
            counted = limited(engine, joined(engine, text, replace(wish, class_weights=(1, 1))), name, d.categories, n)
            times = [wish.class_weights[int(s > 0)] for s in np.asarray(counted.label).tolist()]
            repeated = {f: np.repeat(v, times) for f, v in counted.features.items()}
            rows = Joined({"": np.arange(sum(times))}, repeated, np.repeat(np.asarray(counted.label), times))
            yield Opened(problem, svm.design_matrix(rows, "mean", scale))


@pytest.mark.thin(3)
@pytest.mark.parametrize(("scale", "weight"), [("standard", False), ("none", True)])
def test_on_random_schemas(shared_engine: Engine, scale: svm.Scale, weight: bool) -> None:
    """NULLs, LEFT JOINs, cycles, several bags. Class weights do not change what is frequent."""
    checked = others = 0
    for seed in range(12):
        with noted(f"seed {seed}"), top_of_world(shared_engine, seed, scale, weight) as found:
            if found is None:
                continue
            rng = np.random.default_rng(seed)
            beta = found.normal(rng)
            assert_exact(found, beta, clear=is_clear(found.truth, beta))
            checked += 1
            others += any(OTHER in d.categories for d in found.plan.design.dictionaries)
    assert checked >= 4
    assert others >= 2


CITIES = ["Oslo", "Rome", "Bonn", "Lima", "Bern", "Cork", "Kyiv", "Riga", "Nice", "Graz"]
SCRIPT = """
CREATE TABLE f (k INT, y BOOLEAN, x FLOAT8, city TEXT, grade INT);
CREATE TABLE g (k INT, shop TEXT, z FLOAT8)
"""
QUERY = "SELECT f.y, f.x, f.city, g.shop, g.z FROM f JOIN g ON g.k = f.k"


def made(engine: Engine, cities: Sequence[str] = CITIES) -> Engine:
    rng, shops = np.random.default_rng(11), 40
    build(engine, SCRIPT)
    place = np.minimum(rng.geometric(0.3, 200) - 1, 9)
    x, k, shop = rng.normal(size=200), rng.integers(0, 8, 200), rng.integers(0, shops, 80) ** 2 // shops
    f = {"k": k, "y": x + 0.4 * place + rng.normal(size=200) > 1, "x": x, "grade": place}
    city = np.array([None if i % 17 == 0 else cities[c] for i, c in enumerate(place.tolist())], dtype=object)
    g = {"k": rng.integers(0, 8, 80), "shop": np.array([f"s{s}" for s in shop], dtype=object), "z": rng.normal(size=80)}
    engine.copy_in(engine.placed(exp.to_table("f")), f | {"city": city})
    engine.copy_in(engine.placed(exp.to_table("g")), g)
    return engine


def others_of(model: Model, feature: str) -> float:
    return next(w.weight for w in model.weights if w.feature == feature and w.category is OTHER)


@pytest.mark.parametrize("top", [("city:3",), ("city:2", "shop:20"), ("shop:1",)])
def test_a_model_is_that_of_the_limited_join(engine: Engine, top: tuple[str, ...]) -> None:
    """Few categories stand in CASE, more in a table."""
    made(engine)
    asked = training(top=top, lam=1e-2, nulls="mean")
    model = train(engine, "m", QUERY, asked)
    rows = joined(engine, QUERY, wish_of(asked))
    for limit in top:
        name, n = limit.split(":")
        found = tuple(w.category for w in model.weights if w.feature == name)
        rows = limited(engine, rows, name, found, int(n))
    truth = svm.design_matrix(rows, "mean", "standard")
    beta = assert_proven(engine, model, truth)
    assert model.converged
    seen = engine.fetch(predict(engine, model))
    np.testing.assert_allclose(np.sort(seen["score"]), np.sort(truth.x @ beta), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(scores(model, seen), seen["score"])
    wrong = np.sum((truth.x @ beta > 0) != (truth.y > 0))
    assert evaluate_model(engine, model).as_json()["accuracy"] == pytest.approx(1 - wrong / len(truth.y))
    assert Model.from_json(model.as_json()).weights == model.weights


def test_values_called_other_are_values(engine: Engine) -> None:
    """In JSON the weight of all others is no text."""
    names = ["Oslo", "(other)", "other", *CITIES[1:]]
    model = train(made(engine, names), "m", QUERY, training(top=("city:3",), nulls="mean", lam=1e-2))
    found = [w for w in model.as_json()["weights"] if w["feature"] == "city"]
    assert {"(other)", "other"} < {w["category"] for w in found[:-1]}
    assert found[-1]["category"] == {"other": True}
    weights = [w.weight for w in model.weights if w.feature == "city"]
    assert len(set(weights)) == 4
    values = ["(other)", "other", "Lima", "never seen", None]
    rows = ", ".join(f"({'NULL' if v is None else repr(v)})" for v in values)
    query = f"SELECT v.city, 0.0 AS x, 's0' AS shop, 0.0 AS z FROM (VALUES {rows}) AS v (city)"
    seen = engine.fetch(predict(engine, model, query))["score"]
    by_city = {w["category"]: w["weight"] for w in found[:-1]}
    wanted = [by_city["(other)"], by_city["other"], *[others_of(model, "city")] * 2, 0.0]
    np.testing.assert_allclose(seen - seen[-1], wanted, atol=1e-12)
    frame = {"city": np.array(values, dtype=object), "x": np.zeros(5), "shop": np.array(["s0"] * 5), "z": np.zeros(5)}
    np.testing.assert_array_equal(scores(model, frame), seen)


def test_ties_go_to_the_first_value(engine: Engine) -> None:
    build(engine, "CREATE TABLE f (y BOOLEAN, c TEXT)")
    typed(
        engine, "INSERT INTO f VALUES (true, 'd'), (false, 'c'), (true, 'b'), (false, 'a'), (true, 'd'), (false, NULL)"
    )
    for n, wanted in (
        (1, ["d", OTHER]),
        (2, ["a", "d", OTHER]),
        (3, ["a", "b", "d", OTHER]),
        (4, ["a", "b", "c", "d"]),
    ):
        model = train(engine, "m", "SELECT y, c FROM f", training(top=(f"c:{n}",)))
        assert [w.category for w in model.weights] == wanted


def test_rows_of_the_join_are_counted(engine: Engine) -> None:
    """The value with fewer rows in its table is in more rows of the join."""
    build(engine, "CREATE TABLE f (k INT, y BOOLEAN, c TEXT); CREATE TABLE g (k INT, x FLOAT8)")
    typed(engine, "INSERT INTO f VALUES (1, true, 'many'), (2, false, 'few'), (2, true, 'few'), (3, true, 'none')")
    typed(engine, "INSERT INTO g VALUES (1, 1), (1, 2), (1, 3), (2, 5)")
    model = train(engine, "m", "SELECT f.y, f.c, g.x FROM f JOIN g ON g.k = f.k", training(top=("c:1",)))
    assert [w.category for w in model.weights if w.feature == "c"] == ["many", OTHER]


def test_numbers_as_names(engine: Engine) -> None:
    query = QUERY.replace("f.city", "f.grade")
    asked = training(top=("grade:2",), categorical=("grade",), lam=1e-2)
    model = train(made(engine), "m", query, asked)
    assert [w.category for w in model.weights if w.feature == "grade"] == [0, 1, OTHER]
    seen = engine.fetch(predict(engine, model))
    np.testing.assert_array_equal(scores(model, seen), seen["score"])


def test_counts_by_value(engine: Engine) -> None:
    """All others are one value; a given weight of one of them is refused."""
    options = ProblemOptions("y", nulls="mean", scale="none", top=("city:2",))
    with open_problem(made(engine), QUERY, options) as problem:
        (d,) = (d for d in problem.plan.design.dictionaries if d.top)
        given: dict[str, Any] = {"weights": {"city": {str(d.categories[0]): 0.5}}, "other": {"city": -0.25}}
        beta = read_beta(problem.scaling, given)
        placed = {e.category: beta[e.place] for e in problem.scaling.elements() if e.feature == "city"}
        assert placed == {d.categories[0]: 0.5, d.categories[1]: -0.25, OTHER: -0.25}
        found = [c for c in row_counts(problem, beta, bound=1e9) if c.feature == "city"]
        assert len(found) == 2 * 4
        with pytest.raises(OptionError, match="none of the top 2"):
            read_beta(problem.scaling, {"weights": {"city": {"Riga": 1.0}}})


def test_a_holdout_and_its_training_have_their_own_frequencies(engine: Engine) -> None:
    model = train(made(engine), "m", QUERY, training(top=("city:2",), nulls="mean", holdout=0.3, lam=1e-2))
    assert sum(w.feature == "city" for w in model.weights) == 3
    assert 0.5 < evaluate_model(engine, model).as_json()["accuracy"] <= 1


def test_offloaded(engine: Engine) -> None:
    if engine.dialect == "postgres":
        asked = training(top=("city:3",), nulls="mean", lam=1e-2)
        here = train(made(engine), "m", QUERY, asked)
        there = train(engine, "m", QUERY, replace(asked, offload=True))
        assert [(w.feature, w.category) for w in here.weights] == [(w.feature, w.category) for w in there.weights]


@pytest.fixture(name="there")
def there_(installed: Engine) -> Engine:
    return made(installed)


@pytest.mark.thin(2)
@pytest.mark.parametrize("top", [("city:3", "shop:20"), ("shop:100",)])
def test_a_stored_program(there: Engine, installed_dsn: str, top: tuple[str, ...]) -> None:
    """It finds the most frequent values when it runs."""
    asked = training(top=top, lam=1e-2, nulls="mean")
    compiled(there, "topped", QUERY, asked)
    model = trained(there, installed_dsn, "topped")
    driven = train(there, "driven", QUERY, asked)
    assert [(w.feature, w.category) for w in model.weights] == [(w.feature, w.category) for w in driven.weights]
    rows = joined(there, QUERY, wish_of(asked))
    for limit in top:
        name, n = limit.split(":")
        rows = limited(there, rows, name, tuple(w.category for w in model.weights if w.feature == name), int(n))
    truth = svm.design_matrix(rows, "mean", "standard")
    beta = assert_proven(there, model, truth)
    found = {row["measure"]: row["value"] for row in call(installed_dsn, "evaluate", "topped")}
    wrong = np.sum((truth.x @ beta > 0) != (truth.y > 0))
    assert found["accuracy"] == pytest.approx(1 - wrong / len(truth.y))
    counts = call(installed_dsn, "row_count", "topped", bound=1e9)
    others = sum(row["count"] for row in counts if (row["feature"], row["value"]) == ("city", "(other)"))
    assert others == np.sum(rows.features["city"] == "(other)")


def test_a_program_whose_categories_have_changed(there: Engine, installed_dsn: str) -> None:
    """Scores of rows whose category has lost its place would be wrong. A new training finds the new ones."""
    compiled(there, "moved", QUERY, training(top=("city:1",), lam=1e-2, nulls="mean"))
    assert [w.category for w in trained(there, installed_dsn, "moved").weights if w.feature == "city"] == [
        "Oslo",
        OTHER,
    ]
    typed(there, "UPDATE f SET city = 'Ulm' WHERE city <> 'Rome' AND x < 5")
    script = "SELECT * FROM sqlsvm.evaluate('moved')"
    said = psql(installed_dsn, script, {})
    assert 'there is a weight for the category "Oslo" of "city"' in said.err
    model = trained(there, installed_dsn, "moved")
    assert [w.category for w in model.weights if w.feature == "city"] == ["Ulm", OTHER]
    assert model.passes <= 6, "both were one of all others, and the curvature of those is of one of them"
    shown = {row["category"] for row in call(installed_dsn, "weights", "moved") if row["feature"] == "city"}
    assert shown == {"Ulm", "(other)"}


@pytest.mark.parametrize(
    ("top", "message", "hint"),
    [
        (("citty:3",), "top: the query has no column citty", "did you mean city?"),
        (("x:3",), "feature x has no categories to choose the top 3 of", "if its numbers are names: categorical='x'"),
        (("y:3",), "label y has no categories to choose the top 3 of", "leave out its top"),
        (("city:3", "city:4"), "city has two limits", "keep one: top='city:4'"),
    ],
)
def test_refused(engine: Engine, top: tuple[str, ...], message: str, hint: str) -> None:
    with pytest.raises(SqlsvmError) as refused:
        train(made(engine), "m", QUERY, training(top=top))
    assert (refused.value.message, refused.value.hint) == (message, hint)


@pytest.mark.parametrize("top", ["city:0", "city:-1", "city", "city:", ":3", "city:3.5", "city:x"])
def test_limits_that_are_none(top: str) -> None:
    assert not OPTIONS["top"].allows((top,))
    with pytest.raises(OptionError, match="top must be a list of limits"):
        ProblemOptions("y", top=(top,))


def test_the_estimator_takes_a_mapping(engine: Engine) -> None:
    made(engine)
    svc = RelationalSVC(nulls="mean", top={"city": 2}, lam=1e-2).fit(engine, QUERY, "y")
    assert [n for n in svc.feature_names_in_ if n.startswith("city")][-1] == "city=(other)"
    with pytest.raises(ParameterError, match="top must be a list of limits"):
        RelationalSVC(1e-4, top={"city": 0}).fit(engine, QUERY, "y")
