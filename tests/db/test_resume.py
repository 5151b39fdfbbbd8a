"""A training that did not finish, and the one that goes on: as if nothing had been, or from the best weights, but never
with a proof that is not one of its own rows."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.engine import connect
from sqlsvm.engine.base import Engine, Text
from sqlsvm.errors import EngineError
from sqlsvm.model.model import Model
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run import resume
from sqlsvm.run.opening import labelled
from sqlsvm.run.resume import Continuation, Saved, digests
from sqlsvm.run.train import train, train_each
from sqlsvm.run.training import Training
from sqlsvm.solve.solution import OnPass, Record
from sqlsvm.store import open_store
from tests.ground.joins import Join, categories, chain
from tests.ground.opened import build, truth
from tests.ground.trained import assert_proven, training, wish_of
from tests.typed import typed


@pytest.fixture
def join(engine: Engine) -> Join:
    made = chain(np.random.default_rng(1), rows=150, fan_out=3)
    made.create(engine)
    if engine.dialect == "duckdb":  # so that sums come out alike to the last digit
        typed(engine, parse_one("SET threads = 1", read="duckdb"))
    return made


def interrupted(engine: Engine, text: str, asked: Training, after: int = 2) -> Saved:
    """What is left of a training that ends after some passes, by way of its JSON."""

    def stop(record: Record) -> None:
        if record.pass_ == after:
            raise KeyboardInterrupt

    continuation = Continuation()
    with pytest.raises(KeyboardInterrupt):
        train(engine, "m", text, asked, stop, continuation)
    assert continuation.last
    return Saved.from_json(json.loads(json.dumps(continuation.last.as_json())))


def resumed(engine: Engine, text: str, asked: Training, before: Saved) -> tuple[Model, str]:
    said: list[str] = []
    model = train(engine, "m", text, asked, None, Continuation(before, said.append))
    (sentence,) = said
    return model, sentence


def facts(model: Model) -> tuple[object, ...]:
    history = [{k: v for k, v in record.items() if k != "seconds"} for record in model.history]
    return model.weights, model.intercept, model.lower_bound, model.objective_upper, history


SAME = "resuming after 2 passes: the rows and the options are the same, so what was proven still is"
ANEW = "starting anew from the best weights of 2 passes, which no longer prove anything: "

SOLVERS: dict[str, dict[str, Any]] = {
    "dane": {"sample": 200, "tol": 1e-4},
    "bundle": {"solver": "bundle", "tol": 0.05},
    "descent": {"solver": "descent", "scale": "maxabs", "max_passes": 5, "counting": "exact"},
}


@pytest.mark.slow
@pytest.mark.thin(5)
@pytest.mark.parametrize("solver", SOLVERS)
def test_as_if_it_had_never_stopped(engine: Engine, join: Join, solver: str) -> None:
    """To the last digit; max_passes counts the passes of this run alone."""
    asked = training(lam=1e-3, **SOLVERS[solver])
    quiet = train(engine, "m", join.query, asked)
    assert quiet.passes > 2
    rest = replace(asked, max_passes=quiet.passes - 2)
    model, said = resumed(engine, join.query, rest, interrupted(engine, join.query, asked))
    assert said == SAME
    assert facts(model) == facts(quiet)


CLASSES = "CASE WHEN m.v > 0.5 THEN 'much' WHEN m.u > 0 THEN 'some' ELSE 'none' END AS y"


def classed(join: Join) -> str:
    return join.query.replace("SELECT m.y", f"SELECT {CLASSES}", 1)


@pytest.mark.parametrize("text", ["chain", "star"])
def test_classes_go_on_as_if_they_had_never_stopped(engine: Engine, join: Join, text: str) -> None:
    """Each class has its own log, and those that are finished make no pass. With one bag they share scans."""
    query = classed(join) if text == "chain" else f"SELECT {CLASSES}, m.u, m.v FROM m"
    asked = training(lam=1e-3, sample=200, tol=1e-4)
    quiet = train(engine, "m", query, asked)
    assert max(of.passes for of in quiet.classes) > 2
    before = interrupted(engine, query, asked)
    passes = [past.passes for past in before.parts[0].pasts]
    assert max(passes) == 2
    model, said = resumed(engine, query, asked, before)
    assert said == SAME.replace("2 passes", f"{sum(passes)} passes")
    for found, wanted in zip(model.classes, quiet.classes, strict=True):
        assert (found.passes, found.weights) == (wanted.passes, wanted.weights)
        assert (found.lower_bound, found.objective_upper) == (wanted.lower_bound, wanted.objective_upper)
        assert found.converged
    done = Continuation(before)
    longer = replace(asked, max_passes=1, tol=1e-9)
    assert [of.passes for of in train(engine, "m", query, longer, None, done).classes] == [n + 1 for n in passes]
    assert done.unfinished
    assert done.last
    assert done.last.passes == before.passes + 3


@pytest.mark.slow
def test_classes_go_on_along_a_path(duckdb: Engine) -> None:
    """From the middle of its second training."""
    join = chain(np.random.default_rng(1), rows=150, fan_out=3)
    join.create(duckdb)
    typed(duckdb, parse_one("SET threads = 1", read="duckdb"))
    trainings, text = path(tol=1e-4), classed(join)
    quiet = train_each(duckdb, text, trainings)
    first = Continuation()
    with pytest.raises(KeyboardInterrupt):
        train_each(duckdb, text, trainings, stopping("m_0.01", 0), dict.fromkeys(trainings, first))
    assert first.last
    second = Continuation(Saved.from_json(json.loads(json.dumps(first.last.as_json()))))
    found = train_each(duckdb, text, trainings, continuations=dict.fromkeys(trainings, second))
    assert not second.unfinished
    assert [model.passes for model in found] == [model.passes for model in quiet]
    assert [model.lower_bound for model in found] == [model.lower_bound for model in quiet]


@pytest.mark.slow
def test_classes_start_anew_where_there_are_others_now(duckdb: Engine) -> None:
    join = chain(np.random.default_rng(1), rows=150, fan_out=3)
    join.create(duckdb)
    asked, text = training(lam=1e-2, sample=200, tol=1e-4), classed(join)
    before = interrupted(duckdb, text, asked)
    typed(duckdb, parse_one("UPDATE m SET u = u / 10 WHERE v < 0.5"))
    model, said = resumed(duckdb, text, asked, before)
    assert said == ANEW.replace("2 passes", "6 passes") + "the rows of m have changed"
    assert model.converged
    (part,) = before.parts
    fewer = replace(before, parts=(replace(part, pasts=part.pasts[:2]),))
    model, said = resumed(duckdb, text, asked, fewer)
    assert said == "starting anew at 0: the rows of m have changed"
    assert model.converged


def test_cuts_serve_another_lambda_and_solver(engine: Engine, join: Join) -> None:
    before = interrupted(engine, join.query, training(lam=1e-3, sample=200))
    asked = training(lam=1e-2, solver="bundle", tol=0.05, counting="grid")
    model, said = resumed(engine, join.query, asked, before)
    assert said == SAME
    assert model.converged
    assert_proven(engine, model, truth(engine, join.query, wish_of(asked)))
    with_nothing = train(engine, "m", join.query, asked)
    assert len(model.history) - 2 < len(with_nothing.history)


LAMBDAS = 1e-1, 1e-2, 1e-3


def path(**options: Any) -> dict[str, Training]:
    return {f"m_{lam:g}": training(**({"lam": lam, "sample": 200} | options)) for lam in LAMBDAS}


def stopping(name: str, after: int) -> Callable[[str], OnPass | None]:
    """Ends a path in this training, after so many passes in all."""

    def stop(record: Record) -> None:
        if record.pass_ >= after:
            raise KeyboardInterrupt

    return lambda here: stop if here == name else None


@pytest.mark.slow
@pytest.mark.thin(3)
@pytest.mark.parametrize("where", [("m_0.01", 0), ("m_0.001", 0)])
def test_a_path_goes_on_where_it_ended(engine: Engine, join: Join, where: tuple[str, int]) -> None:
    """No pass is made again, and each model has its own passes."""
    trainings = path(tol=1e-4)
    quiet = train_each(engine, join.query, trainings)
    first = Continuation()
    with pytest.raises(KeyboardInterrupt):
        train_each(engine, join.query, trainings, stopping(*where), dict.fromkeys(trainings, first))
    assert first.last
    assert first.last.passes > quiet[0].passes
    said, made_now = list[str](), list[int]()
    second = Continuation(Saved.from_json(json.loads(json.dumps(first.last.as_json()))), said.append)
    counting = dict.fromkeys(trainings, second)
    found = train_each(engine, join.query, trainings, lambda name: lambda record: made_now.append(1), counting)
    (sentence,) = said
    assert sentence == SAME.replace("2 passes", f"{first.last.passes} passes")
    assert [model.passes for model in found] == [model.passes for model in quiet]
    assert len(made_now) == sum(model.passes for model in quiet) - first.last.passes
    assert not second.unfinished
    for model, asked in zip(found, trainings.values(), strict=True):
        assert model.converged
        assert_proven(engine, model, truth(engine, join.query, wish_of(asked)))


@pytest.mark.slow
def test_an_unfinished_training_leaves_all_passes_of_a_path() -> None:
    """Of one training chance decides which way takes fewer passes, so there are three."""
    more, anew = 0, 0
    for seed in (1, 2, 3):
        with connect("duckdb:") as engine:
            join = chain(np.random.default_rng(seed), rows=150, fan_out=3)
            join.create(engine)
            trainings = path(tol=1e-9, max_passes=2)
            first = Continuation()
            begun = train_each(engine, join.query, trainings, continuations=dict.fromkeys(trainings, first))
            assert first.unfinished
            assert first.last
            assert first.last.passes == sum(model.passes for model in begun)
            longer = path(tol=1e-4)
            second = Continuation(first.last)
            found = train_each(engine, join.query, longer, continuations=dict.fromkeys(longer, second))
            assert all(model.converged for model in found)
            more += sum(model.passes for model in found) - first.last.passes
            anew += sum(model.passes for model in train_each(engine, join.query, longer))
    assert more < anew


def test_a_proof_about_other_rows_is_none(engine: Engine, join: Join) -> None:
    """The labels become easy: what was a lower bound is above what can be reached by now."""
    asked = training(lam=1e-3, sample=200, tol=1e-3)
    old = train(engine, "m", join.query, asked)
    before = interrupted(engine, join.query, asked, after=1)
    typed(engine, parse_one("UPDATE m SET y = CASE WHEN u > 0 THEN 1 ELSE 0 END"))
    model, said = resumed(engine, join.query, asked, before)
    assert said == ANEW.replace("2 passes", "1 pass") + "the rows of m have changed"
    assert model.converged
    assert model.objective_upper < old.lower_bound / 2
    assert_proven(engine, model, truth(engine, join.query, wish_of(asked)))


def test_the_same_columns_may_be_another_label(postgres: Engine) -> None:
    """By CURRENT_DATE, or in another time zone: nothing that was proven of the one is so of the other."""
    build(postgres, "CREATE TABLE f (at TIMESTAMPTZ, x FLOAT8)")
    at, x = "TIMESTAMPTZ '2013-01-01 00:30Z' + i * INTERVAL '1 hour'", "CASE WHEN i BETWEEN 3 AND 14 THEN 1 ELSE -1 END"
    typed(postgres, f"INSERT INTO f SELECT {at}, {x} FROM generate_series(0, 23) AS i")
    text = "SELECT EXTRACT(HOUR FROM f.at) >= 12 AS y, f.x FROM f"
    asked = training(lam=1e-4, sample=200, tol=1e-9)
    postgres.execute(Text("SET TIME ZONE 'UTC'"))
    before = interrupted(postgres, text, asked, after=1)
    postgres.execute(Text("SET TIME ZONE 'Asia/Tokyo'"))
    model, said = resumed(postgres, text, replace(asked, tol=1e-3), before)
    assert said == ANEW.replace("2 passes", "1 pass") + "the rows of f have changed"
    assert model.objective_upper < 1e-3


@pytest.mark.slow
def test_maps_go_on_with_their_training(engine: Engine, join: Join) -> None:
    """They are those of the first run, whatever a network would learn now. Another seed asks for others."""
    asked = training(lam=1e-3, sample=200, tol=1e-4, map=("net:m:2", "spline:v:3"), nulls="mean")
    quiet = train(engine, "m", join.query, asked)
    before = interrupted(engine, join.query, asked)
    assert before.maps == quiet.maps
    rest = replace(asked, max_passes=quiet.passes - 2)
    model, said = resumed(engine, join.query, rest, before)
    assert said == SAME
    assert facts(model) == facts(quiet)
    typed(engine, parse_one("UPDATE m SET u = u * 2, v = v * v"))
    model, said = resumed(engine, join.query, asked, before)
    assert said == ANEW + "the rows of m have changed"
    assert model.maps == before.maps != train(engine, "m", join.query, asked).maps
    model, said = resumed(engine, join.query, replace(asked, seed=1), before)
    assert said == ANEW + "another seed"
    assert model.maps[0] != before.maps[0]


@pytest.mark.slow
def test_the_best_weights_are_a_good_start(engine: Engine, join: Join) -> None:
    """Under another scale too, because they are kept on the columns themselves; a new category weighs 0."""
    asked = training(lam=1e-3, solver="bundle", tol=0.02)
    before = interrupted(engine, join.query, asked, after=6)
    other = replace(asked, scale="maxabs")
    model, said = resumed(engine, join.query, other, before)
    assert said == ANEW.replace("2 passes", "6 passes") + "another scale"
    from_nothing = train(engine, "m", join.query, other)
    assert model.history[0]["objective"] < 0.8 * from_nothing.history[0]["objective"]
    assert_proven(engine, model, truth(engine, join.query, wish_of(other)))


def test_a_start_with_other_categories(engine: Engine) -> None:
    join = categories(np.random.default_rng(2))
    join.create(engine)
    asked = training(lam=1e-2, sample=300, tol=1e-6, categorical=join.categorical)
    before = interrupted(engine, join.query, asked)
    typed(engine, parse_one("UPDATE trips SET city = 'new' WHERE k = 3"))
    model, said = resumed(engine, join.query, replace(asked, tol=1e-2), before)
    assert said == ANEW + "the rows of t have changed"
    assert "new" in {w.category for w in model.weights}
    assert model.converged


def test_other_options(engine: Engine, join: Join) -> None:
    asked = training(lam=1e-3, sample=200, tol=1e-6)
    before = interrupted(engine, join.query, asked)
    loose = replace(asked, tol=0.1)
    narrowed = replace(loose, holdout=0.5, class_weight="balanced")
    assert resumed(engine, join.query, narrowed, before)[1] == ANEW + "another class weight, holdout, seed"
    fewer = join.query.replace("m.u, ", "")
    assert resumed(engine, fewer, loose, before)[1] == ANEW + "another query"
    unknown = replace(before, digests=None)
    assert resumed(engine, join.query, loose, unknown)[1] == ANEW + "the run ended before its rows were identified"
    moved = replace(before, objective={**before.objective, "database": "PostgreSQL 8.0"})
    assert resumed(engine, join.query, loose, moved)[1] == ANEW + "another database"
    steps = training(lam=1e-3, solver="descent", scale="maxabs", max_passes=1, counting="exact")
    said = resumed(engine, join.query, steps, before)[1]
    assert said.startswith("starting anew, for descent begins at 0")


def test_rows_are_identified_once_that_is_worth_it(engine: Engine, join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a large join not before the passes have taken some seconds; and when the run gives up."""
    monkeypatch.setattr(resume, "SMALL", 0)
    asked = training(lam=1e-3, sample=200, tol=1e-6)
    before = interrupted(engine, join.query, asked)
    assert before.digests is None
    loose = replace(asked, tol=0.1)
    assert resumed(engine, join.query, loose, before)[1] == ANEW + "the run ended before its rows were identified"
    gave_up = Continuation()
    train(engine, "m", join.query, replace(asked, max_passes=2), None, gave_up)
    assert gave_up.last
    assert gave_up.last.digests
    monkeypatch.setattr(resume, "PATIENCE", 0.0)
    assert interrupted(engine, join.query, asked).digests


def test_a_state_too_large(engine: Engine, join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "LARGEST_STATE", 10)
    asked = training(lam=1e-3, sample=200, tol=1e-3)
    before = interrupted(engine, join.query, asked)
    assert before.parts[0].states is None
    assert resumed(engine, join.query, asked, before)[1] == ANEW + "their cuts were too large to keep"


def test_what_ends_it_may_be_the_database(postgres: Engine) -> None:
    """After a statement that took too long, and with its transaction gone, the state is there, and the session too."""
    join = chain(np.random.default_rng(1), rows=3000, fan_out=3)
    join.create(postgres)
    asked, continuation = training(lam=1e-3, sample=200, tol=1e-6), Continuation()

    def hasten(record: Record) -> None:
        if record.pass_ == 2:
            postgres.execute(Text("SET LOCAL statement_timeout = 1"))

    with pytest.raises(EngineError, match="statement timeout"):
        train(postgres, "m", join.query, asked, hasten, continuation)
    assert continuation.last
    store = open_store(postgres)
    store.save_state("m", continuation.last.as_json())
    assert postgres.fetch(parse_one("SELECT COUNT(*) AS n FROM pg_class WHERE relname LIKE 'sqlsvm%'"))["n"][0] == 0
    found = store.load_state("m")
    assert found
    assert resumed(postgres, join.query, asked, Saved.from_json(found))[1] == SAME


# -- digests -----------------------------------------------------------------------------------------------------------

ROWS = """
CREATE TABLE t (id INT, y BOOLEAN, x FLOAT8, n NUMERIC(9, 2), word TEXT, day DATE, at TIMESTAMP, k INT);
INSERT INTO t VALUES (1, TRUE, 0.5, 1.5, 'a', '2020-01-02', NULL, 1), (2, TRUE, 1.5, NULL, 'b', NULL, NULL, 1),
    (3, FALSE, 0.5, NULL, NULL, NULL, '2020-01-02', 2), (3, FALSE, 0.5, NULL, NULL, NULL, '2020-01-02', 2)
"""
OF_ROWS = """SELECT t.y, t.x, t.n, t.word, EXTRACT(EPOCH FROM t.day) AS day, EXTRACT(EPOCH FROM t.at) AS at
    FROM t JOIN t AS u ON t.k = u.k WHERE t.x < 100"""


def digest(engine: Engine, text: str = OF_ROWS) -> dict[str, str]:
    return dict(digests(engine, labelled(engine, text, ProblemOptions("y"))))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE t SET x = 2 - x WHERE y",  # a swap: sums and squares of every column stay
        "UPDATE t SET word = 'c' WHERE word = 'b'",
        "UPDATE t SET n = 0 WHERE n IS NULL",
        "UPDATE t SET day = NULL",
        "UPDATE t SET y = NOT y WHERE k = 2",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t SELECT * FROM t",
    ],
)
def test_digests_see_every_change(engine: Engine, change: str) -> None:
    build(engine, ROWS)
    before = digest(engine)
    typed(engine, parse_one(change, read="postgres"))
    assert digest(engine)["t"] != before["t"]


def test_digests_see_nothing_else(engine: Engine) -> None:
    """Neither the order of the rows, nor columns that are not used, nor rows that WHERE leaves out."""
    build(engine, ROWS)
    before = digest(engine)
    assert before["t"] != before["u"]
    build(engine, "CREATE TABLE s AS SELECT * FROM t; DELETE FROM t; INSERT INTO t SELECT * FROM s ORDER BY x DESC, id")
    typed(engine, parse_one("INSERT INTO t VALUES (9, TRUE, 100, 1, 'a', NULL, NULL, NULL)"))
    typed(engine, parse_one("UPDATE t SET id = id + 1"))
    assert digest(engine)["t"] == before["t"]
    typed(engine, parse_one("DELETE FROM t"))
    assert digest(engine)["t"] == "0 None"


def assert_seen(engine: Engine, script: str, filled: str, text: str, change: str, table: str = "t") -> None:
    build(engine, script)
    typed(engine, filled)
    before = digest(engine, text)
    typed(engine, change)
    assert digest(engine, text)[table] != before[table]


def test_digests_see_a_row_that_is_found_and_left_out(engine: Engine) -> None:
    """Without it, the LEFT JOIN finds nothing, and WHERE keeps that."""
    script = "CREATE TABLE t AS SELECT TRUE AS y, 1 AS k UNION ALL SELECT FALSE, 2; CREATE TABLE u (k INT, x INT)"
    text = "SELECT t.y, u.x FROM t LEFT JOIN u ON u.k = t.k WHERE u.x IS NULL OR u.x > 1"
    assert_seen(engine, script, "INSERT INTO u VALUES (1, 1), (2, 2)", text, "DELETE FROM u WHERE k = 1", "u")


def test_digests_see_what_stands_side_by_side(engine: Engine) -> None:
    """Of two columns alone, each of which has the same values as before."""
    filled = "INSERT INTO t SELECT i % 2 = 0, i % 3, i FROM generate_series(0, 5) AS s (i)"
    change = "UPDATE t SET y = NOT y WHERE k IN (0, 1)"
    assert_seen(engine, "CREATE TABLE t (y BOOLEAN, x INT, k INT)", filled, "SELECT y, x FROM t", change)


def test_digests_of_any_type(postgres: Engine) -> None:
    """Not every type of PostgreSQL has a hash."""
    script = "CREATE TABLE t (y BOOLEAN, x INT, j JSON, p POINT, b BYTEA, a INT[])"
    filled = "INSERT INTO t VALUES (TRUE, 1, '[1]', '(1,2)', 'x', '{1}')"
    text = "SELECT y, x, json_array_length(j) AS j, p[0] AS p, length(b) AS b, a[1] AS a FROM t"
    assert_seen(postgres, script, filled, text, "UPDATE t SET p = '(2,2)'")
