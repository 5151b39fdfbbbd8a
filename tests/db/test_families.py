"""Groups of a label with more than two classes: a group has the model of its rows alone, with all its classes."""

import json
from io import StringIO
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.ask.evaluate import measure
from sqlsvm.ask.rows import on_all, on_parts
from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine, StatementError, Text
from sqlsvm.errors import DataError, OptionError
from sqlsvm.model.confusion import ByGroup, Confusion
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, score_sql
from sqlsvm.model.to_onnx import graph
from sqlsvm.model.to_sklearn import pipeline
from sqlsvm.run.resume import Continuation, Saved
from sqlsvm.run.train import train
from sqlsvm.show.models import draw_weights, weights_as_json
from sqlsvm.store import open_store
from tests.ground.opened import build
from tests.ground.trained import training
from tests.sized import sized
from tests.typed import asked as fetched

TABLES = """
    CREATE TABLE d AS SELECT g AS k, COS(g) AS z, 'w' || CAST(g % 3 AS TEXT) AS w FROM GENERATE_SERIES(0, 39) AS r(g);
    CREATE TABLE f AS SELECT g AS id, CASE WHEN g % 7 < 6 THEN g % 3 END AS shop, (g * 7) % 40 AS k, SIN(g) AS x,
        CASE WHEN SIN(g) + COS((g * 7) % 40) > 0.5 THEN 'good' WHEN SIN(g) < -0.3 THEN 'bad' ELSE 'fair' END AS y
        FROM GENERATE_SERIES(0, 299) AS r(g)
"""
QUERY = "SELECT f.y, f.x, d.z, d.w FROM f JOIN d ON d.k = f.k"
APART = QUERY.replace("d.w", "CASE WHEN f.shop = 0 THEN 'none' ELSE d.w END AS w")
"""No group has all categories."""
KINDS = ("bad", "fair", "good")
ASKED: dict[str, Any] = {"label": "y", "by": "shop", "lam": 1e-2, "tol": 1e-4}


@pytest.fixture(name="tables")
def tables_(engine: Engine) -> Engine:
    build(engine, TABLES)
    return engine


@pytest.mark.parametrize(("in_memory", "query"), [(0, QUERY), (None, QUERY), (None, APART)])
def test_a_group_is_a_training_of_its_own(tables: Engine, in_memory: int | None, query: str) -> None:
    model = train(tables, "m", query, training(**ASKED, in_memory=in_memory))
    assert model.kinds == KINDS
    assert [of.value for of in model.groups] == [0, 1, 2]
    assert model.objective == pytest.approx(
        np.average([of.objective for of in model.groups], weights=[of.join_rows for of in model.groups])
    )
    for of, part in zip(model.groups, model.parts, strict=True):
        own = train(tables, "m", f"{query} WHERE f.shop = {of.value}", training(**{**ASKED, "by": None}))
        assert [each.value for each in part.classes] == [each.value for each in own.classes] == list(KINDS)
        for mine, alone in zip(part.classes, own.classes, strict=True):
            assert mine.rows == alone.rows
            assert mine.lower_bound <= alone.objective_upper * (1 + 1e-9)
            assert alone.lower_bound <= mine.objective_upper * (1 + 1e-9)
    assert Model.from_json(json.loads(json.dumps(model.as_json()))).as_json() == model.as_json()


def test_predictions_are_those_of_the_group(tables: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the database, as one expression and in memory; the measures are those of the rows."""
    model = train(tables, "m", QUERY, training(**ASKED))
    rows = fetched(tables, predict(tables, model))
    by_text = exp.alias_(parse_one(score_sql(model), read=tables.dialect), "p")
    again = fetched(tables, exp.select("prediction", by_text).from_(predict(tables, model).subquery("rows")))
    assert again["p"].tolist() == again["prediction"].tolist()
    shops = np.array([-1 if v is None or v != v else int(v) for v in rows["shop"].tolist()])
    predicted = np.array([str(value) for value in rows["prediction"].tolist()])
    for place, part in enumerate(model.parts):
        own = fetched(tables, predict(tables, part, f"{QUERY} WHERE f.shop = {place}"))
        assert sorted(own["prediction"].tolist()) == sorted(predicted[shops == place].tolist())
    assert set(predicted[shops == -1].tolist()) <= {"None", "nan"}
    svc = RelationalSVC(1e-2)
    svc._take(model)
    frame = {name: rows[name] for name in ("x", "z", "w")} | {"shop": np.array([v if v >= 0 else None for v in shops])}
    assert [str(v) for v in svc.predict(frame)] == np.where(shops < 0, "None", predicted).tolist()
    assert svc.decision_function(frame).shape == (len(shops), 3)
    assert len(svc.weights_) == 3 * 3 * (2 + 3)
    small = on_all(tables, model, lambda problem: measure(problem, model))
    sized(monkeypatch, of_group=100)
    large = on_all(tables, model, lambda problem: measure(problem, model))
    assert isinstance(small, ByGroup)
    assert isinstance(large, ByGroup)
    y = rows["y"]
    for one, other in zip(small.groups, large.groups, strict=True):
        assert isinstance(one.found, Confusion)
        assert isinstance(other.found, Confusion)
        np.testing.assert_array_equal(one.found.matrix, other.found.matrix)
        assert one.found.measures["accuracy"] == pytest.approx(np.mean((y == predicted)[shops == one.value]))
    assert isinstance(small.whole, Confusion)
    assert small.whole.matrix.sum() == (shops >= 0).sum()
    assert small.missed == (shops < 0).sum()


def test_text_and_json_have_a_vector_for_each_class_of_each_group(duckdb: Engine) -> None:
    build(duckdb, TABLES)
    model = train(duckdb, "m", QUERY, training(**ASKED))
    found = weights_as_json(model, 1)
    assert [[each["value"] for each in of["classes"]] for of in found["groups"]] == [list(KINDS)] * 3
    drawn = draw_weights(model, 1, StringIO())
    assert [line for line in drawn.splitlines() if line.startswith("shop")] == [
        f"shop = {shop}, y = {kind}" for shop in range(3) for kind in KINDS
    ]
    for refused in (graph, pipeline):
        with pytest.raises(OptionError, match="model m has"):
            refused(model)


def test_rows_held_out_and_folds(duckdb: Engine) -> None:
    build(duckdb, TABLES)
    model = train(duckdb, "m", QUERY, training(**ASKED, holdout=0.3))
    found = on_parts(duckdb, model, lambda problem: measure(problem, model))
    whole = {part: each.whole for part, each in found.items() if isinstance(each, ByGroup)}
    assert isinstance(whole["train"], Confusion)
    assert isinstance(whole["holdout"], Confusion)
    assert whole["train"].matrix.sum() == model.join_rows
    assert whole["holdout"].matrix.sum() > 0
    (validated,) = trained(duckdb, QUERY, {"m": training(**ASKED, folds=3)})
    assert all(len(of.validation["accuracy"].folds) == 3 for of in validated.groups)
    assert 0.5 < validated.validation["accuracy"].mean < 1.0


def test_groups_of_classes_go_on_where_they_ended(duckdb: Engine) -> None:
    build(duckdb, TABLES)
    asked, first, ended = training(**ASKED, in_memory=0), Continuation(), list[object]()
    quiet, keep = train(duckdb, "m", QUERY, asked), first.ended

    def end(*solutions: Any, **options: Any) -> None:
        keep(*solutions, **options)
        ended.append(options["group"])
        if len(ended) == 2:
            raise KeyboardInterrupt

    first.ended = end  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        train(duckdb, "m", QUERY, asked, None, first)
    assert first.last
    second = Continuation(Saved.from_json(json.loads(json.dumps(first.last.as_json()))), lambda said: None)
    found = train(duckdb, "m", QUERY, asked, None, second)
    assert [of.lower_bound for of in found.groups] == pytest.approx([of.lower_bound for of in quiet.groups], rel=1e-9)
    again = train(duckdb, "m", QUERY, asked, start=quiet)
    for _, leaf in again.leaves:
        assert leaf.history[0]["objective"] <= leaf.objective * (1 + 1e-3)


def test_a_group_that_lacks_a_class_is_skipped_and_named(duckdb: Engine) -> None:
    build(duckdb, TABLES)
    duckdb.execute(Text("UPDATE f SET y = 'bad' WHERE shop = 1 AND y = 'fair'"))
    model = train(duckdb, "m", QUERY, training(**ASKED))
    assert [of.value for of in model.groups] == [0, 2]
    assert [each.value for each in model.skipped] == [1]
    assert "fair" in model.skipped[0].why
    duckdb.execute(Text("UPDATE f SET shop = NULL WHERE shop <> 1"))
    with pytest.raises(DataError, match="no group of by='shop' can be trained"):
        train(duckdb, "m", QUERY, training(**ASKED))


def test_psql_chooses_the_group(installed: Engine) -> None:
    build(installed, TABLES)
    model = train(installed, "kinds_by_shop", QUERY, training(**ASKED))
    open_store(installed).save(model)
    own = "sqlsvm.predict('kinds_by_shop', to_jsonb(q.*)) AS p"
    rows = fetched(
        installed, exp.select("q.prediction", own, dialect="postgres").from_(predict(installed, model).subquery("q"))
    )
    assert rows["p"].tolist() == rows["prediction"].tolist()
    assert {*rows["p"].tolist()} == {*KINDS, None}
    row = """'{"x": 0, "z": 0, "w": "w1", "shop": 1}'"""
    with pytest.raises(StatementError, match='model "kinds_by_shop" has 3 classes'):
        installed.fetch(Text(f"SELECT sqlsvm.decision_function('kinds_by_shop', {row})"))
    for call in ("sqlsvm.score_sql('kinds_by_shop')", "sqlsvm.weights('kinds_by_shop')"):
        with pytest.raises(StatementError, match='model "kinds_by_shop" has 3 groups'):
            installed.fetch(Text(f"SELECT {call}"))
