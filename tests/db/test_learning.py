"""From tables to a model in one call: its parts are those of a suggestion, a training and an evaluation."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlglot import parse_one

import sqlsvm
from sqlsvm import Learned, RelationalRidge, RelationalSVC
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.model.evaluation import Evaluation, Residuals

RNG = np.random.default_rng(0)
CUSTOMERS = pd.DataFrame({"id": range(60), "age": RNG.integers(20, 70, 60)})
ORDERS = pd.DataFrame({"customer_id": RNG.integers(0, 60, 800), "amount": RNG.gamma(2, 20, 800).round(2)})
ORDERS["coupon"] = np.where(ORDERS.amount > 50, "off-10%", "none")
ORDERS["placed_at"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 9000, 800), unit="h")
ORDERS["late"] = ORDERS.amount / 40 + CUSTOMERS.age[ORDERS.customer_id].to_numpy() / 40 + RNG.normal(size=800) > 2.2
SHOP = {"customers": CUSTOMERS, "orders": ORDERS}
HOW: dict[str, Any] = {"windows": "90 days", "verbose": False}


@pytest.fixture(scope="module")
def late() -> Learned:
    return sqlsvm.learn(SHOP, "orders", "late", "placed_at", compare=False, lam=1e-2, loss="logistic", **HOW)


@pytest.mark.slow
def test_it_is_what_its_parts_find(late: Learned) -> None:
    found = sqlsvm.suggest(SHOP, "orders", "late", "placed_at", windows="90 days")
    assert found == late.suggestion
    how: dict[str, Any] = {"as_of": "placed_at", "time": "placed_at", "nulls": "mean", "holdout": 0.2, "verbose": False}
    svc = RelationalSVC(1e-2, loss="logistic", **how).fit(SHOP, found.query, "late")
    assert (svc.coef_ == late.estimator.coef_).all()
    measured = svc.evaluate(part="holdout")
    assert isinstance(measured, Evaluation)
    assert measured.auc
    shown = late.measures.set_index("measure")
    assert shown.loc["auc", "sqlsvm"] == measured.auc.value > shown.loc["auc", "baseline"] + 0.2
    assert shown.loc["accuracy", "baseline"] == max(measured.negatives, measured.positives) / measured.rows


@pytest.mark.slow
def test_the_features_are_anyones(late: Learned) -> None:
    """Its own split of them measures what it was measured on, and another estimator may train on the rest."""
    from sklearn.metrics import roc_auc_score

    rows = late.features()
    assert len(rows) == 800
    earlier, later = late.split()
    assert (len(earlier), len(later)) == (640, 160)
    assert earlier.placed_at.max() < later.placed_at.min()
    auc = roc_auc_score(later.late, late.estimator.decision_function(later))
    assert auc == pytest.approx(late.measures.set_index("measure").loc["auc", "sqlsvm"])
    for kind in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(kind)
        parts = sqlsvm.split(late.features(kind=kind), "placed_at")
        assert list(map(len, parts)) == [640, 160]
    today = late.features(at="2024-12-01")
    assert "late" not in today
    assert len(today) == (ORDERS.placed_at >= "2024-12-01").sum()
    assert (
        len(sqlsvm.split(rows, "placed_at", "2024-12-01", gap="30 days")[0]) == (ORDERS.placed_at < "2024-11-01").sum()
    )
    with pytest.raises(SqlsvmError, match="no rows are later than"):
        sqlsvm.split(rows, "placed_at", "2030-01-01")


@pytest.mark.slow
def test_it_says_of_what_each_feature_is(late: Learned) -> None:
    known = {line.feature: (line.table, line.window) for line in late.lines}
    assert known["amount"] == ("orders", "")
    assert known["customers_age"] == ("customers", "")
    assert known["earlier_orders_mean_amount"] == ("orders", "all before placed_at")
    assert known["earlier_orders_days_since"] == ("orders", "all before placed_at")
    assert known["earlier_orders_mean_amount_90_days"] == ("orders", "90 days")
    assert known["earlier_orders_share_coupon_off_10_90_days"] == ("orders", "90 days")
    assert all(parse_one(line.sql, read="duckdb") for line in late.lines)
    page = late._repr_html_()
    assert page.count("<details>") == 2
    assert all(line.feature in page for line in late.lines)
    assert "all before placed_at" in str(late)


@pytest.mark.slow
def test_a_label_to_come() -> None:
    """Rows whose label reaches into the later ones do not train, and today's entities have features without a label."""
    how: dict[str, Any] = {"within": "30 days", "every": "30 days", "sum": "amount", "windows": (), "lam": 1e-2}
    found = sqlsvm.learn(SHOP, "customers", label_next="orders", compare=False, verbose=False, **how)
    assert isinstance(found.estimator, RelationalRidge)
    assert isinstance(found.evaluation, Residuals)
    earlier, later = found.split()
    assert later["at_time"].min() - earlier["at_time"].max() >= pd.Timedelta("30D")
    assert len(earlier) == found.estimator.model_.join_rows
    today = found.features(at="2025-01-15")
    assert set(today["at_time"]) == {pd.Timestamp("2025-01-15")}
    assert len(today) == ORDERS[ORDERS.placed_at <= "2025-01-15"].customer_id.nunique()
    seen = ORDERS[(ORDERS.placed_at < "2025-01-15")].groupby("customer_id").amount.mean().sort_values()
    np.testing.assert_allclose(np.sort(today.orders_mean_amount), seen)


def test_what_cannot_be_learned() -> None:
    with pytest.raises(OptionError, match="time is missing\nHINT: time=COLUMN"):
        sqlsvm.learn(SHOP, "orders", "late")
    with pytest.raises(OptionError, match="learn measures on later rows"):
        sqlsvm.learn(SHOP, "orders", "late", "placed_at", holdout=None, **HOW)
    with pytest.raises(OptionError, match="the table is a name, not a DataFrame"):
        sqlsvm.learn(SHOP, ORDERS, "late", "placed_at", **HOW)
    with pytest.raises(TypeError, match="lamda"):
        sqlsvm.learn(SHOP, "orders", "late", "placed_at", lamda=1, **HOW)


@pytest.mark.slow
def test_lightgbm_beside_it() -> None:
    pytest.importorskip("lightgbm")
    found = sqlsvm.learn(SHOP, "orders", "late", "placed_at", lam=1e-2, loss="logistic", **HOW)
    assert found.measures.set_index("measure").loc["auc", "LightGBM"] > 0.6
