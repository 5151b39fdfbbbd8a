"""Intervals of models with several classes, next to the rows of the join: for each row of the label's relation, by how
much a measure changes if there is a little more of it."""

import io
import json
from collections.abc import Sequence

import numpy as np
import pytest
from sqlglot import exp, parse_one

from bench.checks.coverage import sizes_of
from sqlsvm.ask import confusion as looked_at
from sqlsvm.ask.confusion import Classed, confusion
from sqlsvm.engine.base import Engine, Values
from sqlsvm.model.confusion import MEASURES, Confusion, slopes
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.opening import open_problem
from sqlsvm.show.evaluation import draw_evaluation
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.interval import of_strata
from tests.db.test_intervals import QUERIES, made
from tests.typed import asked

pytestmark = pytest.mark.twin

CLASSES = "CASE WHEN f.y = 1 THEN 'a' WHEN f.x > 0 THEN 'b' ELSE 'c' END AS y, f.x"
WEIGHTS = {"": (0.2, 0.1, -0.1), "x": (0.7, 0.2, -0.9), "z": (0.3, -0.2, 0.1), "u": (0.1, 0.4, 0.0), "v": (-0.1, 0, 0)}


def classed(text: str, label: str = CLASSES) -> str:
    return text.replace("f.y, f.x", label)


def evaluated(engine: Engine, text: str, options: ProblemOptions) -> Confusion:
    with open_problem(engine, text, options) as problem:
        coordinates = problem.plan.design.coordinates
        thetas = [np.array([WEIGHTS[c.feature][k] for c in coordinates]) for k in range(3)]
        return confusion(Classed(problem, thetas), held_out=True)


def rows_of(engine: Engine, text: str) -> tuple[Values, Values, Values, Array]:
    """Of each row of the join the row of f, the class, the prediction, the weight."""
    query = parse_one(text.replace("SELECT", "SELECT f.id AS cluster,", 1), read=engine.dialect)
    assert isinstance(query, exp.Query)
    rows = asked(engine, query)
    known = [name for name in WEIGHTS if name in rows]
    scores = np.array([WEIGHTS[""][k] + sum(WEIGHTS[n][k] * rows[n].astype(float) for n in known) for k in range(3)])
    codes = np.searchsorted(["a", "b", "c"], rows["y"].astype(str))
    weights = rows["w"].astype(float) if "w" in rows else np.ones(len(codes))
    return rows["cluster"].astype(int), codes, scores.argmax(axis=0), weights


def matrix_of(codes: Values, predictions: Values, weights: Array) -> Array:
    found = np.zeros((3, 3))
    np.add.at(found, (codes, predictions), weights)
    return found


def squares_of(cluster: Values, codes: Values, predictions: Values, weights: Array) -> dict[str, Array]:
    """By class: the squares of how measures change with each cluster."""
    whole, found = matrix_of(codes, predictions, weights), {name: np.zeros(3) for name in MEASURES}
    for each in np.unique(cluster):
        own = cluster == each
        more = 1e-4 * matrix_of(codes[own], predictions[own], weights[own])
        for name, measure in MEASURES.items():
            found[name][codes[own][0]] += ((measure(whole + more) - measure(whole - more)) / 2e-4) ** 2
    return found


CASES = [(shape, weight) for shape in QUERIES for weight in (None, "w") if not weight or shape.startswith("one bag")]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("shape", "weight"), CASES)
def test_they_are_those_of_the_rows(engine: Engine, shape: str, weight: str | None) -> None:
    made(engine)
    text = classed(QUERIES[shape], f"1 + f.j AS w, {CLASSES}" if weight else CLASSES)
    found = evaluated(engine, text, ProblemOptions(label="y", scale="none", weight=weight))
    cluster, codes, predictions, weights = rows_of(engine, text)
    assert found.exact
    np.testing.assert_allclose(found.matrix, matrix_of(codes, predictions, weights))
    every, *each = (sizes_of(cluster[own], weights[own]) for own in (codes >= 0, *(codes == k for k in range(3))))
    for name, squares in squares_of(cluster, codes, predictions, weights).items():
        variance, degrees = of_strata(squares, each)
        if name in ("accuracy", "weighted_f1"):
            variance, degrees = squares.sum() * every.factor, every.degrees
        interval = found.intervals[name]
        assert interval.standard_error == pytest.approx(np.sqrt(variance), rel=1e-6), name
        assert interval.degrees_of_freedom == pytest.approx(degrees, rel=1e-6), name
        assert interval.value == found.measures[name]
    assert found.clusters
    assert found.clusters.rows == len(np.unique(cluster))
    assert json.loads(json.dumps(found.as_json()))["intervals"].keys() == MEASURES.keys()
    said = draw_evaluation(found, io.StringIO())
    assert "they are worth" in said
    assert said.count(" to ") >= len(MEASURES)


@pytest.mark.parametrize("shape", ["two bags", "two bags, the label folds", "three bags"])
def test_drawn_rows_say_about_the_same(duckdb: Engine, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    """Their error also has that of drawing, which the repetitions of the matrix measure alone."""
    made(duckdb)
    text = classed(QUERIES[shape])
    whole = evaluated(duckdb, text, ProblemOptions(label="y", scale="none"))
    monkeypatch.setattr(looked_at, "DRAWN", 600)
    drawn = evaluated(duckdb, text, ProblemOptions(label="y", scale="none"))
    assert drawn.drawn is not None
    assert drawn.drawn.sum() == 600
    assert drawn.clusters
    assert whole.clusters
    assert drawn.clusters.rows == whole.clusters.rows
    for name, interval in drawn.intervals.items():
        both = np.hypot(whole.intervals[name].standard_error, drawn.errors[name])
        assert interval.standard_error == pytest.approx(both, rel=0.2), name
    said = draw_evaluation(drawn, io.StringIO())
    assert "error of drawing" in said
    assert "interval" in said


def test_a_class_with_a_single_row_has_no_interval_of_its_own(duckdb: Engine) -> None:
    made(duckdb)
    rare = "CASE WHEN f.id = 7 THEN 'b' WHEN f.y = 1 THEN 'a' ELSE 'c' END AS y, f.x"
    found = evaluated(duckdb, classed(QUERIES["one bag"], rare), ProblemOptions(label="y", scale="none"))
    assert found.intervals.keys() == {"accuracy", "weighted_f1"}
    assert found.no_intervals.endswith("class b has less than two rows of the label's table")
    assert found.no_intervals in draw_evaluation(found, io.StringIO())
    assert found.as_json()["no_intervals"] == found.no_intervals


@pytest.mark.parametrize("absent", [False, True])
def test_slopes_are_derivatives(absent: bool) -> None:
    """Also if a class is never predicted."""
    matrix = np.random.default_rng(5).uniform(1.0, 9.0, (4, 4))
    matrix[:, 2] *= not absent
    for name, slope in slopes(matrix).items():
        for i, j in np.ndindex(4, 4):
            step = np.zeros((4, 4))
            step[i, j] = 1e-5
            ends: Sequence[float] = [MEASURES[name](matrix + sign * step) for sign in (1.0, -1.0)]
            if not (absent and j == 2):  # there a measure is not defined on both sides
                assert slope[i, j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-9), (name, i, j)
