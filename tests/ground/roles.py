"""Roles that log in, for tests of what they may do to each other."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from sqlsvm.engine.base import Engine, Text

_PASSWORD = "of no use elsewhere"


@contextmanager
def logins(engine: Engine, dsn: str, *names: str) -> Iterator[tuple[str, ...]]:
    """The conninfo of each role. The roles have no rights, and go with all that they own."""
    quoted = [sql.Identifier(name).as_string() for name in names]
    for name in quoted:
        engine.execute(Text(f"CREATE ROLE {name} LOGIN PASSWORD '{_PASSWORD}'"))
    try:
        yield tuple(make_conninfo(dsn, user=name, password=_PASSWORD) for name in names)
    finally:
        engine.execute(Text("RESET ROLE"))
        for name in quoted:
            engine.execute(Text(f"DROP OWNED BY {name} CASCADE"))
            engine.execute(Text(f"DROP ROLE {name}"))


def run(dsn: str, *statements: str) -> None:
    """As that role, all in one session."""
    with psycopg.connect(dsn, autocommit=True) as session:
        for statement in statements:
            session.execute(statement.encode())
