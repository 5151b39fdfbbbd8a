"""What rules say when they change nothing, and what happens when they are wrong.

A rule that leaves a query as it is raises `Stays`, and its reason is in the log. If the database does not read what a
rule wrote, that is a fault: the query is read without these rules, and a warning says so.
"""

import logging

from sqlsvm.errors import QueryError, SqlsvmError

STRICT = False  # tests set this: a fault is an error
steps = logging.getLogger(__name__)


class Stays(QueryError):
    """A part of the query is made as it was written."""


class Fault(SqlsvmError):
    """The database does not read what a rule wrote."""


def stays(reason: SqlsvmError) -> None:
    steps.info("made as it was written: %s", reason.message)


def fault(error: Exception) -> None:
    if STRICT:
        raise error
    steps.warning("sqlsvm wrote SQL that the database does not read; it uses the query as it was typed: %s", error)
