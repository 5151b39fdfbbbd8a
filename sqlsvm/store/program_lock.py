"""The lock of a stored program.

A run of the program shares the lock until the end of its transaction (internal/_find_program.sql). A session that
replaces or deletes the program holds it alone: otherwise a run could mix cuts of two problems.
"""

import logging

from sqlglot import parse_one

from sqlsvm.engine.base import Engine

steps = logging.getLogger(__name__)

_TRY = "SELECT PG_TRY_ADVISORY_XACT_LOCK(HASHTEXTEXTENDED('sqlsvm.program ' || CAST($1 AS TEXT), 0)) AS held"
_WAIT = "SELECT PG_ADVISORY_XACT_LOCK(HASHTEXTEXTENDED('sqlsvm.program ' || CAST($1 AS TEXT), 0))"


def hold_alone(engine: Engine, name: str) -> None:
    """Hold the lock until the end of a `DatabaseStore.transaction`. PostgreSQL only.

    The transaction is REPEATABLE READ, and its snapshot is older than the lock: it does not see what others commit
    while it waits. If it then writes a row that they changed or inserted, it fails as a lost race and begins again with
    a new snapshot.
    """
    if not engine.fetch(parse_one(_TRY, read="postgres"), [name])["held"][0]:
        steps.info('waiting for the end of all runs of the program "%s"', name)
        engine.execute(parse_one(_WAIT, read="postgres"), [name])
