"""F as docs/certificate.md defines it, computed from the rows of the join in five steps, is what it bounds."""

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.engine.base import Engine, Values
from sqlsvm.run.train import train
from tests.ground.opened import build
from tests.ground.trained import training

TABLES = """
    CREATE TABLE f AS
        SELECT g % 7 AS k, CASE WHEN g % 5 > 0 THEN 3 * SIN(g) + 10 END AS a, g % 3 = 0 AS b, 0.5 + g % 4 AS w,
               CASE WHEN g % 6 < 2 THEN 'u' ELSE 'v' END AS c, COS(g) + SIN(3 * g) > 0.4 AS y
        FROM RANGE(300) AS r(g);
    CREATE TABLE d AS SELECT g % 7 AS k, COS(2 * g) AS z FROM RANGE(30) AS r(g);
"""
QUERY = "SELECT f.y, f.a, f.b, f.c, f.w, d.z FROM f JOIN d USING (k)"
LAMBDA = 0.01


@pytest.mark.parametrize("scale", ["standard", "maxabs", "none"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_page_defines_f(duckdb: Engine, scale: str, intercept: bool) -> None:
    build(duckdb, TABLES)
    options = {"weight": "w", "nulls": "mean", "class_weight": "balanced", "scale": scale, "intercept": intercept}
    model = train(duckdb, "m", QUERY, training("y", lam=LAMBDA, **options))
    rows = duckdb.fetch(parse_one(QUERY, read="duckdb"))
    weights = {(w.feature, w.category): w.weight for w in model.weights}

    y = np.where(rows["y"].astype(bool), 1, -1)
    counts = rows["w"].astype(float)
    for side in (y > 0, y < 0):
        counts = np.where(side, counts / counts[side].sum(), counts)

    def mean(values: Values) -> float:
        there = ~np.isnan(values)
        return float(np.average(values[there], weights=counts[there]))

    score, squares, constant = np.full(len(y), model.intercept), 0.0, model.intercept
    for name in "abz":
        raw = rows[name].astype(float)
        x = np.where(np.isnan(raw), mean(raw), raw)
        width = {"standard": mean((x - mean(x)) ** 2) ** 0.5, "maxabs": np.abs(x).max(), "none": 1.0}[scale]
        centre = mean(x) if scale == "standard" and intercept else 0.0
        assert (model.scaling[name].centre, model.scaling[name].width) == pytest.approx((centre, width))
        score += weights[name, None] * x
        squares += (weights[name, None] * width) ** 2
        constant += weights[name, None] * mean(x) if scale == "standard" and intercept else 0.0
    for value in "uv":
        score += weights["c", value] * (rows["c"] == value)
        squares += weights["c", value] ** 2

    assert model.scaled_intercept == pytest.approx(constant, abs=1e-12)
    f = mean(np.maximum(0, 1 - y * score)) + LAMBDA * (squares + constant**2)
    assert model.objective <= f * (1 + 1e-12)
    assert f <= model.objective_upper * (1 + 1e-12)
    assert (model.objective, model.objective_upper) == pytest.approx((f, f), rel=1e-7)
