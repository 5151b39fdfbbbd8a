"""What a training says of its data and its model apart from the proof: constant features, and a model of one class."""

from typing import Any

import numpy as np
import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.model.model import Model
from sqlsvm.rules import named
from sqlsvm.run.in_memory import read_rows
from sqlsvm.run.notes import by_weights, one_class
from sqlsvm.run.opening import open_problem
from sqlsvm.run.small import weighing_rows
from sqlsvm.run.train import train
from sqlsvm.terminal import NOTE
from tests.ground.opened import build
from tests.ground.trained import training
from tests.typed import asked

TABLES = """
    CREATE TABLE f AS
        SELECT g % 7 AS k, SIN(g) AS x, 3 AS three, 0 AS zero, g > 40 AS late, g % 10 = 0 AS y
        FROM GENERATE_SERIES(0, 99) AS r(g);
    CREATE TABLE d AS SELECT g % 7 AS k, COS(g) AS z FROM GENERATE_SERIES(0, 29) AS r(g);
    CREATE TABLE e AS SELECT g % 7 AS k, COS(3 * g) AS u FROM GENERATE_SERIES(0, 29) AS r(g);
"""
FROM = {
    1: "f.x FROM f",
    2: "f.x, d.z FROM f JOIN d ON d.k = f.k",
    3: "f.x, d.z, e.u FROM f JOIN d ON d.k = f.k JOIN e ON e.k = d.k",
}


def trained(engine: Engine, columns: str, **options: Any) -> Model:
    build(engine, TABLES)
    return train(engine, "m", f"SELECT f.y, {columns}", training(lam=1e-3, **options))


@pytest.mark.parametrize("scale", ["standard", "maxabs"])
def test_a_constant_feature_is_named(engine: Engine, scale: str) -> None:
    model = trained(engine, "f.x, f.three, f.zero, f.late FROM f", scale=scale, class_weight="balanced")
    said = ["feature zero is 0 in every row of the join: its scaled weight is 0"]
    if scale == "standard":
        said.insert(0, "feature three is 3 in every row of the join: its scaled weight is 0")
    assert list(model.notes) == said


def test_many_constant_features_are_in_one_note(engine: Engine) -> None:
    some = ", ".join(f"{n} + f.zero AS c{n}" for n in range(7))
    model = trained(engine, f"f.x, {some} FROM f", class_weight="balanced")
    (said,) = model.notes
    assert said.endswith("they say nothing: c0, c1, c2, c3, c4 and 2 more")
    assert said.startswith("7 features have one value in all rows of the join")


def test_a_feature_may_be_constant_in_the_join_alone(engine: Engine) -> None:
    model = trained(engine, "f.x, f.late FROM f WHERE f.late", class_weight="balanced")
    assert model.notes == ("feature late is 1 in every row of the join: its scaled weight is 0",)


@pytest.mark.parametrize("bags", FROM)
@pytest.mark.parametrize("positive", ["true", "false"])
def test_a_model_that_predicts_one_class_says_so(engine: Engine, bags: int, positive: str) -> None:
    """One row of ten is true, and no feature tells which."""
    model = trained(engine, FROM[bags], positive=positive)
    assert model.notes == ("the model predicts False for every row of the join: try class_weight='balanced'",)
    score = " + ".join([repr(model.intercept), *(f"{w.weight!r} * {w.feature}" for w in model.weights)])
    scores = asked(engine, f"SELECT MIN({score}) AS least, MAX({score}) AS largest FROM (SELECT {FROM[bags]}) AS j")
    assert (scores["largest"][0] < 0) if positive == "true" else (scores["least"][0] > 0)


def test_other_class_weights_are_not_proposed_twice(engine: Engine) -> None:
    (note,) = trained(engine, FROM[2], class_weight=(5.0, 1.0)).notes
    assert note.endswith("for every row of the join: try other features, or a smaller lam")


def test_a_model_of_both_classes_says_nothing(engine: Engine) -> None:
    assert trained(engine, FROM[2], class_weight="balanced").notes == ()


def test_a_sample_of_both_classes_is_enough(engine: Engine, statements: list[str]) -> None:
    """Many rows are on the wrong side, so one class is likely; but rows of both are in memory."""
    wave = "SIN(g) + 4 * SIN(7 * g)"
    build(engine, f"CREATE TABLE f AS SELECT SIN(g) AS x, {wave} > 0 AS y FROM GENERATE_SERIES(0, 9999) AS r(g)")
    model = train(engine, "m", "SELECT y, x FROM f", training(lam=1e-3, sample=500, in_memory=0))
    assert model.notes == ()
    assert model.objective > 0.9
    assert sum(" AS b" in s and "pg_catalog" not in s for s in statements) == model.passes


@pytest.mark.parametrize("scale", ["standard", "maxabs", "none"])
def test_what_follows_from_the_weights_holds_in_every_row(engine: Engine, scale: str) -> None:
    """Weights of features from 1e-6 to 10, next to an intercept of about 1."""
    build(engine, TABLES)
    columns = "CASE WHEN f.k > 1 THEN f.x END AS x, 1e3 + f.x AS far, f.three, f.late::text AS word, d.z"
    query, options = f"SELECT f.y, {columns} FROM f JOIN d ON d.k = f.k", training(scale=scale, nulls="mean")
    rng, found = np.random.default_rng(5), []
    with open_problem(engine, query, options) as problem:
        rows = weighing_rows(problem.work, problem.catalog, problem.plan, problem.rows)
        drawn = read_rows(problem.scaling, rows, np.ones(len(rows["y"])))
        for size in 10.0 ** rng.uniform(-6, 1, 200):
            beta = rng.normal(size=problem.scaling.dimension) * size
            beta[0] = rng.normal()
            if of_weights := by_weights(problem, beta, 0):
                assert of_weights == one_class(drawn, beta)
            found.append(of_weights)
    assert {1, -1, None} == set(found)


def test_a_nearly_constant_model_is_not_looked_at(engine: Engine, statements: list[str]) -> None:
    """Its weights tell that it predicts one class, so a training makes no more passes than its history has."""
    build(engine, "CREATE TABLE f AS SELECT SIN(g) AS x, g % 10 = 0 AS y FROM GENERATE_SERIES(0, 9999) AS r(g)")
    model = train(engine, "m", "SELECT y, x FROM f", training(lam=1e-3))
    assert model.notes == ("the model predicts False for every row of the join: try class_weight='balanced'",)
    assert sum(" AS b" in s and "pg_catalog" not in s for s in statements) == model.passes


def test_rows_that_are_left_out(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """Before the passes: how many rows of the join, and of which column. A LEFT JOIN makes NULLs too."""
    build(engine, "CREATE TABLE o (k INT, x INT, w VARCHAR(3), y BOOLEAN); CREATE TABLE c (k INT, z INT)")
    rows = "n % 4, CASE WHEN n % 5 > 0 THEN n END, 'a', n % 2 = 0 FROM GENERATE_SERIES(1, 40) AS g(n)"
    build(engine, f"INSERT INTO o SELECT {rows}")
    build(engine, "INSERT INTO o VALUES (0, 1, NULL, TRUE), (0, 1, 'b', NULL)")
    build(engine, "INSERT INTO c VALUES (0, 1), (0, 2), (1, 3)")
    caplog.set_level(NOTE)
    join = "FROM o LEFT JOIN c ON c.k = o.k"
    train(engine, "m", f"SELECT o.y, o.x, o.w, c.z {join}", training(nulls="drop", lam=0.1))
    said = "30 of 54 rows of the join: z is NULL in 20, x is NULL in 10, w is NULL in 2, y is NULL in 2"
    assert caplog.messages == [f"note: nulls='drop' leaves out {said}"]
    caplog.clear()
    train(engine, "m", f"SELECT o.y, o.k {join} WHERE o.y IS NOT NULL", training(nulls="drop", lam=0.1))
    assert not caplog.messages
    with pytest.raises(DataError, match="the join has no rows") as refused:
        train(engine, "m", f"SELECT o.y, c.z {join} WHERE o.k > 1", training(nulls="drop", lam=0.1))
    assert refused.value.detail == "nulls='drop' leaves out 20 of 20 rows of the join: z is NULL in 20"


@pytest.mark.parametrize("named", [False, True])
def test_a_category_for_each_row_is_refused_unless_it_is_named(engine: Engine, named: bool) -> None:
    """Of the label's table. In another table it may be in many rows of the join."""
    tables = """
        CREATE TABLE t AS SELECT g % 2 = 0 AS y, g % 60 AS k, SIN(g) AS x, 'c' || g AS code
            FROM GENERATE_SERIES(1, 1200) AS r(g);
        CREATE TABLE s AS SELECT g AS k, 's' || g AS shop FROM GENERATE_SERIES(0, 1100) AS r(g);
    """
    text = "SELECT t.y, t.x, t.code, s.shop FROM t JOIN s ON s.k = t.k"
    build(engine, tables)
    if named:
        assert train(engine, "m", text, training(lam=0.1, categorical=("code",))).converged
        return
    with pytest.raises(DataError, match="code has another value in each of 1,200 rows") as caught:
        train(engine, "m", text, training(lam=0.1))
    assert "categorical='code'" in str(caught.value.hint)


PEOPLE = """
    CREATE TABLE people (number integer PRIMARY KEY, city_id integer, code text, age integer);
    INSERT INTO people SELECT g, g % 3, 'c' || g % 2, g % 50 FROM GENERATE_SERIES(1, 60) AS r(g);
    CREATE TABLE orders AS
        SELECT g AS "orderKey", g % 60 + 1 AS person, SIN(g) AS x, SIN(g) > 0.2 AS y
        FROM GENERATE_SERIES(1, 200) AS r(g);
"""
BY_NAME = "{0} is a number that names something: leave it out, or categorical='{0}'"
BY_KEY = "{0} is a number and a key: if it names something, leave it out, or categorical='{0}'"


def test_a_number_that_names_something_is_told(engine: Engine) -> None:
    build(engine, PEOPLE)
    query = """SELECT o.y, o.x, o.person, o."orderKey", p.city_id AS city, p.number + 0 AS n, p.number AS own, p.age
        FROM orders o JOIN people p ON p.number = o.person"""
    model = train(engine, "m", query, training(lam=1e-2))
    by_name, by_key = ["orderKey", "city"], ["person", "own"]
    told = [BY_NAME.format(name) for name in by_name] + [BY_KEY.format(name) for name in by_key]
    assert sorted(note for note in model.notes if "names something" in note) == sorted(told)


def test_an_id_with_categories_is_not_told(engine: Engine) -> None:
    build(engine, PEOPLE)
    query = "SELECT o.y, o.x, p.city_id FROM orders o JOIN people p ON p.number = o.person"
    model = train(engine, "m", query, training(lam=1e-2, categorical=("city_id",)))
    assert not [note for note in model.notes if "names something" in note]


def test_the_time_of_a_run_is_told(engine: Engine) -> None:
    model = trained(engine, "f.x + EXTRACT(YEAR FROM now()) AS x FROM f WHERE now() > TIMESTAMP '2020-01-01'")
    said = [note for note in model.notes if "another time" in note]
    assert [note.lower() for note in said] == [
        "now() is another time when the model predicts: take a time from the tables"
    ] or said[0].startswith("CURRENT_TIMESTAMP is another time")
    assert len(said) == 1
    model = train(engine, "m", "SELECT f.y, f.x FROM f WHERE now() > TIMESTAMP '2020-01-01'", training(lam=1e-3))
    assert not any("another time" in note for note in model.notes)


def test_a_window_with_ties_is_told(engine: Engine) -> None:
    """A unique column at the end of its ORDER BY says which row comes first, and an id is taken for one."""
    build(engine, TABLES)
    for order, told in (("f.k", True), ("f.k, f.row_id", False)):
        over = f"ROW_NUMBER() OVER (ORDER BY {order})"
        query = f"SELECT f.y, {over} AS n FROM (SELECT f.*, x AS row_id FROM f) AS f"
        notes = train(engine, "m", query, training(lam=1e-3)).notes
        assert any("ties" in note for note in notes) == told


def test_a_feature_that_decides_the_label_is_told(engine: Engine) -> None:
    """A number or a category; one that is right in nine of ten rows is not."""
    build(engine, TABLES)
    known = "CASE WHEN f.y THEN 2.5 ELSE f.x END AS known, CASE WHEN f.y THEN 'out' ELSE 'in' END AS state"
    model = train(engine, "m", f"SELECT f.y, f.x, {known}, f.late FROM f", training(lam="auto"))
    told = [note for note in model.notes if "alone tells y" in note]
    assert told == [f"{name} alone tells y: is it known before the label is?" for name in ("known", "state")]


def test_a_loss_with_a_smaller_absolute_error_is_told(engine: Engine) -> None:
    """A few labels are far from the others."""
    build(engine, TABLES)
    far, how = (
        "CASE WHEN g % 29 = 0 THEN 5000.0 ELSE 0.0 END",
        training(label="n", **named({"lam": None, "loss": None})),
    )
    rows = "(SELECT g, SIN(g) AS x FROM GENERATE_SERIES(0, 999) AS r(g)) AS r"
    for more, told in ((far, 1), ("COS(7 * g)", 0)):
        notes = train(engine, "m", f"SELECT 10 * x + {more} AS n, r.x FROM {rows}", how).notes
        assert len([note for note in notes if "smaller mean absolute error on rows not seen" in note]) == told
