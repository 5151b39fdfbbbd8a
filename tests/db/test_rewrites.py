"""No rule changes the rows of a query: random queries, rendered before and after each. `python -m tests.queries` runs
many more."""

from sqlsvm.engine.base import Engine
from tests.ground.rewriting import check

FEW = 24


def test_random_queries(shared_engine: Engine) -> None:
    """Each engine has its own."""
    first = FEW if shared_engine.dialect == "postgres" else 0
    found = []
    for seed in range(first, first + FEW):
        try:
            found.append(check(shared_engine, seed))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    assert found.count("checked") >= FEW // 4
