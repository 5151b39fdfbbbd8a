"""Statements as the user of a session types them. Sessions of sqlsvm look names up in pg_catalog alone; the user's are
looked up on the user's own path."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlglot import exp, parse, parse_one

from sqlsvm.engine.base import Engine, Parameters, Rows, Sent, StatementError, Text
from sqlsvm.engine.pg_names import PIN
from tests.ground.surface import dropping


@contextmanager
def users_path(engine: Engine) -> Iterator[None]:
    if engine.dialect != "postgres":
        yield
        return
    told, engine.on_statement = engine.on_statement, None
    schemas = engine._names.schemas  # type: ignore[attr-defined]
    quoted = ", ".join(exp.to_identifier(name, quoted=True).sql("postgres") for name in schemas) or "''"
    engine.execute(Text(f"SET search_path = {quoted}"))
    engine.on_statement = told
    yield
    engine.on_statement = None
    engine.execute(Text(PIN))
    engine.on_statement = told


def look_in(engine: Engine, schema: str) -> None:
    """Make a schema the first on the user's path."""
    if engine.dialect == "postgres":
        engine.look_in([engine.fold(schema, True)])  # type: ignore[attr-defined]
    else:
        engine.execute(exp.Use(this=exp.to_identifier(schema, quoted=True)))


@contextmanager
def own_schema(engine: Engine, name: str) -> Iterator[None]:
    """What is made here is made in a schema of this process, which is gone afterwards."""
    schema = f"{name}_{os.getpid()}"
    try:
        run(engine, f"CREATE SCHEMA {schema}")
        look_in(engine, schema)
        yield
    finally:
        engine.execute(dropping(schema))


def typed(engine: Engine, statement: Sent | str, parameters: Parameters = ()) -> None:
    """A server from a wheel may lack an extension of PostgreSQL."""
    with users_path(engine):
        try:
            engine.execute(Text(statement) if isinstance(statement, str) else statement, parameters)
        except StatementError as error:
            if re.fullmatch('extension "(citext|hstore|postgres_fdw)" is not available', error.message):
                pytest.skip(error.message)
            raise


def asked(engine: Engine, query: Sent | str, parameters: Parameters = ()) -> Rows:
    with users_path(engine):
        return engine.fetch(Text(query) if isinstance(query, str) else query, parameters)


def meant(engine: Engine, name: str) -> exp.Table:
    """The table that a user of this session means."""
    (table,) = engine.bound(exp.select("*").from_(exp.to_table(name))).find_all(exp.Table)
    return table.copy()


def run(engine: Engine, script: str) -> None:
    """Statements in the language of the engine."""
    for statement in parse(script, read=engine.dialect):
        assert statement is not None
        typed(engine, statement)


def query(engine: Engine, text: str) -> exp.Query:
    """As the engine is asked it."""
    parsed = parse_one(text, read=engine.dialect)
    assert isinstance(parsed, exp.Query)
    return engine.bound(parsed)
