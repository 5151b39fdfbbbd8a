"""The lock of a stored program: its row in sqlsvm.programs, which only a role that may change the row can lock.

`sqlsvm.train` holds it to the end of its transaction, so that two trainings do the same work one after the other, and
no version is stored for a program that is gone. All runs work on a copy of the program (internal/_take_program.sql).
"""

import logging

from sqlsvm.engine.base import Engine, Text

steps = logging.getLogger(__name__)

_FOUND = Text("SELECT name FROM sqlsvm.programs WHERE name = $1")
_FREE = Text(f"{_FOUND} FOR UPDATE SKIP LOCKED")
_WAIT = Text(f"{_FOUND} FOR UPDATE")


def hold_alone(engine: Engine, name: str) -> None:
    """Hold the lock until the end of a `DatabaseStore.transaction`. PostgreSQL only.

    The transaction is REPEATABLE READ, and its snapshot is older than the lock: it does not see what others commit
    while it waits. If it then writes a row that they changed or inserted, it fails as a lost race and begins again with
    a new snapshot.
    """
    if _names(engine, _FOUND, name) and not _names(engine, _FREE, name):
        steps.info('waiting for the end of the training of "%s"', name)
        engine.execute(_WAIT, [name])


def _names(engine: Engine, query: Text, name: str) -> int:
    return len(engine.fetch(query, [name])["name"])
