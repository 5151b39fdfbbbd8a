"""Queries at the edge of what can be trained on: each of them has ended in an internal error once."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sqlsvm.ask.evaluate import measure_held_out
from sqlsvm.ask.rows import on_parts
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.run.components import as_json, components
from sqlsvm.run.train import train, train_each
from sqlsvm.solve.interior import Limits, Split, minimise
from tests.evaluating import evaluate_model
from tests.ground.joins import Join, words
from tests.ground.opened import build
from tests.ground.trained import measured_both_ways, sensible, training
from tests.typed import meant

pytestmark = pytest.mark.twin

TABLES = """
    CREATE TABLE o (id INT, k INT, g INT, y INT, part INT, class TEXT, v FLOAT8, x FLOAT8, s INT);
    CREATE TABLE b (k INT, z FLOAT8)
"""


def join(query: str, rows: int = 60) -> Join:
    """A row of o meets some rows of b."""
    rng = np.random.default_rng(3)
    y, part = rng.integers(0, 2, rows), np.arange(rows) % 3
    y[part == 0] = 1
    o = {
        "id": np.arange(rows),
        "k": rng.integers(0, 8, rows),
        "g": rng.integers(0, 3, rows),
        "y": y,
        "part": part,
        "class": words(np.arange(rows) % 3),
        "v": rng.normal(size=rows),
        "x": rng.normal(size=rows),
        "s": rng.integers(0, 2, rows),
    }
    return Join(TABLES, {"o": o, "b": {"k": np.arange(32) % 8, "z": rng.normal(size=32)}}, query)


MANY = "SELECT {}, b.z FROM o JOIN b ON b.k = o.k"


@pytest.mark.twin(False)
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_folds_of_a_label_whose_table_has_no_feature(engine: Engine, loss: str) -> None:
    """The label's rows fold into those of b, and no count went back to them."""
    made = join("SELECT o.v AS y, b.z FROM b JOIN o ON o.id = b.k")
    for (here, own), (there, errors) in measured_both_ways(engine, made, loss=loss, intercept=False, scale="none"):
        assert here == pytest.approx(there)
        assert errors.keys() == {"loss", "mae", "rmse", "r2"}
        for name in errors.keys() & own.keys():
            assert own[name] == pytest.approx(errors[name], rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("map", ["spline:x", "spline:z"])
def test_classes_of_mapped_columns_with_a_free_intercept_in_memory(engine: Engine, map: str) -> None:
    asked: dict[str, Any] = {"label": "class", "map": (map,), "intercept": "free"}
    made = join(MANY.format("o.class, o.x"))
    with made.created(engine):
        here, there = (train(engine, "m", made.query, training(**asked, in_memory=n)) for n in (100_000, 0))
    assert (here.counting, there.counting) == ("in memory", "exact")
    for own, other in zip(here.parts, there.parts, strict=True):
        assert own.lower_bound <= other.objective_upper
        assert other.lower_bound <= own.objective_upper


def test_fairness_of_rows_held_out(engine: Engine) -> None:
    made = join(MANY.format("o.y, o.x"))
    asked = training(constrain=("fair:s:0.05",), holdout=0.4)
    with made.created(engine):
        model = train(engine, "m", made.query, asked)
        found = on_parts(engine, model, lambda problem: measure_held_out(problem, model), ["holdout"])["holdout"]
    assert isinstance(found, Evaluation)
    assert found.fairness[0].column == "s"
    assert found.intervals


@pytest.mark.parametrize("rows", ["o", "o JOIN u ON u.k = o.k"])
def test_the_hint_for_no_rows_names_keys_only_where_there_are_keys(engine: Engine, rows: str) -> None:
    build(engine, "CREATE TABLE o (k INT, y INT, x INT); CREATE TABLE u (k INT)")
    with pytest.raises(DataError, match="the join has no rows") as refused:
        train(engine, "m", f"SELECT o.y, o.x FROM {rows}", training(lam=0.1))
    assert ("which key loses them" in str(refused.value)) == ("JOIN" in rows)
    assert ("the table is empty" in str(refused.value)) == ("JOIN" not in rows)


def test_fairness_of_an_empty_join(engine: Engine) -> None:
    made = join(MANY.format("o.y, o.x") + " WHERE o.x > 1000")
    with made.created(engine), pytest.raises(DataError, match="the join has no rows"):
        train(engine, "m", made.query, training(constrain=("fair:s:0.05",)))


@pytest.mark.twin(False)
@pytest.mark.parametrize("options", [{"sample": 1}, {"sample": 1, "class_weight": "balanced"}])
def test_a_group_with_one_class_by_passes(engine: Engine, options: dict[str, Any]) -> None:
    """The tables of a group that cannot be trained make room for those of the next."""
    made = join(MANY.format("o.y, o.x, o.part"))
    with made.created(engine):
        model = train(engine, "m", made.query, training(by="part", **options))
    assert [each.value for each in model.skipped] == [0]
    assert [each.value for each in model.groups] == [1, 2]


def test_components_of_a_column_of_nulls(engine: Engine) -> None:
    made = join(MANY.format("o.y, o.x, NULLIF(o.x, o.x) AS nothing"))
    with made.created(engine):
        found = components(engine, made.query, label="y", nulls="mean")
    assert (found.means["nothing"], found.widths["nothing"]) == (0.0, 0.0)
    json.dumps(as_json(found), allow_nan=False)


@pytest.mark.twin(False)
@pytest.mark.parametrize("in_memory", [0, 100_000])
@pytest.mark.parametrize(("loss", "unit"), [("squared", "1e-9"), ("squared", "1e6"), ("huber", "1e9")])
def test_a_label_of_any_unit_is_proven(engine: Engine, unit: str, loss: str, in_memory: int) -> None:
    """The rounding of sums is measured by the numbers in them, and not by 1."""
    made = join(f"SELECT o.v * {unit} AS v, o.x, b.z FROM o JOIN b ON b.k = o.k")
    with made.created(engine):
        model = train(engine, "m", made.query, sensible(label="v", loss=loss, lam=1e-2, delta=1e3, in_memory=in_memory))
    assert model.converged
    assert model.gap <= 1e-3


def test_an_objective_of_0_says_how_far_that_is_known(engine: Engine) -> None:
    made = join("SELECT 0.5 * o.id - 0.5 * o.id AS v, o.x FROM o")
    with made.created(engine):
        model = train(engine, "m", made.query, training("v", loss="squared", lam=1e-2))
    assert model.converged
    assert ("the objective is 0" if model.objective_upper == 0.0 else "what rounding may add") in model.notes[-1]


UNTRAINABLE: dict[str, tuple[str, dict[str, Any], str]] = {
    "one class": ("SELECT o.y, o.x FROM o WHERE o.y = 1", {}, "the label y has one class only"),
    "no row has a weight": (
        "SELECT o.y, o.x, 0 * o.s AS w FROM o",
        {"weight": "w"},
        "no row of the join has a w above 0",
    ),
    "no number has a weight": (
        "SELECT o.v AS y, o.x, 0 * o.s AS w FROM o",
        {"weight": "w", "loss": "absolute"},
        "no row of the join has a w above 0",
    ),
    "an empty join": (f"{MANY.format('o.y, o.x')} WHERE b.z > 99", {}, "the join has no rows"),
    "an empty join of numbers": (
        f"{MANY.format('o.v AS y, o.x')} WHERE b.z > 99",
        {"loss": "huber"},
        "the join has no rows",
    ),
}


@pytest.mark.parametrize("in_memory", [None, 0])
@pytest.mark.parametrize("case", UNTRAINABLE)
def test_what_has_no_optimum_is_refused(duckdb: Engine, case: str, in_memory: int | None) -> None:
    query, options, said = UNTRAINABLE[case]
    made = join(query)
    with made.created(duckdb), pytest.raises(DataError, match=said) as error:
        train(duckdb, "m", query, training(in_memory=in_memory, **options))
    assert error.value.hint


@pytest.mark.parametrize("in_memory", [None, 0])
def test_deviations_of_a_column_far_from_0(engine: Engine, in_memory: int | None) -> None:
    """Sums of squares of 10^18 would know them to 1e-3."""
    made = join("SELECT o.y, o.x FROM o")
    made.rows["o"]["x"] = made.rows["o"]["x"] + 1e9
    with made.created(engine):
        model = train(engine, "m", made.query, training(in_memory=in_memory))
    assert model.scaling["x"].width == pytest.approx((made.rows["o"]["x"] - 1e9).std(), rel=1e-9)


def test_folds_that_have_not_converged_are_marked(duckdb: Engine) -> None:
    made = join(MANY.format("o.y, o.x"))
    asked = training(folds=2, max_passes=1, tol=1e-12, in_memory=0, lam=1e-6)
    with made.created(duckdb):
        (model,) = train_each(duckdb, made.query, {"m": asked}, on_fold=lambda problem, weights: None)
    assert "has not converged in 2 of 2 folds" in model.notes[-1]


def test_constraints_along_a_direction_without_curvature() -> None:
    """Columns that repeat each other, and a lambda that is nothing next to them."""
    flat = Split.dense_of(np.array([[1.0, 1.0], [1.0, 1.0]]))
    cuts, offsets = np.array([[-1.0, -1.0]]), np.array([1.0])
    limits = Limits(np.array([[1.0, -1.0]]), np.zeros(1))
    found = minimise(flat, np.zeros(2), cuts, offsets, np.zeros(2), limits)
    assert found.x.sum() == pytest.approx(1.0)
    assert found.x[0] - found.x[1] >= -1e-9


@pytest.mark.twin(False)
@pytest.mark.parametrize(("column", "now", "said"), [("a", "TEXT", "text, and was a number"), ("b", "INT", "a number")])
def test_a_column_that_has_changed_its_type_is_no_other_feature(
    engine: Engine, column: str, now: str, said: str
) -> None:
    """All its values would weigh 0, and the measures would be those of another model."""
    build(engine, "CREATE TABLE f (y BOOLEAN, a INT, b TEXT)")
    number = np.arange(60)
    rows = {"y": number % 3 == 0, "a": number % 7, "b": np.array([str(n % 4) for n in number], dtype=object)}
    engine.copy_in(meant(engine, "f"), rows)
    model = train(engine, "m", "SELECT y, a, b FROM f", training(lam=0.1))
    other = "b" if column == "a" else "a"
    build(engine, f"CREATE TABLE g AS SELECT y, CAST({column} AS {now}) AS {column}, {other} FROM f")
    model = replace(model, query="SELECT y, a, b FROM g", trained_on=replace(model.trained_on, names=None))
    with pytest.raises(DataError, match=f"the feature {column} is {said}"):
        evaluate_model(engine, model)
