"""The function `suggest`: a query for a label, from what the tables themselves say."""

from collections.abc import Sequence

from sqlsvm.engine.given import Database, opened
from sqlsvm.notebook.told import in_python
from sqlsvm.suggestion.suggest import Suggestion, Wanted
from sqlsvm.suggestion.suggest import suggest as written

__all__ = ["suggest"]


def suggest(
    database: Database,
    table: str,
    label: str,
    time: str,
    *,
    entity: str | Sequence[str] = (),
    windows: str | Sequence[str] | None = None,
    tables: Sequence[str] = (),
) -> Suggestion:
    """A query whose features are what is known of a row before its time. Print it, edit it, and train on it.

    Parameters
    ----------
    database : URL, connection or frames by name
        What you have: see the `fit` of the estimators.
    table : str
        The table whose rows have the label.
    label : str
        Its column to predict.
    time : str
        Its column that says when a row is. Nothing from then on is a feature.
    entity : str or sequence of str, default ()
        The columns that say whose history counts; all foreign keys of the table if there is none.
    windows : str or sequence of str, default None
        Spans before a row, such as "30 days", in which the history counts once more; None takes those that fit.
    tables : sequence of str, default ()
        Use only these other tables.
    """
    entities, spans = _several(entity), None if windows is None else _several(windows)
    with in_python(), opened(database) as engine:
        return written(engine, Wanted(table, label, time, entities, spans, tuple(tables)))


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
