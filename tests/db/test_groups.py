"""A model for each group of rows: each is that of a training on the rows of its group alone, and is proven for them."""

import io
import json
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.ask.evaluate import measure, measure_held_out
from sqlsvm.ask.rows import of_query, on_all, on_parts
from sqlsvm.ask.validation import best_of_groups, trained
from sqlsvm.engine.base import Engine, StatementError, Text
from sqlsvm.errors import DataError, OptionError, SqlsvmError
from sqlsvm.measures import MEASURES
from sqlsvm.model.confusion import ByGroup
from sqlsvm.model.evaluation import Evaluation, Residuals
from sqlsvm.model.memory import scores
from sqlsvm.model.model import Model
from sqlsvm.model.predict import predict, score_sql
from sqlsvm.model.to_onnx import graph
from sqlsvm.model.to_sklearn import pipeline
from sqlsvm.plan.design import OTHER
from sqlsvm.report.gather import gather, gather_from
from sqlsvm.report.page import html
from sqlsvm.run.data import Data, against_others
from sqlsvm.run.resume import Continuation, Saved
from sqlsvm.run.train import train, train_each
from sqlsvm.run.training import Training
from sqlsvm.show.models import draw_several
from sqlsvm.store import open_store
from tests.db.test_folds import rows_of_fold
from tests.db.test_maps import crossed
from tests.db.test_numbers import numbers
from tests.ground.joins import Join, categories, chain, left_join, star
from tests.ground.opened import build, truth
from tests.ground.schemas import random_world
from tests.ground.trained import assert_beside_liblinear, assert_proven, sensible, training, wish_of
from tests.sized import sized
from tests.typed import asked as fetched
from tests.typed import meant, typed

BY = {
    "star": (star, "CASE s.store % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b''s' WHEN 2 THEN 'c' END"),
    "categories": (categories, "t.month"),
    "chain": (chain, "m.v"),
    "left join": (left_join, "c.k % 3 = 0"),
}


def made(shape: str, seed: int = 3) -> tuple[Join, str]:
    """A join that has the groups as the output g, and the expression that makes them."""
    make, by = BY[shape]
    join = make(np.random.default_rng(seed))
    return replace(join, query=join.query.replace("SELECT ", f"SELECT {by} AS g, ", 1)), by


def alone(engine: Engine, query: str, value: object, *, by: str = "g") -> str:
    """The query of one group, without the column that makes it."""
    select = parse_one(query, read=engine.dialect)
    assert isinstance(select, exp.Select)
    of_group = next(item for item in select.expressions if item.alias_or_name == by)
    select.set("expressions", [item for item in select.expressions if item is not of_group])
    is_own = exp.EQ(this=exp.paren(of_group.unalias().copy()), expression=exp.convert(value))
    return select.where(is_own).sql(engine.dialect)


def assert_as_alone(engine: Engine, part: Model, own: str, asked: Training) -> None:
    """Both bound the same optimum."""
    one = train(engine, "m", own, replace(asked, by=None))
    assert part.join_rows == pytest.approx(one.join_rows)
    assert part.label_rows == pytest.approx(one.label_rows)
    assert part.label_centre == one.label_centre
    assert part.converged
    assert part.lower_bound <= one.objective_upper * (1 + 1e-9)
    assert one.lower_bound <= part.objective_upper * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("few", [False, True])
def test_groups_go_on_where_they_ended(duckdb: Engine, few: bool) -> None:
    """In memory and in the database: no pass is made again, and the proofs are those of a training that did not end."""
    join, _ = made("chain")
    join.create(duckdb)
    typed(duckdb, parse_one("SET threads = 1", read="duckdb"))
    asked = training(lam=1e-3, tol=1e-4, by="g", sample=1000 if few else None)
    quiet = train(duckdb, "m", join.query, asked)
    first, left = Continuation(), len(quiet.groups) // 2
    keep, ended = first.ended, []

    def end(*solutions: Any, **options: Any) -> None:
        keep(*solutions, **options)
        ended.append(options["group"])
        if len(ended) == left:
            raise KeyboardInterrupt

    first.ended = end  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        train(duckdb, "m", join.query, asked, None, first)
    assert first.last
    before, said = Saved.from_json(json.loads(json.dumps(first.last.as_json()))), list[str]()
    assert [part.group for part in before.parts] == ended
    second = Continuation(before, said.append)
    found = train(duckdb, "m", join.query, asked, None, second)
    assert said[0].endswith("the rows and the options are the same, so what was proven still is")
    assert [(of.value, of.passes) for of in found.groups] == [(of.value, of.passes) for of in quiet.groups]
    assert [of.lower_bound for of in found.groups] == pytest.approx([of.lower_bound for of in quiet.groups], rel=1e-9)
    typed(duckdb, parse_one("UPDATE m SET u = u * 2 WHERE v > 0"))
    anew = Continuation(before, said.append)
    moved = train(duckdb, "m", join.query, asked, None, anew)
    assert said[1].endswith("which no longer prove anything: the rows of m have changed")
    plain = replace(asked, by=None)
    for part, of in zip(moved.parts, moved.groups, strict=True):
        assert_proven(duckdb, part, truth(duckdb, alone(duckdb, join.query, of.value), wish_of(plain)))


OTHERS = (
    {"loss": "logistic", "class_weight": "balanced"},
    {"l1": 0.01, "scale": "none"},
    {"intercept": "free", "loss": "squared_hinge", "class_weight": (2.0, 1.0)},
    {"solver": "bundle", "scale": "maxabs", "lam": 0.1},
)


FEW = {"star": 500, "categories": 1000, "chain": 2000, "left join": 600}
"""Rows of a sample: all groups have more."""
Case = tuple[str, bool, dict[str, Any]]
SOON: list[Case] = [("star", False, {}), ("chain", True, {})]
LATER: list[Case] = [("categories", True, {}), ("categories", False, {}), ("left join", False, {})]
LATER += [("categories", False, OTHERS[0]), ("left join", False, OTHERS[1])]
LATER += [("chain", True, OTHERS[2]), ("star", True, OTHERS[3])]
CASES = [*SOON, *(pytest.param(*case, marks=pytest.mark.slow) for case in LATER)]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("shape", "few", "options"), CASES, ids=str)
def test_each_group_is_a_training_of_its_own(engine: Engine, shape: str, few: bool, options: dict[str, Any]) -> None:
    """Read and proven in memory, or, if it has more rows than the sample, by passes in the database."""
    join, _ = made(shape)
    given: dict[str, Any] = {"lam": 1e-2, "categorical": join.categorical, "nulls": "mean", **options}
    asked = sensible(by="g", sample=FEW[shape] if few else None, **given)
    with join.created(engine):
        model = train(engine, "m", join.query, asked)
        assert len(model.groups) >= 2
        assert not model.skipped
        for of, part in zip(model.groups, model.parts, strict=True):
            own = alone(engine, join.query, of.value)
            assert_as_alone(engine, part, own, asked)
            if not options and not few:
                naive = truth(engine, own, wish_of(asked))
                assert_proven(engine, part, naive)
                assert_beside_liblinear(part, naive)
    rows = [of.join_rows for of in model.groups]
    assert model.join_rows == sum(rows)
    assert model.objective == pytest.approx(np.average([of.objective for of in model.groups], weights=rows))
    assert model.gap == max(of.gap for of in model.groups)


# -- labels that are numbers, weights, large groups --------------------------------------------------------------------


@pytest.mark.parametrize("sample", [None, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loss", ["quantile", pytest.param("squared", marks=pytest.mark.slow)])
def test_groups_of_a_label_that_is_a_number(engine: Engine, loss: str, sample: int | None) -> None:
    """Each is measured from the mean of its own group, which the penalty sees."""
    join = numbers(np.random.default_rng(5), 900)
    join = replace(join, query=join.query.replace("SELECT s.y", "SELECT s.item % 3 AS g, s.y + 10 * (s.item % 3) AS y"))
    asked = sensible(loss=loss, by="g", lam=1e-2, quantile=0.7, sample=sample)
    with join.created(engine):
        model = train(engine, "m", join.query, asked)
        for of, part in zip(model.groups, model.parts, strict=True):
            assert_as_alone(engine, part, alone(engine, join.query, of.value), asked)
        found = on_all(engine, model, lambda problem: measure(problem, model))
        rows = fetched(engine, predict(engine, model))
    assert isinstance(found, ByGroup)
    z = rows["y"].astype(float) - rows["score"].astype(float)
    for one in found.groups:
        assert isinstance(one.found, Residuals)
        here = rows["g"] == one.value
        assert one.found.mae == pytest.approx(np.abs(z[here]).mean())
        assert one.found.rmse == pytest.approx(np.sqrt((z[here] ** 2).mean()))
        y = rows["y"][here].astype(float)
        assert one.found.r2 == pytest.approx(1 - (z[here] ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert isinstance(found.whole, Residuals)
    assert found.whole.mae == pytest.approx(np.abs(z).mean())
    assert found.whole.rmse == pytest.approx(np.sqrt((z**2).mean()))
    y = rows["y"].astype(float)
    assert found.whole.r2 == pytest.approx(1 - (z**2).sum() / ((y - y.mean()) ** 2).sum())


@pytest.mark.slow
@pytest.mark.parametrize("sample", [None, 1000])
def test_groups_of_rows_with_weights(engine: Engine, sample: int | None) -> None:
    """The column is one of the label's relation that the query does not return. A sum of terms is one feature."""
    query = """SELECT t.y, 1 + t.month % 2 AS w, t.x - o.price AS d, t.city, o.colour
        FROM trips t JOIN offers o ON o.k = t.k"""
    join = replace(categories(np.random.default_rng(2)), query=query)
    asked = training(by="month", weight="w", lam=1e-2, sample=sample)
    with join.created(engine):
        model = train(engine, "m", query, asked)
        assert [of.value for of in model.groups] == [1, 2, 3, 4]
        for of, part in zip(model.groups, model.parts, strict=True):
            assert_as_alone(engine, part, f"{query} WHERE t.month = {of.value}", asked)


def test_the_most_frequent_categories_are_those_of_all_rows(engine: Engine) -> None:
    """A group has weights for those that it has, and for all others together."""
    join, _ = made("categories")
    with join.created(engine):
        model = train(engine, "m", join.query, training(by="month", top=("city:3",), lam=1e-2))
        rows = fetched(engine, predict(engine, model))
    cities = {tuple(w.category for w in of.weights if w.feature == "city") for of in model.groups}
    assert len(cities) == 1
    assert [OTHER in each and len(each) for each in cities] == [4]
    assert not np.isnan(rows["score"].astype(float)).any()


# -- what is done with the model ---------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_group(engine: Engine) -> None:
    """In the database and in memory, also for rows of no group; and the measures are those of the rows."""
    join, _ = made("star")
    with join.created(engine):
        model = train(engine, "m", join.query, training(by="g", lam=1e-2))
        assert Model.from_json(json.loads(json.dumps(model.as_json()))).as_json() == model.as_json()
        rows = fetched(engine, predict(engine, model))
        by_text = exp.alias_(parse_one(score_sql(model), read=engine.dialect), "p")
        again = fetched(engine, exp.select("score", by_text).from_(predict(engine, model).subquery("rows")))
        found = on_all(engine, model, lambda problem: measure(problem, model))
        parts = {of.value: fetched(engine, predict(engine, p)) for of, p in zip(model.groups, model.parts, strict=True)}
    for name in ("score", "p"):
        np.testing.assert_array_equal(again[name].astype(float), rows["score"].astype(float))
    g = rows["g"].tolist()
    for place, value in enumerate(g):
        wanted = parts[value]["score"][place] if value in parts else None
        assert rows["score"][place] == wanted or (is_missing(rows["score"][place]) and wanted is None)
        assert is_missing(rows["prediction"][place]) == (value not in parts)
    svc = RelationalSVC(1e-4)
    svc._take(model)
    frame = {
        **{name: rows[name] for name in ("qty", "price", "size", "open", "weight")},
        "g": np.array([*g[:-1], "new"]),
    }
    scores = svc.decision_function(frame)
    np.testing.assert_array_equal(scores[:-1], rows["score"][:-1].astype(float))
    assert np.isnan(scores[-1])
    assert svc.predict(frame)[-1] is None
    assert svc.groups_.tolist() == [of.value for of in model.groups] == ["a", "b's", "c"]
    assert isinstance(found, ByGroup)
    assert found.missed == sum(value is None for value in g)
    for one in found.groups:
        assert isinstance(one.found, Evaluation)
        here = np.array([value == one.value for value in g])
        y, score = rows["y"][here].astype(bool), rows["score"][here].astype(float)
        assert one.found.auc is not None
        assert one.found.auc.value == pytest.approx(roc_auc_score(y, score))
        assert one.found.accuracy.value == pytest.approx((y == (score > 0)).mean())
    known = np.array([value is not None for value in g])
    assert isinstance(found.whole, Evaluation)
    right = rows["y"][known].astype(bool) == (rows["score"][known].astype(float) > 0)
    assert found.whole.accuracy.value == pytest.approx(right.mean())


def is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def test_a_large_group_is_measured_in_the_database(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    join, _ = made("chain")
    with join.created(engine):
        model = train(engine, "m", join.query, training(by="v", lam=1e-2))
        small = on_all(engine, model, lambda problem: measure(problem, model))
        sized(monkeypatch, of_group=100)
        large = on_all(engine, model, lambda problem: measure(problem, model))
    assert isinstance(small, ByGroup)
    assert isinstance(large, ByGroup)
    for one, other in zip(small.groups, large.groups, strict=True):
        assert one.value == other.value
        assert isinstance(one.found, Evaluation)
        assert isinstance(other.found, Evaluation)
        assert one.found.accuracy.value == pytest.approx(other.found.accuracy.value, abs=1e-12)


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_groups_have_intervals_on_rows_held_out(duckdb: Engine, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    """In memory they are those that the database counts, and those of all groups are those of means of samples."""
    join, found = made(shape)[0], []
    with join.created(duckdb):
        model = train(duckdb, "m", join.query, training(by="v" if shape == "chain" else "g", lam=1e-2, holdout=0.5))
        for most in (Engine.sizes.of_group, 0):
            sized(monkeypatch, of_group=most)
            found.append(
                on_parts(duckdb, model, lambda problem: measure_held_out(problem, model), ["holdout"])["holdout"]
            )
    small, large = found
    assert isinstance(small, ByGroup)
    assert isinstance(large, ByGroup)
    assert any(one.found.intervals for one in small.groups)
    for one, other in zip(small.groups, large.groups, strict=True):
        assert one.found.intervals.keys() == other.found.intervals.keys()
        for name, interval in one.found.intervals.items():
            error = other.found.intervals[name].standard_error
            assert interval.standard_error == pytest.approx(error, rel=1e-9 if name == "accuracy" else 0.1)
    assert small.whole
    if all(one.found.intervals for one in small.groups):
        rows = np.array([one.rows for one in small.groups])
        errors = [one.found.intervals["accuracy"].standard_error for one in small.groups]
        expected = np.sqrt((np.square(rows * errors)).sum()) / rows.sum()
        assert small.whole.intervals["accuracy"].standard_error == pytest.approx(expected)
    else:
        assert small.whole.no_intervals
    assert "intervals" in str(small.as_json())


def test_rows_held_out_are_of_every_group(engine: Engine) -> None:
    join, _ = made("star")
    with join.created(engine):
        model = train(engine, "m", join.query, training(by="g", lam=1e-2, holdout=0.3))
        found = on_parts(engine, model, lambda problem: measure(problem, model))
    assert model.trained_on.held_out
    whole = {part: each.whole for part, each in found.items() if isinstance(each, ByGroup)}
    assert isinstance(whole["train"], Evaluation)
    assert isinstance(whole["holdout"], Evaluation)
    assert whole["train"].negatives + whole["train"].positives == model.join_rows
    assert whole["holdout"].positives > 0


def test_an_offloaded_training_finds_the_same_groups(postgres: Engine) -> None:
    join, _ = made("star")
    with join.created(postgres):
        here = train(postgres, "m", join.query, training(by="g", lam=1e-2))
        there = train(postgres, "m", join.query, training(by="g", lam=1e-2, offload=True))
    assert [of.value for of in here.groups] == [of.value for of in there.groups]
    for one, other in zip(here.groups, there.groups, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-9)


# -- groups that cannot be trained, and what is refused ----------------------------------------------------------------


def few(engine: Engine, rows: str) -> str:
    build(engine, "CREATE TABLE f (g TEXT, y INT, x FLOAT8, z FLOAT8, day DATE); CREATE TABLE d (k INT PRIMARY KEY)")
    typed(engine, parse_one(f"INSERT INTO f (g, y, x, z) VALUES {rows}"))
    return "SELECT f.y, f.x, f.z FROM f"


def test_a_group_without_both_classes_is_skipped_and_named(engine: Engine) -> None:
    """The others are trained. A feature that is constant in a group weighs nothing there."""
    query = few(
        engine,
        """('a', 1, 1, 5), ('a', -1, 2, 5), ('b', 1, 3, 1), ('b', 1, 4, 1), ('c', -1, 1, 2),
        (NULL, 1, 0, 0), (NULL, -1, 0, 0)""",
    )
    model = train(engine, "m", query, training(by="g", lam=1e-2))
    assert [(each.value, each.rows) for each in model.skipped] == [("b", 2.0), ("c", 1.0)]
    assert "one class only: no row of the join is negative" in model.skipped[0].why
    assert [of.value for of in model.groups] == ["a"]
    assert model.groups[0].weights[1].weight == 0.0
    assert model.ungrouped == 2.0
    assert model.notes[0].startswith("2 groups of g are skipped: b: the label y has one class only")
    assert model.notes[1] == "g is NULL in 2 rows of the join: these are in no group"
    typed(engine, parse_one("DELETE FROM f WHERE g = 'a'"))
    with pytest.raises(DataError, match="no group of by='g' can be trained"):
        train(engine, "m", query, training(by="g"))
    assert not [table for table in engine.table_names() if "sqlsvm_" in table]


REFUSED = (
    ("nowhere", "by: f, which has the label, has no column nowhere"),
    ("y", "by: y is the label"),
    ("day", "by: day is of type"),
)


def test_other_columns_are_refused(engine: Engine) -> None:
    query = few(engine, "('a', 1, 1, 5), ('a', -1, 2, 5)")
    for by, said in REFUSED:
        with pytest.raises(SqlsvmError, match=said):
            train(engine, "m", query, training(by=by))
    with pytest.raises(OptionError, match="by: k is not a column of f, which has the label"):
        train(engine, "m", f"{query} CROSS JOIN d", training(by="k"))


def test_too_many_groups_are_refused(duckdb: Engine) -> None:
    build(duckdb, "CREATE TABLE f AS SELECT i AS g, i % 2 = 0 AS y, i * 1.0 AS x FROM range(10001) AS r(i)")
    with pytest.raises(OptionError, match="by='g' makes more than 10,000 groups"):
        train(duckdb, "m", "SELECT f.y, f.x FROM f", training(by="g"))


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "pegasos"},
        {"lam": "auto", "loss": "auto", "measure": "loss"},
        {"constrain": ("fair:x:0.1",)},
        {"solver": "descent"},
    ],
    ids=str,
)
def test_options_that_do_not_go_with_groups(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        training(by="g", scale="maxabs", **options)


@pytest.mark.slow
@pytest.mark.parametrize("few", [True, False])
def test_each_group_of_a_path_is_measured_by_folds(duckdb: Engine, few: bool) -> None:
    """As if each were trained alone on its rows, in memory or not. A group without a class in a fold has a note."""
    join, _ = made("star")
    options: dict[str, Any] = {"folds": 3, "categorical": join.categorical} | ({} if few else {"in_memory": 0})
    asked = {f"m{lam}": training(by="g", lam=lam, **options) for lam in (0.1, 0.01)}
    with join.created(duckdb):
        models = trained(duckdb, join.query, asked)
        ones = {
            of.value: trained(
                duckdb,
                alone(duckdb, join.query, of.value),
                {name: replace(each, by=None) for name, each in asked.items()},
            )
            for of in models[0].groups
        }
    assert [model.lam for model in models] == [0.1, 0.01]
    for n, model in enumerate(models):
        assert all((part.counting == "in memory") is few for part in model.parts)
        assert len(model.groups) > 1
        for of in model.groups:
            one = ones[of.value][n]
            assert of.lower_bound <= one.objective_upper * (1 + 1e-9)
            assert one.lower_bound <= of.objective_upper * (1 + 1e-9)
            for name, found in of.validation.items():
                assert found.mean == pytest.approx(one.validation[name].mean, rel=0.25, abs=0.05), name
        rows = np.array([of.join_rows for of in model.groups])
        losses = [of.validation["loss"].mean for of in model.groups]
        assert model.validation["loss"].mean == pytest.approx(float(rows @ losses / rows.sum()))
        assert "auc" not in model.validation


@pytest.mark.slow
@pytest.mark.parametrize("in_memory", [None, 0])
def test_folds_in_time_begin_at_the_same_times_in_each_group(duckdb: Engine, in_memory: int | None) -> None:
    """Each round measures the rows of the group that are in its span, and trains on those before it."""
    join, _ = made("star")
    asked = training(by="g", lam=0.1, folds=3, time="item", categorical=join.categorical, in_memory=in_memory)
    seen: dict[tuple[object, int | None], float] = {}

    def measured(problem: Data, weights: Any) -> None:
        seen[problem.key.group, problem.key.fold] = problem.moments.n

    times = join.rows["sales"]["item"].astype(float)
    starts = np.sort(times)[[int(np.ceil(share * len(times))) for share in (0.25, 0.5, 0.75)]]
    with join.created(duckdb):
        train(duckdb, "m", join.query, asked, on_fold=measured)
        (model,) = trained(duckdb, join.query, {"m": asked})
        for of in model.groups:
            own = alone(duckdb, join.query, of.value)
            for n, (start, end) in enumerate(zip(starts, [*starts[1:], np.inf], strict=True)):
                spans = f"s.item < {start}", f"s.item >= {start}" + (f" AND s.item < {end}" if end < np.inf else "")
                before, later = (f"{own} AND {span}" for span in spans)
                assert seen[of.value, n] == len(fetched(duckdb, later)["y"])
                one = train(duckdb, "m", before, replace(asked, by=None, folds=None, time=None))
                found = on_all(duckdb, of_query(duckdb, one, later), partial(measure, model=one))
                assert isinstance(found, Evaluation)
                assert of.validation["accuracy"].folds[n] == pytest.approx(found.accuracy.value, abs=0.06)
    assert len(seen) == 3 * len(model.groups)
    assert model.validation.keys() >= {"accuracy", "loss"}


@pytest.mark.parametrize(
    "more", [{}, {"in_memory": 0}, {"l1": "auto", "lam": 1e-3}, {"in_memory": 0, "folds": 2}], ids=str
)
def test_each_group_chooses_its_own_penalty(duckdb: Engine, more: dict[str, Any]) -> None:
    """As a training on its rows alone does, and what the choice tells of a group is a part of it."""
    join, _ = made("star")
    asked = training(**{"by": "g", "lam": "auto", **more})
    with join.created(duckdb):
        (model,) = trained(duckdb, join.query, {"m": asked})
        query = alone(duckdb, join.query, "b's")
        (one,) = trained(duckdb, query, {"m": replace(asked, by=None)})
    assert len({(part.lam, part.l1) for part in model.parts}) > 1 or "l1" in more  # one l1 may be the best of all
    (part,) = (part for of, part in zip(model.groups, model.parts, strict=True) if of.value == "b's")
    assert (part.lam, part.l1) == (one.lam, one.l1)
    assert part.chosen
    assert one.chosen
    assert part.chosen == one.chosen.short
    assert part.lower_bound <= one.objective_upper * (1 + 1e-9)
    assert one.lower_bound <= part.objective_upper * (1 + 1e-9)
    assert part.probability
    again = Model.from_json(json.loads(json.dumps(model.as_json())))
    assert [p.l1 for p in again.parts] == [p.l1 for p in model.parts]
    rows = {of.lam: 0.0 for of in model.groups}
    for of in model.groups:
        rows[of.lam] += of.join_rows
    assert rows[model.lam] == max(rows.values())


def two_kinds(engine: Engine) -> str:
    """Group a has numbers with far tails, for which logistic is not the best."""
    rng = np.random.default_rng(5)
    x, z, g = rng.exponential(size=1600) ** 3, rng.normal(size=1600), np.repeat(["a", "b"], 800)
    y = np.where(g == "a", x + rng.normal(size=1600) * 0.3 > 1.0, z + rng.logistic(size=1600) > 0.0)
    build(engine, "CREATE TABLE kinds (y BOOLEAN, x FLOAT8, z FLOAT8, g TEXT)")
    engine.copy_in(meant(engine, "kinds"), {"y": y, "x": x, "z": z, "g": g})
    return "SELECT k.y, k.x, k.z, k.g FROM kinds k"


@pytest.mark.parametrize("in_memory", [None, 0])
def test_each_group_chooses_its_own_loss(duckdb: Engine, in_memory: int | None) -> None:
    """As a training on its rows alone does. The mean over groups has no loss, for one is not another."""
    text = two_kinds(duckdb)
    asked = training(by="g", lam="auto", loss="auto", folds=2, in_memory=in_memory)
    (model,) = trained(duckdb, text, {"m": asked})
    for of, part in zip(model.groups, model.parts, strict=True):
        (one,) = trained(duckdb, alone(duckdb, text, of.value), {"m": replace(asked, by=None)})
        assert (part.loss, part.lam) == (one.loss, one.lam)
        assert part.lower_bound <= one.objective_upper * (1 + 1e-9)
        assert one.lower_bound <= part.objective_upper * (1 + 1e-9)
        assert of.validation["loss"].mean == pytest.approx(one.validation["loss"].mean, rel=0.1)
    assert len({part.loss for part in model.parts}) == 2
    assert model.validation.keys() == {*model.groups[0].validation} - {"auc", "loss"}
    again = Model.from_json(json.loads(json.dumps(model.as_json())))
    assert [part.loss for part in again.parts] == [part.loss for part in model.parts]
    found = on_all(duckdb, model, partial(measure, model=model))
    assert isinstance(found, ByGroup)
    assert len(found.groups) == 2
    drawn = draw_several(model, io.StringIO())
    assert all(part.loss.replace("_", " ") in drawn for part in model.parts)


def test_cuts_of_a_group_are_of_the_loss_that_it_chose(duckdb: Engine) -> None:
    """If it chooses another one, they prove nothing of that."""
    text = two_kinds(duckdb)
    typed(duckdb, parse_one("SET threads = 1", read="duckdb"))
    asked = training(by="g", lam="auto", loss="auto", in_memory=0, sample=300, tol=1e-9, max_passes=3)
    first = Continuation()
    model = train(duckdb, "m", text, asked, None, first)
    assert first.last
    before = Saved.from_json(json.loads(json.dumps(first.last.as_json())))
    assert [part.loss for part in before.parts] == [part.loss for part in model.parts]
    going = train(duckdb, "m", text, asked, None, Continuation(before))
    assert going.groups[0].passes > 3
    parts = tuple(replace(part, loss="modified_huber") for part in before.parts)
    other = train(duckdb, "m", text, asked, None, Continuation(replace(before, parts=parts)))
    for part, of in zip(other.parts, other.groups, strict=True):
        assert of.passes <= 3, "cuts of another loss were kept"
        one = train(duckdb, "m", alone(duckdb, text, of.value), training(loss=part.loss, lam=part.lam))
        assert part.lower_bound <= one.objective_upper * (1 + 1e-9)
        assert one.lower_bound <= part.objective_upper * (1 + 1e-9)


@pytest.mark.parametrize("map_", ["trees:8:4", pytest.param("net:t:2", marks=pytest.mark.slow)])
def test_each_fold_learns_maps_of_its_own_for_all_groups(duckdb: Engine, map_: str) -> None:
    """A fold of a group is measured by the training that holds that fold out."""
    create, columns = crossed()
    build(duckdb, create.replace("n FLOAT8", "n FLOAT8, g TEXT"))
    columns["g"] = np.where(np.arange(len(columns["y"])) % 3 == 0, "a", "b")
    duckdb.copy_in(meant(duckdb, "crossed"), columns)
    text, asked = "SELECT t.y, t.x, t.z, t.g FROM crossed t", training(map=(map_,), folds=2, lam=1e-2, by="g")
    (model,) = trained(duckdb, text, {"m": asked})
    assert [of.value for of in model.groups] == ["a", "b"]
    for fold in range(2):
        (one,) = train_each(duckdb, text, {"m": replace(asked, fold=fold)})
        assert one.maps != model.maps
        held = rows_of_fold(duckdb, text, asked, fold)
        right = (scores(one, held) > 0) == held["y"].astype(bool)
        for of in model.groups:
            here = held["g"] == of.value
            assert of.validation["accuracy"].folds[fold] == pytest.approx(np.mean(right[here]))
    rows = np.array([of.join_rows for of in model.groups])
    each = [of.validation["accuracy"].mean for of in model.groups]
    assert model.validation["accuracy"].mean == pytest.approx(float(rows @ each / rows.sum()))


def test_each_group_is_measured_on_its_rows_held_out(duckdb: Engine) -> None:
    """With errors, and of several models the best for each group is one of those."""
    join, _ = made("star")
    asked = {f"m{lam}": training(by="g", lam=lam, holdout=0.4, categorical=join.categorical) for lam in (10.0, 0.01)}
    with join.created(duckdb):
        models = trained(duckdb, join.query, asked)
        for model in models:
            found = on_parts(duckdb, model, partial(measure_held_out, model=model), ["holdout"])["holdout"]
            assert isinstance(found, ByGroup)
            assert isinstance(found.whole, Evaluation)
            for of, one in zip(model.groups, found.groups, strict=True):
                for name, interval in one.found.intervals.items():
                    assert of.validation[name].mean == pytest.approx(interval.value), name
                    assert of.validation[name].standard_error == pytest.approx(interval.standard_error), name
            assert model.validation["accuracy"].mean == pytest.approx(found.whole.accuracy.value)
    best = best_of_groups(models, "loss", None)
    for place, of in enumerate(best.groups):
        losses = [model.groups[place].validation["loss"].mean for model in models]
        assert of.validation["loss"].mean == min(losses)


def test_the_error_of_a_number_over_all_groups_is_that_of_all_rows(duckdb: Engine) -> None:
    text = two_kinds(duckdb).replace("k.y", "CASE k.g WHEN 'a' THEN 9 ELSE 1 END * (k.z + k.x * k.z) AS y")
    (model,) = trained(duckdb, text, {"m": training(loss="squared", lam=1e-2, by="g", holdout=0.4)})
    found = on_parts(duckdb, model, partial(measure, model=model), ["holdout"])["holdout"]
    assert isinstance(found, ByGroup)
    assert isinstance(found.whole, Residuals)
    for name in ("rmse", "mae"):
        assert model.validation[name].mean == pytest.approx(getattr(found.whole, name)), name
        assert model.validation[name].standard_error


def test_a_group_that_is_too_small_to_choose_has_the_default(duckdb: Engine) -> None:
    join, _ = made("star")
    text = join.query.replace("THEN 'a'", "THEN CASE WHEN s.price > 2.4 THEN 'few' ELSE 'a' END")
    with join.created(duckdb):
        model = train(duckdb, "m", text, training(by="g", lam="auto"))
    assert [of.value for of in model.groups if of.chosen is None] == ["few"]
    said = "lambda has its default for g few: few different rows of the label's table are in the group"
    assert said in model.notes


def test_a_fold_of_a_group_is_of_its_rows(duckdb: Engine) -> None:
    """Each row of a group is measured once, and the weights of its fold are those of the other rows."""
    join, _ = made("star")
    asked = {"m": training(by="g", lam=0.1, folds=3, categorical=join.categorical)}
    counted: dict[object, float] = {}

    def on_fold(problem: Data, weights: object) -> None:
        key = problem.key
        assert key.fold in (0, 1, 2)
        counted[key.group] = counted.get(key.group, 0.0) + problem.moments.n

    with join.created(duckdb):
        (model,) = train_each(duckdb, join.query, asked, on_fold=on_fold)
    assert counted == {of.value: of.join_rows for of in model.groups}


def test_what_takes_one_vector_of_weights_refuses_groups(duckdb: Engine) -> None:
    join, _ = made("star")
    with join.created(duckdb):
        model = train(duckdb, "m", join.query, training(by="g", lam=1e-2))
        for refused in (graph, pipeline):
            with pytest.raises(OptionError, match="model m has"):
                refused(model)
        with pytest.raises(OptionError, match="a training begins at one"):
            train(duckdb, "m", join.query, training(), start=model)


@pytest.mark.parametrize(
    ("label", "more"), [("y", {"holdout": 0.4}), ("kind", {}), ("price", {"loss": "squared"})], ids=str
)
def test_a_report_has_a_line_for_each_group(duckdb: Engine, label: str, more: dict[str, Any]) -> None:
    """What is proven of each, its weights, and how good it is; and all of them together."""
    kind = "CASE WHEN k.x > 2 THEN 'far' WHEN k.z > 0 THEN 'up' ELSE 'no' END"
    own = {"y": "k.y", "kind": f"{kind} AS kind", "price": "k.z * 2 + k.x * k.x AS price"}[label]
    text = two_kinds(duckdb).replace("k.y", own).replace("k.g", "CASE WHEN k.x > 0.001 THEN k.g END AS g")
    (model,) = trained(duckdb, text, {"m": training(label=label, by="g", lam=1e-2, **more)})
    report = gather_from(duckdb, model)
    assert not report.missing
    assert report.groups
    page = html(report, datetime(2024, 1, 1))
    for of, one in zip(model.groups, report.groups.groups, strict=True):
        assert f"<td>{of.value}</td>" in page
        assert f"{of.lower_bound:.6g}" in page
        name = "rmse" if model.of_numbers else "accuracy"
        assert f"{MEASURES[name].value(one.found):.4g}" in page
    assert "for each of 2 groups" in page
    assert "of the join are in no group with a model" in page
    assert "the tables have changed since" not in page
    assert gather(model, None).missing


def test_psql_chooses_the_group(installed: Engine, installed_dsn: str) -> None:
    join, _ = made("star")
    with join.created(installed):
        model = train(installed, "by_g", join.query, training(by="g", lam=1e-2))
        open_store(installed).save(model)
        rows = fetched(installed, predict(installed, model))
        named = ("g", "qty", "price", "size", "open", "weight")
        for place in range(8):
            row = {name: rows[name][place] for name in named}
            given = json.dumps({n: v.item() if isinstance(v, np.generic) else v for n, v in row.items()})
            found = installed.fetch(
                Text("SELECT sqlsvm.decision_function('by_g', $1::jsonb) AS s, sqlsvm.predict('by_g', $2::jsonb) AS p"),
                [given, given],
            )
            wanted = rows["score"][place]
            assert found["s"][0] == pytest.approx(wanted, rel=1e-12, nan_ok=True)
            assert found["p"][0] == (None if row["g"] is None else str(bool(wanted > 0)).lower())
    for call in ("score_sql('by_g')", "weights('by_g')"):
        with pytest.raises(StatementError, match='model "by_g" has 3 groups'):
            installed.fetch(Text(f"SELECT * FROM sqlsvm.{call}"))


@pytest.mark.slow
def test_groups_of_random_worlds(shared_engine: Engine) -> None:
    """Each is proven for the rows of its query with WHERE. Many worlds have no group with both classes. On either
    engine every other one."""
    engine, seen = shared_engine, 0
    for seed in range(engine.dialect == "duckdb", 24, 2):
        world = random_world(np.random.default_rng(seed), max_relations=4, features=True, label=True)
        assert world.label
        own = [f for f in world.features if f.relation == world.label.relation and f.relation not in world.optional]
        if not own:
            continue
        asked = training(label=world.label.name, by=own[0].name, lam=1e-2, nulls="mean")
        with world.created(engine) as live:
            text = live.query(engine.dialect)
            try:
                model = train(engine, "m", text, asked)
            except DataError:
                continue
            for of, part in zip(model.groups, model.parts, strict=True):
                rows = truth(engine, alone(engine, text, of.value, by=own[0].name), wish_of(asked))
                assert_proven(engine, part, rows)
                assert_beside_liblinear(part, rows)
                seen += 1
    assert seen > 2


@pytest.mark.parametrize("by", [None, "g"])
def test_sums_of_a_class_are_over_the_rows_of_a_fold(
    duckdb: Engine, monkeypatch: pytest.MonkeyPatch, by: str | None
) -> None:
    """That of the intercept is how many they are. In a group it was that of all folds: cuts at 0 were wrong."""
    seen = list[Data]()

    def each_class(data: Data) -> list[Data]:
        seen.extend(made := against_others(data))
        return made

    monkeypatch.setattr("sqlsvm.run.problems.against_others", each_class)
    x = np.random.default_rng(3).normal(size=240)
    y = np.array(["a", "b", "c"], dtype=object)[np.digitize(x, [-0.5, 0.5])]
    build(duckdb, "CREATE TABLE t (y TEXT, x FLOAT8, g INT)")
    duckdb.copy_in(meant(duckdb, "t"), {"y": y, "x": x, "g": np.arange(240) % 2})
    asked = training(by=by, lam=0.1, folds=3, intercept="free")
    (model,) = trained(duckdb, "SELECT t.y, t.x, t.g FROM t", {"m": asked})
    assert model.converged
    assert {each.key.fold for each in seen} == {None, 0, 1, 2}
    for each in seen:
        assert each.moments.total_negative[0] == each.moments.n_negative
