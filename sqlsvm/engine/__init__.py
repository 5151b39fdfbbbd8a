"""A URL -> an open engine. Drivers are imported only when a URL asks for them."""

import re
from pathlib import Path

from sqlsvm.engine.base import Engine, Session
from sqlsvm.errors import EngineError, OptionError

_FORMS = (
    "write postgresql://user@host/database, embedded: (a throw-away PostgreSQL), embedded:PATH, "
    "duckdb: (in memory) or duckdb:PATH, spark:local[*] or spark:sc://host:15002"
)


def connect(url: str | Session) -> Engine:
    """Open the database that a URL names; libpq's `host=... dbname=...` is understood as well. A session of Spark is
    used as it is, and stays open."""
    if not isinstance(url, str):
        return _spark(url)
    scheme, colon, rest = url.partition(":")
    if scheme == "duckdb" and colon:
        from sqlsvm.engine.duckdb import DuckDB

        return DuckDB(rest)
    if scheme == "spark" and colon:
        return _spark(rest)
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


def _spark(at: str | Session) -> Engine:
    try:
        from sqlsvm.engine.spark import Spark
    except ImportError as error:
        raise EngineError("pyspark is not installed", hint="pip install 'sqlsvm[spark]'") from error
    return Spark(at)


def dialect_of(url: str) -> str:
    """The dialect of the engine that a URL names.

    >>> [dialect_of(url) for url in ("duckdb:shop.duckdb", "embedded:shop", "host=localhost", "spark:local[*]")]
    ['duckdb', 'postgres', 'postgres', 'spark']
    """
    return next((scheme for scheme in ("duckdb", "spark") if url.startswith(f"{scheme}:")), "postgres")


def lasting(url: str) -> bool:
    """Does the database outlive the session? Otherwise a model that is stored there is lost at once.

    >>> lasting("duckdb:"), lasting("duckdb:?threads=2"), lasting("duckdb::memory:shop"), lasting("duckdb:shop.duckdb")
    (False, False, False, True)
    >>> lasting("spark:local[*]"), lasting("spark:sc://host")  # of Spark in this process only files last
    (False, True)
    """
    temporary = ("duckdb:?", "duckdb::memory:", "spark:local")
    return url not in ("duckdb:", "embedded:") and not url.startswith(temporary)


def absent(url: str) -> bool:
    """Does the URL name a path on this machine that does not exist? To open it would make a database there.

    >>> absent("embedded:no/such/shop"), absent("postgresql://localhost/shop"), absent("duckdb:")
    (True, False, False)
    """
    scheme, _, path = url.partition("?")[0].partition(":")
    return scheme in ("duckdb", "embedded") and lasting(url) and not Path(path).expanduser().exists()


def scratch() -> Engine:
    """A DuckDB in memory that only the caller can reach."""
    from sqlsvm.engine.duckdb import DuckDB

    return DuckDB(private=True)
