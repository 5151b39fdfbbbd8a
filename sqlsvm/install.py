"""The SQL functions in PostgreSQL: fixed files of sql_templates/, sent as they are, in one transaction."""

from sqlsvm.engine.base import Engine
from sqlsvm.engine.postgres import Postgres
from sqlsvm.errors import OptionError
from sqlsvm.store.database import DatabaseStore
from sqlsvm.store.templates import template, templates_in

_BEFORE = "SET LOCAL check_function_bodies = off"
"""A function may call one that comes after it."""


def install(engine: Engine) -> None:
    """Schema, tables and functions: what is missing is made, and functions are replaced."""
    postgres = _postgres(engine)
    with postgres.snapshot():
        DatabaseStore(postgres).make()
        postgres.run_script(_BEFORE)
        for name in function_templates():
            postgres.run_script(template(name))


def function_templates() -> tuple[str, ...]:
    """Helpers first."""
    return templates_in("internal") + templates_in("functions")


def _postgres(engine: Engine) -> Postgres:
    if not isinstance(engine, Postgres):
        raise OptionError(f"{engine.version} cannot hold the SQL functions", hint="--dsn postgresql://user@host/database")
    return engine
