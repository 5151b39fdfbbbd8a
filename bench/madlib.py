"""Apache MADlib's SVM on a flat table. Written to the documentation of its version 2.1; runs where it is installed."""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from bench.grids import Setting
from sqlsvm import sql
from sqlsvm.engine.base import Engine

MODEL = "bench_madlib"
CREATED = (MODEL, f"{MODEL}_summary")


def train(engine: Engine, table: str, label: str, names: Sequence[str], lam: float, setting: Setting) -> dict[str, Any]:
    """madlib.svm_classification(table, model, label, features, 'linear', '', '', params), then its coefficients.

    It minimises the mean hinge + lambda |w|^2 and adds an intercept, whose weight comes first."""
    _clean(engine)
    params = ", ".join(f"{name}={value}" for name, value in {**setting, "lambda": lam, "tolerance": 0}.items())
    features = exp.Array(expressions=[exp.column(name, quoted=True) for name in names]).sql(dialect="postgres")
    texts = [table, MODEL, exp.column(label, quoted=True).sql(dialect="postgres"), features, "linear", "", "", params]
    call = exp.Dot(
        this=exp.to_identifier("madlib"),
        expression=exp.Anonymous(this="svm_classification", expressions=[exp.Literal.string(t) for t in texts]),
    )
    engine.fetch(exp.select(exp.alias_(call, "done")))
    coefficients = engine.fetch(sql.select([(exp.column("coef"), "coef")], exp.to_table(MODEL)))["coef"][0]
    _clean(engine)
    intercept, *slopes = (float(c) for c in coefficients)
    return {"intercept": intercept, "weights": dict(zip(names, slopes, strict=True))}


def _clean(engine: Engine) -> None:
    for name in CREATED:
        engine.execute(sql.drop(name))
