"""The function `suggest`: a query for a label, from what the tables themselves say."""

from collections.abc import Sequence

from sqlsvm.engine.given import Database, opened
from sqlsvm.notebook.told import in_python
from sqlsvm.suggestion.suggest import Suggestion, Wanted
from sqlsvm.suggestion.suggest import suggest as written
from sqlsvm.suggestion.task import next_of

__all__ = ["suggest"]


def suggest(
    database: Database,
    table: str,
    label: str | None = None,
    time: str | None = None,
    *,
    entity: str | Sequence[str] = (),
    windows: str | Sequence[str] | None = None,
    tables: Sequence[str] = (),
    label_next: str | None = None,
    within: str | None = None,
    every: str | None = None,
    sum: str | None = None,
    none: bool = False,
    label_time: str | None = None,
    active: str | None = None,
) -> Suggestion:
    """A query whose features are what is known of a row before its time. Print it, edit it, and train on it.

    Parameters
    ----------
    database : URL, connection or frames by name
        What you have: see the `fit` of the estimators.
    table : str
        The table whose rows have the label, or with `label_next` that of the entities.
    label : str, default None
        Its column to predict, or the name of the label that `label_next` makes.
    time : str, default None
        Its column that says when a row is. Nothing from then on is a feature. With `label_next`: from when on an entity
        exists; by default from its first row there.
    entity : str or sequence of str, default ()
        The columns that say whose history counts; all foreign keys of the table if there is none.
    windows : str or sequence of str, default None
        Spans before a row, such as "30 days", in which the history counts once more; None takes those that fit.
    tables : sequence of str, default ()
        Use only these other tables.
    label_next : str, default None
        Make the label of the rows of this table that come within a span after each of several times: how many they are.
    within : str, default None
        How far such a label looks ahead, such as "90 days".
    every : str, default None
        The span between two times; None is as long as `within`.
    sum : str, default None
        The label is the sum of this column of the rows that come.
    none : bool, default False
        The label is whether no row comes.
    label_time : str, default None
        When a row of that table is; None takes its earliest date.
    active : str, default None
        Take only entities with a row of that table in this span before a time.
    """
    entities, spans = _several(entity), None if windows is None else _several(windows)
    with in_python(), opened(database) as engine:
        to_come = next_of(
            label_next, within=within, every=every, sum=sum, none=none, label_time=label_time, active=active
        )
        return written(engine, Wanted(table, label, time, entities, spans, tuple(tables), to_come))


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
