"""What is predicted for rows not seen: sqlsvm without options next to scikit-learn with everything chosen.

    python -m bench.experiments.unseen [flights] [posts] [sales]

A fifth of the rows of the label's table is kept out. scikit-learn gets the other rows of the join, with numbers scaled,
means in place of NULLs with an indicator each, and a column for each category. Logistic regression and the linear SVM
with the squared hinge, and their lambda, are chosen by the AUC on five parts of whole rows of that table. The error is
that of the difference of the two AUC over twenty parts of the rows that were kept out.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import duckdb
import numpy as np

from bench.experiments.f1 import auc
from bench.races.tasks import load, task
from sqlsvm import RelationalSVC
from sqlsvm.engine.given import opened

LAMBDAS = 10.0 ** np.arange(1, -6, -1)
PARTS, KEPT_OUT, GROUPS = 100, 20, 20


@dataclass(frozen=True)
class Asked:
    sizes: dict[str, int]
    table: str
    """That of the label."""
    name: str
    """As the query calls it."""
    used: int = PARTS
    """So many of the hundred parts of its rows are used."""


TASKS = {
    "flights": Asked({}, "flights", "f", 20),
    "posts": Asked({"posts": 9000, "users": 800, "badges": 3000, "days": 300}, "posts", "p"),
    "sales": Asked({}, "store_sales", "store_sales", 4),
}


def compared(name: str) -> None:
    asked = TASKS[name]
    made, con = task(name, **asked.sizes), duckdb.connect()
    with opened(con) as engine:
        load(engine, made.tables())
    con.execute(f"ALTER TABLE {asked.table} ADD COLUMN part INT; ALTER TABLE {asked.table} ADD COLUMN row BIGINT")
    con.execute(f"UPDATE {asked.table} SET row = rowid, part = hash(rowid) % {PARTS}")
    con.execute(f"DELETE FROM {asked.table} WHERE part >= {asked.used}")
    limit = asked.used * KEPT_OUT // 100
    both = made.text + (" AND" if "WHERE" in made.text else " WHERE") + f" {asked.name}.part"
    train = f"{both} >= {limit}"
    began = perf_counter()
    svc = RelationalSVC(nulls=made.nulls, categorical=made.categorical, verbose=False).fit(con, train, made.label)
    seconds, model = perf_counter() - began, svc.model_
    seen, later = (rows(con, asked, text) for text in (train, f"{both} < {limit}"))
    own = np.asarray(svc.decision_function(later.drop(columns="row")), dtype=float)
    began = perf_counter()
    peer, said = chosen(seen, made.label, made.categorical)
    other = peer.decision_function(later.drop(columns=["row", made.label]))
    slow = perf_counter() - began
    label = later[made.label].to_numpy().astype(float) > 0.0
    gain, error = difference(own, other, label, later["row"].to_numpy())
    met = "met" if gain >= -error else "MISSED"
    auc_own, auc_other = auc(own, label * 1.0), auc(other, label * 1.0)
    print(
        f"{name:8} {len(seen):,} rows: sqlsvm {auc_own:.4f} ({model.loss}, lambda {model.lam:g}, gap {model.gap:.1g}, "
        f"{seconds:.1f} s), scikit-learn {auc_other:.4f} ({said}, {slow:.1f} s): {gain:+.4f}, error {error:.4f}  {met}",
        flush=True,
    )


def rows(con: duckdb.DuckDBPyConnection, asked: Asked, text: str) -> Any:
    return con.execute(text.replace("SELECT ", f"SELECT {asked.name}.row AS row, ", 1)).df()


def chosen(seen: Any, label: str, categorical: tuple[str, ...]) -> tuple[Any, str]:
    """The best by its mean AUC, trained on all rows."""
    from sklearn.model_selection import GroupKFold, cross_val_score

    x, y, row = seen.drop(columns=["row", label]), seen[label].to_numpy().astype(float) > 0.0, seen["row"]
    best, found = -1.0, None
    for kind, model in candidates(x, categorical, len(x)):
        mean = cross_val_score(model, x, y, groups=row, cv=GroupKFold(5), scoring="roc_auc").mean()
        if mean > best:
            best, found = mean, (kind, model)
    assert found
    return found[1].fit(x, y), found[0]


def candidates(x: Any, categorical: tuple[str, ...], n: int) -> Iterator[tuple[str, Any]]:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import LinearSVC

    texts = [c for c in x if c in categorical or x[c].dtype.kind not in "fiub"]
    numbers = [c for c in x if c not in texts]
    filled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    features = make_column_transformer((filled, numbers), (OneHotEncoder(handle_unknown="ignore"), texts))
    for lam in LAMBDAS:
        c = 1.0 / (2.0 * lam * n)
        for kind, model in (
            ("logistic", LogisticRegression(C=c, max_iter=300)),
            ("squared hinge", LinearSVC(C=c, dual=False)),
        ):
            yield f"{kind}, lambda {lam:g}", make_pipeline(features, model)


def difference(own: Any, other: Any, label: Any, row: Any) -> tuple[float, float]:
    """Over groups of whole rows of the label's table."""
    group = np.random.default_rng(0).integers(0, GROUPS, row.max() + 1)[row]
    each = []
    for number in range(GROUPS):
        here = group == number
        each.append(auc(own[here], label[here] * 1.0) - auc(other[here], label[here] * 1.0))
    return float(np.mean(each)), float(np.std(each, ddof=1) / np.sqrt(GROUPS))


def main() -> None:
    parser = ArgumentParser(description="AUC on rows that were not seen, next to scikit-learn.")
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK")
    for name in parser.parse_args().tasks:
        compared(name)


if __name__ == "__main__":
    main()
