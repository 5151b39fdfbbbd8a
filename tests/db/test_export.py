"""Exported models, each loaded in its own runtime: the same scores as SQL has."""

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from duckdb import connect
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from sqlsvm import RelationalSVC, RelationalSVR
from sqlsvm.engine.base import Engine, Rows, Values
from sqlsvm.errors import OptionError
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.model.to_onnx import graph
from sqlsvm.model.to_sklearn import pipeline
from sqlsvm.model.weights import Weight
from sqlsvm.options import LossName
from sqlsvm.store import open_store
from tests.cli.command import answer, sqlsvm
from tests.ground.modelled import category, modelled, number
from tests.ground.opened import build

APPLIES = (
    *("check_estimator_cloneable", "check_estimator_tags_renamed", "check_estimator_repr", "check_valid_tag_types"),
    *("check_no_attributes_set_in_init", "check_do_not_raise_errors_in_init_or_set_params", "check_mixin_order"),
    *("check_parameters_default_constructible", "check_get_params_invariance", "check_set_params"),
)
"""The checks of scikit-learn that give `fit` no array."""

TABLES = """
    CREATE TABLE f (y BOOLEAN, t FLOAT8, k INT, x FLOAT8, b BOOLEAN, tone VARCHAR, month INT, size FLOAT8);
    INSERT INTO f SELECT i % 7 + i % 5 > 5, i % 11 + i % 5, i % 4, CASE WHEN i % 9 <> 0 THEN SIN(i) END, i % 3 = 0,
        CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN 'grün' ELSE 'tone ' || (i % 6) END, i % 12, i / 2.5
    FROM generate_series(1, 300) AS s (i);
    CREATE TABLE d (k INT PRIMARY KEY, z FLOAT8);
    INSERT INTO d SELECT i, i * i - 3 FROM generate_series(0, 3) AS s (i)
"""
FROM = "FROM f JOIN d ON d.k = f.k"
FEATURES = f"f.x, f.b, f.tone, f.month, f.size, d.z {FROM}"
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sigmoid": {"holdout": 0.3, "probability": "sigmoid"},
    "isotonic": {"folds": 3, "probability": "isotonic"},
    "top": {"top": ["tone:2", "month:4"]},
    "maps": {"map": ["spline:x:4", "poly2:d", "nystroem:d:3", "net:d:2", "bins:size:4", "fourier:f:5"]},
    "components": {"map": ["pca:3"]},
    "trees": {"map": ["trees:12:4", "spline:x:4"]},
    "logistic": {"loss": "logistic"},
    "far": {"map": ["spline:z:2"]},
}


def fitted(engine: Engine, kind: str) -> tuple[Model, Rows]:
    """A model, and the rows of its query with their scores, also some that the training has not seen."""
    build(engine, TABLES)
    options = {"nulls": "mean", "categorical": ["month"], **OPTIONS.get(kind, {})}
    features = FEATURES.replace("f.x", "f.x / 1e4 + 1e9 AS x").replace("d.z", "d.z + 1e10 AS z")
    features = features if "far" in kind else FEATURES
    if "numbers" in kind:
        t = "f.t + 1e9 AS t" if "far" in kind else "f.t"
        model = RelationalSVR(1e-2, **options).fit(engine, f"SELECT {t}, {features}", "t").model_
    else:
        model = RelationalSVC(1e-2, **options).fit(engine, f"SELECT f.y, {features}", "y").model_
    assert ("far" in kind) == (model.base is not None)
    text = f"SELECT f.y, {features} WHERE f.size < 50 UNION ALL SELECT true, 99, true, 'new', 44, 1, NULL"
    return model, engine.fetch(predict(engine, model, text, probability=model.probability is not None))


KINDS = [*OPTIONS, "numbers", "far numbers"]


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", KINDS)
def test_onnx(duckdb: Engine, kind: str) -> None:
    model, rows = fitted(duckdb, kind)
    assert len(rows["score"]) > 100
    session = onnxruntime.InferenceSession(graph(model).SerializeToString())
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs(model, rows)), strict=True))
    known = ~np.array([value is None for value in rows["tone"].tolist()]) | (kind != "top")
    np.testing.assert_allclose(outputs["score"][known, 0], rows["score"][known], rtol=1e-11, atol=1e-11)
    assert ("label" in outputs) == ("numbers" not in kind)
    if "numbers" not in kind:
        assert outputs["label"][known, 0].tolist() == rows["prediction"][known].astype(bool).tolist()
    if model.probability:
        np.testing.assert_allclose(outputs["probability"][known, 0], rows["probability"][known], atol=1e-12)


def inputs(model: Model, rows: Mapping[str, Values]) -> dict[str, Values]:
    """A NULL is NaN, or an empty text."""

    def column(name: str) -> Values:
        if name == "tone":
            return np.array([value or "" for value in rows[name].tolist()], dtype=object)
        return np.array([np.nan if value is None else float(value) for value in rows[name].tolist()])

    return {term.feature: column(term.feature)[:, None] for term in model.inputs}


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", KINDS)
def test_sklearn(duckdb: Engine, kind: str) -> None:
    model, rows = fitted(duckdb, kind)
    loaded = pickle.loads(pickle.dumps(pipeline(model)))
    frame = pd.DataFrame({name: values.tolist() for name, values in rows.items()}).sample(
        frac=1.0, axis=1, random_state=1
    )
    found = loaded.predict(frame) if "numbers" in kind else loaded.decision_function(frame)
    np.testing.assert_allclose(found, rows["score"], rtol=1e-9, atol=1e-9)
    if "numbers" not in kind:
        assert loaded.predict(frame).tolist() == rows["prediction"].astype(bool).tolist()


def test_all_agree_on_ten_thousand_rows(duckdb: Engine) -> None:
    """Scores of the database are those of memory, of scikit-learn and of ONNX, to the last digits."""
    build(duckdb, TABLES.replace("300", "10000"))
    svc = RelationalSVC(1e-2, nulls="mean", sample=1000).fit(duckdb, f"SELECT f.y, {FEATURES}", "y")
    rows = duckdb.fetch(predict(duckdb, svc.model_))
    frame = pd.DataFrame({name: values.tolist() for name, values in rows.items()})
    session = onnxruntime.InferenceSession(svc.to_onnx().SerializeToString())
    scores = rows["score"]
    assert len(scores) == 10_000
    for found in (
        svc.decision_function(frame),
        svc.to_sklearn().decision_function(frame),
        session.run(["score"], inputs(svc.model_, rows))[0][:, 0],
    ):
        np.testing.assert_allclose(found, scores, rtol=1e-12, atol=1e-12 * np.abs(scores).max())


@pytest.mark.parametrize("kind", ["logistic", "numbers"])
def test_the_pipeline_is_an_estimator_of_scikit_learn(duckdb: Engine, kind: str) -> None:
    """It passes the checks that give `fit` no array, and a copy of it learns from frames."""
    model, rows = fitted(duckdb, kind)
    found = pipeline(model)
    for check in APPLIES:
        getattr(estimator_checks, check)("Pipeline", found)
    check_is_fitted(found)
    frame = pd.DataFrame({name: values.tolist() for name, values in rows.items()})
    again = clone(found).set_params(**{f"{found.steps[-1][0]}__fit_intercept": False})
    assert again.fit(frame, rows["y"].astype(float)).predict(frame).shape == rows["score"].shape
    assert again[-1].coef_.ravel().tolist() != found[-1].coef_.ravel().tolist()


def test_the_logistic_loss_has_its_probabilities(duckdb: Engine) -> None:
    model, rows = fitted(duckdb, "logistic")
    frame = pd.DataFrame({name: values.tolist() for name, values in rows.items()})
    expected = 1 / (1 + np.exp(-rows["score"]))
    np.testing.assert_allclose(pipeline(model).predict_proba(frame)[:, 1], expected, rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_orbital_makes_sql_of_the_pipeline(duckdb: Engine, loss: LossName) -> None:
    """orbital is not among the tools of these tests, because it needs an older onnx. It knows no LinearSVC."""
    orbital = pytest.importorskip("orbital")
    from orbital.types import DoubleColumnType, StringColumnType

    build(duckdb, TABLES)
    kind, label = (RelationalSVR, "t") if loss == "squared" else (RelationalSVC, "y")
    model = kind(1e-2, nulls="mean", loss=loss).fit(duckdb, f"SELECT f.{label}, f.x, f.tone, d.z {FROM}", label).model_
    columns = {"x": DoubleColumnType(), "tone": StringColumnType(), "z": DoubleColumnType()}
    text = orbital.export_sql("f", orbital.parse_pipeline(pipeline(model), features=columns), dialect="duckdb")
    f = pd.DataFrame({name: values.tolist() for name, values in duckdb.fetch(predict(duckdb, model)).items()})
    made = connect().execute(text).fetchnumpy()
    expected = f["score"] if loss == "squared" else 1 / (1 + np.exp(-f["score"]))
    np.testing.assert_allclose(made["variable" if loss == "squared" else "output_probability.1"], expected, atol=1e-9)


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [0.5, 2.5], [False, True]], ids=str)
def test_labels_are_those_of_the_query(labels: list[Any]) -> None:
    model = modelled([number("x", 2.0)], -1.0, trained_on={"label_values": labels})
    (label,) = onnxruntime.InferenceSession(graph(model).SerializeToString()).run(
        ["label"], {"x": np.array([[0.0], [1.0]])}
    )
    assert label[:, 0].tolist() == labels
    assert pipeline(model).predict(pd.DataFrame({"x": [0.0, 1.0]})).tolist() == labels


def test_a_text_that_ignores_case_cannot_be_exported() -> None:
    weights: list[Weight] = [category("tone", "red", 1.0)]
    model = modelled(weights, trained_on={"caseless": ["tone"]})
    for export in (graph, pipeline):
        with pytest.raises(OptionError, match="tone is of a type that ignores case"):
            export(model)


@pytest.mark.slow
def test_the_verb(duckdb: Engine, tmp_path: Path) -> None:
    model, rows = fitted(duckdb, "sigmoid")
    store = str(tmp_path / "m.json")
    open_store(store).save(model)
    place = ("--model-file", store)
    assert json.loads(answer("export", *place, "--format", "json"))["weights"] == model.as_json()["weights"]
    assert "CASE" in answer("export", *place, "--format", "sql")
    for form in ("onnx", "sklearn"):
        target = tmp_path / form
        assert answer("export", *place, "--format", form, "-o", target) == f"the model is in {target}\n"
        assert target.stat().st_size > 500
        again = sqlsvm("export", *place, "--format", form, "-o", target)
        assert (again.returncode, "exists already" in again.stderr) == (1, True)
        assert answer("export", *place, "--format", form, "-o", target, "--overwrite")
    score = onnxruntime.InferenceSession(str(tmp_path / "onnx")).run(["score"], inputs(model, rows))[0]
    np.testing.assert_allclose(score[:, 0], rows["score"], atol=1e-12)
    with open(tmp_path / "sklearn", "rb") as file:
        assert len(pickle.load(file).decision_function(pd.DataFrame({n: v.tolist() for n, v in rows.items()}))) > 100
    for options, said in ((("--format", "onnx"), "name a file with -o"), (("--format", "pmml"), "is not one of")):
        wrong = sqlsvm("export", *place, *options)
        assert (wrong.returncode, said in wrong.stderr) == (2, True)
