"""The lock of a stored program.

Who runs one shares it until the end of the transaction: internal/_find_program.sql. Who replaces or deletes one has
it alone: a run whose statements were exchanged under it would mix cuts of two problems.
"""

import logging

from sqlglot import parse_one

from sqlsvm.engine.base import Engine

steps = logging.getLogger(__name__)

_TRY = "SELECT PG_TRY_ADVISORY_XACT_LOCK(HASHTEXTEXTENDED('sqlsvm.program ' || CAST($1 AS TEXT), 0)) AS held"
_WAIT = "SELECT PG_ADVISORY_XACT_LOCK(HASHTEXTEXTENDED('sqlsvm.program ' || CAST($1 AS TEXT), 0))"


def hold_alone(engine: Engine, name: str) -> None:
    """Until the end of the transaction, which has to be one of `DatabaseStore.transaction`; PostgreSQL only.

    Such a transaction is REPEATABLE READ, and its snapshot is taken before the lock is there: what others commit while
    it waits is not seen. That does no harm. A row that they have changed or inserted cannot be changed or inserted
    here: the attempt fails as a lost race, and the transaction begins again with a new snapshot.
    """
    if not engine.fetch(parse_one(_TRY, read="postgres"), [name])["held"][0]:
        steps.info('waiting until nobody runs the program "%s"', name)
        engine.execute(parse_one(_WAIT, read="postgres"), [name])
