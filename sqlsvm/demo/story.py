"""The text of the demo between its steps."""

import shlex

from sqlsvm.demo.make import LABEL, MODEL, Shop
from sqlsvm.terminal import amount


def introduction(made: Shop) -> str:
    query = "\n".join(f"  {line}" for line in made.query.splitlines())
    place = f"in a throw-away {made.engine}" if made.schema is None else f"in the schema {made.schema} of {made.url}"
    return (
        f"A shop of {amount(made.rows)} rows, made {place} in {made.seconds:.1f} s.\n"
        f"Will an item be returned? This query would give the rows to learn that from:\n\n{query}\n"
    )


def next_steps(made: Shop, file: str = "shop.sql") -> str:
    """What to type next. The query is in the file."""
    if made.schema is None:
        return (
            "This database is gone now. To have one to play with, tables and model in the folder shop:\n"
            "  sqlsvm demo --keep shop\n"
            "A model predicts wherever SQL runs, for instance in psql, over rows with columns named as its features:\n"
            f"  {_psql('URL', 'URL', 'new_items')}"
        )
    dsn, query = shlex.quote(made.url), shlex.quote(file)
    kept = f"The query is in {file}." if file != "shop.sql" else "With the query above in shop.sql:"
    steps = [
        f"sqlsvm inspect --dsn {dsn} --label {LABEL} --query {query}",
        f"sqlsvm train --dsn {dsn} --label {LABEL} --query {query} --nulls mean --lambda 1e-3",
        f'sqlsvm predict {MODEL} --dsn {dsn} --input "$(cat {query}) LIMIT 5"',
    ]
    if made.url.startswith("postgresql:"):
        steps.append(_psql(dsn, dsn, f"($(cat {query}) LIMIT 5) AS items"))
    return "\n  ".join([f"Tables and model stay. {kept}", *steps])


def _psql(server: str, dsn: str, rows: str) -> str:
    """Predict in SQL alone: a model is one expression."""
    return f'psql {server} -c "SELECT *, $(sqlsvm predict {MODEL} --dsn {dsn} --sql) > 0 AS predicted FROM {rows}"'
