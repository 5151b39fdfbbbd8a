"""`sqlsvm demo`: the same shop every time, in a throw-away server or in a schema that it does not take from others."""

import numpy as np
import pytest
from sqlglot import parse_one

from sqlsvm.demo import LABEL, QUERY, SCHEMA, make, shop
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.inspect import inspect
from tests.cli.command import sqlsvm


@pytest.mark.slow
def test_demo_in_a_throw_away_server() -> None:
    done = sqlsvm("demo")
    assert done.returncode == 0
    assert {line.split()[0] for line in done.stderr.splitlines()} == {"pass"}
    said = done.stdout
    assert said.index("made in a throw-away PostgreSQL 1") < said.index(QUERY.splitlines()[0])
    assert said.index("FROM items i") < said.index("i (items)  100,000 rows") < said.index("The join would have 1.0e9")
    assert said.index("model         returned, not kept") < said.index(", converged\n") < said.index("(intercept)")
    assert next(line.split()[1] for line in said.splitlines() if line.startswith("tag  ")) == "fragile"
    assert "sqlsvm demo --dsn embedded:shop" in said


def rows(engine: Engine, table: str) -> int:
    return int(engine.fetch(parse_one(f"SELECT COUNT(*) AS n FROM {table}", read=engine.dialect))["n"][0])


def test_it_may_be_made_again(engine: Engine) -> None:
    for _ in range(2):
        made = make(engine, SCHEMA)
    assert rows(engine, f"{SCHEMA}.items") == 100_000
    assert "--label returned --query shop.sql" in made.next_steps
    assert "sqlsvm predict returned --dsn " in made.next_steps


def test_the_join_is_large_and_the_tables_are_small(duckdb: Engine) -> None:
    found = inspect(duckdb, make(duckdb, SCHEMA).query, label=LABEL)
    assert 1e9 <= found.join_rows < 1.05e9
    assert max(r.rows for r in found.relations) <= 2e5
    assert len(found.tree.bags) > 1
    assert found.label is not None
    assert 0.3 < found.label.positive / found.join_rows < 0.7


def test_a_schema_of_others_is_left_alone(engine: Engine) -> None:
    engine.execute(parse_one(f"CREATE SCHEMA {SCHEMA}", read=engine.dialect))
    engine.execute(parse_one(f"CREATE TABLE {SCHEMA}.orders AS SELECT 42 AS precious", read=engine.dialect))
    with pytest.raises(OptionError, match="orders that sqlsvm did not make"):
        make(engine, SCHEMA)
    assert rows(engine, f"{SCHEMA}.orders") == 1
    assert len(engine.describe(parse_one(f"SELECT * FROM {SCHEMA}.orders", read=engine.dialect))) == 1  # type: ignore[arg-type]


def test_the_shop_is_the_same_every_time() -> None:
    first, second = shop(), shop()
    assert first.keys() == second.keys()
    for name, columns in first.items():
        for column, values in columns.items():
            assert np.array_equal(values, second[name][column]), (name, column)


def test_the_label_follows_features_of_several_relations() -> None:
    tables = shop()
    items, orders, products = tables["items"], tables["orders"], tables["products"]
    returned = items["returned"]
    order, product = items["order_id"] - 1, items["product_id"] - 1
    express, clothing = orders["express"][order], (products["category"] == "clothing")[product]
    assert returned[clothing].mean() > returned[~clothing].mean() + 0.1
    assert returned[express].mean() < returned[~express].mean() - 0.1
    assert abs(np.corrcoef(returned, items["quantity"])[0, 1]) < 0.02
