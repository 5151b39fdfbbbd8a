"""Offloaded, a problem is the one that it is in place: for all types of keys and all meanings of expressions."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm.compile.statement import Statement
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, EngineError, OptionError, SqlsvmError
from sqlsvm.estimator import RelationalSVC
from sqlsvm.measures import TWO, of_scores
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.predict import predict
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rows import rows_of
from sqlsvm.run.offload import copies, offloaded
from sqlsvm.run.offload.export import exports
from sqlsvm.run.opening import labelled
from sqlsvm.run.resume import Continuation
from sqlsvm.run.train import train
from sqlsvm.run.workspace import workspace
from sqlsvm.times import TIMES
from tests.db.test_golden import folded
from tests.evaluating import evaluate_model, evaluate_parts
from tests.ground.joins import JOINS
from tests.ground.offloaded import both, found
from tests.ground.opened import build, truth
from tests.ground.schemas import random_world
from tests.ground.trained import assert_beside_liblinear, assert_proven, training, wish_of
from tests.typed import asked, typed

FOLDER = Path(__file__).parents[1] / "golden" / "offload"
SLOW = ("chain", "categories", "cyclic")


def assert_same(engine: Engine, text: str, label: str = "y", **options: Any) -> float:
    """The number of join rows."""
    here, there = both(engine, text, ProblemOptions(label, **options))
    assert there.same_as(here), (here, there)
    return here.sizes[0]


# -- any query ---------------------------------------------------------------------------------------------------------


def outcome(engine: Engine, seed: int) -> str:
    """A world with few rows often has an empty join, or one class: then the error must be the same."""
    world = random_world(np.random.default_rng(seed), max_relations=5)
    assert world.label
    with world.created(engine) as live:
        options = ProblemOptions(world.label.name, nulls="drop" if seed % 2 else "mean", scale="none")
        query = labelled(engine, live.query(engine.dialect), options)
        try:
            here, there = both(engine, live.query(engine.dialect), options)
        except SqlsvmError as error:
            return refused_alike(engine, query, options, error)
        assert there.same_as(here), seed
        return "same"


def refused_alike(engine: Engine, query: FeatureQuery, options: ProblemOptions, error: SqlsvmError) -> str:
    with pytest.raises(type(error)) as here:
        found(engine, query, options)
    with pytest.raises(type(error)) as there, offloaded(engine, query) as (local, copied):
        found(local, copied, options)
    assert here.value.message == there.value.message == error.message
    return "refused"


@pytest.mark.slow
def test_worlds(shared_postgres: Engine) -> None:
    assert [outcome(shared_postgres, seed) for seed in range(10)].count("same") >= 4


@pytest.mark.slow
@pytest.mark.thin(25)
@pytest.mark.parametrize("first", range(10, 160, 30))
def test_more_worlds(shared_postgres: Engine, first: int) -> None:
    assert [outcome(shared_postgres, seed) for seed in range(first, first + 30)].count("same") >= 8


# -- keys and values ---------------------------------------------------------------------------------------------------

KEYS = {
    "integers of two widths": ("SMALLINT", "BIGINT", ["1", "2", "-3", None]),
    "whole numbers": ("INT", "NUMERIC(6, 2)", ["1", "2", "3", None]),
    "numbers of two scales": ("NUMERIC", "NUMERIC(9, 4)", ["1.0", "1.00", "2.5", "-7", None]),
    "texts": ("TEXT", "VARCHAR(9)", ["", "ä€𝄞", "ÄB", "ab", "it's", "ab ", None]),
    "padded texts": ("CHAR(4)", "CHAR(4)", ["ab", "ab  ", "", "c", None]),
    "padded and plain texts": ("CHAR(4)", "TEXT", ["ab", "c", "", None]),
    "uuids": ("UUID", "UUID", ["00000000-0000-0000-0000-00000000000" + d for d in "123a"] + [None]),
    "instants": ("TIMESTAMPTZ", "TIMESTAMPTZ", ["2020-03-29 01:30+00", "2020-03-29 03:30+02", "infinity", None]),
    "instants of two precisions": ("TIMESTAMP", "TIMESTAMP(0)", ["2020-01-01", "1999-12-31 23:59:59", None]),
    "days and instants": ("DATE", "TIMESTAMP", ["2020-01-01", "0044-03-15 BC", None]),
    "times": ("TIME", "TIME", ["00:00", "23:59:59.999999", "24:00", None]),
    "spans": ("INTERVAL", "INTERVAL", ["1 day", "24 hours", "1 month", "30 days", None]),
    "floats": ("FLOAT8", "FLOAT8", ["0", "-0", "NaN", "0.1", None]),
    "floats of two widths": ("REAL", "FLOAT8", ["0.5", "0.1", "-0", None]),
    "booleans": ("BOOLEAN", "BOOLEAN", ["true", "false", None]),
    "bytes": ("BYTEA", "BYTEA", ["\\x00", "\\x0001", "", None]),
    "addresses": ("INET", "INET", ["10.0.0.1", "10.0.0.1/32", "10.0.0.0/8", None]),
    "arrays": ("INT[]", "INT[]", ["{1,2}", "{}", "{2,1}", None]),
    "enums": ("mood", "mood", ["sad", "so so", None]),
    "caseless texts": ("TEXT COLLATE caseless", "TEXT COLLATE caseless", ["a", "A", "b", None]),
}
TYPES = """
CREATE TYPE mood AS ENUM ('so so', 'sad');
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)
"""


def tables(engine: Engine, left: str, right: str, values: list[str | None]) -> None:
    """f many to many with g on k; f has every value three times, g the n-th one n times."""
    for statement in TYPES.strip().split(";"):
        typed(engine, exp.Command(this=statement))
    for name, type in (("f", left), ("g", right)):
        typed(engine, exp.Command(this=f"CREATE TABLE {name} (k {type}, x INT, y BOOLEAN)"))
    for n, value in enumerate(values):
        key = "NULL" if value is None else f"'{value.replace(chr(39), chr(39) * 2)}'"
        rows = ", ".join(f"({key}, {i + n}, {(i + n) % 2 == 0})" for i in range(3))
        typed(engine, exp.Command(this=f"INSERT INTO f VALUES {rows}"))
        rows = ", ".join(f"({key}, {i * n}, NULL)" for i in range(n + 1))
        typed(engine, exp.Command(this=f"INSERT INTO g VALUES {rows}"))


FEW = ("integers of two widths", "numbers of two scales", "texts", "instants", "floats", "caseless texts")


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[] if k in FEW else pytest.mark.slow) for k in KEYS])
def test_keys(postgres: Engine, kind: str) -> None:
    """As the key of a join, of a LEFT JOIN, and, where it can be one, as a category."""
    left, right, values = KEYS[kind]
    tables(postgres, left, right, values)
    assert assert_same(postgres, "SELECT f.y, f.x, g.x AS z FROM f JOIN g ON f.k = g.k") > 0
    once = "(SELECT k, MAX(x) AS x FROM g GROUP BY k)"
    rows = 3 * len(values)
    assert assert_same(postgres, f"SELECT f.y, h.x FROM f LEFT JOIN {once} AS h ON f.k = h.k", nulls="mean") == rows
    (column,) = postgres.describe(postgres.bound(exp.select("k").from_("f")))
    if column.kind not in ("other", *TIMES) and "caseless" not in left:
        assert_same(postgres, "SELECT f.y, f.k, g.x FROM f JOIN g ON f.k = g.k", categorical=("k",))


def test_keys_that_are_refused_in_place_are_refused_here(postgres: Engine) -> None:
    """On the copies they are numbers, which know nothing of it."""
    build(
        postgres,
        """CREATE TABLE a (k NUMERIC, y INT, x INT); CREATE TABLE b (k FLOAT8, z INT);
        CREATE TABLE c (k NUMERIC, u INT);
        INSERT INTO a VALUES (0.1, 0, 1), (0.1000000000000000000001, 1, 2); INSERT INTO b VALUES (0.1, 1);
        INSERT INTO c VALUES (0.1, 1), (0.1000000000000000000001, 2)""",
    )
    query = labelled(
        postgres, "SELECT a.y, x, z, u FROM a JOIN b ON a.k = b.k JOIN c ON c.k = a.k", ProblemOptions("y")
    )
    with pytest.raises(DataError, match="are numeric and double precision"), offloaded(postgres, query):
        pass


def test_keys_of_several_columns(postgres: Engine) -> None:
    build(
        postgres,
        """CREATE TABLE f (a TEXT, b NUMERIC, c INT, y INT); CREATE TABLE g (a TEXT, b NUMERIC(5, 1), c BIGINT, x INT);
        INSERT INTO f VALUES ('u', 1.00, 3, 1), ('u', 1, 3, 0), ('v', 2, 3, 1), (NULL, 2, 3, 0), ('v', 2, NULL, 1);
        INSERT INTO g VALUES ('u', 1, 3, 5), ('v', 2, 3, 6), ('v', 2, 4, 7), ('v', NULL, 3, 8), ('u', 1, 3, 9)""",
    )
    assert assert_same(postgres, "SELECT y, x FROM f JOIN g ON f.a = g.a AND f.b = g.b AND f.c = g.c") == 5


def test_expressions_mean_what_they_mean_to_the_server(postgres: Engine) -> None:
    """7 / 2 is 3, a pattern is a POSIX one, a day begins where the session's time zone says, 0.1::real is no 0.1."""
    build(
        postgres,
        """CREATE TABLE f (k INT, n INT, t TEXT, at TIMESTAMPTZ, r REAL);
        INSERT INTO f VALUES (1, 7, 'a1', '2020-01-01 23:30+00', 0.1), (2, -7, 'b', '2020-01-02 00:30+00', 16777217),
        (3, 5, 'A2', '2020-06-01 12:00+00', 0.3), (4, -5, 'c', '2020-06-01 23:10+00', 0)""",
    )
    typed(postgres, exp.Command(this="SET timezone = 'Europe/Vienna'"))
    text = """SELECT f.n > 0 AS y, f.n / 2 AS half, f.n % 3 AS rest, f.t ~ '^[a-z]+[[:digit:]]$' AS matches, f.r,
        EXTRACT(DAY FROM f.at) AS day, CAST(f.n / 2.0 AS INT) AS rounded, LEFT(f.t, 1) AS first, g.n AS other
        FROM f JOIN f AS g ON f.n / 2 = -g.n / 2 AND f.at::date = g.at::date WHERE f.t <> 'zz'"""
    assert assert_same(postgres, text) > 0


def test_a_left_join_that_finds_nothing(postgres: Engine) -> None:
    """What an expression is without a match, its server says; so it does of WHERE, and of what hangs from it."""
    build(
        postgres,
        """CREATE TABLE f (k INT, y INT); CREATE TABLE p (k INT, c TEXT, j TEXT, d DATE);
        CREATE TABLE q (j TEXT, x INT);
        INSERT INTO f VALUES (1, 1), (2, 0), (3, 1), (4, 0), (NULL, 1), (2, 1);
        INSERT INTO p VALUES (1, 'a', 'u', '2020-01-01'), (2, NULL, 'v', NULL), (4, 'b', NULL, '2020-01-02');
        INSERT INTO q VALUES ('u', 5), ('none', 6), ('v', NULL)""",
    )
    text = """SELECT f.y, COALESCE(p.c, 'lost') AS c, p.c IS NULL AS lost,
        COALESCE(p.d - DATE '2019-12-31', -1) AS days, COALESCE(q.x, 0) AS x, q.x AS hole
        FROM f LEFT JOIN p ON f.k = p.k LEFT JOIN q ON COALESCE(p.j, 'none') = q.j"""
    assert assert_same(postgres, text, nulls="mean") == 6
    assert assert_same(postgres, f"{text} WHERE p.c IS NULL OR p.c = 'a'", nulls="mean") == 5
    assert assert_same(postgres, f"{text} WHERE q.x = 6", nulls="mean") == 3


def test_what_else_a_training_may_be_asked(postgres: Engine) -> None:
    build(
        postgres,
        """CREATE TABLE f (k INT, y TEXT, x INT, w NUMERIC, z FLOAT8);
        INSERT INTO f VALUES (1, 'no', 1, 2, NULL), (1, 'yes', 2, 1, 2), (2, 'no', 3, 0.5, 3), (2, 'yes', 4, 1, 5);
        CREATE TABLE g (k INT, u INT, b BOOLEAN); CREATE VIEW v AS SELECT k, u * 2 AS u, b FROM g WHERE u > 0;
        INSERT INTO g VALUES (1, 1, TRUE), (1, 2, NULL), (2, 3, FALSE), (3, 4, TRUE), (2, -1, TRUE)""",
    )
    text = "SELECT f.y, f.x, f.w, f.z, v.u, v.b, s.n FROM f JOIN v ON v.k = f.k, (SELECT MAX(k) AS n FROM g) AS s"
    for more in ({"nulls": "mean", "class_weight": "balanced"}, {"nulls": "drop"}, {"nulls": "mean", "weight": "w"}):
        assert_same(postgres, text, positive="yes", categorical=("x", "b"), **more)
    with pytest.raises(DataError, match="feature z is NULL in 2 rows"):
        assert_same(postgres, text, positive="yes", nulls="error")


# -- what is sent ------------------------------------------------------------------------------------------------------


def made(engine: Engine, name: str) -> str:
    """The query of a shape, over its tables."""
    script, query = (FOLDER / f"{name}.sql").read_text(encoding="utf-8").split("-- query\n")
    build(engine, script)
    return query


LABELS = {"flights": "late", "reduced": "big", "left_join": "churned"}


@pytest.mark.parametrize("name", LABELS)
def test_text(postgres: Engine, name: str) -> None:
    """`make golden` writes the texts anew: read the difference."""
    text = made(postgres, name)
    query = labelled(postgres, text, ProblemOptions(LABELS[name]))
    found = exports(Catalog(Facts(postgres), query))
    written = "\n".join(f"-- {e.relation.alias}\n{folded(e.rows.sql('postgres', pretty=True))};\n" for e in found)
    golden = FOLDER / f"{name}.postgres.sql"
    if os.environ.get("SQLSVM_UPDATE_GOLDEN"):
        golden.write_text(written, encoding="utf-8")
    assert written == golden.read_text(encoding="utf-8")
    assert_same(postgres, text, LABELS[name], nulls="mean")


def test_rows_that_meet_nothing_stay_where_they_are(postgres: Engine) -> None:
    query = labelled(postgres, made(postgres, "reduced"), ProblemOptions("big"))
    with offloaded(postgres, query) as (local, copied):
        rows = [local.fetch(exp.select("*").from_(r.source.copy())) for r in copied.relations]
    assert [len(next(iter(r.values()))) for r in rows] == [2, 1]


def test_the_server_is_only_read(postgres: Engine, statements: list[str]) -> None:
    """In one snapshot, which is over before the training begins."""
    query = labelled(postgres, made(postgres, "flights"), ProblemOptions("late"))
    statements.clear()
    with offloaded(postgres, query):
        begun = statements.index("BEGIN ISOLATION LEVEL REPEATABLE READ")
        assert statements[begun + 1].startswith("LOCK TABLE ")
        assert statements[-1] == "COMMIT"
        others = statements[:begun] + statements[begun + 2 : -1]
        assert {text.split()[0] for text in others} == {"SELECT", "COPY", "WITH"}
        assert all(" TO STDOUT" in text for text in statements if text.startswith("COPY"))


def test_memory_is_given_back_while_it_trains(postgres: Engine) -> None:
    """DuckDB would keep a dropped table until the end of a transaction."""
    with offloaded(postgres, labelled(postgres, made(postgres, "flights"), ProblemOptions("late"))) as (local, _):
        numbers = parse_one("SELECT x FROM RANGE(100000) AS r(x)", read="duckdb")
        assert isinstance(numbers, exp.Query)
        with workspace(local) as work:
            for _ in range(20):
                with work.scratch():
                    work.run([Statement("numbers", numbers, "numbers")])
            held = parse_one("SELECT SUM(memory_usage_bytes) AS n FROM duckdb_memory()", read="duckdb")
            assert local.fetch(held)["n"][0] < 5 * 8 * 100_000


def test_an_error_ends_the_snapshot(postgres: Engine, statements: list[str]) -> None:
    build(postgres, "CREATE TABLE f (k INT, y INT, x INT); INSERT INTO f VALUES (1, 1, 0), (2, 0, 5)")
    query = labelled(postgres, "SELECT y, 1 / x AS x FROM f", ProblemOptions("y"))
    with pytest.raises(EngineError, match="division by zero"), offloaded(postgres, query):
        pass
    assert statements[-1] == "ROLLBACK"


HELD_OUT = {"f": [True, False, False, True], "p": [True, False, True]}
"""The last of p is the row that stands for no match."""


@pytest.mark.parametrize("owner", HELD_OUT)
def test_what_the_server_holds_out_is_held_out_here(postgres: Engine, owner: str) -> None:
    """By columns that stay behind; also where the label is of the optional side."""
    build(
        postgres,
        """CREATE TABLE f (k INT, y INT, note TEXT); CREATE TABLE p (k INT, y INT, note TEXT);
        INSERT INTO f VALUES (1, 0, 'a'), (2, 1, 'b'), (3, 1, 'c'), (4, 0, 'a');
        INSERT INTO p VALUES (1, 1, 'a'), (2, 0, 'b')""",
    )
    text = f"SELECT {owner}.y AS y, f.k FROM f LEFT JOIN p ON f.k = p.k"
    held = parse_one(f"COALESCE({owner}.note, 'a') = 'a'", read="postgres")
    assert isinstance(held, exp.Expression)
    query = replace(labelled(postgres, text, ProblemOptions("y")), held_out=held)
    with offloaded(postgres, query) as (local, copied):
        assert copied.held_out
        rows = rows_of(copied, owner, [(copied.held_out, "held")])
        assert local.fetch(rows)["held"].tolist() == HELD_OUT[owner]


def test_duckdb_is_not_offloaded(duckdb: Engine) -> None:
    build(duckdb, "CREATE TABLE f (x INT, y INT)")
    with pytest.raises(OptionError, match="this is DuckDB"):
        train(duckdb, "m", "SELECT x, y FROM f", training(offload=True))


def test_copying_that_takes_long_is_told(
    postgres: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    query = labelled(postgres, made(postgres, "reduced"), ProblemOptions("big"))
    monkeypatch.setattr(copies, "REPORT_SECONDS", 0.0)
    with caplog.at_level("INFO", "sqlsvm.run.offload"), offloaded(postgres, query):
        said = [record.getMessage() for record in caplog.records]
    assert said == ["copying s", "copying s: 2 rows so far", "copying h", "copying h: 1 rows so far"]


# -- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["star", "left join", *(pytest.param(s, marks=pytest.mark.slow) for s in SLOW)])
def test_training(postgres: Engine, shape: str) -> None:
    """The certificate is about the rows of the server; a model trained in place is within it."""
    join = JOINS[shape](np.random.default_rng(3))
    join.create(postgres)
    asked = training(nulls="mean", categorical=join.categorical, sample=3000, lam=1e-3, offload=True)
    rows = truth(postgres, join.query, wish_of(asked))
    model = train(postgres, shape, join.query, asked)
    in_place = train(postgres, shape, join.query, replace(asked, offload=False))
    assert model.converged
    assert_proven(postgres, model, rows)
    assert_beside_liblinear(model, rows, max_iter=2000)
    assert max(model.lower_bound, in_place.lower_bound) <= min(model.objective_upper, in_place.objective_upper)
    assert model.label_rows == in_place.label_rows
    assert {(w.feature, w.category) for w in model.weights} == {(w.feature, w.category) for w in in_place.weights}


EVALUATED = ("star", "left join", *(pytest.param(s, marks=pytest.mark.slow) for s in SLOW))


@pytest.mark.thin(3)
@pytest.mark.parametrize("holdout", [None, 0.3])
@pytest.mark.parametrize("shape", EVALUATED)
def test_evaluation(postgres: Engine, shape: str, holdout: float | None) -> None:
    join = JOINS[shape](np.random.default_rng(3))
    join.create(postgres)
    asked = training(nulls="mean", categorical=join.categorical, sample=500, lam=1e-2, holdout=holdout)
    model = train(postgres, shape, join.query, asked)
    if holdout is None:
        assert_same_measures(evaluate_model(postgres, model), evaluate_model(postgres, model, offload=True))
        return
    here, there = evaluate_parts(postgres, model), evaluate_parts(postgres, model, offload=True)
    assert list(here) == list(there)
    for part in here:
        assert_same_measures(here[part], there[part])


def assert_same_measures(here: Evaluation, there: Evaluation) -> None:
    assert here.exact == there.exact
    for name in of_scores(TWO):
        one, other = getattr(here, name), getattr(there, name)
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), rel=1e-9), name


def test_the_estimator_evaluates_where_it_was_fitted(postgres: Engine, statements: list[str]) -> None:
    join = JOINS["star"](np.random.default_rng(3))
    join.create(postgres)
    statements.clear()
    svc = RelationalSVC(lam=1e-2, sample=500, offload=True).fit(postgres, join.query, "y")
    found = svc.evaluate()
    assert not any(text.startswith("CREATE") for text in statements)
    assert isinstance(found, Evaluation)
    assert found.accuracy == evaluate_model(postgres, svc.model_).accuracy


def test_dates_and_times_stay_what_they_are(postgres: Engine) -> None:
    """The copies have numbers, and the query has dates: a model must know it, to predict on its own query."""
    build(
        postgres,
        """CREATE TABLE f AS SELECT n, n % 3 = 0 AS y, DATE '2020-01-01' + n AS day, TIME '10:00' + n * INTERVAL '1 min'
        AS at, n * INTERVAL '1 hour' AS since FROM generate_series(1, 40) AS n""",
    )
    text = "SELECT y, day, at, since FROM f"
    here, there = (train(postgres, "m", text, training(lam=1e-2, offload=offload)) for offload in (False, True))
    assert there.trained_on.times == here.trained_on.times == {"day": "date", "at": "time", "since": "interval"}
    ours, theirs = (asked(postgres, predict(postgres, model))["score"].astype(float) for model in (here, there))
    np.testing.assert_allclose(np.sort(ours), np.sort(theirs), atol=1e-3)


def test_the_model_belongs_to_the_server(postgres: Engine) -> None:
    """It names both engines, and scores the rows of the server in place."""
    build(
        postgres,
        """CREATE TABLE f (y TEXT, x INT, c TEXT);
        INSERT INTO f VALUES ('no', 7, 'a'), ('yes', -7, 'b'), ('no', 9, 'a'), ('yes', -5, 'a')""",
    )
    text = "SELECT y, x / 2 AS half, c FROM f"
    model = train(postgres, "m", text, training(positive="yes", offload=True, sample=50))
    assert re.fullmatch(r"DuckDB [\d.]+, offloaded from PostgreSQL [\d.]+", model.engine)
    assert (model.dialect, model.typed, model.trained_on.database) == ("postgres", text, postgres.url)
    assert model.trained_on.label_values == ("no", "yes")
    rows = postgres.fetch(predict(postgres, model))
    assert rows["prediction"].tolist() == rows["y"].tolist()


@pytest.mark.slow
def test_rows_are_held_out_as_in_place(postgres: Engine) -> None:
    """By the values of the server's columns, of which only the numbers have been copied."""
    join = JOINS["categories"](np.random.default_rng(3))
    join.create(postgres)
    asked = training(categorical=join.categorical, sample=500, lam=1e-2, holdout=0.3, offload=True)
    model = train(postgres, "m", join.query, asked)
    in_place = train(postgres, "m", join.query, replace(asked, offload=False))
    assert model.trained_on.held_out == in_place.trained_on.held_out
    assert model.label_rows == in_place.label_rows
    assert max(model.lower_bound, in_place.lower_bound) <= min(model.objective_upper, in_place.objective_upper)


def test_a_training_is_resumed(postgres: Engine) -> None:
    """Another copy of the same rows: what was proven of the first is proven of it."""
    join = JOINS["categories"](np.random.default_rng(3))
    join.create(postgres)
    asked = training(categorical=join.categorical, lam=1e-3, offload=True, solver="bundle", max_passes=2)
    first, said = Continuation(), list[str]()
    assert not train(postgres, "m", join.query, asked, continuation=first).converged
    longer = replace(asked, max_passes=100)
    resumed = train(postgres, "m", join.query, longer, continuation=Continuation(first.last, said.append))
    assert said == ["resuming after 2 passes: the rows and the options are the same, so what was proven still is"]
    assert resumed.converged
