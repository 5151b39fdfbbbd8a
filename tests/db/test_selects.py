"""Any SELECT trains, on what its result would be as a table. `python -m tests.queries` draws many more."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlsvm.ask.validation import trained
from sqlsvm.engine.base import Engine
from sqlsvm.model.predict import predict
from tests.evaluating import evaluate_model
from tests.ground.selects import check, made_flat, same_as_flat
from tests.ground.sql_program import compiled
from tests.ground.sql_program import trained as trained_by_psql
from tests.ground.trained import training
from tests.typed import look_in, run

pytestmark = pytest.mark.each

TEXT = (Path(__file__).parent / "selects.sql").read_text(encoding="utf-8")
TABLES, *SELECTS = re.split(r"\n\n-- (?=\S+(?: duckdb| postgres)?\n)", TEXT)
FEW = 18
"""Of as many one is quick."""
FOUND: tuple[int, ...] = ()
RANDOM = 6


@pytest.fixture
def people(engine: Engine) -> Engine:
    create(engine)
    return engine


def create(engine: Engine) -> None:
    for statement in TABLES.split("\n\n", 1)[1].split(";\n"):
        run(engine, statement)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, FEW))])
def test_selects(people: Engine, first: int) -> None:
    for select in SELECTS[first::FEW]:
        head, text = select.split("\n", 1)
        label, *dialect = head.split(" ")
        if dialect and dialect != [people.dialect]:
            continue
        try:
            with made_flat(people, text) as names:
                same_as_flat(people, text, label, "mean", names)
        except BaseException as error:
            error.add_note(text)
            raise


def test_random_selects(shared_engine: Engine) -> None:
    """Each engine has its own."""
    first = 5_000 if shared_engine.dialect == "postgres" else 6_000
    for seed in (*FOUND, *range(first, first + RANDOM)):
        try:
            check(shared_engine, seed)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


WAYS = (
    "SELECT *, 1 AS one FROM orders o JOIN customers c ON c.id = o.customer_id",
    "SELECT * FROM orders o FULL JOIN customers c ON c.id = o.customer_id WHERE late IS NOT NULL",
    "SELECT o.late, c.age, COUNT(*) AS pairs, AVG(v.minutes) AS mean FROM orders o "
    "JOIN customers c ON c.id = o.customer_id JOIN visits v ON v.customer_id = c.id "
    "JOIN items i ON i.order_id = o.id GROUP BY o.id, o.late, c.age",
    "SELECT o.late, o.total, l.minutes FROM orders o LEFT JOIN LATERAL (SELECT v.minutes FROM visits v "
    "WHERE v.customer_id = o.customer_id AND v.ts < o.ts ORDER BY v.ts DESC, v.minutes LIMIT 1) AS l ON TRUE",
)
"""A join with names twice and a constant, one that is made, groups that are folded, a part that is made."""


@pytest.fixture
def there(installed: Engine) -> Iterator[Engine]:
    run(installed, "CREATE SCHEMA people")
    look_in(installed, "people")
    create(installed)
    yield installed
    run(installed, "DROP SCHEMA people CASCADE")


@pytest.mark.slow
def test_where_a_model_is_made_and_used(there: Engine, installed_dsn: str) -> None:
    """In psql and in a copy too; it is measured, and predicts."""
    asks, copying = (training("late", nulls="mean", lam=0.1, offload=offload) for offload in (None, True))
    for number, text in enumerate(WAYS):
        (model,), (copied,) = (trained(there, text, {"m": each}) for each in (asks, copying))
        compiled(there, f"people{number}", text, asks)
        program = trained_by_psql(there, installed_dsn, f"people{number}")
        for other in (copied, program):
            assert other.join_rows == model.join_rows
            assert (
                max(other.lower_bound, model.lower_bound) <= min(other.objective_upper, model.objective_upper) * 1.001
            )
        found, rows = evaluate_model(there, model), there.fetch(predict(there, model))
        assert found.negatives + found.positives == len(rows["score"]) == model.join_rows
