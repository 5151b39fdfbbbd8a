"""A query compiled into the database, and what its functions answer there, through psql."""

import json
from typing import Any

from sqlsvm.engine.base import Engine
from sqlsvm.model.model import Model
from sqlsvm.psql.stored_program import save_program, stored_program
from sqlsvm.run.training import Training
from sqlsvm.store import open_store
from tests.psql import psql


def compiled(engine: Engine, name: str, query: str, training: Training) -> None:
    save_program(engine, name, stored_program(engine, query, training))


def call(dsn: str, function: str, *arguments: object, **named: object) -> list[dict[str, Any]]:
    """The rows of a function; its arguments are handed over as psql quotes them."""
    given = {f"a{i}": value for i, value in enumerate(arguments)} | named
    variables = {name: text(value) for name, value in given.items()}
    places = [f":'{n}'" if n not in named else f"{n} => :'{n}'" for n in given]
    script = f"SET client_min_messages = warning; SELECT to_jsonb(r) FROM sqlsvm.{function}({', '.join(places)}) AS r;"
    said = psql(dsn, script, variables)
    assert (said.code, said.err) == (0, ""), said.err
    return [json.loads(line) for line in said.lines]


def text(value: object) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)


def trained(engine: Engine, dsn: str, name: str, **options: object) -> Model:
    """Trained through psql, read through the driver's store."""
    (row,) = call(dsn, "train", name, **{"lambda" if k == "lam" else k: v for k, v in options.items()})
    model = open_store(engine).load(name)
    assert (row["model"], row["version"], row["converged"]) == (name, model.version, model.converged)
    assert [row[k] for k in ("objective", "objective_upper", "lower_bound", "gap")] == [
        *(model.objective, model.objective_upper, model.lower_bound, model.gap)
    ]
    return model
