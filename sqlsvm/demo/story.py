"""The text of the demo between its steps."""

import shlex

from sqlsvm.demo.make import LABEL, MODEL, QUERY_FILE, SCHEMA, Shop
from sqlsvm.terminal import amount


def introduction(made: Shop) -> str:
    query = "\n".join(f"  {line}" for line in made.query.splitlines())
    place = f"in the schema {SCHEMA} of {made.url}" if made.kept else f"in a throw-away {made.engine}"
    return (
        f"A shop of {amount(made.rows)} rows, made {place} in {made.seconds:.1f} s.\n"
        f"Will an item be returned? This query would give the rows to learn that from:\n\n{query}\n"
    )


def next_steps(made: Shop, *, written: bool = False) -> str:
    """What to type next. The query is in a file, or the reader has to write it there."""
    return "\n  ".join(_now(made, written) if made.kept else _later(made))


def _later(made: Shop) -> list[str]:
    postgres = ["sqlsvm demo --dsn embedded:shop       # in PostgreSQL, after pip install 'sqlsvm[embedded]'"]
    duckdb = ["sqlsvm demo --dsn duckdb:shop.duckdb  # in a file of DuckDB"]
    server = ["sqlsvm demo --dsn postgresql://user@host/database"]
    return ["This database is gone now. To keep the tables and the model:", *duckdb, *postgres, *server]


def _now(made: Shop, written: bool) -> list[str]:
    dsn, duckdb = shlex.quote(made.url), made.url.startswith("duckdb:")
    quicker = "" if duckdb else " --offload"
    heading = f"The query is in {QUERY_FILE}." if written else f"With the query above in {QUERY_FILE}:"
    steps = [
        f"sqlsvm inspect --dsn {dsn} --label {LABEL} --query {QUERY_FILE}",
        f"sqlsvm train --dsn {dsn} --label {LABEL} --query {QUERY_FILE}{quicker}",
        f'sqlsvm predict {MODEL} --dsn {dsn} --input "$(cat {QUERY_FILE}) LIMIT 5"',
    ]
    if duckdb:
        steps.append("sqlsvm demo --dsn embedded:shop  # the same in PostgreSQL, after pip install 'sqlsvm[embedded]'")
    if made.url.startswith("postgresql:"):
        steps.append(_psql(dsn))
    return [f"The tables and the model stay in the database. {heading}", *steps]


def _psql(dsn: str) -> str:
    """Predict in SQL alone: a model is one expression."""
    score, rows = f"sqlsvm predict {MODEL} --dsn {dsn} --sql", f"($(cat {QUERY_FILE}) LIMIT 5) AS items"
    return f'psql {dsn} -c "SELECT *, $({score}) > 0 AS predicted FROM {rows}"'
