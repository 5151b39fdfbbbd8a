"""Random queries whose rows are counted: N, the rows of each class and the sum of each number are those of what the
engine itself returns. One world serves many queries, because its tables cost more than a query."""

from collections import Counter
from weakref import WeakKeyDictionary

import numpy as np

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Rows, StatementError
from sqlsvm.errors import DataError, QueryError
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query.rows import render
from sqlsvm.run.data import Data
from sqlsvm.run.opening import open_problem
from tests.ground.rewriting import drawn, text_of
from tests.ground.world import World, noted
from tests.typed import asked

EACH = 25
TRIES = 12
"""A world without rows of both classes says little: the first one of so many that has some is taken."""
_LIVE: WeakKeyDictionary[Engine, tuple[int, World]] = WeakKeyDictionary()


def check(engine: Engine, seed: int) -> str:
    """What has become of a query."""
    world, label = _world(engine, seed // EACH)
    text = text_of(world, seed, engine.dialect)
    try:
        rows = _present(asked(engine, text))
    except StatementError as error:
        return error.message.split(":")[0]  # a CTE inside a UNION
    with noted(text):
        return _checked(engine, text, label, rows)


def _checked(engine: Engine, text: str, label: str, rows: Rows) -> str:
    try:
        with open_problem(engine, text, ProblemOptions(label, nulls="drop", scale="none")) as problem:
            _compare(problem, rows, label)
    except QueryError:
        return "refused"
    except DataError as error:
        if "has no rows" not in error.message and "one class only" not in error.message:
            return "no training"
    else:
        return "equal"
    assert len(set(rows[label].tolist())) < 2, "classes"
    return "one class or no rows"


def _world(engine: Engine, number: int) -> tuple[World, str]:
    """With the name of its label."""
    known, live = _LIVE.get(engine, (-1, None))
    if known != number or live is None:
        if live:
            live.drop(engine)
        live = _created(engine, number * TRIES, TRIES)
        _LIVE[engine] = number, live
    assert live.label
    return live, live.label.name


def _created(engine: Engine, seed: int, tries: int) -> World:
    live = drawn(seed).create(engine)
    assert live.label
    found = _present(asked(engine, live.query(engine.dialect)))[live.label.name]
    if tries == 1 or len(set(found.tolist())) > 1:
        return live
    live.drop(engine)
    return _created(engine, seed + 1, tries - 1)


def _present(rows: Rows) -> Rows:
    """The rows without a NULL."""
    kept = np.array([not any(v is None or v != v for v in row) for row in zip(*rows.values(), strict=True)], dtype=bool)
    return {name: values[kept] for name, values in rows.items()}


def _compare(problem: Data, rows: Rows, label: str) -> None:
    found, query = problem.moments, problem.catalog.query
    assert sorted(Counter(rows[label].tolist()).values()) == _classes(found.n_negative, found.n), "classes"
    numbers = [c for c in problem.plan.design.coordinates if c.role != "intercept"]
    outputs = [(sql.count(), "n"), *((sql.total(c.value), c.column) for c in numbers)]
    rendered = problem.work.engine.fetch(render(query, outputs))
    assert rendered["n"][0] == found.n, "N of the rendered query"
    for name in dict.fromkeys(c.feature for c in numbers):
        terms = [c for c in numbers if c.feature == name]
        own, wanted = sum(found.total[c.index] for c in terms), rows[name].astype(float).sum()
        np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-9, err_msg=name)
        again = sum(float(rendered[c.column][0]) for c in terms)
        np.testing.assert_allclose(again, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{name}, rendered")


def _classes(negative: float, n: float) -> list[int]:
    return sorted(int(size) for size in (negative, n - negative) if size)
