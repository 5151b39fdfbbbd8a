"""Expressions over several tables of one bag, compared with the query as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.errors import DataError, QueryError
from sqlsvm.model.predict import predict, score_sql
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.run.data import prepared
from sqlsvm.run.offload import brought
from sqlsvm.run.opening import labelled, open_problem
from sqlsvm.run.train import train
from sqlsvm.run.workspace import workspace
from tests.db.test_oracle import assert_exact
from tests.ground import svm
from tests.ground.joins import Join, chain, left_join
from tests.ground.opened import Opened, Wish, is_clear, truth
from tests.ground.schemas import Wishes, random_world
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import assert_beside_liblinear, assert_proven, beta_of, training, wish_of
from tests.ground.world import noted
from tests.typed import asked, typed


def shop(rng: np.random.Generator) -> Join:
    """A key of two columns, a dimension of a dimension, and a region that a customer may not have."""
    order, item = rng.integers(0, 300, 2000), rng.integers(0, 50, 2000)
    customer, region = rng.integers(0, 80, 300), rng.integers(0, 9, 80)
    born, opened, price = rng.integers(1950, 2005, 80), rng.integers(1990, 2015, 9), rng.uniform(1, 9, (50, 2))
    paid, year = rng.uniform(1, 9, 2000), rng.integers(2000, 2024, 300)
    age = year[order] - born[customer[order]]
    y = (paid / price[item, order % 2] > 1.1) ^ (np.abs(age - 35) < 12) ^ (rng.random(2000) < 0.1)
    return Join(
        """
        CREATE TABLE lines (o INT, item INT, kind INT, paid FLOAT8, y BOOLEAN);
        CREATE TABLE orders (id INT, c INT, year INT);
        CREATE TABLE customers (id INT PRIMARY KEY, born INT, r INT);
        CREATE TABLE regions (id INT PRIMARY KEY, opened INT);
        CREATE TABLE prices (item INT, kind INT, price FLOAT8, UNIQUE (item, kind))
        """,
        {
            "lines": {"o": order, "item": item, "kind": order % 2, "paid": paid, "y": y},
            "orders": {"id": np.arange(300), "c": customer, "year": year},
            "customers": {"id": np.arange(80), "born": born, "r": region},
            "regions": {"id": np.arange(7), "opened": opened[:7]},
            "prices": {"item": np.repeat(np.arange(50), 2), "kind": np.tile([0, 1], 50), "price": price.ravel()},
        },
        """SELECT l.y, l.paid, {} FROM lines l JOIN orders o ON o.id = l.o JOIN customers c ON c.id = o.c
        JOIN prices p ON p.item = l.item AND p.kind = l.kind LEFT JOIN regions r ON r.id = c.r""",
    )


SHAPES: dict[str, tuple[Any, str, str]] = {
    "quotient": (shop, "l.paid / p.price AS share, o.year", ""),
    "far": (shop, "l.paid * (o.year - c.born) AS years, abs(o.year - c.born - 35) < 12 AS middle", ""),
    "text": (shop, "CASE WHEN c.born > o.year - 30 THEN 'young' ELSE 'old ' || l.kind END AS sort, p.price", ""),
    "condition": (shop, "p.price, o.year", " WHERE l.paid < 2 * p.price AND (c.born > 1960 OR l.paid > 3)"),
    "LEFT JOIN": (shop, "o.year - coalesce(r.opened, 2000) * 1.0 AS since, nullif(r.opened, 1995) / o.year AS q", ""),
    "WHERE of a LEFT JOIN": (shop, "p.price", " WHERE r.opened IS NULL OR r.opened + 5 < o.year"),
    "filters": (shop, "l.paid / p.price AS share", " WHERE p.price > 2 AND c.born < 1990"),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_is_proven_on_the_joined_rows(engine: Engine, shape: str) -> None:
    make, outputs, where = SHAPES[shape]
    join = make(np.random.default_rng(1))
    join.create(engine)
    query, wanted = join.query.format(outputs) + where, training(nulls="drop", lam=1e-3, sample=500)
    rows, model = truth(engine, query, wish_of(wanted)), train(engine, "m", query, wanted)
    assert model.bags == 1
    assert len(rows.y) > 100
    assert_proven(engine, model, rows)
    assert_beside_liblinear(model, rows)
    expected = np.sort(rows.x @ beta_of(engine, model, rows))
    own = query.replace("SELECT ", f"SELECT {score_sql(model, of='query')} AS score, ", 1)
    for found in (engine.fetch(predict(engine, model)), asked(engine, own)):
        scores = np.asarray(found["score"], dtype=float)
        np.testing.assert_allclose(np.sort(scores[~np.isnan(scores)]), expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("nulls", ["error", "drop"])
def test_on_random_schemas(shared_engine: Engine, nulls: svm.Nulls) -> None:
    """A product of numbers of two relations, and a condition over two."""
    checked = 0
    for seed in range(24):
        with noted(f"seed {seed}"), met_in_world(shared_engine, seed, nulls) as found:
            if found is not None:
                rng = np.random.default_rng(seed)
                for beta in (found.normal(rng), found.normal(rng)):
                    assert_exact(found, beta, clear=is_clear(found.truth, beta))
                checked += 1
    assert checked >= 4


@contextmanager
def met_in_world(engine: Engine, seed: int, nulls: svm.Nulls) -> Iterator[Opened | None]:
    some = nulls == "drop"
    wishes: Wishes = {"nulls": some, "left_joins": some, "max_rows": 12, "many_to_many": False}
    wishes |= {"min_relations": 2, "max_relations": 4}
    world = random_world(np.random.default_rng(seed), **wishes)
    with world.created(engine) as live:
        numbers = {f.relation: sql.double(f.expression.copy()) for f in live.features if f.kind == "numeric"}
        assert live.label
        if len(numbers) < 2:
            yield None
            return
        first, second, *_ = numbers.values()
        above = exp.GT(this=first.copy(), expression=sql.minus(second.copy(), sql.number(2)))
        outputs = [(exp.Mul(this=first, expression=second), "both"), (live.label.expression, live.label.name)]
        text = live.select([exp.alias_(e, n, quoted=True) for e, n in outputs]).where(above).sql(engine.dialect)
        rows = truth(engine, text, Wish(label=live.label.name, scale="none", nulls=nulls))
        if len(set(rows.y.tolist())) < 2:
            yield None
            return
        with open_problem(engine, text, ProblemOptions(live.label.name, scale="none", nulls=nulls)) as problem:
            yield Opened(problem, rows)


def test_across_bags_the_whole_is_made(engine: Engine) -> None:
    join = chain(np.random.default_rng(0))
    join.create(engine)
    for query, said in (
        (join.query.replace("m.u,", "m.u * l.a AS q,"), "the output m.u * l.a AS q uses m and l"),
        (f"{join.query} WHERE l.a + r.c > 1", "not an equality between two relations: l.a + r.c > 1"),
    ):
        model = train(engine, "m", query, training())
        assert_proven(engine, model, truth(engine, query, wish_of(training())))
        assert model.notes[0].endswith(f"rows of the query for the training: {said}")


@pytest.mark.parametrize("output", ["l.paid * o.year AS q, o.year", "l.paid * r.opened AS q"])
def test_keys_are_checked_in_the_snapshot(engine: Engine, output: str) -> None:
    """A key that was unique when the query was read repeats when its rows are: there is no column to trust."""
    join = shop(np.random.default_rng(1))
    join.create(engine)
    text, options = join.query.format(output), ProblemOptions("y", nulls="drop")
    query = labelled(engine, text, options)
    with workspace(engine) as work:
        prepared(work, query, options)
    typed(engine, "INSERT INTO orders SELECT * FROM orders WHERE id = 1")
    for offload in {False, not engine.abilities.in_process}:
        with (
            pytest.raises(DataError, match="is no longer unique") as raised,
            brought(engine, query, offload) as (here, found),
            workspace(here) as work,
        ):
            prepared(work, found, options)
        assert raised.value.hint == "run the command again"
    (whole,) = labelled(engine, text, options).relations
    assert whole.once


def test_dates_can_be_subtracted(engine: Engine) -> None:
    """A sum of terms that are no numbers is computed where the relations meet. So is one that a map reads."""
    join = shop(np.random.default_rng(1))
    join.create(engine)
    day = "CAST('2000-01-01' AS DATE) + CAST({} AS INT)"
    objectives = []
    for output, maps in (
        (f"({day.format('o.year')}) - ({day.format('c.born')}) AS age", ()),
        ("o.year - c.born AS age", ("spline:age:6",)),
    ):
        query = join.query.format(output)
        model = train(engine, "m", query, training(map=maps, lam=1e-3))
        assert {w.feature for w in model.weights} >= ({"age_spline1"} if maps else {"age"})
        objectives.append(model.objective)
    assert objectives[1] < objectives[0] - 0.005


def test_a_program_and_an_offload(installed: Engine, installed_dsn: str) -> None:
    join = shop(np.random.default_rng(1))
    query = join.query.format("l.paid / p.price AS share") + " WHERE l.paid < 3 * p.price"
    with join.created(installed):
        compiled(installed, "met", query, training(lam=1e-2))
        model = trained(installed, installed_dsn, "met")
        rows = truth(installed, query, wish_of(training(lam=1e-2)))
        assert_proven(installed, model, rows)
        assert_proven(installed, train(installed, "m", query, training(lam=1e-2, offload=True)), rows)


def test_terms_of_a_sum_are_numbers(engine: Engine) -> None:
    join = left_join(np.random.default_rng(1))
    join.create(engine)
    query = "SELECT a.y, a.x + CAST(b.x AS TEXT) AS s FROM calls a JOIN calls b ON b.k = a.k"
    with pytest.raises(QueryError, match=r"No function matches|operator does not exist"):
        train(engine, "m", query, training())


def test_many_outputs_over_two_tables_are_one_sub_query(engine: Engine, statements: list[str]) -> None:
    """Statements do not grow with the outputs, nor do a condition and a map add a sub-query."""
    join = shop(np.random.default_rng(1))
    join.create(engine)
    numbers = []
    for outputs, maps in ((1, ()), (6, ("spline:q5:4",))):
        more = ", ".join(f"l.paid / (p.price + {n}) AS q{n}" for n in range(outputs))
        statements.clear()
        query = labelled(engine, join.query.format(more) + " WHERE l.paid < 3 * p.price", ProblemOptions("y", map=maps))
        numbers.append(sum("AS k0" in s for s in statements))
        assert len(list(query.relation("l").source.find_all(exp.Join))) == 1
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(
    ("output", "options"),
    [
        ("o.year > c.born + 30 AS late, l.paid", {}),
        ("o.year > c.born + 30 AS late, l.paid", {"holdout": 0.3}),
        ("CASE WHEN o.year > c.born + 30 THEN 'old' ELSE 'young' END AS late, l.kind", {"positive": "old"}),
        ("l.paid - p.price AS late, o.year", {"loss": "squared"}),
        ("o.year - c.born AS late, l.paid", {"loss": "squared", "nulls": "drop"}),
    ],
)
def test_a_label_over_several_tables(engine: Engine, output: str, options: dict[str, Any]) -> None:
    """It is a column of a row in which they meet."""
    join = shop(np.random.default_rng(1))
    join.create(engine)
    wanted = training("late", **options, lam=1e-2)
    model = train(engine, "m", join.query.format(output).replace("l.y, l.paid, ", ""), wanted)
    assert model.converged
    if not options:
        rows = truth(engine, join.query.format(output).replace("l.y, l.paid, ", ""), wish_of(wanted))
        assert_proven(engine, model, rows)


def test_a_label_over_tables_that_do_not_meet(engine: Engine) -> None:
    join = chain(np.random.default_rng(0))
    join.create(engine)
    model = train(engine, "m", join.query.replace("m.u,", "m.u - l.a AS s,"), training("s", loss="squared"))
    assert model.notes[0].endswith("rows of the query for the training: the label s uses m and l")


def test_rows_that_are_made_once_have_no_columns_of_others(engine: Engine) -> None:
    """A condition brings a column to c, and an output takes one of c further."""
    for made in (
        "TABLE o AS SELECT g % 9 AS c, g * 0.5 AS w, g % 2 = 0 AS y FROM GENERATE_SERIES(1, 60) AS t(g)",
        "TABLE c AS SELECT g AS id, g % 3 AS r, g % 4 + 1 AS x FROM GENERATE_SERIES(0, 8) AS t(g)",
        "TABLE r AS SELECT g AS id, g * 3 AS z FROM GENERATE_SERIES(0, 2) AS t(g)",
        "TABLE v AS SELECT g AS m FROM GENERATE_SERIES(-3, 9) AS t(g)",
    ):
        typed(engine, f"CREATE {made}")
    text = """
        SELECT o.y, o.w * c.x AS both, r.z, (SELECT AVG(v.m) FROM v WHERE v.m < c.x) AS computed
        FROM o JOIN c ON c.id = o.c JOIN r ON r.id = c.r WHERE c.x > r.z - 3"""
    with open_problem(engine, text, ProblemOptions("y", scale="none")) as problem:
        both = next(c for c in problem.plan.design.coordinates if c.feature == "both")
        rows = asked(engine, text)["both"].astype(float)
        assert problem.moments.n == len(rows)
        assert problem.moments.total[both.index] == pytest.approx(rows.sum())
