"""Any SELECT trains, on what its result would be as a table. `python -m tests.queries` draws many more."""

import re
from pathlib import Path

import pytest

from sqlsvm.engine.base import Engine
from tests.ground.selects import check, made_flat, same_as_flat
from tests.typed import run

TEXT = (Path(__file__).parent / "selects.sql").read_text(encoding="utf-8")
TABLES, *SELECTS = re.split(r"\n\n-- (?=\S+(?: duckdb| postgres)?\n)", TEXT)
FEW = 18
"""Of as many one is quick."""
FOUND: tuple[int, ...] = ()
RANDOM = 6


@pytest.fixture
def people(engine: Engine) -> Engine:
    for statement in TABLES.split("\n\n", 1)[1].split(";\n"):
        run(engine, statement)
    return engine


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
