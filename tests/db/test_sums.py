"""Features that add up terms of several relations, such as p.x - 2 * a.x: one weight, as over the materialised join."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.ask.explain import analyze, explain
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import OptionError, SqlsvmError
from sqlsvm.lab.ask.counting import row_counts
from sqlsvm.model.predict import predict
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import Feature
from sqlsvm.query.read_query import read_query
from sqlsvm.run.opening import open_problem
from sqlsvm.run.train import train
from tests.db.test_oracle import assert_exact
from tests.evaluating import evaluate_model
from tests.ground import svm
from tests.ground.joins import JOINS
from tests.ground.opened import Opened, Wish, build, is_clear, truth
from tests.ground.schemas import random_world
from tests.ground.sql_program import call, compiled, trained
from tests.ground.trained import assert_proven, training, wish_of
from tests.ground.world import World, noted
from tests.psql import complaint, psql
from tests.typed import typed

pytestmark = pytest.mark.twin


def summed(live: World, rng: np.random.Generator) -> exp.Select | None:
    """The query of a world with a number of each relation in one sum, in place of these numbers."""
    assert live.label
    numbers = {f.relation: f for f in live.features if f.kind == "numeric"}
    if len(numbers) < 2:
        return None
    factors = rng.choice([-2, -1, 1, 3], size=len(numbers))
    terms = [
        exp.Mul(this=double(f), expression=sql.integer(int(k))) for f, k in zip(numbers.values(), factors, strict=True)
    ]
    whole: exp.Expression = exp.Sub(this=exp.paren(sql.plus(*terms)), expression=sql.number(1.5))
    others = [f for f in live.features if f not in numbers.values()]
    named = [exp.alias_(whole, "total sum", quoted=True), *(output(f) for f in (live.label, *others))]
    return live.select(named)


def double(feature: Feature) -> exp.Expression:
    return sql.double(feature.expression.copy())


def output(feature: Feature) -> exp.Expr:
    return exp.alias_(feature.expression.copy(), feature.name, quoted=True)


@contextmanager
def sums_of_world(engine: Engine, seed: int, scale: svm.Scale, nulls: svm.Nulls) -> Iterator[Opened | None]:
    rng = np.random.default_rng(seed)
    some = nulls == "drop"
    world = random_world(rng, min_relations=2, max_relations=4, nulls=some, left_joins=some, max_rows=12)
    with world.created(engine) as live:
        assert live.label
        found = summed(live, rng)
        wish = Wish(label=live.label.name, scale=scale, nulls=nulls)
        text = found.sql(engine.dialect) if found else ""
        rows = truth(engine, text, wish) if found else None
        if rows is None or len(set(rows.y.tolist())) < 2 or not rows.x[:, 1].std() > 1e-3:
            yield None
            return
        options = ProblemOptions(label=wish.label, scale=scale, nulls=nulls)
        with open_problem(engine, text, options) as problem:
            yield Opened(problem, rows)


@pytest.mark.slow
@pytest.mark.thin(3)
@pytest.mark.parametrize("nulls", ["error", "drop"])
@pytest.mark.parametrize("scale", ["standard", "none"])
def test_on_random_schemas(shared_engine: Engine, scale: svm.Scale, nulls: svm.Nulls) -> None:
    """Moments, values, cuts."""
    checked = several = 0
    for seed in range(16):
        with noted(f"seed {seed}"), sums_of_world(shared_engine, seed, scale, nulls) as found:
            if found is None:
                continue
            rng = np.random.default_rng(seed)
            for beta in (found.normal(rng), found.normal(rng)):
                assert_exact(found, beta, clear=is_clear(found.truth, beta))
            checked += 1
            several += found.plan.centre is not None
    assert checked >= 4
    assert several >= 1


SHAPES = {
    "star": "s.price - 2 * st.size + i.weight",
    "chain": "l.a + 0.5 * r.c - m.u",
    "left join": "c.x + COALESCE(p.rate, 0.5)",
    "cyclic": "(ab.x - bc.z) / 2 + ca.w",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_on_joins_of_thousands_of_rows(engine: Engine, shape: str) -> None:
    """A cycle is one node, with all terms of the sum."""
    join = JOINS[shape](np.random.default_rng(8))
    join.create(engine)
    query = join.query.replace("SELECT ", f"SELECT {SHAPES[shape]} AS s, ", 1)
    options = ProblemOptions("y", nulls="drop", categorical=join.categorical)
    rows = truth(engine, query, Wish(nulls="drop", scale="standard", categorical=join.categorical))
    with open_problem(engine, query, options) as problem:
        found = Opened(problem, rows)
        beta = found.normal(np.random.default_rng(1))
        assert_exact(found, beta, clear=is_clear(rows, beta))


SCRIPT = """
CREATE TABLE p (id INT PRIMARY KEY, x FLOAT8, n INT, r REAL, day DATE, word TEXT);
CREATE TABLE f (k INT, p INT, y BOOLEAN, z FLOAT8, m INT, same INT);
CREATE TABLE a (k INT, x FLOAT8, n INT, r REAL, day DATE, maybe FLOAT8, flag BOOLEAN)
"""
FROM = "FROM f JOIN p ON p.id = f.p JOIN a ON a.k = f.k"


@pytest.fixture(name="tables")
def tables_(engine: Engine) -> Engine:
    return filled(engine)


def filled(engine: Engine) -> Engine:
    rng = np.random.default_rng(4)
    build(engine, SCRIPT)
    p = {"id": np.arange(12), "x": rng.normal(size=12), "n": rng.integers(0, 9, 12)}
    k, here, z = rng.integers(0, 6, 80), rng.integers(0, 12, 80), rng.normal(size=80)
    y = p["x"][here] - z + rng.normal(size=80) > 0
    f = {"k": k, "p": here, "y": y, "z": z, "m": rng.integers(0, 9, 80), "same": -k}
    maybe = np.ma.masked_array(rng.normal(size=40), np.arange(40) % 3 == 0)
    a = {"k": rng.integers(0, 6, 40), "x": 5 + rng.normal(size=40), "n": rng.integers(0, 9, 40), "maybe": maybe}
    tables: dict[str, Rows] = {"p": p, "f": f, "a": a}
    for name, rows in tables.items():
        engine.copy_in(engine.placed(exp.to_table(name)), rows)
    return engine


@pytest.mark.parametrize("scale", ["standard", "none"])
@pytest.mark.parametrize("output", ["p.x - 2 * a.x AS s", "(f.z + a.n) / 4 - (p.n - 1) * 0.5 AS s"])
def test_a_model_is_that_of_the_materialised_join(tables: Engine, output: str, scale: svm.Scale) -> None:
    query = f"SELECT f.y, {output}, f.m {FROM}"
    asked_for = training(scale=scale, lam=1e-2)
    rows = truth(tables, query, wish_of(asked_for))
    model = train(tables, "m", query, asked_for)
    beta = assert_proven(tables, model, rows)
    assert model.converged
    assert [w.feature for w in model.weights] == ["s", "m"]
    assert model.trained_on.relations["s"] in ("p, a", "f, a, p")
    place = rows.columns.index(("s", None))
    assert model.scaling["s"].centre == pytest.approx(rows.centre[place])
    assert model.scaling["s"].width == pytest.approx(rows.width[place])
    scores = tables.fetch(predict(tables, model))["score"]
    np.testing.assert_allclose(np.sort(scores), np.sort(rows.x @ beta), rtol=1e-9, atol=1e-9)
    found = evaluate_model(tables, model)
    wrong = np.sum((rows.x @ beta > 0) != (rows.y > 0))
    assert found.as_json()["accuracy"] == pytest.approx(1 - wrong / len(rows.y))


@pytest.mark.parametrize("intercept", [True, False])
def test_a_term_that_is_constant(tables: Engine, intercept: bool) -> None:
    """It adds nothing to the variance. Without an intercept it is no intercept in disguise: it is in the sum."""
    query = f"SELECT f.y, f.z + (p.id - p.id + 3) - a.x AS s, f.m {FROM}"
    asked_for = training(lam=1e-2, intercept=intercept)
    rows = truth(tables, query, wish_of(asked_for))
    model = train(tables, "m", query, asked_for)
    assert_proven(tables, model, rows)
    assert model.scaling["s"].width == pytest.approx(rows.width[rows.columns.index(("s", None))])


def test_a_sum_without_a_name(tables: Engine) -> None:
    model = train(tables, "m", f"SELECT f.y, f.z - 2 * a.x {FROM}", training(lam=1e-2))
    assert [w.feature for w in model.weights] == ["f.z - 2 * a.x"]
    (score,) = tables.fetch(predict(tables, model, 'SELECT 2.5 AS "f.z - 2 * a.x"'))["score"]
    assert score == pytest.approx(model.intercept + 2.5 * model.weights[0].weight)
    assert len(tables.fetch(predict(tables, model))["score"]) == model.join_rows


@pytest.mark.twin(False)
def test_weights_of_rows_count_in_the_variance_of_a_sum(tables: Engine) -> None:
    query = f"SELECT f.y, f.z + a.x AS s, a.n AS w {FROM}"
    asked_for = training(weight="w", lam=1e-2)
    rows = truth(tables, query, wish_of(asked_for))
    model = train(tables, "m", query, asked_for)
    assert_proven(tables, model, rows)
    assert model.scaling["s"].width == pytest.approx(rows.width[1])


@pytest.mark.parametrize("nulls", ["drop", "mean"])
def test_a_term_that_is_null(tables: Engine, nulls: str) -> None:
    """Its sum is NULL. The mean of a sum is that of its rows, so these are made."""
    query = f"SELECT f.y, f.z + a.maybe AS s {FROM}"
    asked_for = training(nulls=nulls, lam=1e-2)
    rows = truth(tables, query, wish_of(asked_for))
    assert_proven(tables, train(tables, "m", query, asked_for), rows)


def test_a_sum_as_a_user_may_feed_it(tables: Engine) -> None:
    """Rows to score have the sum as one column."""
    model = train(tables, "m", f"SELECT f.y, f.z + a.x AS s {FROM}", training(lam=1e-2))
    (score,) = tables.fetch(predict(tables, model, "SELECT 2.5 AS s"))["score"]
    assert score == pytest.approx(model.intercept + 2.5 * model.weights[0].weight)


@pytest.mark.parametrize(
    ("output", "options", "message", "hint"),
    [
        ("f.z + a.maybe AS s", {"nulls": "error"}, "feature s is NULL in", "nulls='drop'"),
        ("f.z + a.x AS s", {"scale": "maxabs"}, "maxabs cannot scale s", "scale='standard', or none"),
        ("f.z + a.x AS s", {"solver": "descent", "scale": "none"}, "descent needs features of one", "solver='dane'"),
        ("f.k - a.k AS s", {}, "feature s hardly varies in the join", "leave it out"),
        ("(p.x + 1e9) + a.x AS s", {"intercept": False}, "the term .* of s is between 99999999", "subtract a constant"),
    ],
)
def test_refused(tables: Engine, output: str, options: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(SqlsvmError, match=message) as refused:
        train(tables, "m", f"SELECT f.y, f.m, {output} {FROM}", training(**options))
    assert hint in str(refused.value)


def test_a_division_that_drops_the_remainder(tables: Engine) -> None:
    """In DuckDB 7 / 2 is 3.5."""
    query = f"SELECT f.y, (f.m + a.n) / 2 AS s {FROM}"
    model = train(tables, "m", query, training(lam=1e-2))
    assert_proven(tables, model, truth(tables, query, Wish(scale="standard")))
    assert any("drops the remainder" in note for note in model.notes) == (tables.dialect == "postgres")


def test_a_term_whose_type_does_not_have_its_negative(engine: Engine) -> None:
    """The sum has: it is an integer."""
    build(engine, "CREATE TABLE f (k INT, y INT, n INT); CREATE TABLE a (k INT PRIMARY KEY, least SMALLINT)")
    build(engine, "INSERT INTO f VALUES (1, 0, 3), (1, 1, 4), (2, 0, 1), (2, 1, 7); INSERT INTO a VALUES (1, -32768)")
    build(engine, "INSERT INTO a VALUES (2, 32767)")
    for output in ("f.n - a.least AS s", "-(a.least + f.n) AS s"):
        query = f"SELECT f.y, {output} FROM f JOIN a ON a.k = f.k"
        model = train(engine, "m", query, training(lam=1e-2))
        assert_proven(engine, model, truth(engine, query, Wish(scale="standard")))


def test_two_sums_of_one_name(tables: Engine) -> None:
    model = train(tables, "m", f"SELECT f.y, f.z + a.x AS s, f.z - a.x AS s {FROM}", training(lam=1e-2))
    assert [weight.feature for weight in model.weights] == ["s", "s_2"]
    assert "s_2 is a second output called s" in model.notes


@pytest.mark.parametrize(
    ("output", "why"),
    [("a.day - p.day", r"the terms? of s over [ap] (is of type (DATE|date)|are no numbers)"),
     ("p.r + a.r", "the sum s is rounded to the type")],
)  # fmt: skip
def test_sums_of_other_types_are_made(tables: Engine, output: str, why: str) -> None:
    (result,) = read_query(tables, f"SELECT f.y, {output} AS s {FROM}").relations
    assert result.once
    assert re.search(why, result.once.reason)


@pytest.mark.twin(False)
@pytest.mark.parametrize("role", ["label", "weight", "categorical"])
def test_a_sum_folds_as_a_feature_only(tables: Engine, role: str) -> None:
    """For another role the whole is made."""
    options: dict[str, Any] = {"label": "y", role: ("s",) if role == "categorical" else "s"}
    options |= {"loss": "squared"} if role == "label" else {}
    query = (
        f"SELECT f.y, f.m, ABS(f.z + a.x) AS s {FROM}"
        if role == "weight"
        else f"SELECT f.y, f.m, f.z + a.x AS s {FROM}"
    )
    model = train(tables, "m", query, training(**options))
    assert "s uses f and a" in model.notes[0]


def test_offloaded(tables: Engine) -> None:
    if tables.dialect == "postgres":
        query = f"SELECT f.y, f.z - COALESCE(a.maybe, 1) AS s {FROM}"
        asked_for = training(offload=True, lam=1e-2)
        assert_proven(tables, train(tables, "m", query, asked_for), truth(tables, query, wish_of(asked_for)))


def test_explained(tables: Engine) -> None:
    """What runs is what is said before."""
    query = f"SELECT f.y, f.z + a.x - p.x AS s {FROM}"
    for found in (explain(tables, query, training(label="y")), analyze(tables, query, training())):
        names = [s.name for s in found.statements if s.phase == "measure"]
        assert names.count("variance of s") == 3


@pytest.mark.twin(False)
def test_no_part_is_made_to_know_whether_a_sum_is_null(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """A LEFT JOIN loses no row, so what it finds is not asked for."""
    build(engine, "CREATE TABLE o AS SELECT g AS k, g % 7 AS x, g % 2 = 0 AS y FROM GENERATE_SERIES(1, 60) r(g)")
    build(engine, "CREATE TABLE c (k INT PRIMARY KEY, z INT)")
    typed(engine, "INSERT INTO c SELECT k, k % 5 FROM o")
    part = "LEFT JOIN (SELECT k, COUNT(*) AS n FROM o GROUP BY k) AS h ON h.k = o.k"
    query = f"SELECT o.y, o.x, c.z - o.x AS d, h.n FROM o LEFT JOIN c ON c.k = o.k {part}"
    for change, made in (("SELECT 1", "h"), ("DELETE FROM c WHERE k = 7", "result")):
        typed(engine, change)
        caplog.clear()
        with caplog.at_level(logging.INFO, "sqlsvm"):
            train(engine, "m", query, training(lam=1e-2, nulls="mean"))
        (said,) = [message for message in caplog.messages if message.startswith("making")]
        assert said.startswith(f"making the rows of {made}: ")


def test_counts_by_value_refuse_sums(tables: Engine) -> None:
    query = f"SELECT f.y, f.m, f.z + a.x AS s {FROM}"
    with open_problem(tables, query, ProblemOptions(label="y")) as problem, pytest.raises(OptionError, match="adds up"):
        list(row_counts(problem, np.zeros(problem.scaling.dimension)))


# -- stored programs ---------------------------------------------------------------------------------------------------


@pytest.fixture(name="there")
def there_(installed: Engine) -> Engine:
    return filled(installed)


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "more", [{}, {"scale": "none"}, {"class_weight": "balanced"}, {"nulls": "drop"}, {"weight": "w"}]
)
def test_a_stored_program(there: Engine, installed_dsn: str, more: dict[str, Any]) -> None:
    """As the driver's: scaling, certificate, weights."""
    term = "a.maybe" if "nulls" in more else "2 * a.x - (p.id - p.id)"
    weight = ", a.n + 1 AS w" if "weight" in more else ""
    query = f"SELECT f.y, p.x - {term} AS s, f.m, (f.z + a.n) / 4.0 + p.n AS t{weight} {FROM}"
    asked_for = training(lam=1e-2, **more)
    compiled(there, "sums", query, asked_for)
    model, driven = trained(there, installed_dsn, "sums"), train(there, "driven", query, asked_for)
    assert [w.feature for w in model.weights] == [w.feature for w in driven.weights]
    for feature, scale in driven.scaling.items():
        assert model.scaling[feature].centre == pytest.approx(scale.centre)
        assert model.scaling[feature].width == pytest.approx(scale.width)
    if "class_weight" not in more:
        rows = truth(there, query, wish_of(asked_for))
        assert_proven(there, model, rows, join_rows=len(rows.y))
    assert model.lower_bound <= driven.objective_upper
    assert driven.lower_bound <= model.objective_upper
    assert model.converged
    found = {row["measure"]: row["value"] for row in call(installed_dsn, "evaluate", "sums")}
    assert found["accuracy"] == pytest.approx(evaluate_model(there, model).as_json()["accuracy"])
    (row,) = call(installed_dsn, "objective", "sums")
    if "scale" not in more and "class_weight" not in more:
        assert row["objective"] == pytest.approx(model.objective, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE a SET x = NULL WHERE n = 3", 'feature "s, its term over a," is NULL'),
        ("UPDATE a SET x = -1000000 * k; UPDATE f SET z = 1000000 * k", 'feature "s" hardly varies'),
        ("UPDATE a SET x = 1000000000 + n", 'feature "s" is between 1000000000 and'),
    ],
)
def test_rows_that_a_program_refuses(there: Engine, installed_dsn: str, change: str, message: str) -> None:
    compiled(there, "sums", f"SELECT f.y, f.z + 1e-6 * f.m + a.x + 1e-6 * a.n AS s, f.m {FROM}", training())
    for statement in change.split("; "):
        typed(there, statement)
    assert message in psql(installed_dsn, "SELECT * FROM sqlsvm.train('sums')", {}).err


@pytest.mark.parametrize("nulls", ["error", "mean"])
def test_terms_that_are_null_in_rows_that_do_not_join(there: Engine, installed_dsn: str, nulls: svm.Nulls) -> None:
    """Such rows do not count, also if each term has one. A row that joins later is refused."""
    for table in ("f (y, m, k, z)", "a (n, k, x)"):
        typed(there, f"INSERT INTO {table} VALUES ({'TRUE, 1, ' if table[0] == 'f' else '1000, '}-77777, NULL)")
    query, asked_for = f"SELECT f.y, f.z + a.x AS s, f.m {FROM}", training(lam=1e-2, nulls=nulls)
    typed(there, "UPDATE a SET k = -88888 WHERE k = -77777")
    compiled(there, "sums", query, asked_for)
    model = trained(there, installed_dsn, "sums")
    assert_proven(there, model, truth(there, query, wish_of(asked_for)))
    assert [w.missing for w in model.weights if w.feature == "s"] == [None]
    typed(there, "UPDATE a SET x = NULL WHERE n = 3")
    said = complaint(installed_dsn, "SELECT sqlsvm.train('sums');")
    assert re.fullmatch('feature "s" is NULL in [0-9]+ rows of the join', said["MESSAGE"])
    assert said["HINT"] == "Write COALESCE in that term, or compile it again with --nulls drop (leave the row out)."


@pytest.mark.parametrize("function", ["row_count", "pseudo_gradient"])
def test_functions_that_refuse_sums(there: Engine, installed_dsn: str, function: str) -> None:
    compiled(there, "sums", f"SELECT f.y, f.z + a.x AS s, f.m {FROM}", training())
    trained(there, installed_dsn, "sums")
    said = psql(installed_dsn, f"SELECT * FROM sqlsvm.{function}('sums')", {})
    assert 'features of one table, and "s" adds up several' in said.err
