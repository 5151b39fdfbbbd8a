"""The function `suggest`: a query for a label, from what the tables themselves say."""

from collections.abc import Sequence

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
    entities, spans = listed(entity), None if windows is None else listed(windows)
    with opened(database) as engine:
        to_come = next_of(
            label_next, within=within, every=every, sum=sum, none=none, label_time=label_time, active=active
        )
        return written(engine, Wanted(table, label, time, entities, spans, listed(tables), to_come))


_SAID = {name: said.replace("--label-next", "label_next").replace("--", "") for name, (_, said) in PARAMETERS.items()}
documented(suggest, {"database": "What you have: see the `fit` of the estimators.", **_SAID})
