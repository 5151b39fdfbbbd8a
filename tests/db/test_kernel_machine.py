"""Kernel machines from end to end: trained, stored, scored in SQL and in memory, measured; next to the real join."""

from typing import Any, get_args

import numpy as np
import pytest
from sklearn.svm import SVC

from sqlsvm import RelationalSVC
from sqlsvm.engine.base import Engine, Values
from sqlsvm.errors import DataError, OptionError
from sqlsvm.kernel.functions import DEGREE
from sqlsvm.lab.ask import machine
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, score_sql
from sqlsvm.model.scored import Scored, of_two_classes
from sqlsvm.options import KernelName
from sqlsvm.run.train import train
from sqlsvm.store import open_store
from sqlsvm.store.file import FileStore
from tests.evaluating import evaluate_model, evaluate_parts
from tests.ground import svm
from tests.ground.opened import Wish, build, truth
from tests.ground.trained import training
from tests.typed import asked, typed

KERNELS: tuple[KernelName, ...] = get_args(KernelName)

TABLES = """
CREATE TABLE customers (id INT PRIMARY KEY, age FLOAT8, city TEXT, loyal BOOLEAN);
CREATE TABLE orders (id INT, customer INT, amount FLOAT8, y INT);
CREATE TABLE visits (customer INT, minutes FLOAT8, device TEXT)
"""
QUERY = (
    "SELECT o.y, o.amount, c.age, c.city, c.loyal, v.minutes, v.device, o.amount + 2 * c.age AS worth "
    "FROM orders o JOIN customers c ON c.id = o.customer JOIN visits v ON v.customer = c.id"
)


def shop(engine: Engine, rng: np.random.Generator, nulls: bool = False) -> None:
    """40 customers, 120 orders, 80 visits: about 240 join rows, whose label no sum over tables explains."""
    build(engine, TABLES)
    age, city = rng.normal(40, 10, 40).round(1), rng.choice(["Oslo", "it's", "b"], 40)
    customer, amount = rng.integers(0, 40, 120), rng.normal(5, 3, 120).round(2)
    y = np.where((age[customer] > 40) ^ (amount > 5), 1, 0)
    y = np.where(rng.random(120) < 0.1, 1 - y, y)
    loyal = rng.random(40) < 0.5
    cells: dict[str, dict[str, Any]] = {
        "customers": {"id": np.arange(40), "age": age, "city": city.astype(object), "loyal": loyal},
        "orders": {"id": np.arange(120), "customer": customer, "amount": amount, "y": y},
        "visits": {
            "customer": rng.integers(0, 40, 80),
            "minutes": rng.exponential(5, 80).round(1),
            "device": rng.choice(["phone", "pc"], 80).astype(object),
        },
    }
    for table, columns in cells.items():
        for row in zip(*(c.tolist() for c in columns.values()), strict=True):
            typed(engine, f"INSERT INTO {table} VALUES ({', '.join(map(_said, row))})")
    if nulls:
        typed(engine, "UPDATE customers SET age = NULL WHERE id < 5")
        typed(engine, "UPDATE visits SET device = NULL WHERE minutes > 8")


def _said(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'" if isinstance(value, str) else str(value)


def parts(found: svm.Design) -> list[Values]:
    """The scaled columns of each table, and of the sum, which stands for itself."""
    tables = ({"amount"}, {"age", "city", "loyal"}, {"minutes", "device"}, {"worth"})
    return [found.x[:, [n for n, (f, _) in enumerate(found.columns) if f in table]] for table in tables]


def gram(blocks: list[Values], name: str, gamma: float) -> Values:
    x = np.hstack(blocks)
    squares = [((b[:, None] - b) ** 2).sum(-1) for b in blocks]
    if name == "additive":
        return np.asarray(sum(np.exp(-gamma * s) for s in squares))
    if name == "rbf":
        return np.asarray(np.exp(-gamma * sum(squares)))
    s = x @ x.T
    return np.asarray({"linear": s, "poly": (gamma * s + 1.0) ** DEGREE, "sigmoid": np.tanh(gamma * s)}[name])


def trained(engine: Engine, text: str = QUERY, **options: Any) -> Model:
    asked_for: dict[str, Any] = {"solver": "kernel", "lam": 1e-3, "tol": 1e-6, "max_passes": 500} | options
    return train(engine, "k", text, training(**asked_for))


def columns(engine: Engine, text: str) -> dict[str, Values]:
    return dict(asked(engine, text))


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", KERNELS)
def test_next_to_scikit_learn_on_the_real_join(engine: Engine, name: KernelName) -> None:
    """The same rows and the same C: the objective to 1e-4, the same predictions but for ties. The scores of the
    database and those in memory are those of the definition."""
    shop(engine, np.random.default_rng(3))
    text = QUERY.replace(", o.amount + 2 * c.age AS worth", "")
    strong = 1e-2 if name == "sigmoid" else 1e-3
    model = trained(engine, text, kernel=name, intercept="free", scale="standard", lam=strong)
    ordered = f"{text} ORDER BY o.id, v.minutes, v.device"
    found = truth(engine, ordered, Wish(scale="standard"))
    assert model.support is not None
    assert model.support.whole
    k = gram([b for b in parts(found) if b.shape[1]], name, model.support.gamma)
    peer = SVC(C=1 / (2 * strong * len(found.y)), kernel="precomputed", tol=1e-7).fit(k, found.y)
    beta = np.zeros(len(found.y))
    beta[peer.support_] = peer.dual_coef_[0]
    wanted = k @ beta + peer.intercept_[0]
    objective = strong * beta @ k @ beta + np.maximum(0.0, 1.0 - found.y * wanted).mean()
    assert model.objective == pytest.approx(objective, rel=1e-4)
    assert model.converged
    own = scores(model, columns(engine, ordered))
    assert (np.sign(own) == np.sign(wanted))[np.abs(wanted) > 0.01].all()
    if name != "sigmoid":
        assert np.maximum(0.0, 1.0 - found.y * own).mean() <= model.objective
        assert model.lower_bound <= objective * (1 + 1e-9)
        assert model.gap <= 1e-6


@pytest.mark.thin(7)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("nulls", ["error", "mean", "drop"])
def test_one_score_however_it_is_made(engine: Engine, name: KernelName, nulls: str) -> None:
    shop(engine, np.random.default_rng(4), nulls=nulls != "error")
    text = QUERY if nulls == "error" else QUERY.replace(", o.amount + 2 * c.age AS worth", "")
    model = trained(engine, text, kernel=name, nulls=nulls, tol=1e-2)
    found = engine.fetch(predict(engine, model))
    own = scores(model, {feature: found[engine.fold(feature, True)] for feature in [t.feature for t in model.terms]})
    sql = np.array([np.nan if s is None else s for s in found["score"].tolist()], dtype=float)
    assert np.isnan(own).any() == (nulls == "drop")
    np.testing.assert_allclose(sql, own, rtol=1e-9, atol=1e-9, equal_nan=True)
    kept = ~np.isnan(own)
    predicted = found["prediction"][kept].astype(int)
    assert (predicted == (own[kept] > 0)).all()
    if nulls == "error":  # as an expression over columns of any name, also those that the expression might use
        odd = text.replace("o.amount,", "o.amount AS n,").replace("c.age,", "c.age AS s,")
        renamed = trained(engine, odd, kernel=name, tol=1e-2)
        expression = score_sql(renamed, engine.dialect)
        again = asked(engine, f"SELECT {expression} AS score FROM ({odd}) AS q")["score"].astype(float)
        np.testing.assert_allclose(np.sort(again), np.sort(own), rtol=1e-9, atol=1e-9)


def test_a_category_that_it_has_not_seen(engine: Engine) -> None:
    """It is none of those that it knows: as if its column did not exist."""
    shop(engine, np.random.default_rng(5))
    model = trained(engine, kernel="rbf", top=("city:1",))
    rows = "SELECT 1.5 AS amount, 30 AS age, 'Rome' AS city, TRUE AS loyal, 4 AS minutes, 'tv' AS device, 61.5 AS worth"
    known = scores(model, columns(engine, rows))
    found = engine.fetch(predict(engine, model, rows))["score"]
    np.testing.assert_allclose(found.astype(float), known, rtol=1e-9)
    other = scores(model, columns(engine, rows.replace("Rome", "Bonn")))
    assert other == pytest.approx(known)


def test_what_is_measured_is_what_is_predicted(engine: Engine) -> None:
    shop(engine, np.random.default_rng(6), nulls=True)
    text = QUERY.replace(", o.amount + 2 * c.age AS worth", "")
    model = trained(engine, text, kernel="rbf", nulls="mean", holdout=0.3)
    both = evaluate_parts(engine, model)
    rows = engine.fetch(predict(engine, model))
    label = np.where(rows["y"].astype(int) > 0, 1.0, -1.0)
    whole = of_two_classes(Scored(rows["score"].astype(float), label, np.ones(len(label))), 10)
    total = evaluate_model(engine, model)
    assert total.exact
    assert total.sample is None
    for name in ("true_positive", "false_positive", "auc"):
        assert getattr(total, name).value == pytest.approx(getattr(whole, name).value)
        if name != "auc":
            assert sum(getattr(part, name).value for part in both.values()) == getattr(whole, name).value
    from sklearn.metrics import roc_auc_score

    assert whole.auc is not None
    assert whole.auc.value == pytest.approx(roc_auc_score(label > 0, rows["score"].astype(float)))
    assert sum(whole.histogram.negative) + sum(whole.histogram.positive) == len(label)


def test_a_large_join_is_measured_on_a_sample(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(engine, np.random.default_rng(7))
    model = trained(engine, kernel="rbf", sample=100)
    assert model.support is not None
    assert (model.support.whole, model.support.sample) == (False, 100)
    whole = evaluate_model(engine, model)
    monkeypatch.setattr(machine, "MOST_READ", 50)
    monkeypatch.setattr(machine, "SAMPLED", 4000)
    found = evaluate_model(engine, model)
    assert (found.sample, found.exact, found.as_json()["sample"]) == (4000, False, 4000)
    assert found.accuracy.value == pytest.approx(whole.accuracy.value, abs=0.03)
    assert found.auc is not None
    assert whole.auc is not None
    assert found.auc.value == pytest.approx(whole.auc.value, abs=0.03)


def test_weights_of_rows_and_of_classes(engine: Engine) -> None:
    """A class weight is a number of rows: on the whole join, and as a share of a sample."""
    shop(engine, np.random.default_rng(8))
    text = QUERY.replace(", o.amount + 2 * c.age AS worth", "")
    model = trained(engine, text, kernel="rbf", class_weight=(1.0, 3.0), intercept="free")
    found = truth(engine, text, Wish(scale="standard", class_weights=(1, 3)))
    assert model.support is not None
    k = gram([b for b in parts(found) if b.shape[1]], "rbf", model.support.gamma)
    peer = SVC(C=1 / (2e-3 * len(found.y)), kernel="precomputed", tol=1e-7).fit(k, found.y)
    beta = np.zeros(len(found.y))
    beta[peer.support_] = peer.dual_coef_[0]
    loss = np.maximum(0.0, 1.0 - found.y * (k @ beta + peer.intercept_[0])).mean()
    assert model.objective == pytest.approx(1e-3 * beta @ k @ beta + loss, rel=1e-3)


def test_a_model_is_stored_and_read_again(engine: Engine, tmp_path: Any) -> None:
    shop(engine, np.random.default_rng(9))
    model = trained(engine, kernel="additive")
    for store in (open_store(engine), FileStore(tmp_path / "k.json")):
        store.save(model)
        again = store.load("k")
        assert again.support == model.support
        assert np.array_equal(scores(again, columns(engine, QUERY)), scores(model, columns(engine, QUERY)))
        assert [(s.name, s.error) for s in store.models()] == [("k", None)]


def test_the_estimator(engine: Engine) -> None:
    shop(engine, np.random.default_rng(10))
    svc = RelationalSVC(1e-3, solver="kernel", kernel="rbf", gamma=0.2, cache="local", cache_mb=1.0)
    svc.fit(engine, QUERY, "y")
    rows = columns(engine, QUERY)
    assert svc.dual_coef_.shape == (1, len(svc.model_.support.coefficients))  # type: ignore[union-attr]
    assert not hasattr(svc, "coef_")
    accuracy = (svc.predict(rows) == rows["y"]).mean()
    found = svc.evaluate()
    linear = RelationalSVC(1e-3).fit(engine, QUERY, "y").evaluate()
    assert isinstance(found, Evaluation)
    assert isinstance(linear, Evaluation)
    assert accuracy == pytest.approx(found.accuracy.value)
    assert accuracy > linear.accuracy.value + 0.1


def test_pegasos_is_certified(engine: Engine) -> None:
    """The linear one by a pass over the join, the kernelised one on its sample."""
    shop(engine, np.random.default_rng(11))
    best = train(engine, "b", QUERY, training(lam=1e-2))
    model = train(engine, "p", QUERY, training(solver="pegasos", lam=1e-2, sample=5000))
    assert model.support is None
    assert model.passes == 1
    assert best.lower_bound <= model.objective <= 1.1 * best.objective
    assert model.lower_bound <= best.objective
    kernel = trained(engine, kernel="rbf", lam=1e-2)
    stepped = trained(engine, solver="pegasos", kernel="rbf", lam=1e-2, tol=0.1, max_passes=50)
    assert stepped.lower_bound <= kernel.objective
    assert kernel.lower_bound <= stepped.objective <= 1.1 * kernel.objective


@pytest.mark.parametrize("solver", ["kernel", "pegasos"])
def test_bad_input(engine: Engine, solver: str) -> None:
    shop(engine, np.random.default_rng(12), nulls=True)
    with pytest.raises(DataError, match=r"feature age is NULL in \d+ rows of the join"):
        trained(engine, QUERY.replace(", o.amount + 2 * c.age AS worth", ""), solver=solver, nulls="error")
    with pytest.raises(DataError, match="the label y has one class only"):
        trained(engine, f"{QUERY} WHERE o.y = 1", solver=solver, nulls="drop")


def test_a_sample_with_one_class(engine: Engine) -> None:
    shop(engine, np.random.default_rng(13))
    typed(engine, "UPDATE orders SET y = CASE WHEN id = 7 THEN 1 ELSE 0 END")
    typed(engine, "UPDATE orders SET customer = 1 WHERE id = 7")
    typed(engine, "INSERT INTO visits VALUES (1, 1, 'pc')")
    with pytest.raises(DataError) as found:
        trained(engine, sample=5)
    assert found.value.message == "the sample of 5 join rows has one class only: none of them is positive"
    assert found.value.hint
    assert "class_weight='balanced'" in found.value.hint
    assert trained(engine, sample=5, class_weight="balanced", seed=3).support


def test_what_needs_weights_refuses(engine: Engine) -> None:
    shop(engine, np.random.default_rng(15))
    model = trained(engine)
    with pytest.raises(OptionError, match="model k has no weights: it is a kernel machine"):
        train(engine, "l", QUERY, training(), start=model)
    for export in ("to_onnx.graph", "to_sklearn.pipeline"):
        module, function = export.split(".")
        made = getattr(__import__(f"sqlsvm.model.{module}", fromlist=[function]), function)
        with pytest.raises(OptionError, match="it is a kernel machine"):
            made(model)
