"""A URL -> an open engine. Drivers are imported only when a URL asks for them."""

import re
from pathlib import Path

from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError

_FORMS = (
    "write postgresql://user@host/database, embedded: (a throw-away PostgreSQL), embedded:PATH, "
    "duckdb: (in memory) or duckdb:PATH"
)


def connect(url: str) -> Engine:
    """Open the database that a URL names; libpq's `host=... dbname=...` is understood as well."""
    scheme, colon, rest = url.partition(":")
    if scheme == "duckdb" and colon:
        from sqlsvm.engine.duckdb import DuckDB

        return DuckDB(rest)
    if scheme == "embedded" and colon:
        from sqlsvm.engine.embedded import Embedded

        return Embedded(rest)
    if re.match(r"(postgresql|postgres)://|\w+\s*=", url):
        from sqlsvm.engine.postgres import Postgres

        return Postgres(url)
    if not url:
        raise OptionError("the database URL is empty", hint=_FORMS)
    # Nothing else is repeated, as it may hold a part of a password.
    known = scheme.isalnum() and rest.startswith("//")
    about = f'unknown kind of database URL "{scheme}:"' if known else "this is not a database URL"
    raise OptionError(about, hint=_FORMS)


def dialect_of(url: str) -> str:
    """The dialect of the engine that a URL names.

    >>> dialect_of("duckdb:shop.duckdb"), dialect_of("embedded:shop"), dialect_of("host=localhost")
    ('duckdb', 'postgres', 'postgres')
    """
    return "duckdb" if url.startswith("duckdb:") else "postgres"


def lasting(url: str) -> bool:
    """Does the database outlive the session? Otherwise a model that is stored there is lost at once.

    >>> lasting("duckdb:"), lasting("duckdb::memory:shop"), lasting("duckdb:shop.duckdb")
    (False, False, True)
    """
    return url not in ("duckdb:", "embedded:") and not url.startswith("duckdb::memory:")


def absent(url: str) -> bool:
    """Does the URL name a path on this machine that does not exist? To open it would make a database there.

    >>> absent("embedded:no/such/shop"), absent("postgresql://localhost/shop"), absent("duckdb:")
    (True, False, False)
    """
    scheme, _, path = url.partition(":")
    return scheme in ("duckdb", "embedded") and lasting(url) and not Path(path).expanduser().exists()


def scratch() -> Engine:
    """A DuckDB in memory that only the caller can reach."""
    from sqlsvm.engine.duckdb import DuckDB

    return DuckDB(private=True)
