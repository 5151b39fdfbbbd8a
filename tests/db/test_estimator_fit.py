"""RelationalSVC on a database: what it keeps, and that its scores are those of SQL."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

import sqlsvm
from sqlsvm import ConvergenceWarning, RelationalLogisticRegression, RelationalRidge, RelationalSVC
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.estimator import ParameterError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.predict import predict, query_rows
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.solve.oracle import Cut
from tests.ground.joins import categories, chain, left_join
from tests.ground.opened import build


def test_it_is_the_model(engine: Engine) -> None:
    join = categories(np.random.default_rng(0))
    join.create(engine)
    svc = RelationalSVC(lam=1e-2, categorical=join.categorical, sample=1000)
    assert svc.fit(engine, join.query, label="y") is svc
    model = svc.model_
    assert svc.coef_.shape == (1, len(svc.feature_names_in_)) == (1, len(model.weights))
    assert {"x", "price", "month=3", "city=n° 2"} <= set(svc.feature_names_in_)
    assert svc.classes_.tolist() == [False, True]
    assert (svc.n_iter_, svc.history_) == (model.passes, model.history)
    assert svc.lower_bound_ <= svc.objective_ <= svc.objective_upper_
    assert 0 <= svc.gap_ <= 1e-3


@pytest.mark.parametrize("nulls", ["mean", "drop"])
def test_scores_are_those_of_the_database(engine: Engine, nulls: str) -> None:
    """With NULLs of two kinds; in memory, as a prediction and as an expression."""
    join = left_join(np.random.default_rng(1))
    join.create(engine)
    svc = RelationalSVC(lam=1e-2, sample=1000).set_params(nulls=nulls).fit(engine, join.query, "y")
    found = engine.fetch(predict(engine, svc.model_))
    np.testing.assert_allclose(svc.decision_function(found), found["score"], rtol=1e-9, atol=1e-12)
    known = {name: values[~np.isnan(found["score"])] for name, values in found.items()}
    assert svc.predict(known).tolist() == known["prediction"].tolist()
    score = parse_one(svc.score_sql(), read=engine.dialect).as_("s")
    scores = engine.fetch(exp.select(score).from_(query_rows(engine, svc.model_).subquery("r")))["s"]
    np.testing.assert_allclose(np.sort(scores), np.sort(found["score"]), rtol=1e-9, atol=1e-12)


def test_evaluation(engine: Engine) -> None:
    """On its own rows, and on others."""
    join = categories(np.random.default_rng(2))
    join.create(engine)
    svc = RelationalSVC(lam=1e-2, categorical=join.categorical, class_weight="balanced", sample=1000)
    svc.fit(engine, join.query, "y")
    found = engine.fetch(predict(engine, svc.model_))
    right = found["y"] == found["prediction"]
    every, fewer = svc.evaluate(), svc.evaluate(query=f"{join.query} WHERE t.x > 0")
    assert isinstance(every, Evaluation)
    assert isinstance(fewer, Evaluation)
    assert every.accuracy.value == pytest.approx(right.mean())
    assert fewer.accuracy.value == pytest.approx(right[found["x"] > 0].mean())
    described = svc.describe(query=f"{join.query} WHERE t.x > 0")
    (x,) = (column for column in described.features if column.name == "x")
    assert described.rows == (found["x"] > 0).sum()
    assert x.mean == pytest.approx(found["x"][found["x"] > 0].mean())
    first, *_ = svc.components(1).components
    assert first.variance >= 1.0
    assert first.loadings["x"] != 0.0


@pytest.mark.slow
def test_a_path_gives_a_fitted_copy_for_each_value(engine: Engine) -> None:
    join = chain(np.random.default_rng(1), rows=150, fan_out=3)
    join.create(engine)
    svc = RelationalSVC(1e-4, nulls="mean", sample=200)
    found = svc.fit_path(engine, join.query, "y", lam=(0.1, 1e-2, 1e-3))
    alone = [RelationalSVC(lam, nulls="mean", sample=200).fit(engine, join.query, "y") for lam in (0.1, 1e-2, 1e-3)]
    assert [each.lam for each in found] == [0.1, 1e-2, 1e-3]
    for one, other in zip(found, alone, strict=True):
        assert one.lower_bound_ <= other.objective_upper_
        assert other.lower_bound_ <= one.objective_upper_
        rates = [each.evaluate() for each in (one, other)]
        accuracies = [rate.accuracy.value for rate in rates if isinstance(rate, Evaluation)]
        assert accuracies == [pytest.approx(accuracies[0], abs=0.05)] * 2
    assert sum(each.n_iter_ for each in found) <= sum(each.n_iter_ for each in alone)
    assert not hasattr(svc, "model_")


@pytest.mark.parametrize("values", [{}, {"lam": [1.0], "l1": [1.0]}, {"tol": [0.1]}, {"lam": []}, {"lam": [1, 1.0]}])
def test_a_path_has_one_option_with_several_values(values: dict[str, list[float]]) -> None:
    with pytest.raises(ParameterError):
        RelationalSVC(1e-4).fit_path("duckdb:", "SELECT y, x FROM f", "y", **values)


@pytest.mark.slow
def test_a_warm_start_goes_on_from_the_passes(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    join = chain(np.random.default_rng(1), rows=150, fan_out=3)
    join.create(duckdb)
    svc = RelationalSVC(1e-3, tol=1e-9, max_passes=2, sample=200, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        svc.fit(duckdb, join.query, "y")
    first = svc.history_
    svc = pickle.loads(pickle.dumps(svc)).set_params(tol=1e-4, max_passes=100).fit(duckdb, join.query, "y")
    assert svc.n_iter_ > 2
    assert svc.history_[:2] == first

    made, pass_ = list[int](), JoinOracle.pass_

    def interrupted(self: JoinOracle, *given: Any) -> Cut:
        made.append(1)
        if len(made) == 3:
            raise KeyboardInterrupt
        return pass_(self, *given)

    svc = RelationalSVC(1e-3, tol=1e-6, sample=200, warm_start=True)
    monkeypatch.setattr(JoinOracle, "pass_", interrupted)
    with pytest.raises(KeyboardInterrupt):
        svc.fit(duckdb, join.query, "y")
    assert not hasattr(svc, "model_")
    assert svc.fit(duckdb, join.query, "y").n_iter_ == len(made) - 1  # the third one was lost


def test_a_warm_start_goes_on_with_each_class(duckdb: Engine) -> None:
    build(
        duckdb,
        "CREATE TABLE f AS SELECT i % 13 AS x, (i * i) % 7 AS z, (i % 13 + (i * i) % 7) % 3 AS y FROM range(300) r(i)",
    )
    svc = RelationalSVC(1e-3, tol=1e-9, max_passes=1, sample=60, in_memory=0, warm_start=True)
    query = "SELECT 'class ' || f.y AS y, f.x, f.z FROM f"
    with pytest.warns(ConvergenceWarning):
        svc.fit(duckdb, query, "y")
    first = svc.model_.classes
    svc.set_params(tol=1e-3, max_passes=100).fit(duckdb, query, "y")
    assert svc.gap_ <= 1e-3
    assert [of.history[0] for of in svc.model_.classes] == [of.history[0] for of in first]


def test_a_url_is_opened_and_closed(tmp_path: Path) -> None:
    url = f"duckdb:{tmp_path / 'shop.db'}"
    join = categories(np.random.default_rng(3))
    with connect(url) as engine:
        join.create(engine)
    svc = RelationalSVC(lam=1e-1, sample=1000).fit(url, join.query, "y")
    found = svc.evaluate()
    assert isinstance(found, Evaluation)
    assert found.exact
    assert svc.model_.label == "y"


def test_too_few_passes(duckdb: Engine) -> None:
    """A warning, and the model with what is proven of it; a refusal leaves the model as it was."""
    join = categories(np.random.default_rng(4))
    join.create(duckdb)
    svc = RelationalSVC(lam=1e-4, max_passes=1, sample=500)
    with pytest.warns(
        ConvergenceWarning, match=r"the gap is .* after 1 passes, not 0\.001: raise max_passes"
    ) as warned:
        svc.fit(duckdb, join.query, "y")
    assert warned[0].filename == __file__
    assert svc.n_iter_ == 1
    assert svc.gap_ > 1e-3
    before = svc.model_
    with pytest.raises(DataError, match="one class only"):
        svc.fit(duckdb, f"{join.query} WHERE t.y", "y")
    assert svc.model_ is before


IDS = """
CREATE TABLE f (y INT, id DECIMAL(20, 0), x INT);
INSERT INTO f SELECT CASE WHEN i % 7 < 2 * (i % 3) + 1 THEN 1 ELSE 0 END, 9007199254740992 + i % 3, i % 5
FROM GENERATE_SERIES(1, 300) AS g(i)
"""


def test_ids_beyond_doubles(engine: Engine) -> None:
    """A decimal would be read as another one's double; the hint is typed, and each integer has a weight of its own."""
    build(engine, IDS)
    svc = RelationalSVC(lam=1e-2, categorical=["id"], sample=1000)
    with pytest.raises(DataError, match="the category 9007199254740993 of id has more digits than a double") as refused:
        svc.fit(engine, "SELECT y, id, x FROM f", "y")
    assert refused.value.hint is not None
    typed = refused.value.hint.removeprefix("write ").partition(",")[0]
    for own, ids in ((typed, str), (typed.replace("text", "bigint"), int)):
        svc.fit(engine, f"SELECT y, {own}, x FROM f", "y")
        known = {w.category: w.weight for w in svc.model_.weights if w.feature == "id"}
        assert list(known) == [ids(9007199254740992 + n) for n in range(3)]
        assert len(set(known.values())) == 3
        found = engine.fetch(predict(engine, svc.model_))
        np.testing.assert_allclose(svc.decision_function(found), found["score"], rtol=1e-9, atol=1e-12)
        assert svc.predict(found).tolist() == found["prediction"].tolist()


# -- X and y, as in scikit-learn ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 3))
Y = (X @ [2.0, -1.0, 0.5] + RNG.normal(size=120) > 0).astype(int)


def test_x_and_y_train_as_in_scikit_learn() -> None:
    """With the lambda that is said for a C and an alpha: the same weights."""
    from sklearn.linear_model import LogisticRegression, Ridge

    plain: dict[str, Any] = {"scale": "none", "tol": 1e-9, "verbose": False, "intercept": "free"}
    own = RelationalLogisticRegression(1 / (2 * 0.5 * 120), **plain).fit(X, Y)
    peer = LogisticRegression(C=0.5, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(own.coef_, peer.coef_, rtol=1e-3)
    assert (own.predict(X) == peer.predict(X)).all()
    assert own.score(X, Y) == peer.score(X, Y)
    assert own.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=120)
    ridge = RelationalRidge(10 / (2 * 120), **plain).fit(X, y)
    np.testing.assert_allclose(ridge.coef_[0], Ridge(alpha=10).fit(X, y).coef_, rtol=1e-3)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_and_columns(library: str) -> None:
    """Texts are categories, and labels of any kind come back."""
    module: Any = pytest.importorskip(library)
    columns = {"size": X[:, 0].tolist(), "kind": [f"k{n}" for n in (X[:, 1] > 0).astype(int)]}
    make = module.table if library == "pyarrow" else module.DataFrame
    for names in (["no", "yes"], [1, 2], [1.0, 2.0], [False, True]):
        y = np.array(names)[Y]
        svc = RelationalSVC(1e-2, verbose=False).fit(make(columns), y)
        assert svc.classes_.tolist() == sorted(names)
        assert np.mean(svc.predict(make(columns)) == y) == svc.score(make(columns), y) > 0.7
    assert svc.feature_names_in_.tolist() == ["size", "kind=k0", "kind=k1"]


@pytest.mark.slow
def test_a_grid_shares_its_scans() -> None:
    """What it finds is what a training of each combination finds."""
    frames = {"t": {"y": Y == 1, "a": X[:, 0], "b": X[:, 1]}}
    base = RelationalSVC(sample=120, verbose=False)
    grid: dict[str, Any] = {"lam": [1.0, 1e-2], "loss": ["hinge", "logistic"]}
    found = sqlsvm.GridSearch(base, grid, folds=3).fit(frames, "SELECT y, a, b FROM t", "y")
    assert len(found.results_) == 4
    for row in found.results_.to_dict("records"):
        params: dict[str, Any] = {"lam": row["lam"], "loss": row["loss"], "sample": 120, "verbose": False}
        each = sqlsvm.cross_validate(RelationalSVC(**params), frames, "SELECT y, a, b FROM t", "y", folds=3)
        assert each["test_auc"].mean() == pytest.approx(row["auc"], abs=2e-3)
    assert found.best_score_ == found.results_["auc"].max()
    assert found.best_estimator_.get_params()["loss"] == found.best_params_["loss"]
    assert found.best_estimator_.predict({"a": [3.0], "b": [-3.0]}).tolist() == [True]
