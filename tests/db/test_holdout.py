"""Rows held out: which they are, on both engines and for good; that both sides together are all rows; and that training
and evaluation keep them apart."""

import hashlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sqlglot import exp, parse_one

from sqlsvm import RelationalSVC
from sqlsvm.ask.rows import of_query
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, OptionError
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.predict import predict
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import FeatureQuery
from sqlsvm.query.facts import Facts
from sqlsvm.query.rewrites.split import PARTS, Holdout, Part, marked
from sqlsvm.run.folding import counted_part, prepared_part
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.opening import labelled
from sqlsvm.run.train import train
from sqlsvm.run.workspace import workspace
from tests.evaluating import evaluate_model, evaluate_parts
from tests.ground.joins import categories, chain
from tests.ground.opened import build
from tests.ground.reference import naive
from tests.ground.schemas import random_world
from tests.ground.trained import training
from tests.ground.world import World
from tests.typed import asked, meant, run, typed
from tests.unit.queries import NoKeys

TYPES = """
CREATE TABLE t (id INT, y BOOLEAN, x FLOAT8, n NUMERIC(9, 2), big BIGINT, word TEXT, day DATE, at TIMESTAMP, k INT);
INSERT INTO t VALUES
    (1, TRUE, 0.1, 1.50, 9007199254740993, 'a', '2020-01-02', '2020-01-02 03:04:05.25', 1),
    (2, FALSE, -3, 2.00, 1, 'ü | b', '1969-12-31', '1969-12-31 23:59:59', 1),
    (3, TRUE, 1e-7, -0.01, -5, '', NULL, NULL, 1), (4, FALSE, NULL, NULL, NULL, NULL, NULL, NULL, 1),
    (5, TRUE, 1e15, 0, 0, 'a', '2020-01-02', '2020-01-02', 1), (6, FALSE, 1e300, 0, 0, 'a', '2020-01-02', NULL, 1);
CREATE TABLE u (k INT, z FLOAT8); INSERT INTO u VALUES (1, 2), (1, 3)
"""
TEXTS = (
    "true|0.1|1.5|9007199254740992|a|1577923200|1577934245.25|1",
    "false|-3|2|1|ü | b|-86400|-1|1",
    "true|1e-07|-0.01|-5||||1",
    "false|||||||1",
    "true|1000000000000000|0|0|a|1577923200|1577923200|1",
    "false|1e+300|0|0|a|1577923200||1",
)
FEATURES = "t.y, t.x, t.n, t.big, t.word, EXTRACT(EPOCH FROM t.day) AS day, EXTRACT(EPOCH FROM t.at) AS at, u.z"
OF_TYPES = f"SELECT {FEATURES} FROM t JOIN u ON t.k = u.k"


def conjunct(query: FeatureQuery, holdout: Holdout, facts: Facts | None = None) -> exp.Expression:
    """What holds of the rows held out."""
    held = marked(holdout)(query, facts or NoKeys()).held_out
    assert held
    return held


# -- the hash ----------------------------------------------------------------------------------------------------------


def test_the_hash_is_the_same_everywhere(engine: Engine) -> None:
    """Two engines and Python agree; what a stored model held out must never change. The id is not used: it is no part
    of it."""
    build(engine, TYPES)
    query, seed = labelled(engine, OF_TYPES, ProblemOptions("y")), 7
    digest = conjunct(query, Holdout(0.5, seed)).this.this
    rows = exp.select(exp.column("id", "t"), exp.alias_(digest.copy(), "md5")).from_(query.relation("t").source)
    found = asked(engine, rows.order_by("id"))
    assert found["md5"].tolist() == [hashlib.md5(f"{seed}|{text}".encode()).hexdigest() for text in TEXTS]


def held_out(engine: Engine, query: FeatureQuery, holdout: Holdout) -> set[int]:
    rows = exp.select(exp.column("id", "t")).from_(query.relation("t").source.copy())
    return set(asked(engine, rows.where(conjunct(query, holdout, Facts(engine))))["id"].tolist())


def test_the_split_is_uniform_seeded_and_nested(engine: Engine) -> None:
    n = 20_000
    build(engine, "CREATE TABLE t (id INT, y BOOLEAN, x INT)")
    number = np.arange(n)
    engine.copy_in(meant(engine, "t"), {"id": number, "y": number % 3 == 0, "x": number})
    query = labelled(engine, "SELECT t.y, t.x FROM t", ProblemOptions("y"))
    fractions = (0.001, 0.1, 0.25, 0.5, 0.9)
    found = [held_out(engine, query, Holdout(f, 1)) for f in fractions]
    for fraction, ids in zip(fractions, found, strict=True):
        assert abs(len(ids) - fraction * n) < 4 * np.sqrt(fraction * (1 - fraction) * n)
    assert all(small < large for small, large in pairwise(found))
    assert held_out(engine, query, Holdout(0.25, 1)) == found[2]
    other = held_out(engine, query, Holdout(0.25, 2))
    assert abs(len(other & found[2]) - n / 16) < 4 * np.sqrt(n / 16 * 15 / 16)


def test_equal_rows_stay_together(engine: Engine) -> None:
    build(engine, "CREATE TABLE t (id INT, y BOOLEAN, x INT)")
    number = np.arange(1000)
    engine.copy_in(meant(engine, "t"), {"id": number, "y": number % 2 == 0, "x": number % 100})
    query = labelled(engine, "SELECT t.y, t.x FROM t", ProblemOptions("y"))
    held = held_out(engine, query, Holdout(0.5))
    assert 0 < len({i % 100 for i in held}) < 100
    assert {i % 100 for i in held}.isdisjoint({i % 100 for i in set(range(1000)) - held})


ALIKE = {
    "texts": "SELECT t.y, t.kind FROM t",
    "a computed value": "SELECT t.y, t.kind, (SELECT MAX(u.z) FROM u WHERE u.k = t.id) AS z FROM t",
}


@pytest.mark.parametrize("case", ALIKE)
def test_rows_of_a_few_kinds_are_on_both_sides(engine: Engine, case: str) -> None:
    """Equal values do not say that two rows are one, where there are only booleans and texts. One row of three is
    true."""
    build(engine, "CREATE TABLE t (id INT, y BOOLEAN, kind TEXT); CREATE TABLE u (k INT, z FLOAT8)")
    number = np.arange(900)
    kinds = np.array([f"kind {n // 3 % 2}" for n in number], dtype=object)
    engine.copy_in(meant(engine, "t"), {"id": number, "y": number % 3 == 0, "kind": kinds})
    engine.copy_in(meant(engine, "u"), {"k": number, "z": np.ones(900)})
    held = train(engine, "m", ALIKE[case], training(lam=1.0, holdout=0.5)).trained_on.held_out
    assert sum(held.values()) == pytest.approx(450, abs=60)
    assert held["1"] == pytest.approx(150, abs=40)
    for offload in {False, engine.dialect == "postgres"}:
        svc = RelationalSVC(lam=1.0, folds=3, offload=offload).fit(engine, ALIKE[case], "y")
        assert svc.model_.validation["accuracy"].folds == pytest.approx([2 / 3] * 3, abs=0.1)


# -- the two sides -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [701, 704, 706, 712, 714, 717, 719])
def test_both_sides_of_random_worlds(shared_engine: Engine, seed: int) -> None:
    """Rows a class through the compiled count and the naive join, filtered by the same predicate; and all rows are
    on one side or on the other."""
    world = random_world(np.random.default_rng(seed), max_relations=4)
    assert world.label
    options, holdout = ProblemOptions(world.label.name), Holdout((0.2, 0.5)[seed % 2], seed)
    with world.created(shared_engine) as live:
        query = labelled(shared_engine, live.query(shared_engine.dialect), options)
        held = conjunct(query, holdout)
        sides: dict[Part, exp.Expression] = {"train": exp.not_(exp.paren(held)), "holdout": held}
        truths = {part: naive_rows(shared_engine, live, side) for part, side in sides.items()}
        both = np.sum(list(truths.values()), axis=0)
        assert tuple(both) == naive_rows(shared_engine, live, exp.true())
        for part, truth in truths.items():
            assert compiled_rows(shared_engine, query, options, holdout, part) == (truth if min(truth) else None)


def naive_rows(engine: Engine, world: World, side: exp.Expression) -> tuple[int, int]:
    """Join rows with the label -1 and +1, on one side."""
    assert world.label
    label = exp.alias_(exp.cast(world.label.expression.copy(), "double"), "y")
    if world.label.kind == "boolean":
        label = exp.alias_(exp.cast(exp.cast(world.label.expression.copy(), "int"), "double"), "y")
    with naive(engine):
        y = asked(engine, world.select([label]).where(side.copy()))["y"].astype(float)
    return int((y <= 0).sum()), int((y > 0).sum())


def compiled_rows(
    engine: Engine, query: FeatureQuery, options: ProblemOptions, holdout: Holdout, part: Part
) -> tuple[int, int] | None:
    """The same without the join; None where it is refused because a class is missing."""
    with workspace(engine) as work:
        try:
            found = counted_part(work, marked(holdout)(query, work.facts), options, holdout, part)
        except DataError:
            return None
    return round(found.n_negative), round(found.n - found.n_negative)


# -- training ----------------------------------------------------------------------------------------------------------


def without_held_out(engine: Engine, query: FeatureQuery, holdout: Holdout, name: str) -> None:
    """A table of the rows of trips that a training may see."""
    seen = exp.not_(exp.paren(conjunct(query, holdout)))
    rows = exp.select("*").from_(query.relation("t").source.copy()).where(seen)
    typed(engine, exp.Create(this=exp.to_table(name), kind="TABLE", expression=rows))


def test_a_training_never_sees_them(engine: Engine) -> None:
    """Scaling, categories, class weights, sample, cuts: all is as if the table had only the other rows."""
    join = categories(np.random.default_rng(3))
    join.create(engine)
    asked = training(lam=1e-2, sample=500, seed=5, categorical=join.categorical, class_weight="balanced")
    without_held_out(engine, labelled(engine, join.query, asked), Holdout(0.3, 5), "seen")
    model = train(engine, "m", join.query, replace(asked, holdout=0.3))
    again = train(engine, "m", join.query.replace("trips t", "seen t"), asked)
    everything = train(engine, "m", join.query, asked)
    assert model.label_rows == again.label_rows
    assert [(w.feature, w.category) for w in model.weights] == [(w.feature, w.category) for w in again.weights]
    assert [w.weight for w in model.weights] == pytest.approx([w.weight for w in again.weights], rel=1e-6, abs=1e-9)
    assert model.lower_bound == pytest.approx(again.lower_bound, rel=1e-9)
    held = model.trained_on.held_out
    assert {sign: model.label_rows[sign] + held[sign] for sign in held} == everything.label_rows
    assert not everything.trained_on.held_out


@pytest.mark.slow
def test_both_sides_are_evaluated(engine: Engine) -> None:
    """Against predictions for the rows of either side; a category that only the held out rows have weighs 0."""
    join = categories(np.random.default_rng(4))
    join.create(engine)
    typed(engine, parse_one("INSERT INTO trips VALUES (1, TRUE, 'nowhere else', 1, 0.5)"))
    query = labelled(engine, join.query, ProblemOptions("y"))
    last = exp.EQ(this=exp.column("city", "t"), expression=exp.Literal.string("nowhere else"))
    rows = exp.select(exp.column("k", "t")).from_(query.relation("t").source.copy()).where(last)
    seed = next(s for s in range(99) if len(asked(engine, rows.where(conjunct(query, Holdout(0.4, s))))["k"]))
    svc = RelationalSVC(lam=1e-2, sample=500, holdout=0.4, seed=seed).fit(engine, join.query, "y")
    assert "city=nowhere else" not in svc.feature_names_in_
    without_held_out(engine, query, Holdout(0.4, seed), "seen")
    parts = evaluate_parts(engine, svc.model_)
    assert list(parts) == list(PARTS)
    everything = engine.fetch(predict(engine, svc.model_))
    there = of_query(engine, svc.model_, join.query.replace("trips t", "seen t"))
    seen = engine.fetch(predict(engine, there))
    right, of_seen = ((rows["y"] == rows["prediction"]).sum() for rows in (everything, seen))
    n, n_seen = len(everything["y"]), len(seen["y"])
    assert parts["train"].accuracy.value == pytest.approx(of_seen / n_seen)
    assert parts["holdout"].accuracy.value == pytest.approx((right - of_seen) / (n - n_seen))
    assert evaluate_model(engine, svc.model_).accuracy.value == pytest.approx(right / n)
    held = svc.evaluate(part="holdout")
    assert isinstance(held, Evaluation)
    assert held.intervals.keys() == {"accuracy", "auc", "loss"}
    assert replace(held, intervals={}, clusters=None) == parts["holdout"]
    with pytest.raises(OptionError, match="it can be train, holdout"):
        svc.evaluate(part="test")  # type: ignore[arg-type]


@pytest.mark.parametrize("offload", [False, True])
def test_rows_of_one_entity_stay_on_one_side(engine: Engine, offload: bool) -> None:
    """By a column that the query does not have. Evaluation finds the same rows again."""
    if offload and engine.dialect != "postgres":
        pytest.skip("DuckDB is not offloaded")
    number = np.arange(1200)
    build(engine, "CREATE TABLE t (id INT, who TEXT, k INT, y BOOLEAN, x FLOAT8); CREATE TABLE u (k INT, z FLOAT8)")
    who, x = np.array([f"driver {n % 60}" for n in number], dtype=object), np.sin(number)
    rows = {"id": number, "who": who, "k": number % 9, "y": x + np.cos(7 * number) > 0, "x": x}
    engine.copy_in(meant(engine, "t"), rows)
    engine.copy_in(meant(engine, "u"), {"k": np.arange(18) % 9, "z": np.arange(18) / 3})
    text = "SELECT t.y, t.x, u.z FROM t JOIN u ON u.k = t.k"
    query = labelled(engine, text, ProblemOptions("y"))
    held = np.isin(number, list(held_out(engine, query, Holdout(0.3, by="who"))))
    assert 0.1 < held.mean() < 0.5
    assert all(len(set(held[who == each])) == 1 for each in set(who))
    svc = RelationalSVC(lam=1e-2, holdout=0.3, split_by="who", offload=offload, in_memory=0, sample=200)
    svc.fit(engine, text, "y")
    assert sum(svc.model_.trained_on.held_out.values()) == 2 * held.sum()
    assert svc.model_.join_rows == 2 * (~held).sum()
    ids = engine.fetch(predict(engine, of_query(engine, svc.model_, text.replace("SELECT", "SELECT t.id,", 1))))
    right = ids["y"] == ids["prediction"]
    unseen = held[ids["id"].astype(int)]
    parts = evaluate_parts(engine, svc.model_)
    assert parts["holdout"].accuracy.value == pytest.approx(right[unseen].mean())
    assert parts["train"].accuracy.value == pytest.approx(right[~unseen].mean())
    with pytest.raises(OptionError, match="t, which has the label, has no column whom"):
        train(engine, "m", text, training(holdout=0.3, split_by="whom"))


MUST = "holdout must be a number between 0 and 1; with a time also a date"
REFUSED: dict[str, tuple[float, str]] = {
    "nothing held out": (
        1e-9,
        "the join has no rows\n"
        "DETAIL: of the rows that holdout=1e-09 holds out; "
        "choose another fraction or seed to split the rows differently\n"
        "HINT: hold out another share: holdout=0.2",
    ),
    "nothing left": (
        1 - 1e-9,
        "the join has no rows\n"
        "DETAIL: of the rows that holdout=0.999999999 leaves to train on; "
        "choose another fraction or seed to split the rows differently\n"
        "HINT: hold out another share: holdout=0.2",
    ),
    "one class": (
        0.5,
        "the label y has one class only: no row of the join is positive\n"
        "DETAIL: of the rows that holdout=0.5 holds out; "
        "choose another fraction or seed to split the rows differently\n"
        "HINT: each row that WHERE keeps has the same label",
    ),
    "none": (0.0, f"{MUST}, not 0.0\nHINT: try holdout=0.2"),
    "all": (1.0, f"{MUST}, not 1.0\nHINT: try holdout=0.2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(engine: Engine, case: str) -> None:
    """Of a label in words as well: which is the positive one is read off all rows."""
    build(engine, "CREATE TABLE t (y TEXT, x INT)")
    number = np.arange(40)
    engine.copy_in(meant(engine, "t"), {"y": np.where(number == 3, "yes", "no"), "x": number})
    fraction, message = REFUSED[case]
    before = engine.table_names()
    with pytest.raises((DataError, OptionError)) as refused:
        train(engine, "m", "SELECT t.y, t.x FROM t", replace(training(positive="yes", seed=1), holdout=fraction))
    assert str(refused.value) == message
    assert engine.table_names() == before


def test_another_split_is_no_remedy_for_a_null(duckdb: Engine) -> None:
    build(duckdb, "CREATE TABLE t AS SELECT g % 2 = 0 AS y, NULLIF(g, 7) AS x FROM GENERATE_SERIES(0, 40) r(g)")
    with pytest.raises(DataError, match="x is NULL in 1 row") as refused:
        train(duckdb, "m", "SELECT t.y, t.x FROM t", training(holdout=0.1, seed=1, nulls="error"))
    assert refused.value.detail == "of the rows that holdout=0.1 leaves to train on"


def test_a_label_of_the_optional_side(engine: Engine) -> None:
    """The filter on a LEFT JOINed relation is one on what the join has found."""
    number = np.arange(400)
    build(engine, "CREATE TABLE a (k INT, x FLOAT8); CREATE TABLE b (k INT, y BOOLEAN)")
    engine.copy_in(meant(engine, "a"), {"k": number % 50, "x": number / 7 % 3})
    engine.copy_in(meant(engine, "b"), {"k": number[:40], "y": number[:40] % 2 == 0})
    text = "SELECT a.x, b.y FROM a LEFT JOIN b ON b.k = a.k WHERE b.y IS NOT NULL"
    model = train(engine, "m", text, replace(training(lam=0.1, sample=100), holdout=0.5))
    assert model.join_rows + sum(model.trained_on.held_out.values()) == 320
    assert min(model.join_rows, 320 - model.join_rows) > 50


@pytest.mark.parametrize("offload", [False, True])
def test_a_label_that_says_what_a_left_join_has_found(postgres: Engine, offload: bool) -> None:
    """It tells of the rows from which the join looks: these are held out. All rows without a match would be one row
    of the label's table."""
    number = np.arange(400)
    build(postgres, "CREATE TABLE a (k INT, x FLOAT8); CREATE TABLE b (k INT)")
    postgres.copy_in(meant(postgres, "a"), {"k": number, "x": (number * 7 % 41) / 9})
    postgres.copy_in(meant(postgres, "b"), {"k": number[::3]})
    text = "SELECT a.x, b.k IS NOT NULL AS y FROM a LEFT JOIN b ON b.k = a.k"
    model = train(postgres, "m", text, replace(training(lam=0.1, sample=100), holdout=0.5, offload=offload))
    held = model.trained_on.held_out
    assert sum(held.values()) + model.join_rows == 400
    assert min(model.join_rows, *held.values()) > 40


def test_only_the_label_relation_is_parted(engine: Engine) -> None:
    """Of a chain with the label in the middle, one working table holds the seen rows, and is read by all that follows:
    nothing else is hashed."""
    join = chain(np.random.default_rng(1), rows=150, fan_out=3)
    join.create(engine)
    sent: list[str] = []
    engine.on_statement = sent.append
    options = ProblemOptions("y")
    query = labelled(engine, join.query, options, held=Holdout(0.5))
    with workspace(engine) as work:
        problem = prepared_part(work, query, options, Holdout(0.5), "train")
        JoinOracle(problem).pass_(np.zeros(problem.scaling.dimension), 16)
    assert len([text for text in sent if "MD5" in text]) == 1


def test_a_label_with_a_value_where_a_left_join_finds_nothing(engine: Engine) -> None:
    """It tells of the rows that look for a partner. Those without one are not all on one side."""
    run(engine, "CREATE TABLE f AS SELECT g AS id, g % 40 AS k, g AS x FROM GENERATE_SERIES(1, 1000) AS r(g)")
    run(engine, "CREATE TABLE c AS SELECT g AS k, g % 2 = 0 AS flag FROM GENERATE_SERIES(0, 9) AS r(g)")
    text = "SELECT f.x, COALESCE(c.flag, FALSE) AS y FROM f LEFT JOIN c ON c.k = f.k"
    rows = train(engine, "m", text, training(holdout=0.3, max_passes=1)).trained_on.held_out
    assert 200 < sum(rows.values()) < 400
    assert min(rows.values()) > 20
