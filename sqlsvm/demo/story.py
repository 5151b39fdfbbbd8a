"""What the demo says between its steps."""

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


def next_steps(made: Shop) -> str:
    """What to type now."""
    if made.schema is None:
        return (
            "This database is gone now. To have one to play with, tables and model in the folder shop:\n"
            "  sqlsvm demo --keep shop"
        )
    dsn = f"--dsn {shlex.quote(made.url)}"
    return (
        "Tables and model stay. With the query above in shop.sql, look at it again, train anew, and predict:\n"
        f"  sqlsvm inspect {dsn} --label {LABEL} --query shop.sql\n"
        f"  sqlsvm train {dsn} --label {LABEL} --query shop.sql --nulls mean --lambda 1e-3\n"
        f'  sqlsvm predict {MODEL} {dsn} --input "$(cat shop.sql) LIMIT 5"\n'
        f"  sqlsvm predict {MODEL} {dsn} --sql    # the score as one SQL expression"
    )
