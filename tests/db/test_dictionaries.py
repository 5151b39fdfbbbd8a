"""Categories that are in no row of the join have no weight, in the driver and in psql."""

import pytest

from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.run.train import train
from tests.ground.joins import Join
from tests.ground.opened import build
from tests.ground.sql_program import compiled, trained
from tests.ground.trained import training
from tests.typed import typed

TABLES = """
    CREATE TABLE lands AS SELECT g AS id, 'land ' || g AS land FROM GENERATE_SERIES(0, 49) AS r(g);
    CREATE TABLE cities AS SELECT g AS id, g % 40 AS land, 'city ' || g AS city FROM GENERATE_SERIES(1, 400) AS r(g);
    CREATE TABLE orders AS SELECT g % 30 AS city, g % 10 AS x, COS(g) > 0.2 AS y FROM GENERATE_SERIES(1, 600) AS r(g);
    CREATE TABLE visits AS SELECT g % 20 AS city, 'day ' || g % 5 AS day FROM GENERATE_SERIES(1, 700) AS r(g)
"""
FACTS = "SELECT o.y, o.x, c.city, l.land FROM orders o JOIN cities c ON c.id = o.city JOIN lands l ON l.id = c.land"
MANY = "SELECT o.y, o.x, c.city, v.day FROM orders o JOIN visits v ON v.city = o.city JOIN cities c ON c.id = v.city"
OPTIONAL = "SELECT o.y, o.x, c.city FROM orders o LEFT JOIN cities c ON c.id = o.city AND c.id > 5"
NAMED = (
    "SELECT o.y, o.x, COALESCE(c.city, 'none') AS city FROM orders o LEFT JOIN cities c ON c.id = o.city AND c.id > 5"
)
FOUND = {
    FACTS: {"city": {f"city {g}" for g in range(1, 30)}, "land": {f"land {g}" for g in range(1, 30)}},
    MANY: {"city": {f"city {g}" for g in range(1, 20)}, "day": {f"day {g}" for g in range(5)}},
    OPTIONAL: {"city": {f"city {g}" for g in range(6, 30)}},
    NAMED: {"city": {f"city {g}" for g in range(6, 30)} | {"none"}},
}


def assert_found(model: Model, query: str) -> None:
    named: dict[str, set[object]] = {}
    for w in model.weights:
        if w.category is not None:
            named.setdefault(w.feature, set()).add(w.category)
    assert named == FOUND[query]
    assert model.converged


@pytest.mark.parametrize("query", FOUND)
def test_values_of_no_join_row_are_left_out(engine: Engine, query: str) -> None:
    build(engine, TABLES)
    assert_found(train(engine, "m", query, training("y", lam=1e-2)), query)


@pytest.mark.thin(3)
@pytest.mark.parametrize("query", FOUND)
def test_a_stored_program_leaves_them_out_too(installed: Engine, installed_dsn: str, query: str) -> None:
    with Join(TABLES, {name: {} for name in ("lands", "cities", "orders", "visits")}, query).created(installed):
        compiled(installed, "places", query, training("y", lam=1e-2))
        assert_found(trained(installed, installed_dsn, "places"), query)
        typed(installed, "DELETE FROM cities WHERE id = 7")
        model = trained(installed, installed_dsn, "places")
        assert "city 7" not in {w.category for w in model.weights}


@pytest.mark.parametrize(("last", "others", "read"), [(2, 0, 2), (3, 0, 3), (2, 1, 3)])
def test_few_values_are_found_in_the_first_rows(
    engine: Engine, statements: list[str], last: int, others: int, read: int
) -> None:
    """All rows are looked at if the last one of 100,001 meets a value that the first ones do not, or if none does."""
    build(
        engine,
        f"""
        CREATE TABLE f AS SELECT CASE WHEN g < 100001 THEN g % 3 ELSE {last} END AS d, g % 7 > 2 AS y
            FROM GENERATE_SERIES(1, 100001) AS r(g);
        CREATE TABLE d AS SELECT g AS id, 'value ' || g AS v FROM GENERATE_SERIES(0, {last + others}) AS r(g)
        """,
    )
    model = train(engine, "m", "SELECT f.y, d.v FROM f JOIN d ON d.id = f.d", training("y", lam=1e-2))
    assert {w.category for w in model.weights} == {f"value {g}" for g in range(last + 1)}
    assert sum(s.startswith("SELECT DISTINCT v FROM") for s in statements) == read


def test_the_first_rows_are_those_that_meet_the_conditions(engine: Engine, statements: list[str]) -> None:
    """Those before have no partner, and those after them one of two tables, of which the other has not all."""
    build(
        engine,
        """
        CREATE TABLE f AS SELECT g, CASE WHEN g < 50000 THEN 9 ELSE g % 3 END AS d, g % 5 AS e, g % 7 > 2 AS y
            FROM GENERATE_SERIES(1, 200000) AS r(g);
        CREATE TABLE d AS SELECT g AS id, 'value ' || g AS v FROM GENERATE_SERIES(0, 2) AS r(g);
        CREATE TABLE e AS SELECT g AS id, g AS z FROM GENERATE_SERIES(1, 4) AS r(g)
        """,
    )
    text = "SELECT f.y, d.v, e.z FROM f JOIN d ON d.id = f.d JOIN e ON e.id = f.e WHERE f.g > 60000"
    model = train(engine, "m", text, training("y", lam=1e-2))
    assert {w.category for w in model.weights} - {None} == {"value 0", "value 1", "value 2"}
    assert sum(s.startswith("SELECT DISTINCT v FROM") for s in statements) == 2
