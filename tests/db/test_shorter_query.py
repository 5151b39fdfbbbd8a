"""`show --sql`: a training on the query with only the features that are left has the same optimum."""

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.model.shorter import shorter_query
from sqlsvm.run.train import train
from sqlsvm.run.training import Training
from sqlsvm.suggestion.suggest import Wanted, suggest
from tests.ground.opened import build
from tests.typed import asked

SHOP = """
    CREATE TABLE customers (id INT PRIMARY KEY, age INT, "Odd one" INT);
    CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT REFERENCES customers (id), placed_on DATE, amount FLOAT8,
        channel TEXT, late BOOLEAN);
    INSERT INTO customers SELECT n, 20 + n * 7 % 50, n % 3 FROM GENERATE_SERIES(1, 20) AS g(n);
    INSERT INTO orders SELECT n, 1 + n * 7 % 20, DATE '2024-01-01' + CAST(n * n * 31 % 91 AS INT), n * 13 % 40,
        CASE n % 3 WHEN 0 THEN 'web' WHEN 1 THEN 'shop' ELSE 'phone' END, n * 13 % 40 + n * 7 % 20 > 30
        FROM GENERATE_SERIES(1, 300) AS g(n)
"""
BY_HAND = """
    SELECT o.late, o.amount, o.channel, c.age, c."Odd one", h.n AS before, h.total
    FROM orders AS o JOIN customers AS c ON c.id = o.customer_id
    JOIN (SELECT customer_id, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY customer_id) AS h
        ON h.customer_id = o.customer_id"""


def of(label: str) -> Training:
    return Training.of(label=label, lam=1e-2, l1=0.03, loss="logistic", nulls="mean")


@pytest.mark.parametrize("written", ["by hand", "suggested", "*"])
def test_it_has_the_same_optimum(engine: Engine, written: str) -> None:
    build(engine, SHOP)
    query, label = BY_HAND, "late"
    if written == "suggested":
        query = suggest(engine, Wanted("orders", "late", "placed_on", windows=("20 days",))).query
    elif written == "*":
        query = f"SELECT * FROM ({BY_HAND}) AS o"
    whole = train(engine, "model", query, of(label))
    query = shorter_query(whole)
    short = train(engine, "model", query, of(label))
    left = {weight.feature for weight in whole.weights if weight.weight}
    assert 0 < len(left) < len(whole.features)
    assert set(short.features) == left
    assert set(asked(engine, query)) == {label, *left}
    assert short.objective == pytest.approx(whole.objective, rel=1e-3)
    assert shorter_query(short).lower() == query.lower()
