"""Any form of a query on Spark: what is trained on is the same as on DuckDB."""

import pytest

from sqlsvm.engine.base import Engine
from tests.db.test_selects import create
from tests.ground.selects import assert_equal, measured
from tests.spark.conftest import Move

FORMS = (
    "SELECT o.late, o.id, o.total, c.id, c.age, 1 AS one FROM orders o JOIN customers c ON c.id = o.customer_id",
    "SELECT o.late, c.age, COUNT(*) AS pairs, AVG(v.minutes) AS mean FROM orders o "
    "JOIN customers c ON c.id = o.customer_id JOIN visits v ON v.customer_id = c.id GROUP BY o.id, o.late, c.age",
    "SELECT o.late, COALESCE(v.minutes, 0) AS m FROM orders o LEFT JOIN visits v ON v.customer_id = o.customer_id",
    "SELECT o.late, o.total FROM orders o FULL JOIN customers c ON c.id = o.customer_id WHERE o.late IS NOT NULL",
    "SELECT o.late, o.total FROM orders o WHERE EXISTS (SELECT 1 FROM visits v WHERE v.customer_id = o.customer_id)",
    "SELECT o.late, v.minutes FROM orders o JOIN visits v ON v.customer_id = o.customer_id AND v.ts < o.ts",
    "SELECT o.late, (SELECT AVG(v.minutes) FROM visits v WHERE v.customer_id = o.customer_id) AS m FROM orders o",
    "SELECT DISTINCT o.late, c.age FROM orders o JOIN customers c ON c.id = o.customer_id",
    "SELECT late, total, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ts, id) AS n FROM orders",
    "SELECT late, total FROM orders UNION ALL SELECT churned, age FROM customers",
    "SELECT o.late, s.n FROM orders o JOIN (SELECT customer_id, COUNT(*) AS n FROM visits GROUP BY customer_id) AS s "
    "ON s.customer_id = o.customer_id",
)
"""Folded, a part that is made, and the whole."""


@pytest.mark.slow
def test_forms(spark: Engine, duckdb: Engine, move: Move) -> None:
    create(duckdb)
    move("orders", "customers", "visits")
    for text in FORMS:
        try:
            found, wanted = (measured(engine, text, "late", "mean") for engine in (spark, duckdb))
            assert isinstance(found, dict)
            assert isinstance(wanted, dict)
            assert_equal(found, wanted)
        except BaseException as error:
            error.add_note(text)
            raise
