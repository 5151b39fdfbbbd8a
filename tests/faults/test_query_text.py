"""Random queries: each is taken apart and means what it says, or is refused with an error of ours. None writes."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from math import nan
from random import Random

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.engine.base import Engine, Rows
from sqlsvm.errors import SqlsvmError
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import parse
from sqlsvm.query.read_query import read_query
from sqlsvm.run.opening import open_problem
from sqlsvm.times import TIMES
from tests.faults.grammar import SCHEMA, TABLES, damaged, query
from tests.faults.profile import number, record
from tests.ground.opened import build
from tests.ground.world import noted
from tests.typed import asked, meant, run
from tests.typed import query as typed_query

NUMBER = 5_000
HARMLESS = re.compile(
    "SELECT |WITH |DESCRIBE |SHOW |SET |BEGIN|COMMIT|ROLLBACK|USE |"
    "(CREATE TEMPORARY TABLE|DROP TABLE( IF EXISTS)?|ANALYZE) sqlsvm_|LOCK TABLE .* IN ACCESS SHARE MODE$"
)


def texts(of: str, number: int) -> list[str]:
    chance = Random(of)
    made = (query(chance) for _ in range(number))
    return [damaged(chance, text) if chance.random() < 0.6 else text for text in made]


@pytest.mark.slow
def test_they_are_parsed_or_refused() -> None:
    refused, found = 0, texts("parse", number(50_000, 2_000))
    for place, text in enumerate(found):
        with noted(repr(text)):
            try:
                parse(text, ("postgres", "duckdb")[place % 2])
            except SqlsvmError:
                refused += 1
    assert 0.2 < refused / len(found) < 0.8
    record(where="parse", fault="random query", moments=len(found), ends={"refused": refused})


@pytest.mark.slow
def test_they_mean_what_they_say(engine: Engine, statements: list[str]) -> None:
    """What may be sent is to read, and to make and drop working tables."""
    build(engine, SCHEMA)
    ends, before = Counter[str](), contents(engine)
    statements.clear()
    for text in texts(engine.dialect, number(NUMBER, 50)):
        with noted(repr(text)):
            said = ""
            try:
                ends[compared(engine, text)] += 1
            except SqlsvmError as error:
                said = str(error)
                ends["refused"] += 1
            assert "read-only transaction" not in said
            assert [s for s in statements if not HARMLESS.match(s)] == []
        statements.clear()
    assert contents(engine) == before
    assert ends["equal"] > ends.total() / 10
    record(where=engine.dialect, fault="random query", moments=ends.total(), ends=dict(ends))


def contents(engine: Engine) -> list[str]:
    return [engine.digest(exp.select("*").from_(meant(engine, table))) for table in TABLES]


@contextmanager
def reading(engine: Engine) -> Iterator[None]:
    """A session in which the server refuses to write."""
    if engine.dialect != "postgres":
        yield
        return
    run(engine, "SET default_transaction_read_only = on")
    try:
        yield
    finally:
        run(engine, "SET default_transaction_read_only = off")


def compared(engine: Engine, text: str) -> str:
    """N and the sums of the numbers, with those of the join itself."""
    options = ProblemOptions(label="y", nulls="mean", scale="none")
    with reading(engine):
        read_query(engine, text, label="y")
        rows = asked(engine, typed_query(engine, text))
    with open_problem(engine, text, options) as problem:
        moments, design = problem.moments, problem.plan.design
        assert moments.n == len(rows["y"]), text
        for c in design.coordinates:
            if c.role == "value" and c.feature and c.feature not in problem.query.sums:
                expected = total(rows, c.feature)
                assert np.isclose(moments.total[c.index], expected, rtol=1e-9, atol=1e-9), (text, c.feature, expected)
    return "equal"


def total(rows: Rows, name: str) -> float:
    """Of dates the days since 1970, as they are trained on."""
    values = rows[name]
    if any(isinstance(value, date) for value in values):
        values = np.array([nan if value is None else TIMES["date"].read(value) for value in values])
    return float(np.nansum(values.astype(float)))
