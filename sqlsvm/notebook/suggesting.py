"""The function `suggest`: a query for a label, from what the tables themselves say."""

from collections.abc import Sequence
from typing import Any

from sqlsvm.engine.base import Engine
from sqlsvm.engine.given import Database, opened
from sqlsvm.notebook.looking import listed
from sqlsvm.notebook.told import documented, in_python
from sqlsvm.suggestion.parameters import PARAMETERS
from sqlsvm.suggestion.suggest import Suggestion, Wanted
from sqlsvm.suggestion.suggest import suggest as written
from sqlsvm.suggestion.task import next_of

__all__ = ["suggest"]


@in_python
def suggest(
    database: Database,
    table: str,
    label: str | None = None,
    time: str | None = None,
    *,
    entity: str | Sequence[str] = (),
    windows: str | Sequence[str] | None = None,
    tables: str | Sequence[str] = (),
    label_next: str | None = None,
    within: str | None = None,
    every: str | None = None,
    sum: str | None = None,
    none: bool = False,
    label_time: str | None = None,
    active: str | None = None,
) -> Suggestion:
    """A query whose features are what is known of a row before its time. Print it, edit it, and train on it."""
    to_come = {"label_next": label_next, "within": within, "every": every, "sum": sum, "none": none}
    to_come |= {"label_time": label_time, "active": active}
    with opened(database) as engine:
        return asked_of(engine, table, label, time, entity=entity, windows=windows, tables=tables, **to_come)


def asked_of(engine: Engine, table: str, label: str | None = None, time: str | None = None, **how: Any) -> Suggestion:
    windows = how.pop("windows", None)
    entity, tables = (listed(how.pop(name, ()) or ()) for name in ("entity", "tables"))
    to_come = next_of(how.pop("label_next", None), **how)
    spans = None if windows is None else listed(windows)
    return written(engine, Wanted(table, label, time, entity, spans, tables, to_come))


SAID = {name: said for name, (_, said) in PARAMETERS.items()}
documented(suggest, {"database": "What you have: see the `fit` of the estimators.", **SAID})
