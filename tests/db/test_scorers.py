"""One score, however it is made: random models by the AST, by psql's functions and in memory, to the last bit."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from sqlsvm.engine import scratch
from sqlsvm.engine.base import Engine, Rows, Values
from sqlsvm.model.memory import scores
from sqlsvm.model.model import FeatureScale, Model
from sqlsvm.model.predict import predict, score_sql
from sqlsvm.model.weights import Weight
from sqlsvm.options import Nulls
from sqlsvm.plan.design import OTHER
from sqlsvm.store import open_store
from tests.ground.modelled import category, modelled, number
from tests.typed import asked, meant, typed

TYPES = {
    "i": "integer",
    "x": "double precision",
    "n": "integer",
    "b": "boolean",
    "t": "text",
    "p": "character(3)",
    "k": "bigint",
    "r": "real",
    "q": "boolean",
    "Odd \"name'": "text",
}
KNOWN: dict[str, list[Any]] = {
    "t": ["red", "Red", "", "it's", "7", "größe"],
    "p": ["UA", "DAL", "A"],
    "k": [2**53, 2**53 + 1, -7, 0],
    "r": [float(np.float32(0.1)), 0.5, -float(np.float32(1e-7)), 3.0],
    "q": [True, False],
    "Odd \"name'": ["%s", "$1", "\\", "b"],
}
UNKNOWN: dict[str, Any] = {"t": "RED", "p": "B", "k": 2**53 + 2, "r": 0.25, "q": True, "Odd \"name'": "%I"}
ROWS = 60


def drawn(rng: np.random.Generator, nulls: bool) -> dict[str, Values]:
    """Columns of Python values; None is NULL."""
    cells: dict[str, list[Any]] = {
        "i": list(range(ROWS)),
        "x": rng.normal(size=ROWS).tolist(),
        "n": rng.integers(-9, 9, ROWS).tolist(),
        "b": (rng.random(ROWS) < 0.5).tolist(),
    }
    for name, known in KNOWN.items():
        values = [*known, UNKNOWN[name]]
        cells[name] = [values[place] for place in rng.integers(0, len(values), ROWS)]
    missing = {name: (rng.random(ROWS) < 0.1) & nulls & (name != "i") for name in TYPES}
    columns = {name: np.empty(ROWS, dtype=object) for name in TYPES}
    for name, column in columns.items():
        column[:] = [None if gone else cell for gone, cell in zip(missing[name], cells[name], strict=True)]
    return columns


def weighed(rng: np.random.Generator, nulls: Nulls) -> Model:
    """Some of the features in some order, and some of their categories."""
    weights: list[Weight] = []
    for feature in rng.permutation([name for name in TYPES if name != "i"])[: rng.integers(2, len(TYPES))].tolist():
        if feature in KNOWN:
            values = [v for v in KNOWN[feature] if rng.random() < 0.8] or KNOWN[feature][:1]
            with_others: list[Any] = [*values, OTHER] if rng.random() < 0.5 else values
            weights += [category(feature, value, float(rng.normal())) for value in with_others]
        else:
            weights.append(number(feature, float(rng.normal()), float(rng.normal()) if nulls == "mean" else None))
    facts = {"booleans": ["b"], "padded": ["p"], "label_values": ["no", "yes"]}
    made = modelled(weights, float(rng.normal()), name="one", nulls=nulls, trained_on=facts)
    if rng.random() < 0.5:
        return made
    far: tuple[str, ...] = ("x", "n")
    scaling = {name: FeatureScale(0.0, 1.0, float(rng.normal())) for name in far if name in made.features}
    return replace(made, base=float(rng.normal()), label_centre=float(rng.normal()), scaling=scaling)


@pytest.fixture
def tables(installed: Engine) -> Iterator[dict[str, Engine]]:
    """The table `rows`, still empty, in both engines. DuckDB has no character(n) that fills up."""
    with scratch() as duckdb:
        for engine in (installed, duckdb):
            columns = (f"{exp.to_identifier(n, quoted=True).sql()} {type_}" for n, type_ in TYPES.items())
            typed(engine, f"CREATE TEMPORARY TABLE rows ({', '.join(columns)})")
        yield {"postgres": installed, "duckdb": duckdb}
        typed(installed, "DROP TABLE rows")


def fill(engine: Engine, columns: dict[str, Values]) -> None:
    kinds = {"integer": np.int64, "bigint": np.int64, "real": float, "double precision": float, "boolean": bool}
    masked: dict[str, Values] = {}
    for name, cells in columns.items():
        gone = np.array([cell is None for cell in cells])
        kind = kinds.get(TYPES[name], object)
        some = "" if kind is object else 0
        masked[name] = np.ma.array([some if g else c for g, c in zip(gone, cells, strict=True)], mask=gone, dtype=kind)
    engine.copy_in(meant(engine, "rows"), masked)


def of(engine: Engine, score: str) -> Values:
    return numbers(asked(engine, f'SELECT {score} AS score FROM rows ORDER BY "i"'))


def numbers(found: Rows) -> Values:
    """A column of NULLs alone comes as objects."""
    return np.asarray(found["score"], dtype=float)


@pytest.mark.parametrize("nulls", ["error", "mean", "drop"])
@pytest.mark.parametrize("seed", range(8))
def test_all_scorers_agree(tables: dict[str, Engine], seed: int, nulls: Nulls) -> None:
    rng = np.random.default_rng(seed)
    columns, made = drawn(rng, nulls != "error"), weighed(rng, nulls)
    expected = scores(made, columns)
    assert len(set(expected.tolist())) > ROWS / 4
    postgres = tables["postgres"]
    open_store(postgres).save(made)
    (text,) = asked(postgres, "SELECT sqlsvm.score_sql('one') AS s")["s"]
    found: dict[str, Values] = {}
    for dialect, engine in tables.items():
        fill(engine, columns)
        predicted = exp.select("score").from_(predict(engine, made, "rows").subquery("p")).order_by('"i"')
        found[f"{dialect}: predict"] = numbers(engine.fetch(predicted))
        found[f"{dialect}: expression"] = of(engine, score_sql(made, dialect))
    found["psql's expression"] = of(postgres, text)
    found["psql's function"] = of(postgres, "sqlsvm.decision_function('one', to_jsonb(rows))")
    for name, theirs in found.items():
        np.testing.assert_array_equal(theirs, expected, err_msg=name)
