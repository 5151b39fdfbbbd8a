"""scikit-learn and LightGBM on the rows of a join, for the comparisons of these examples.

pip install scikit-learn lightgbm
"""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, TypeVar

import lightgbm
import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sqlsvm import RelationalSVC
from sqlsvm.engine.base import Engine, Text

Made = TypeVar("Made")


def compare(svc: RelationalSVC, engine: Engine, query: str, label: str, rows: str, unseen: str, parts: Any) -> None:
    """Print the AUC of each on the rows with `unseen`, a condition. `rows` is the query that gives them to the others,
    with a column `unseen`; `parts` is how scikit-learn splits the others to choose its penalty."""
    seconds, svc = timed(lambda: svc.fit(engine, query, label))
    area = svc.evaluate(part="holdout").auc
    print(f"sqlsvm, {svc.model_.loss}, lambda {svc.model_.lam:g}: AUC {area.value:.4f} in {seconds:.1f} s")
    print(f"  gap {svc.certificate_.gap:.1e}")
    seconds, found = timed(lambda: exported(engine, rows))
    print(f"the rows of the join, for the others: {seconds:.1f} s")
    for line in others(found, label, unseen, parts):
        print(line)


def others(rows: pd.DataFrame, label: str, unseen: str, parts: Any) -> Iterator[str]:
    y, out = rows.pop(label).astype(bool).to_numpy(), rows.pop(unseen).astype(bool).to_numpy()
    x = with_categories(rows)
    linear = LogisticRegressionCV(
        Cs=8, l1_ratios=(0,), cv=parts, scoring="roc_auc", max_iter=300, use_legacy_attributes=False
    )
    for name, model in {
        "scikit-learn, logistic": make_pipeline(SimpleImputer(), StandardScaler(), linear),
        "LightGBM": lightgbm.LGBMClassifier(verbose=-1),
    }.items():
        seconds, fitted = timed(lambda model=model: model.fit(x[~out], y[~out]))
        known, later = (roc_auc_score(y[w], fitted.predict_proba(x[w])[:, 1]) for w in (~out, out))
        yield f"{name}: AUC {later:.4f} in {seconds:.1f} s; {known:.4f} on the rows that it has seen"


def exported(engine: Engine, query: str) -> pd.DataFrame:
    return pd.DataFrame(dict(engine.fetch(Text(query))))


def with_categories(rows: pd.DataFrame) -> pd.DataFrame:
    """A column for each category, and numbers as they are."""
    numbers = rows.apply(pd.to_numeric, errors="coerce")
    texts = [name for name in rows if numbers[name].isna().all()]
    categories = [pd.get_dummies(rows[name], prefix=name, dtype=np.float32) for name in texts]
    return pd.concat([numbers.drop(columns=texts).astype(float), *categories], axis=1)


def timed(work: Callable[[], Made]) -> tuple[float, Made]:
    began = perf_counter()
    made = work()
    return perf_counter() - began, made
