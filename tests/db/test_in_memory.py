"""A small join is read once, and solved and proven in memory, for the same rows as by passes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sqlsvm.ask.validation import Validation
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError
from sqlsvm.model.model import Model
from sqlsvm.plan.preflight import planned
from sqlsvm.query.facts import Facts
from sqlsvm.run import join_oracle, small
from sqlsvm.run.data import Data
from sqlsvm.run.opening import labelled, opened, query_of
from sqlsvm.run.problems import Problems
from sqlsvm.run.train import train, train_each
from sqlsvm.run.training import Training
from sqlsvm.run.workspace import workspace
from tests.db.test_numbers import numbers
from tests.ground.joins import Join, categories, chain, left_join, star
from tests.ground.opened import build, truth
from tests.ground.schemas import random_world
from tests.ground.trained import assert_beside_liblinear, assert_proven, measured_both_ways, training, wish_of
from tests.sized import sized

MANY = 1_000_000


def cycle(rng: np.random.Generator) -> Join:
    """Three tables that meet in a ring. That of the label is the smallest, so it is joined up front."""
    x, y = rng.normal(size=40), rng.integers(0, 2, 40)
    return Join(
        """
        CREATE TABLE f (k INT, j INT, y INT, x FLOAT8);
        CREATE TABLE g (k INT, m INT, z FLOAT8);
        CREATE TABLE h (j INT, m INT)
        """,
        {
            "f": {"k": rng.integers(0, 8, 40), "j": rng.integers(0, 6, 40), "y": y, "x": x + y},
            "g": {"k": rng.integers(0, 8, 300), "m": rng.integers(0, 4, 300), "z": rng.normal(size=300)},
            "h": {"j": rng.integers(0, 6, 200), "m": rng.integers(0, 4, 200)},
        },
        "SELECT f.y, f.x, g.z FROM f JOIN g ON g.k = f.k JOIN h ON h.j = f.j AND h.m = g.m",
    )


SHAPES = {
    "star": star,
    "categories": categories,
    "chain": chain,
    "left join": left_join,
    "numbers": numbers,
    "cycle": cycle,
}


def reading(asked: Training, most: int | None = MANY) -> Training:
    return replace(asked, in_memory=most)


def problem_of(engine: Engine, query: str, asked: Training) -> Data:
    with workspace(engine) as work:
        return opened(work, query_of(engine, query, asked), asked)[0]


def assert_same_problem(one: Data, other: Data) -> None:
    """Whatever both have measured is equal up to rounding."""
    assert (one.drawn is not None, other.drawn) == (True, None)
    for name in ("n", "n_negative", "of_codes", "total", "squares", "largest", "total_negative"):
        ours, theirs = (np.asarray(getattr(p.moments, name), dtype=float) for p in (one, other))
        known = ~np.isnan(ours) & ~np.isnan(theirs)
        size = np.abs(theirs[known]).max(initial=1.0)
        assert ours[known] == pytest.approx(theirs[known], rel=1e-9, abs=1e-9 * size), name
    assert one.moments.products.keys() == other.moments.products.keys()
    assert one.scaling.matrix == pytest.approx(other.scaling.matrix, rel=1e-7, abs=1e-9)


def assert_same_optimum(one: Model, other: Model) -> None:
    assert one.converged
    assert one.lower_bound <= other.objective_upper * (1 + 1e-9)
    assert other.lower_bound <= one.objective_upper * (1 + 1e-9)
    assert one.join_rows == pytest.approx(other.join_rows, rel=1e-12)
    assert one.label_rows == pytest.approx(other.label_rows, rel=1e-12)
    notes = ([note for note in m.notes if not note.startswith("the model predicts")] for m in (one, other))
    assert next(notes) == next(notes)
    assert [w.feature for w in one.weights] == [w.feature for w in other.weights]


def assert_as_by_passes(engine: Engine, query: str, asked: Training) -> Model:
    found, passed = (train(engine, "m", query, reading(asked, most)) for most in (MANY, 0))
    assert found.in_memory
    assert not passed.in_memory
    each = zip(found.parts, passed.parts, strict=True)
    for one, other in each:
        assert_same_optimum(one, other)
    assert_same_problem(*(problem_of(engine, query, reading(asked, most)) for most in (MANY, 0)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("many_to_many", [False, True])
def test_random_worlds(shared_engine: Engine, many_to_many: bool) -> None:
    """On either engine every other one."""
    engine, seen = shared_engine, 0
    for seed in range(engine.dialect == "duckdb", 24, 2):
        rng = np.random.default_rng(seed)
        world = random_world(rng, max_relations=4, features=True, label=True, many_to_many=many_to_many)
        assert world.label
        asked = training(label=world.label.name, lam=1e-2, nulls="mean")
        with world.created(engine) as live:
            text = live.query(engine.dialect)
            try:
                model = assert_as_by_passes(engine, text, asked)
            except DataError:
                continue
            rows = truth(engine, text, wish_of(asked))
            assert_proven(engine, model, rows)
            assert_beside_liblinear(model, rows)
            seen += 1
    assert seen > 2


OPTIONS: dict[str, list[dict[str, Any]]] = {
    "star": [
        {"loss": "logistic", "class_weight": "balanced"},
        {"intercept": "free", "loss": "squared_hinge", "class_weight": (2.0, 1.0)},
        {"l1": 0.01, "scale": "none"},
        {"solver": "dane", "scale": "maxabs", "lam": 0.1, "intercept": "no"},
        {"holdout": 0.3},
    ],
    "chain": [{"counting": "grid", "l1": 0.001}, {"class_weight": (1.0, 3.0), "loss": "modified_huber"}],
    "categories": [{}, {"top": ("month:3",), "class_weight": "balanced"}],
    "left join": [{}, {"intercept": "free", "counting": "grid"}],
    "numbers": [{"loss": "huber"}, {"loss": "squared"}, {"loss": "quantile", "quantile": 0.9, "intercept": "free"}],
}
CASES = [(shape, options) for shape, each in OPTIONS.items() for options in each]


@pytest.mark.thin(7)
@pytest.mark.parametrize(("shape", "options"), CASES, ids=str)
def test_every_option(engine: Engine, shape: str, options: dict[str, Any]) -> None:
    join = SHAPES[shape](np.random.default_rng(3))
    given: dict[str, Any] = {"lam": 1e-2, "categorical": join.categorical, "nulls": "mean"} | options
    if "intercept" in given:
        given["intercept"] = {"no": False, "free": "free"}[given["intercept"]]
    with join.created(engine):
        assert_as_by_passes(engine, join.query, training(**given))


BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "a label that is NaN": ("UPDATE a SET y = 'NaN' WHERE k = 2", {"loss": "huber"}),
    "NaN": ("UPDATE b SET x = 'NaN' WHERE k = 2", {}),
    "infinity": ("UPDATE b SET x = 'Infinity' WHERE k = 2", {}),
    "NULL": ("UPDATE b SET x = NULL WHERE k = 2", {"nulls": "error"}),
    "far from zero": ("UPDATE b SET x = 1e9 + x / 1e3", {"intercept": False}),
    "no row": ("DELETE FROM b", {}),
    "one class": ("UPDATE a SET y = 1 WHERE k IN (SELECT k FROM b)", {}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused(engine: Engine, name: str) -> None:
    """In the same words, however the join is read."""
    change, options = BROKEN[name]
    build(
        engine,
        """
        CREATE TABLE a (k INT, y FLOAT8); CREATE TABLE b (k INT, x FLOAT8);
        INSERT INTO a VALUES (1, 1), (2, 0), (3, 1), (3, 0), (9, 0);
        INSERT INTO b VALUES (1, 0.5), (1, 2), (2, 3), (2, 4), (3, 1)
        """,
    )
    for statement in change.split(";"):
        build(engine, statement)
    said = []
    for most in (MANY, 0):
        with pytest.raises(DataError) as error:
            train(engine, "m", "SELECT a.y, b.x FROM a JOIN b ON a.k = b.k", reading(training(**options), most))
        said.append((error.value.message, error.value.detail, error.value.hint))
    assert said[0] == said[1]


@pytest.mark.slow
def test_which_joins_are_small(engine: Engine, statements: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with at most twice the rows of the sample, or 110,000. Small tables may have a large join: it is counted
    first. A join with weights has the rows that it has without them."""
    sized(monkeypatch, read=2)
    build(
        engine,
        """
        CREATE TABLE a (k INT, y INT, x INT, w FLOAT8); CREATE TABLE b (k INT, z INT);
        INSERT INTO a SELECT i % 3, i % 2, i, i % 4 FROM generate_series(1, 30) AS s(i);
        INSERT INTO b SELECT i % 3, i FROM generate_series(1, 30) AS s(i)
        """,
    )
    alone, joined = "SELECT y, x, w FROM a", "SELECT a.y, a.x, a.w, b.z FROM a JOIN b ON a.k = b.k"
    for query, rows in ((alone, 30), (joined, 300)):
        for options in ({}, {"weight": "w"}, {"class_weight": "balanced"}):
            for sample, is_small in ((rows // 2, True), (rows // 2 - 1, False)):
                model = train(engine, "m", query, training(lam=0.1, sample=sample, **options))
                assert model.in_memory == is_small
    assert train(engine, "m", joined, training(lam=0.1)).in_memory
    monkeypatch.setattr(small, "sample_size", lambda dimension: 1)
    sized(monkeypatch, made=0)
    for least, is_small in ((150, True), (149, False)):
        sized(monkeypatch, sample=least)
        assert train(engine, "m", joined, training(lam=0.1)).in_memory == is_small
    monkeypatch.undo()
    sized(monkeypatch, read=2)
    for asked in (training(lam=0.1, solver="bundle"), training(lam=0.1, in_memory=0), training(by="a", in_memory=9)):
        query = "SELECT y, x % 3 AS a, w FROM a" if asked.by else joined
        assert not train(engine, "m", query, replace(asked, lam=0.1)).in_memory
    assert statements


@pytest.mark.slow
def test_a_join_has_no_more_rows_than_groups_of_keys_allow(shared_engine: Engine) -> None:
    """On either engine every other one."""
    engine, seen, counted = shared_engine, 0, 0
    for seed in range(engine.dialect == "duckdb", 60, 2):
        world = random_world(np.random.default_rng(seed), max_relations=4, features=True, label=True)
        assert world.label
        with world.created(engine) as live, workspace(engine) as work:
            options = training(label=world.label.name, nulls="mean")
            plan, catalog = planned(Facts(engine), labelled(engine, live.query(engine.dialect), options), options)
            most = small._at_most(plan.bare, catalog)
            counted += most < np.inf
            seen += small._size(work, plan.bare) <= most
    assert (seen, counted > 10) == (30, True)


def test_a_join_of_small_tables_is_made_here(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two tables of 30 rows each, with 300 rows of 3 coordinates. With 15 rows of a third table they are 1,500. In
    this process, there may be four times as many numbers over two links as over one."""
    sized(monkeypatch, read=1, sent=-np.inf)
    monkeypatch.setattr(small, "sample_size", lambda dimension: 1)
    build(engine, "CREATE TABLE a (k INT, y INT, x INT); CREATE TABLE b (k INT, z INT)")
    build(engine, "INSERT INTO a SELECT i % 3, i % 2, i FROM generate_series(1, 30) AS s(i)")
    build(engine, "INSERT INTO b SELECT i % 3, i FROM generate_series(1, 30) AS s(i)")
    build(engine, "CREATE TABLE c AS SELECT k FROM b WHERE z <= 15")
    two = "SELECT a.y, a.x, b.z FROM a JOIN b ON a.k = b.k"
    three = f"{two} JOIN c ON c.k = a.k"
    served = not engine.abilities.in_process
    cases = [(30, 900, 900, two, True), (30, 899, 899, two, False), (29, 900, 900, two, False)]
    cases += [(30, 4500, 1125, three, True), (30, 4499, 9999, three, False)]
    cases += [(30, 4500, 899, two, served), (30, 4500, 1124, three, served)]
    for least, made, fast, query, is_small in cases:
        sized(monkeypatch, sample=least, made=made, made_fast=fast)
        assert train(engine, "m", query, training(lam=0.1)).in_memory is is_small
    assert not train(engine, "m", three, training(lam=0.1, in_memory=1499)).in_memory


def test_a_server_may_send_as_many_numbers(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of the join has 5 numbers, of which 4 are of `d`, and 2 are sent for it: the label and a key. So twice 50
    rows may be 250. In this process it is the rows that count."""
    sized(monkeypatch, read=2, sent=-np.inf)
    build(engine, "CREATE TABLE f (k INT, y INT); CREATE TABLE d (k INT, a INT, b INT, c INT, e INT)")
    build(engine, "INSERT INTO d SELECT i, i * i, i % 3, i % 2, i * 7 % 5 FROM generate_series(0, 4) AS s(i)")
    sent, query = not engine.abilities.in_process, "SELECT y, a, b, c, e FROM f JOIN d ON f.k = d.k"
    for rows, is_small in ((100, True), (101, sent), (250, sent), (251, False)):
        build(engine, f"DELETE FROM f; INSERT INTO f SELECT i % 5, i % 2 FROM generate_series(1, {rows}) AS s(i)")
        assert train(engine, "m", query, training(lam=0.1, sample=50)).in_memory is is_small
    assert not train(engine, "m", query, training(lam=0.1, in_memory=250)).in_memory
    build(engine, "DELETE FROM f; INSERT INTO f SELECT i % 5, i % 2 FROM generate_series(1, 99) AS s(i)")
    bare = "SELECT f.y, d.a FROM f JOIN d ON f.k = d.k JOIN d AS o ON o.k = f.k + 0 JOIN d AS p ON p.k = f.k + 0 + 0"
    assert train(engine, "m", bare, training(lam=0.1, sample=50)).in_memory  # more keys than features


def test_a_server_sends_more_to_several_models(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One model reads no join of 200 rows here. Three with three folds are twelve, whose passes would read it more
    often than it has columns. In this process passes take as long."""
    sized(monkeypatch, read=2)
    monkeypatch.setattr(small, "_sample", lambda design, least: 10)
    build(engine, "CREATE TABLE a (y INT, x INT)")
    build(engine, "INSERT INTO a SELECT i % 2, i * i % 7 FROM generate_series(1, 200) AS s(i)")
    asked = {f"m{lam}": training(lam=lam, folds=3) for lam in (1e-1, 1e-2, 1e-3)}
    models = train_each(engine, "SELECT y, x FROM a", asked, on_fold=lambda part, weights: None)
    assert {model.in_memory for model in models} == {not engine.abilities.in_process}
    assert not train(engine, "m", "SELECT y, x FROM a", training(lam=0.1)).in_memory


def test_what_is_small_by_its_keys_is_not_counted(engine: Engine, statements: list[str]) -> None:
    """Three rows of `b` for each of the 30 of `a` are 90."""
    build(engine, "CREATE TABLE a (k INT, y INT, x INT); CREATE TABLE b (k INT, z INT)")
    build(engine, "INSERT INTO a SELECT i % 10, i % 2, i FROM generate_series(1, 30) AS s(i)")
    build(engine, "INSERT INTO b SELECT i % 10, i FROM generate_series(1, 30) AS s(i)")
    for most, counts in ((90, False), (89, True)):
        statements.clear()
        train(engine, "m", "SELECT a.y, a.x, b.z FROM a JOIN b ON a.k = b.k", reading(training(lam=0.1), most))
        assert any("t.total" in s and " AS n" in s for s in statements) is counts


def test_several_models_share_the_rows(engine: Engine, statements: list[str]) -> None:
    join = chain(np.random.default_rng(3))
    join.create(engine)
    lams = (1e-1, 1e-2, 1e-3)
    asked = {f"m{lam}": reading(training(lam=lam, folds=3)) for lam in lams}
    parts: list[Data] = []
    models = train_each(engine, join.query, asked, on_fold=lambda part, weights: parts.append(part))
    reads = sum("times" in s and "ORDER BY" not in s and "sqlsvm_" not in s for s in map(str, statements))
    assert reads <= 1 + 3  # of all rows, and at most once for each fold
    assert len(parts) == 3
    for model, lam in zip(models, lams, strict=True):
        assert_same_optimum(model, train(engine, "m", join.query, training(lam=lam)))


def test_classes(engine: Engine) -> None:
    join = star(np.random.default_rng(3), 600)
    join.create(engine)
    query = join.query.replace("s.y", "s.store % 3 AS y", 1)
    model = assert_as_by_passes(engine, query, training(lam=1e-2))
    assert len(model.parts) == 3


def test_a_state_goes_on_in_memory(engine: Engine) -> None:
    """Cuts are cuts of the same function, wherever they were made."""
    join = chain(np.random.default_rng(3))
    join.create(engine)
    asked = training(lam=1e-4, tol=1e-6, max_passes=2, counting="grid", sample=100)
    with workspace(engine) as work:
        problem = opened(work, query_of(engine, join.query, asked), asked)[0]
        first = Problems(problem).solve(asked)[0]
    assert not first.converged
    there = reading(replace(asked, max_passes=20))
    with workspace(engine) as work:
        problem = opened(work, query_of(engine, join.query, there), there)[0]
        rest = Problems(problem).solve(there, states=[first.state])[0]
    assert rest.converged
    assert rest.certificate.lower_bound <= first.certificate.objective_upper
    assert len(rest.history) > len(first.history)


FOLDED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("star", {"lam": 1e-2, "class_weight": "balanced"}),
    ("categories", {"lam": 1e-2, "loss": "squared_hinge", "probability": "sigmoid"}),
    ("chain", {"lam": 1e-2}),
    ("numbers", {"lam": 1e-2, "loss": "huber"}),
)


@pytest.mark.thin(4)
@pytest.mark.parametrize(("shape", "options"), FOLDED, ids=[shape for shape, _ in FOLDED])
def test_folds_are_solved_from_the_rows(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, shape: str, options: dict[str, Any]
) -> None:
    """With the measures, the errors and the probabilities that passes give, and without a pass. Over three bags passes
    do not know the errors."""
    join = SHAPES[shape](np.random.default_rng(6))
    asked = training(folds=2, tol=1e-5, categorical=join.categorical, **options)
    with join.created(engine):
        passed = validated(engine, join.query, asked)
        monkeypatch.setattr(join_oracle, "JoinOracle", None)
        found = validated(engine, join.query, reading(asked))
    assert found.validation.keys() == passed.validation.keys()
    for name, measured in passed.validation.items():
        assert found.validation[name].folds == pytest.approx(measured.folds, rel=1e-3, abs=3e-3), name
        if shape != "chain":
            error = found.validation[name].standard_error
            assert error == pytest.approx(measured.standard_error, rel=0.05, abs=3e-3), name
    if passed.probability:
        assert found.probability
        assert found.probability(np.linspace(-2, 2, 9)) == pytest.approx(
            passed.probability(np.linspace(-2, 2, 9)), abs=1e-2
        )


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        *FOLDED,
        ("star", {"lam": 1e-2, "loss": "logistic"}),
        ("star", {"lam": 1e-2, "weight": "weight", "class_weight": (3.0, 1.0)}),
        ("left join", {"lam": 1e-2, "nulls": "mean"}),
        ("cycle", {"lam": 1e-2}),
        ("numbers", {"lam": 1e-2, "loss": "quantile", "quantile": 0.8}),
    ],
)
def test_a_fold_is_measured_as_by_the_database(engine: Engine, shape: str, options: dict[str, Any]) -> None:
    """Where the label's relation is part of a cycle, its rows are not known apart. Over several bags the database puts
    scores on a fine grid."""
    join = SHAPES[shape](np.random.default_rng(7))
    for (ours, our_errors), (theirs, their_errors) in measured_both_ways(engine, join, **options):
        assert ours == pytest.approx(theirs, rel=1e-3 if shape == "chain" else 1e-9)
        assert our_errors.keys() >= {*their_errors} & {*ours}
        assert bool(our_errors) == (shape != "cycle")
        for name in their_errors.keys() & our_errors.keys():
            assert our_errors[name] == pytest.approx(their_errors[name], rel=5e-2), name


def validated(engine: Engine, query: str, asked: Training) -> Model:
    validation = Validation({"m": asked})
    (model,) = train_each(engine, query, {"m": asked}, on_fold=validation.measure)
    return validation.of(model)
