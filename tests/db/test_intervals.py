"""Intervals of measures, next to what the rows of the join say: for each row of the label's relation what it adds."""

import io
import json
from collections.abc import Mapping

import numpy as np
import pytest
from sqlglot import exp, parse_one

from bench.checks.coverage import cover, sizes_of
from bench.checks.coverage import evaluated as by_evaluate
from sqlsvm.ask.evaluate import residuals_of
from sqlsvm.ask.intervals import with_intervals, with_intervals_of_numbers
from sqlsvm.ask.scored import of_plan
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.scored import of_two_classes
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.target import Numeric
from sqlsvm.run.opening import open_problem
from sqlsvm.show.evaluation import draw_evaluation
from sqlsvm.solve.arrays import Array
from tests.ground.opened import build
from tests.typed import asked, meant

TABLES = """CREATE TABLE f (id INT, k INT, j INT, y INT, x FLOAT8);
CREATE TABLE g (k INT, z FLOAT8); CREATE TABLE h (j INT, v FLOAT8); CREATE TABLE i (id INT, u FLOAT8)"""
QUERIES = {
    "one bag": "SELECT f.y, f.x FROM f",
    "one bag, the label folds": "SELECT f.y, f.x, i.u FROM i JOIN f ON f.id = i.id",
    "two bags": "SELECT f.y, f.x, g.z FROM f JOIN g ON g.k = f.k",
    "two bags, the label folds": "SELECT f.y, f.x, i.u, h.v FROM i JOIN f ON f.id = i.id JOIN h ON h.j = f.j",
    "three bags": "SELECT f.y, f.x, g.z, h.v FROM f JOIN g ON g.k = f.k JOIN h ON h.j = f.j",
}
ROWS = 300


def made(engine: Engine) -> None:
    rng = np.random.default_rng(3)
    build(engine, TABLES)
    x = rng.normal(size=ROWS)
    f = {"id": np.arange(ROWS), "k": np.minimum(rng.zipf(1.5, ROWS), 20), "j": rng.integers(0, 6, ROWS)}
    engine.copy_in(meant(engine, "f"), f | {"y": (x + rng.normal(size=ROWS) > 0).astype(int), "x": x})
    engine.copy_in(meant(engine, "g"), {"k": np.minimum(rng.zipf(1.5, 40), 20), "z": rng.normal(size=40)})
    engine.copy_in(meant(engine, "h"), {"j": rng.integers(0, 6, 12), "v": rng.normal(size=12)})
    engine.copy_in(meant(engine, "i"), {"id": rng.integers(0, ROWS, 700), "u": rng.normal(size=700)})


def evaluated(engine: Engine, text: str, options: ProblemOptions) -> tuple[Evaluation, Mapping[str, float]]:
    """With the weight of each column."""
    with open_problem(engine, text, options) as problem:
        theta = np.array([{"": -0.2, "x": 0.8}.get(c.feature, 0.4) for c in problem.plan.design.coordinates])
        scored = of_plan(problem.work, problem.plan, theta)
        found = with_intervals(of_two_classes(scored), scored, problem, theta, options)
        return found, {c.feature: w for c, w in zip(problem.plan.design.coordinates, theta.tolist(), strict=True)}


def rows_of(engine: Engine, text: str, weights: Mapping[str, float]) -> tuple[Values, Array, Array]:
    """Of each row of the join the row of f, the sign, the score."""
    query = parse_one(text.replace("SELECT", "SELECT f.id,", 1), read=engine.dialect)
    assert isinstance(query, exp.Query)
    rows = asked(engine, query)
    parts = [rows[name].astype(float) * w for name, w in weights.items() if name]
    score = weights[""] + np.sum(parts, axis=0)
    return rows["id"].astype(int), np.where(rows["y"].astype(int) > 0, 1.0, -1.0), score


def error_of(cluster: Values, adds: Array) -> float:
    """Of a mean, from what each row adds to it."""
    return float(np.sqrt((np.bincount(cluster, adds) ** 2).sum() * sizes_of(cluster).factor) / len(cluster))


@pytest.mark.thin(7)
@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_intervals_are_those_of_the_rows(engine: Engine, text: str, loss: str) -> None:
    made(engine)
    options = ProblemOptions(label="y", scale="none", loss=loss)  # type: ignore[arg-type]
    found, weights = evaluated(engine, text, options)
    cluster, y, score = rows_of(engine, text, weights)
    wrong = (np.where(score > 0, 1.0, -1.0) != y).astype(float)
    cost = np.maximum(0.0, 1 - y * score) if loss == "hinge" else np.log1p(np.exp(-y * score))
    assert found.clusters
    assert found.clusters.rows == len(np.unique(cluster))
    intervals = found.intervals
    assert intervals["accuracy"].value == pytest.approx(1 - wrong.mean())
    assert intervals["accuracy"].standard_error == pytest.approx(error_of(cluster, wrong - wrong.mean()), rel=1e-9)
    assert intervals["loss"].value == pytest.approx(cost.mean(), rel=1e-2)
    assert intervals["loss"].standard_error == pytest.approx(error_of(cluster, cost - cost.mean()), rel=5e-2)
    assert intervals["auc"].standard_error == pytest.approx(error_of_auc(cluster, y, score), rel=5e-2)
    independent = found.accuracy.value * (1 - found.accuracy.value) / intervals["accuracy"].standard_error ** 2
    assert found.clusters.effective == pytest.approx(min(independent, len(y)))
    assert json.dumps(found.as_json())


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("loss", ["quantile", pytest.param("huber", marks=pytest.mark.slow)])
def test_intervals_of_numbers_are_those_of_the_rows(engine: Engine, text: str, loss: str) -> None:
    """The label is a number whose mean is far from 0."""
    made(engine)
    text = text.replace("f.y, f.x", "10 * f.y + f.x AS y, f.x")
    options = ProblemOptions(label="y", scale="none", loss=loss, quantile=0.3)  # type: ignore[arg-type]
    with open_problem(engine, text, options) as problem:
        target, coordinates = problem.plan.design.target, problem.plan.design.coordinates
        theta = np.array([{"": -0.2, "x": 0.8}.get(c.feature, 0.4) for c in coordinates])
        found = with_intervals_of_numbers(residuals_of(problem, theta, 0.3), problem, theta, options)
    assert isinstance(target, Numeric)
    named = text.replace("SELECT", "SELECT f.id,", 1)
    query = parse_one(named, read=engine.dialect)
    assert isinstance(query, exp.Query)
    rows = {name: values.astype(float) for name, values in asked(engine, query).items()}
    weights = dict(zip((c.feature for c in coordinates), theta.tolist(), strict=True))
    score = target.centre + weights[""] + sum(rows[name] * w for name, w in weights.items() if name)
    cluster, y = rows["id"].astype(int), rows["y"]
    z = y - score
    r2 = 1.0 - (z**2).mean() / y.var()
    cost = np.maximum(0.3 * z, -0.7 * z) if loss == "quantile" else np.where(abs(z) < 1, z**2 / 2, abs(z) - 0.5)
    expected = {
        "mae": (abs(z).mean(), error_of(cluster, abs(z) - abs(z).mean())),
        "rmse": (np.sqrt((z**2).mean()), error_of(cluster, z**2 - (z**2).mean()) / 2 / np.sqrt((z**2).mean())),
        "r2": (r2, error_of(cluster, z**2 - (1 - r2) * (y - y.mean()) ** 2) / y.var()),
        "loss": (cost.mean(), error_of(cluster, cost - cost.mean())),
    }
    for name, (value, error) in expected.items():
        assert found.intervals[name].value == pytest.approx(value, rel=1e-6), name
        assert found.intervals[name].standard_error == pytest.approx(error, rel=1e-6), name
        assert found.intervals[name].degrees_of_freedom == pytest.approx(sizes_of(cluster).degrees, rel=1e-9)
    assert found.clusters
    assert found.clusters.rows == len(np.unique(cluster))
    independent = abs(z).var() / expected["mae"][1] ** 2
    assert found.clusters.effective == pytest.approx(min(independent, len(z)))
    assert json.dumps(found.as_json())
    said = draw_evaluation(found, io.StringIO())
    assert "they are worth" in said
    assert said.count(" to ") >= 4


def error_of_auc(cluster: Values, y: Array, score: Array) -> float:
    above = [score[y == label] for label in (-1, 1)]
    auc = (above[1][:, None] > above[0][None, :]).mean()
    variance = 0.0
    for label, other, side in ((1, 0, "left"), (-1, 1, "right")):
        own = y == label
        ranks = np.searchsorted(np.sort(above[other]), score[own], side=side) / len(above[other])  # type: ignore[call-overload]
        adds = (ranks if label > 0 else 1 - ranks) - auc
        variance += error_of(cluster[own], adds) ** 2
    return float(np.sqrt(variance))


def test_on_the_grid_they_are_nearly_the_same(duckdb: Engine) -> None:
    made(duckdb)
    exact, _ = evaluated(duckdb, QUERIES["three bags"], ProblemOptions(label="y", scale="none"))
    grid, _ = evaluated(duckdb, QUERIES["three bags"], ProblemOptions(label="y", scale="none", counting="grid"))
    for name, interval in exact.intervals.items():
        assert grid.intervals[name].standard_error == pytest.approx(interval.standard_error, rel=3e-2)


def test_on_the_grid_those_of_numbers_are_nearly_the_same(duckdb: Engine) -> None:
    made(duckdb)
    text, found = QUERIES["three bags"].replace("f.y, f.x", "f.y + f.x AS y, f.x"), []
    for counting in ("exact", "grid"):
        options = ProblemOptions(label="y", scale="none", loss="squared", counting=counting)
        with open_problem(duckdb, text, options) as problem:
            theta = np.full(len(problem.plan.design.coordinates), 0.3)
            residuals = residuals_of(problem, theta)
            found.append(with_intervals_of_numbers(residuals, problem, theta, options).intervals)
    for name, interval in found[0].items():
        assert found[1][name].standard_error == pytest.approx(interval.standard_error, rel=3e-2), name


@pytest.mark.slow
def test_the_intervals_cover_where_others_fail(duckdb: Engine) -> None:
    """A thin version of the simulation in the bench: 12 databases."""
    clustered, naive = cover(by_evaluate(duckdb), 12, seed=1)
    for name in ("accuracy", "mae", "rmse"):
        assert clustered[name] >= 10
        assert naive[name] <= 8
