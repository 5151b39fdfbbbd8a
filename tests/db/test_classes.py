"""A label with more than two values: each class against all others, next to LIBLINEAR on the materialised join, and the
predictions next to those rows."""

import io
import json
import pickle
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.inspect import as_json, inspect
from sqlsvm.ask.rows import on_all, on_parts
from sqlsvm.ask.validation import Validation, trained
from sqlsvm.compile.oracle import can_share
from sqlsvm.engine.base import Engine, Rows, StatementError, Text
from sqlsvm.errors import DataError, OptionError
from sqlsvm.measures import MEASURES
from sqlsvm.model.confusion import Confusion
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, score_sql
from sqlsvm.model.probability import Probability
from sqlsvm.model.several import with_curves
from sqlsvm.model.to_onnx import graph
from sqlsvm.model.to_sklearn import pipeline
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.report import gather, gather_from, html
from sqlsvm.run.data import against_others
from sqlsvm.run.join_oracle import JoinOracle, OfClasses
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train, train_each
from sqlsvm.show.models import draw_model, draw_weights, weights_as_json
from sqlsvm.solve.run import Proposal
from sqlsvm.store import open_store
from tests.ground.joins import Join, categories, chain, star, words
from tests.ground.opened import build, truth
from tests.ground.trained import assert_beside_liblinear, assert_proven, measured_both_ways, training, wish_of
from tests.typed import asked

LABELS = {
    "star": ("s.y", "CASE WHEN NOT s.y THEN 'a' WHEN s.price > 0.4 THEN 'b''s' ELSE 'c' END"),
    "categories": ("t.y", "CASE WHEN t.y THEN 3 WHEN t.x > 0 THEN 10 ELSE -1 END"),
    "chain": ("m.y", "CASE WHEN m.y = 1 THEN 'one' WHEN m.v > 0 THEN 'two' WHEN m.u > 0 THEN 'three' ELSE 'four' END"),
}
SHAPES = {"star": star, "categories": categories, "chain": chain}


def classed(shape: str, seed: int = 3) -> Join:
    join, (label, classes) = SHAPES[shape](np.random.default_rng(seed)), LABELS[shape]
    return replace(join, query=join.query.replace(f"SELECT {label}", f"SELECT {classes} AS y", 1))


def against(join: Join, shape: str, value: object) -> str:
    """The query of one class against all others."""
    spelled = exp.convert(value).sql("postgres")
    classes = LABELS[shape][1]
    return join.query.replace(f"{classes} AS y", f"({classes}) = {spelled} AS y", 1)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("shape", "options"), [(s, {}) for s in SHAPES] + [("star", {"class_weight": "balanced", "loss": "logistic"})]
)
def test_a_fold_in_memory_is_measured_as_by_the_database(engine: Engine, shape: str, options: dict[str, Any]) -> None:
    join = classed(shape)
    for (ours, our_errors), (theirs, their_errors) in measured_both_ways(engine, join, lam=1e-2, **options):
        assert ours == pytest.approx(theirs, rel=1e-9)
        assert our_errors == their_errors == {}


LOSSES = ("hinge", 0.0), ("hinge", 0.3), ("squared_hinge", 0.0), ("logistic", 0.0), ("custom_margin", 0.1)


@pytest.mark.thin(3)
@pytest.mark.parametrize(("loss", "width"), LOSSES)
@pytest.mark.parametrize("weight", [None, "w"])
def test_classes_share_a_scan(engine: Engine, loss: Any, width: float, weight: str | None) -> None:
    """One statement gives the cuts that each class gets alone: with weights, NULLs and categories, for any loss."""
    query = """SELECT CASE WHEN t.x > 0.8 THEN 'much' WHEN t.z > 0 THEN 'some' ELSE 'none' END AS y, t.x, t.z, t.city,
        p.age, p.kind FROM trips t JOIN planes p ON p.plane = t.plane"""
    query = query.replace("SELECT ", "SELECT 1 + t.plane % 4 AS w, ", 1) if weight else query
    rng = np.random.default_rng(4)
    planes, x = rng.integers(0, 30, 500), rng.normal(size=500)
    rows = {
        "trips": {"plane": planes, "x": x, "z": without(rng, x), "city": words(rng.integers(0, 4, 500))},
        "planes": {"plane": np.arange(30), "age": rng.normal(size=30), "kind": words(rng.integers(0, 3, 30))},
    }
    rows["planes"]["kind"][:5] = None
    script = """CREATE TABLE trips (plane INT, x FLOAT8, z FLOAT8, city TEXT);
        CREATE TABLE planes (plane INT PRIMARY KEY, age FLOAT8, kind TEXT)"""
    options = ProblemOptions("y", weight=weight, nulls="mean", loss=loss, pieces=PIECES if "custom" in loss else ())
    with Join(script, rows, query).created(engine), open_problem(engine, query, options) as problem:
        oracles = [JoinOracle(each) for each in against_others(problem)]
        points = rng.normal(size=(3, oracles[0].dimension)) / 2
        asked_for = {n: Proposal(point, None, width * (n + 1)) for n, point in enumerate(points)}
        together = OfClasses(oracles)(asked_for)
        assert can_share(problem.plan)
        for n, each in asked_for.items():
            alone = oracles[n].pass_(each.point, None, each.width)
            np.testing.assert_allclose(together[n].slope, alone.slope, rtol=1e-9, atol=1e-12)
            assert together[n].offset == pytest.approx(alone.offset, rel=1e-9, abs=1e-12)
            assert together[n].value_low == pytest.approx(alone.value_low, rel=1e-9, abs=1e-12)
            assert (together[n].error, together[n].width) == (alone.error, alone.width)


PIECES = ((-1.0, 1.0), (1.0, -1.0, 0.0))


def without(rng: np.random.Generator, x: Any) -> Any:
    """With some NULLs."""
    return np.where(rng.random(len(x)) < 0.1, None, np.round(x + rng.normal(size=len(x)), 1))


def materialised(engine: Engine, join: Join) -> Rows:
    return asked(engine, parse_one(join.query, read=engine.dialect))


OTHERS = {"lam": 1e-3, "loss": "squared_hinge"}, {"l1": 0.01}, {"intercept": "free", "counting": "grid"}


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    "options", [{"lam": 1e-2}, *(pytest.param(o, marks=pytest.mark.slow) for o in OTHERS)], ids=str
)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_class_is_a_training_of_its_own(engine: Engine, shape: str, options: dict[str, Any]) -> None:
    """Bounds on both sides; with the hinge also next to LIBLINEAR on the materialised join."""
    join, wanted = classed(shape), training(**{"lam": 1e-2, **options})
    wanted = replace(wanted, categorical=join.categorical)
    with join.created(engine):
        model = train(engine, "m", join.query, wanted)
        assert model.converged
        assert [each.value for each in model.classes] == list(model.trained_on.label_values)
        for each, part in zip(model.classes, model.parts, strict=True):
            own = against(join, shape, each.value)
            alone = train(engine, "m", own, wanted)
            assert (part.label_rows, part.join_rows) == (alone.label_rows, alone.join_rows)
            assert part.lower_bound <= alone.objective_upper
            assert alone.lower_bound <= part.objective_upper
            if options == {"lam": 1e-2}:
                rows = truth(engine, own, wish_of(wanted))
                assert_proven(engine, part, rows)
                assert_beside_liblinear(part, rows)
    assert model.gap == max(each.gap for each in model.classes)
    assert model.objective == pytest.approx(np.mean([each.objective for each in model.classes]))


@pytest.mark.parametrize("shape", SHAPES)
def test_predictions_and_the_matrix_are_those_of_the_rows(engine: Engine, shape: str) -> None:
    join = classed(shape)
    with join.created(engine):
        model = train(engine, "m", join.query, training(lam=1e-2, categorical=join.categorical))
        found = on_all(engine, model, lambda problem: measure(problem, model))
        predicted = asked(engine, predict(engine, model))
        by_text = exp.alias_(parse_one(score_sql(model, of="features"), read=engine.dialect), "p")
        again = asked(engine, exp.select("prediction", by_text).from_(predict(engine, model).subquery("rows")))
        rows = materialised(engine, join)
    assert isinstance(found, Confusion)
    assert again["prediction"].tolist() == again["p"].tolist()
    values = [each.value for each in model.classes]
    svc = RelationalSVC(1e-4)
    svc._take(model)
    frame = {name: column for name, column in predicted.items() if name not in ("score", "prediction", "y")}
    scores = svc.decision_function(frame)
    assert scores.shape == (len(rows["y"]), len(values))
    np.testing.assert_allclose(scores.max(axis=1), predicted["score"].astype(float), rtol=1e-12)
    assert svc.predict(frame).tolist() == predicted["prediction"].tolist()
    assert svc.coef_.shape == (len(values), len(svc.feature_names_in_))
    y, p = predicted["y"].tolist(), predicted["prediction"].tolist()
    np.testing.assert_allclose(found.matrix, confusion_matrix(y, p, labels=values))
    assert found.exact
    measures = found.measures
    assert measures["accuracy"] == pytest.approx(accuracy_score(y, p))
    for average in ("macro", "weighted"):
        assert measures[f"{average}_f1"] == pytest.approx(f1_score(y, p, average=average))
    assert found.as_json()["confusion"] == found.matrix.tolist()


@pytest.mark.slow
def test_a_sampled_matrix_says_how_far_off_it_may_be(duckdb: Engine) -> None:
    """Over several bags, if the join is too large to be read whole. The rows of each class are known."""
    join = chain(np.random.default_rng(3), rows=3000, fan_out=14)
    join = replace(join, query=join.query.replace("SELECT m.y", f"SELECT {LABELS['chain'][1]} AS y", 1))
    with join.created(duckdb):
        model = train(duckdb, "m", join.query, training(lam=1e-2))
        found = on_all(duckdb, model, lambda problem: measure(problem, model))
        predicted = asked(duckdb, predict(duckdb, model))
    assert isinstance(found, Confusion)
    assert not found.exact
    assert model.join_rows > 3e5
    truth = confusion_matrix(predicted["y"], predicted["prediction"], labels=[c.value for c in model.classes])
    np.testing.assert_allclose(found.rows, truth.sum(axis=1))
    exact = Confusion(found.values, truth.astype(float))
    for name, value in found.measures.items():
        assert 0.0 < found.errors[name] < 0.01
        assert abs(value - exact.measures[name]) < 5 * found.errors[name]


@pytest.mark.parametrize("options", [{"class_weight": "balanced"}, {"weight": "w"}], ids=str)
def test_weights(engine: Engine, options: dict[str, Any]) -> None:
    """Balanced: all classes have the same total weight. The rows that are counted have none."""
    join = classed("star")
    weighing = replace(join, query=join.query.replace("SELECT ", "SELECT 1 + s.store % 3 AS w, ", 1))
    text = weighing.query if "weight" in options else join.query
    with join.created(engine):
        model = train(engine, "m", text, training(lam=1e-2, **options))
        rows, found = materialised(engine, weighing), on_all(engine, model, lambda problem: measure(problem, model))
    weights = rows["w"].astype(float) if "weight" in options else np.ones(len(rows["y"]))
    counts = {value: weights[rows["y"] == value].sum() for value in model.trained_on.label_values}
    assert [each.rows for each in model.classes] == pytest.approx([counts[c.value] for c in model.classes])
    assert isinstance(found, Confusion)
    np.testing.assert_allclose(found.rows, list(counts.values()))
    if "class_weight" in options:
        size = {value: len(weights) / (len(counts) * n) for value, n in counts.items()}
        weights = np.array([size[y] for y in rows["y"].tolist()])
    for part, each in zip(model.parts, model.classes, strict=True):
        z = np.maximum(0.0, 1.0 - np.where(rows["y"] == each.value, 1.0, -1.0) * scored(part, rows))
        penalty = sum(w.scaled_weight**2 for w in part.weights) + (part.scaled_intercept or 0.0) ** 2
        value = float(weights @ z / weights.sum()) + 1e-2 * penalty
        assert part.objective - 1e-9 <= value <= part.objective_upper + 1e-9


def scored(part: Model, rows: Rows) -> Any:
    return part.intercept + sum(w.weight * rows[w.feature].astype(float) for w in part.weights)


def test_holdout_and_folds(engine: Engine) -> None:
    join, wanted = classed("star"), training(lam=1e-2, holdout=0.25)
    with join.created(engine):
        model = train(engine, "m", join.query, wanted)
        found = on_parts(engine, model, lambda problem: measure(problem, model))
        folded = {"m": training(lam=1e-2, folds=3)}
        validation = Validation(folded)
        (whole,) = train_each(engine, join.query, folded, on_fold=validation.measure)
    sizes = {part: float(each.rows.sum()) for part, each in found.items() if isinstance(each, Confusion)}
    assert sizes["train"] == sum(each.rows for each in model.classes)
    assert sizes["holdout"] == sum(each.held_out for each in model.classes)
    assert sum(sizes.values()) == whole.join_rows
    measured = validation.of(whole).validation
    assert set(measured) == {"loss", "accuracy", "balanced_accuracy", "f1"}
    seen = found["holdout"]
    assert isinstance(seen, Confusion)
    assert measured["accuracy"].mean == pytest.approx(seen.measures["accuracy"], abs=0.05)


def test_offload_is_the_same(postgres: Engine) -> None:
    join = classed("star")
    with join.created(postgres):
        here, there = (train(postgres, "m", join.query, training(lam=1e-2, offload=o)) for o in (False, True))
    for one, other in zip(here.parts, there.parts, strict=True):
        assert one.lower_bound <= other.objective_upper
        assert other.lower_bound <= one.objective_upper
    assert [each.value for each in here.classes] == [each.value for each in there.classes]


def test_a_path_and_a_start(duckdb: Engine) -> None:
    join = classed("star")
    with join.created(duckdb):
        found = train_each(duckdb, join.query, {f"m{lam}": training(lam=lam) for lam in (0.1, 0.01, 0.001)})
        alone = train(duckdb, "m", join.query, training(lam=0.001))
        again = train(duckdb, "m", join.query, training(lam=0.001), start=alone)
    assert all(model.converged for model in found)
    assert found[2].passes <= alone.passes
    for one, other in zip(found[2].parts, alone.parts, strict=True):
        assert one.lower_bound <= other.objective_upper
        assert other.lower_bound <= one.objective_upper
    assert all(len(each.history) == each.passes for model in found for each in model.classes)
    assert again.passes <= alone.passes


def test_a_model_is_read_as_it_was_written(duckdb: Engine, tmp_path: Any) -> None:
    join = classed("categories")
    with join.created(duckdb):
        model = train(duckdb, "m", join.query, training(lam=1e-2, categorical=join.categorical))
    store = open_store(tmp_path / "m.json")
    store.save(model)
    read = store.load("m")
    assert read.classes == model.classes
    assert read.as_json() == replace(model, version=1).as_json()
    assert store.models()[0].gap == model.gap
    for text in (draw_model(read, io.StringIO()), draw_weights(read, 3, io.StringIO())):
        assert all(str(each.value) in text for each in model.classes)
    assert [each["value"] for each in weights_as_json(read, 2)["classes"]] == [-1, 3, 10]
    broken = json.loads(json.dumps(model.as_json()))
    broken["classes"] = broken["classes"][:2]
    with pytest.raises(OptionError, match="classes"):
        Model.from_json(broken)


def test_exports(duckdb: Engine) -> None:
    join = classed("categories")
    with join.created(duckdb):
        model = train(duckdb, "m", join.query, training(lam=1e-2, categorical=join.categorical))
        curves = [Probability("sigmoid", -2.0 - k, k / 3) for k in range(2)]
        curves.append(Probability("isotonic", scores=(-1.0, 0.0, 0.5), shares=(0.0, 0.2, 0.9)))
        model = with_curves(model, curves)
        rows = asked(duckdb, predict(duckdb, model, probability=True))
    frame = pd.DataFrame({name: column.tolist() for name, column in rows.items()})
    assert pipeline(pickle.loads(pickle.dumps(model))).predict(frame).tolist() == rows["prediction"].tolist()
    given = {t.feature: rows[t.feature][:, None] for t in model.terms}
    given = {n: v if v.dtype == object else v.astype(float) for n, v in given.items()}
    session = onnxruntime.InferenceSession(graph(model).SerializeToString())
    score, label, p = session.run(["score", "label", "probability"], given)
    own = np.column_stack([rows[f"probability_{each.value}"] for each in model.classes]).astype(float)
    np.testing.assert_allclose(p, own, rtol=1e-9, atol=1e-12)
    assert label[:, 0].tolist() == rows["prediction"].tolist()
    np.testing.assert_allclose(score.max(axis=1), rows["score"].astype(float), rtol=1e-12)


def test_what_probabilities_of_all_sizes_cost(engine: Engine) -> None:
    """The square of 1e-304 is too small for a double."""
    join = classed("star")
    with join.created(engine):
        model = train(engine, "m", join.query, training(lam=1e-2))
        for slopes in ((-2.0, -3.0, -4.0), (-2.0, 2000.0, -1500.0), (3000.0,) * 3):
            likely = with_curves(model, [Probability("sigmoid", slope, 0.1) for slope in slopes])
            answer = on_all(engine, likely, partial(measure, model=likely))
            assert isinstance(answer, Confusion)
            found = answer.measures
            rows = asked(engine, predict(engine, likely, probability=True))
            p = np.column_stack([rows[f"probability_{each.value}"] for each in model.classes]).astype(float)
            hit = np.array([[y == each.value for each in model.classes] for y in rows["y"]])
            assert found["brier"] == pytest.approx(np.mean(((p - hit) ** 2).sum(axis=1)), abs=1e-12)
            least = np.clip(p[hit], 2.0**-52, 1 - 2.0**-52)
            assert found["log_loss"] == pytest.approx(np.mean(-np.log(least)), rel=1e-9)


def test_the_first_of_equal_scores_wins(engine: Engine) -> None:
    """A NULL has no class."""
    build(engine, "CREATE TABLE f (y TEXT, x FLOAT8); INSERT INTO f VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4)")
    model = train(engine, "m", "SELECT f.y, f.x FROM f", training(lam=1e-1, nulls="error"))
    same = replace(model, classes=tuple(replace(model.classes[0], value=each.value) for each in model.classes))
    rows = asked(engine, predict(engine, same, "SELECT f.x FROM f UNION ALL SELECT NULL"))
    assert sorted(map(str, rows["prediction"].tolist())) == ["None", "a", "a", "a", "a"]


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        ([f"v{n}" for n in range(101)], {}, "the label y has more than 100 values in f"),
        (["a"], {}, "the label y has the value 'a'"),
        (["a", "b", "c"], {"positive": "a"}, "the label y has more than two values in f"),
        (["a", "b", "c"], {"solver": "descent", "scale": "maxabs"}, "y has 3 classes, and descent trains two"),
        (["a", "b", "c"], {"class_weight": (1.0, 2.0)}, "class_weight with two weights is for two classes"),
        (["a", "b", "c"], {"loss": "huber"}, "the loss huber needs a label that is a number"),
        ([0.5, 1.5, 2.5], {}, "the label y has more than two values in f"),
        (["a", "b", None, "c"], {"nulls": "error"}, "the label y is NULL in 1 rows"),
    ],
)
def test_bad_input(engine: Engine, values: list[Any], options: dict[str, Any], said: str) -> None:
    """One clear error, and nothing is left."""
    kind = "FLOAT8" if isinstance(values[0], float) else "TEXT"
    build(engine, f"CREATE TABLE f (y {kind}, x FLOAT8)")
    rows = ", ".join(f"({exp.convert(v).sql('postgres')}, {n})" for n, v in enumerate(values))
    build(engine, f"INSERT INTO f VALUES {rows}")
    before = engine.table_names()
    with pytest.raises((DataError, OptionError), match=said):
        train(engine, "m", "SELECT f.y, f.x FROM f", training(**options))
    assert engine.table_names() == before


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TEXT", ["01", "1e1", "inf"]),
        ("CHAR(4)", ["a", "bb", "ccc"]),
        ("FLOAT8", [1.0, -2.0, 3e5]),
        ("NUMERIC(9, 2)", [1, 2, 30]),
    ],
)
def test_values_of_any_type(engine: Engine, kind: str, values: list[Any]) -> None:
    """The classes of the model are those of the rows, also when they are measured."""
    build(engine, f"CREATE TABLE f (y {kind}, x FLOAT8)")
    rows = ", ".join(f"({exp.convert(v).sql('postgres')}, {n % 7 + k})" for n in range(5) for k, v in enumerate(values))
    build(engine, f"INSERT INTO f VALUES {rows}")
    model = train(engine, "m", "SELECT f.y, f.x FROM f", training(lam=1e-2))
    found = on_all(engine, model, lambda problem: measure(problem, model))
    predicted = asked(engine, predict(engine, model))
    assert isinstance(found, Confusion)
    assert found.rows.tolist() == [5.0, 5.0, 5.0]
    pairs = zip(predicted["y"].tolist(), predicted["prediction"].tolist(), strict=True)
    right = sum(y == p or str(y).strip() == str(p).strip() for y, p in pairs)
    assert found.measures["accuracy"] == pytest.approx(right / 15)


def test_classes_are_those_of_the_join(engine: Engine) -> None:
    """Not those of the table: a class that no row of the join has is left out, also where only two are left."""
    build(
        engine,
        """CREATE TABLE f AS SELECT n, n % 5 AS k, n % 5 + n % 3 / 4.0 AS x FROM generate_series(1, 60) AS g(n);
        CREATE TABLE d (k INT PRIMARY KEY, name TEXT);
        INSERT INTO d VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd')""",
    )
    text = "SELECT f.k AS y, f.x, d.name FROM f JOIN d ON d.k = f.k"
    for where, values in (("", (0, 1, 2, 3)), (" WHERE d.name < 'd'", (0, 1, 2)), (" WHERE d.name < 'c'", (0, 1))):
        model = train(engine, "m", text + where, training(lam=1e-2))
        assert model.trained_on.label_values == values
        found = on_all(engine, model, partial(measure, model=model))
        predicted = asked(engine, predict(engine, model))
        right = np.mean(predicted["y"].astype(int) == predicted["prediction"].astype(int))
        assert isinstance(found, Evaluation | Confusion)
        assert MEASURES["accuracy"].value(found) == pytest.approx(right)
    assert as_json(inspect(engine, text, label="y"))["label"] is None


def test_a_class_that_only_rows_held_out_have_is_a_miss(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    build(
        engine,
        """CREATE TABLE f AS SELECT n, CASE WHEN n > 54 THEN 'late' ELSE substr('abc', n % 3 + 1, 1) END AS y,
        n % 3 + n % 7 / 9.0 AS x FROM generate_series(1, 60) AS g(n)""",
    )
    asked_for = training(lam=1e-2, time="n", holdout=0.2, loss="logistic", probability="sigmoid")
    (model,) = trained(engine, "SELECT y, x, n FROM f", {"m": asked_for})
    assert model.trained_on.label_values == ("a", "b", "c")
    found = on_parts(engine, model, partial(measure, model=model), ["holdout"])["holdout"]
    assert isinstance(found, Confusion)
    assert (found.values, found.rows.tolist()) == (("a", "b", "c", "late"), [2.0, 2.0, 2.0, 6.0])
    assert found.matrix[:, 3].tolist() == [0.0] * 4
    assert found.measures["accuracy"] == pytest.approx(np.trace(found.matrix) / 12)
    assert model.validation["accuracy"].mean == pytest.approx(found.measures["accuracy"])
    assert found.measures["log_loss"] > 6 / 12 * -np.log(2.0**-52)
    notes = "no row to train on has the y late", "the model knows no y late: such rows are misses"
    assert {f"note: {said}" for said in notes} <= {*caplog.messages}


def test_a_report(duckdb: Engine) -> None:
    """A certificate and weights for each class, and the predictions for the rows held out; without a database, too."""
    join = classed("star")
    with join.created(duckdb):
        model = train(duckdb, "m", join.query, training(lam=1e-2, holdout=0.3))
        found = gather_from(duckdb, model)
        parts = on_parts(duckdb, model, lambda problem: measure(problem, model))
    page = html(found, datetime(2026, 1, 2))
    assert isinstance(found.evaluation, Confusion)
    np.testing.assert_array_equal(found.evaluation.matrix, parts["holdout"].matrix)  # type: ignore[union-attr]
    assert found.seen
    for of in model.classes:
        assert all(f'<td class="number">{value:.6g}</td>' in page for value in (of.objective, of.lower_bound))
        assert f'<td class="number">{of.weights[0].scaled_weight:.4f}</td>'.replace("-", "\u2212") in page
    for row in found.evaluation.matrix.tolist():
        assert all(f'<td class="number">{cell:,.0f}</td>' in page for cell in row)
    for value in found.evaluation.measures.values():
        assert f'<td class="number">{value:.4f}</td>' in page
    for interval in found.evaluation.intervals.values():
        assert f'<td class="number">{interval.lower:.4f} to {interval.upper:.4f}</td>' in page
    (missing,) = gather(model, None).missing
    assert "confusion matrix" in missing.part
    assert "The certificates" in html(gather(model, None), datetime(2026, 1, 2))


@pytest.mark.slow
def test_functions_in_psql(installed: Engine) -> None:
    """predict gives the class of the driver; what is for one vector of weights says so."""
    join = classed("categories")
    with join.created(installed):
        model = train(installed, "kinds", join.query, training(lam=1e-2, categorical=join.categorical, nulls="error"))
        open_store(installed).save(model)
        rows = predict(installed, model).limit(200).subquery("q")
        by_function = "sqlsvm.predict('kinds', to_jsonb(q.*)) AS p"
        found = asked(installed, exp.select("q.prediction", by_function, dialect="postgres").from_(rows))
    assert found["p"].tolist() == [str(value) for value in found["prediction"].tolist()]
    assert len(set(found["p"].tolist())) == 3
    for call in ("sqlsvm.score_sql('kinds')", "sqlsvm.decision_function('kinds', '{}')", "sqlsvm.weights('kinds')"):
        with pytest.raises(StatementError, match='model "kinds" has 3 classes, so it has no one score'):
            installed.fetch(Text(f"SELECT {call}"))
    unknown = "jsonb_build_object('x', NULL, 'city', NULL, 'month', NULL, 'colour', NULL, 'price', NULL)"
    null = installed.fetch(Text(f"SELECT sqlsvm.predict('kinds', {unknown}) AS p"))
    assert null["p"].tolist() == [None]
