"""What a training can be asked for, on Spark and on DuckDB: both bound the same optimum."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict
from sqlsvm.options import UNNAMED
from sqlsvm.rules import named
from sqlsvm.run.train import train, train_each
from sqlsvm.run.training import Training
from sqlsvm.terminal import NOTE
from tests.spark.conftest import Move

TABLES = (
    "CREATE TABLE shops AS SELECT i AS k, sin(i) AS size, cos(3 * i) AS age, 'town' || i % 4 AS town "
    "FROM range(12) r(i)",
    "CREATE TABLE sales AS SELECT i % 12 AS k, sin(7 * i) AS x, cos(5 * i) AS z, i % 5 = 0 AS card, "
    "sin(7 * i) + sin(i % 12) + sin(11 * i) > 0.2 AS y, 'kind' || (i * i + i // 7) % 5 // 2 AS kind "
    "FROM range(240) r(i)",
)
QUERY = (
    "SELECT sales.y, sales.x, sales.z, sales.card, sales.kind, shops.size, shops.age, shops.town "
    "FROM sales JOIN shops ON shops.k = sales.k"
)
PASSES: dict[str, Any] = {"in_memory": 0, "tol": 0.02}
"""Else so small a join is solved in memory, where only its rows and moments come from Spark."""
OPTIONS: dict[str, dict[str, Any]] = {
    "elastic net": {"l1": 0.01},
    "signs": {"constrain": ("nonnegative", "decreasing:age")},
    "bounds": {"constrain": ("box:x:0:0.5",), "intercept": "free", "loss": "squared_hinge", **PASSES},
    "fairness": {"constrain": ("fair:card:0.01",)},
    "classes": {"label": "kind"},
    "classes that count the same": {"class_weight": "balanced", **PASSES},
    "maps of columns": {"map": ("spline:x:3", "bins:z:4", "hash:town:8"), "loss": "logistic"},
    "maps of tables": {"map": ("poly2:shops", "fourier:sales:4:0.5", "pca:3")},
    "landmarks": {"map": ("nystroem:shops:4",), **PASSES},
    "frequent categories": {"top": ("town:2",), "categorical": ("card",)},
    "kernel": {"solver": "kernel", "kernel": "rbf", "gamma": 0.5},
    "kernel of each table": {"solver": "kernel", "kernel": "additive", "gamma": 0.5, "cache": "local"},
    "folds by a column": {"folds": 3, "split_by": "town"},
}


@pytest.fixture
def shops(duckdb: Engine, move: Move) -> None:
    for text in TABLES:
        duckdb.execute(exp.Command(this=text))
    move("shops", "sales")


def assert_as_there(one: Model, other: Model) -> None:
    assert one.converged
    assert one.join_rows == other.join_rows
    for part, same in zip(one.parts, other.parts, strict=True):
        assert max(part.lower_bound, same.lower_bound) <= min(part.objective_upper, same.objective_upper) * (1 + 1e-9)


@pytest.mark.usefixtures("shops")
@pytest.mark.parametrize("asked", OPTIONS)
def test_options(spark: Engine, duckdb: Engine, asked: str) -> None:
    given = {"label": "y", "lam": 0.01, **OPTIONS[asked]}
    (one,), (other,) = (trained(engine, QUERY, {"m": Training.of(**given)}) for engine in (spark, duckdb))
    assert_as_there(one, other)


@pytest.mark.usefixtures("shops")
def test_a_probability(spark: Engine, duckdb: Engine) -> None:
    """Of a copy of the columns, too."""
    asked = Training.of(label="y", lam=0.01, probability="sigmoid", holdout=0.25)
    (one,), (other,) = (
        trained(engine, QUERY, {"m": replace(asked, offload=offload)})
        for engine, offload in ((spark, True), (duckdb, None))
    )
    assert_as_there(one, other)
    rows = "SELECT x, z, card, kind, size, age, town FROM sales JOIN shops ON shops.k = sales.k"
    found, wanted = (
        sorted(engine.fetch(predict(engine, model, rows, probability=True))["probability"])
        for engine, model in ((spark, one), (duckdb, other))
    )
    assert found == pytest.approx(wanted, abs=0.02)
    assert np.ptp(wanted) > 0.1


@pytest.mark.usefixtures("shops")
def test_a_network(spark: Engine, duckdb: Engine) -> None:
    """It learns from rows in another order, so only its own scores are compared."""
    model = train(spark, "m", QUERY, Training.of(label="y", lam=0.01, map=("net:sales:3",), **PASSES))
    assert model.converged
    one, other = (np.sort(engine.fetch(predict(engine, model))["score"].astype(float)) for engine in (spark, duckdb))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert np.ptp(one) > 0.1


@pytest.mark.usefixtures("shops")
@pytest.mark.parametrize("most", [None, 100], ids=["read", "one of them in the database"])
def test_groups(spark: Engine, duckdb: Engine, most: int | None) -> None:
    asked = Training.of(label="y", lam=0.01, by="kind", sample=most, tol=0.02)
    one, other = (train(engine, "m", QUERY, asked) for engine in (spark, duckdb))
    assert [of.value for of in one.groups] == [of.value for of in other.groups] == ["kind0", "kind1", "kind2"]
    assert_as_there(one, other)


@pytest.mark.usefixtures("shops")
def test_a_path(spark: Engine, duckdb: Engine) -> None:
    """Models that share a snapshot, for several strengths."""
    asked = {f"m{lam}": Training.of(label="y", lam=lam, **PASSES) for lam in (0.1, 0.01)}
    paths = [list(train_each(engine, QUERY, asked)) for engine in (spark, duckdb)]
    assert [model.lam for model in paths[0]] == [0.1, 0.01]
    for one, other in zip(*paths, strict=True):
        assert_as_there(one, other)


def test_without_an_offload_lambda_has_its_default(
    spark: Engine, shops: None, caplog: pytest.LogCaptureFixture
) -> None:
    by_default = Training.of(**named({"label": "y", **dict.fromkeys(UNNAMED), "offload": False}))
    with caplog.at_level(NOTE, "sqlsvm"):
        found = train(spark, "m", QUERY, by_default)
    assert (found.lam, found.loss, found.chosen) == (1e-4, "hinge", None)
    assert "lambda is 0.0001, its default: none is chosen with Spark" in caplog.text
