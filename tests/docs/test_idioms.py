"""A day in a notebook: each idiom that a page names, and every public name. mypy and pyright read it, too."""

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import ibis
import joblib
import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
import sqlalchemy as sa
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sqlsvm
from sqlsvm import (
    ConvergenceWarning,
    GridSearch,
    Learned,
    NotFittedError,
    RelationalHuberRegressor,
    RelationalLogisticRegression,
    RelationalQuantileRegressor,
    RelationalRidge,
    RelationalSVC,
    RelationalSVR,
)
from sqlsvm.report.gather import Report
from sqlsvm.report.plots import choice

matplotlib.use("agg")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

RNG = np.random.default_rng(0)
CUSTOMERS = pd.DataFrame({"id": range(60), "age": RNG.integers(20, 70, 60)})
ORDERS = pd.DataFrame({"customer": RNG.integers(0, 60, 600), "amount": RNG.gamma(2, 20, 600).round(2)})
ORDERS["kind"] = RNG.choice(["gift", "book"], 600)
ORDERS["placed_at"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 9000, 600), unit="h")
ORDERS["late"] = ORDERS.amount / 40 + (ORDERS.kind == "gift") + RNG.normal(size=600) > 1.5
SHOP = {"orders": ORDERS, "customers": CUSTOMERS}
QUERY = "SELECT o.late, o.amount, o.kind, c.age FROM orders o JOIN customers c ON c.id = o.customer"
AMOUNT = QUERY.replace("o.late, ", "")
ROWS = ORDERS.merge(CUSTOMERS, left_on="customer", right_on="id")
COLUMNS = {name: ROWS[name].tolist() for name in ("amount", "kind", "age")}
X, Y = pd.DataFrame(COLUMNS), ROWS["late"]


@pytest.fixture(scope="module")
def svc() -> RelationalSVC:
    return RelationalSVC(1e-2, sample=300, verbose=False).fit(SHOP, QUERY, "late")


def new() -> RelationalSVC:
    return RelationalSVC(1e-2, sample=300, verbose=False)


def copied(svc: RelationalSVC) -> RelationalSVC:
    found: Any = clone(svc)
    assert isinstance(found, RelationalSVC)
    return found


def test_scikit_learn(svc: RelationalSVC) -> None:
    earlier, later, y, z = train_test_split(X, Y, random_state=0)
    own: RelationalSVC = copied(svc).fit(earlier, y)
    chances = own.predict_proba(later)
    assert roc_auc_score(z, chances[:, 1]) == RocCurveDisplay.from_estimator(own, later, z).roc_auc
    assert cross_val_score(new(), X, Y, cv=3).mean() > 0.7
    numbers = np.array([COLUMNS["amount"], COLUMNS["age"]]).T
    grid = GridSearchCV(make_pipeline(StandardScaler(), new()), {"relationalsvc__lam": [1e-1, 1e-3]}, cv=2)
    assert grid.fit(numbers, Y).best_score_ > 0.6
    assert CalibratedClassifierCV(new(), cv=2).fit(X, Y).predict_proba(X).shape == (600, 2)
    pipeline = svc.to_sklearn()
    np.testing.assert_allclose(pipeline.predict_proba(X), svc.predict_proba(X), rtol=1e-9)
    assert (pickle.loads(pickle.dumps(pipeline)).predict(X) == svc.predict(X)).all()
    assert svc.set_params(tol=1e-3).get_params()["tol"] == 1e-3
    assert abs(svc.score(X, Y) - svc.score()) < 1e-12


def test_a_probability_wherever_there_are_classes(tmp_path: Path) -> None:
    """Whether or not lambda is named; of two classes, of more, of groups, of X and y, and after a choice."""
    how = [
        new(),
        new().set_params(lam="auto"),
        new().set_params(solver="bundle", sample="auto"),
        new().set_params(loss="logistic"),
    ]
    for each in how:
        found = each.fit(SHOP, QUERY, "late").predict_proba(X)
        assert roc_auc_score(Y, found[:, 1]) > 0.7
        assert abs(found[:, 1].mean() - Y.mean()) < 0.05
        np.testing.assert_allclose(each.to_sklearn().predict_proba(X), found, rtol=1e-9)
        each.save(tmp_path / "late.json")
        assert (sqlsvm.load(tmp_path / "late.json").predict(X) == each.predict(X)).all()
    kinds = pd.DataFrame({"kind": RNG.choice(["a", "b", "c"], 600, p=[0.5, 0.3, 0.2]), "x": RNG.normal(size=600)})
    three = new().fit({"t": kinds}, "SELECT kind, x FROM t", "kind")
    np.testing.assert_allclose(three.predict_proba(kinds).mean(axis=0), [0.5, 0.3, 0.2], atol=0.05)
    np.testing.assert_allclose(three.to_sklearn().predict_proba(kinds), three.predict_proba(kinds), rtol=1e-9)
    by = new().set_params(by="kind").fit(SHOP, QUERY, "late")
    assert roc_auc_score(Y, by.predict_proba(X)[:, 1]) > 0.7
    with pytest.raises(AttributeError, match="a kernel machine has scores"):
        _ = new().set_params(kernel="rbf", solver="kernel").predict_proba


def test_pandas_polars_pyarrow(svc: RelationalSVC) -> None:
    frame = pl.DataFrame(COLUMNS)
    table = pa.table(COLUMNS)
    scores = svc.decision_function(X)
    for rows in (frame, frame.lazy(), table, COLUMNS):
        assert (svc.decision_function(rows) == scores).all()
    for library in (pl.DataFrame, pa.table):
        frames = {name: library({c: each[c].tolist() for c in each}) for name, each in SHOP.items()}
        assert abs(new().fit(frames, QUERY, "late").objective_ - svc.objective_) < 1e-3
    assert (new().fit(frame, pl.Series("late", Y.tolist())).classes_ == [False, True]).all()
    named = copied(svc).set_output(transform="pandas").fit(X, Y)
    chances = named.predict_proba(X[::2])
    assert isinstance(chances, pd.DataFrame)
    assert (list(chances.columns), list(chances.index)) == ([False, True], list(X.index[::2]))
    assert list(svc.weights_.columns) == ["feature", "category", "weight", "scaled_weight"]
    assert svc.measures().set_index("measure").loc["accuracy", "value"] == svc.score()


def test_databases(svc: RelationalSVC, tmp_path: Path) -> None:
    """A file, a connection, SQLAlchemy, ibis, and queries of each."""
    path, file = tmp_path / "shop.duckdb", tmp_path / "late.sql"
    file.write_text(QUERY)
    with duckdb.connect(str(path)) as con:
        for name, rows in SHOP.items():
            con.register("rows", rows)
            con.execute(f"CREATE TABLE {name} AS FROM rows")
        orders = sa.table("orders", sa.column("late", sa.Boolean), sa.column("amount", sa.Float))
        for query, label in ((con.sql(QUERY), "late"), (sa.text(QUERY), "late"), (file, "late"), (QUERY, "late")):
            assert abs(new().fit(con, query, label).objective_ - svc.objective_) < 1e-3
        select = sa.select(orders.c.late, orders.c.amount).where(orders.c.amount > 10)
        assert new().fit(con, select, "late").feature_names_in_.tolist() == ["amount"]
        backend = ibis.duckdb.from_connection(con)
        t, c = backend.table("orders"), backend.table("customers")
        joined = t.inner_join(c, t.customer == c.id)[["late", "amount", "kind", "age"]]
        own = new().fit(joined, "late")
        assert {"score", "prediction", "probability"} <= set(own.predict(joined).columns)
        assert "probability" in svc.predict(con, f"{QUERY} WHERE o.amount > 50").columns
    assert new().fit(path, QUERY, "late").model_.label == "late"
    assert new().fit(ibis.memtable(X.assign(late=Y)), "late").model_.label == "late"


def test_a_server(svc: RelationalSVC, postgres_dsn: str) -> None:
    query = "SELECT i % 2 AS y, i % 7 AS x, i % 5 AS z FROM generate_series(1, 100) AS g(i)"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        found = new().fit(connection, query, "y")
        assert found.save(connection, "idioms") >= 1
        assert np.all(sqlsvm.load(connection, "idioms").coef_ == found.coef_)
    assert new().fit(postgres_dsn, query, "y").objective_ == pytest.approx(found.objective_, rel=1e-3)


def test_what_is_asked_of_a_query() -> None:
    assert sqlsvm.inspect(SHOP, QUERY, "late").join_rows == 600
    assert sqlsvm.describe(SHOP, QUERY, "late").rows == 600
    assert set(sqlsvm.components(SHOP, QUERY, "late", k=1).means) == {"amount", "age"}
    assert "folds c into o" in str(sqlsvm.explain(SHOP, QUERY, "late"))
    assert len(sqlsvm.count(SHOP, QUERY, "late", {"intercept": 0.5, "weights": {"amount": 1.0}})) > 0
    with pytest.raises(NotFittedError):
        new().predict(X)


def test_numbers() -> None:
    for kind in (RelationalSVR, RelationalRidge, RelationalHuberRegressor, RelationalQuantileRegressor):
        own = kind(1e-2, sample=300, verbose=False).fit(SHOP, AMOUNT, "amount")
        assert abs(own.predict(X).mean() - ROWS.amount.mean()) < 10
        assert len(own.to_sklearn().predict(X)) == 600
    assert RelationalLogisticRegression(1e-2, verbose=False).fit(X, Y).predict_proba(X).shape == (600, 2)
    with pytest.warns(ConvergenceWarning):
        RelationalSVC(1e-5, max_passes=1, sample=20, in_memory=0, tol=1e-9, verbose=False).fit(SHOP, QUERY, "late")


def test_grids_and_paths() -> None:
    search = GridSearch(new(), {"lam": [1e-1, 1e-3]}, folds=3).fit(SHOP, QUERY, "late")
    assert len(search.results_) == 2
    assert search.best_estimator_.predict(X).shape == (600,)
    assert isinstance(best := search.best_estimator_, RelationalSVC)
    assert abs(best.predict_proba(X)[:, 1].mean() - Y.mean()) < 0.05
    assert len(sqlsvm.cross_validate(new(), SHOP, QUERY, "late", folds=3)["test_auc"]) == 3
    path = new().set_params(folds=3).fit_path(SHOP, QUERY, "late", lam=[1e-1, 1e-2])
    assert sqlsvm.plot_path(path).get_ylabel() == "AUC"


def test_charts_say_what_they_draw(svc: RelationalSVC) -> None:
    """All losses that were tried; and that one dot is one pass."""
    model = RelationalSVC(verbose=False).fit(SHOP, QUERY, "late").model_
    drawn = choice(Report(model))
    assert model.chosen
    assert drawn
    assert {each.loss.replace("_", " ") for each in model.chosen.tried} <= {mark.name for mark in drawn.key}
    once = copied(svc)
    once._take(replace(svc.model_, history=svc.history_[:1]))
    for axes in (once.plot_gap(), once.plot_convergence()):
        legend = axes.get_legend()
        assert legend
        assert any("after the only pass" in text.get_text() for text in legend.get_texts())


def test_from_tables_to_a_model() -> None:
    found = sqlsvm.learn(SHOP, "orders", "late", "placed_at", compare=False, verbose=False)
    assert isinstance(found, Learned)
    assert found.query == sqlsvm.suggest(SHOP, "orders", "late", "placed_at").query
    earlier, later = sqlsvm.split(found.features(kind="polars"), "placed_at")
    assert (earlier.height, later.height) == (480, 120)
    assert "auc" in set(found.measures["measure"])


def test_it_is_kept(svc: RelationalSVC, tmp_path: Path) -> None:
    joblib.dump(svc, tmp_path / "late.joblib")
    assert (joblib.load(tmp_path / "late.joblib").predict(X) == svc.predict(X)).all()
    assert svc.report(tmp_path / "late.html").exists()
    assert {each.name for each in svc.to_onnx().graph.input} == {"amount", "kind", "age"}
    scores = duckdb.execute(f"SELECT {svc.score_sql('duckdb')} FROM X").fetchall()
    np.testing.assert_allclose(np.ravel(scores), svc.decision_function(X), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_mlflow(svc: RelationalSVC, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    log_model = pytest.importorskip("sqlsvm.mlflow").log_model
    for name in ("MLFLOW_DISABLE_TELEMETRY", "MLFLOW_ALLOW_FILE_STORE"):
        monkeypatch.setenv(name, "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    info = log_model(svc).model_uri
    assert (mlflow.pyfunc.load_model(info).predict(ROWS)["prediction"] == svc.predict(ROWS)).all()
    mlflow.set_tracking_uri("")


def test_every_public_name_is_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    used = {name: len(re.findall(rf"\b{name}\b", text)) - name[0].isupper() for name in sqlsvm.__all__}
    assert [name for name, times in used.items() if times < 1] == []
