"""The features of a row itself: its own columns, and those of the rows that its foreign keys lead to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Values
from sqlsvm.solve.ranks import ranks
from sqlsvm.suggestion.joined import Joined, Value, unused, word
from sqlsvm.suggestion.looked import Looked, looked, seconds
from sqlsvm.times import DATES, DAY

NEARLY = 0.99  # the share of the rows, or of pairs of rows, that a column must tell right
EACH = 20  # rows for each value of a column: fewer say nothing


def tells(column: Looked, label: Looked) -> bool:
    known = ~label.missing
    if known.sum() < EACH:
        return False
    values, labels = column.values[known], label.values[known]
    missing = column.missing[known]
    if missing.any() and not missing.all() and _decides(missing.astype(float), labels):
        return True
    if column.kind == "other" or missing.all():
        return False
    return _tells_known(values[~missing], labels[~missing], len(labels))


def _tells_known(values: Values, labels: Values, rows: int) -> bool:
    if len(labels) < EACH or 2 * len(labels) < rows or len(np.unique(labels)) < 2:
        return False
    if _decides(values, labels):
        return True
    if values.dtype.kind != "f":
        return False
    if len(found := np.unique(labels)) == 2:
        return _orders(values, labels == found[1])
    return labels.dtype.kind == "f" and _goes_along(values, labels)


def _decides(values: Values, labels: Values) -> bool:
    """Has each of its values one label, nearly, and can the label not be guessed without it?"""
    _, value = np.unique(values, return_inverse=True)
    _, label = np.unique(labels, return_inverse=True)
    if (value.max() + 1) * EACH > len(values) and value.max() > 1:
        return False
    pairs = np.zeros((value.max() + 1, label.max() + 1))
    np.add.at(pairs, (value, label), 1)
    wrong, without = 1 - pairs.max(axis=1).sum() / len(values), 1 - pairs.sum(axis=0).max() / len(values)
    return bool(wrong <= (1 - NEARLY) and wrong <= 0.05 * without)


def _orders(values: Values, positive: Values) -> bool:
    """Are those of one class above those of the other?"""
    yes = positive.astype(float)
    below, _ = ranks(values, 1.0 - yes, yes)
    ties, _ = ranks(-values, 1.0 - yes, yes)
    pairs = yes.sum() * (1 - yes).sum()
    return bool(max(yes @ below, yes @ ties) / pairs >= NEARLY)


def _goes_along(values: Values, labels: Values) -> bool:
    if np.ptp(values) == 0 or np.ptp(labels) == 0:
        return False
    return bool(abs(np.corrcoef(values, labels)[0, 1]) >= 0.999)


@dataclass(frozen=True)
class Feature:
    """An output of the query."""

    expression: exp.Expression
    name: str
    block: str  # what it is read from


@dataclass
class Chosen:
    """Features, and what was left out, with the reason."""

    features: list[Feature] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)  # columns by reason
    telling: set[Value] = field(default_factory=set)  # columns that tell the label

    def leave_out(self, what: object, why: str) -> None:
        columns = self.left_out.setdefault(why, [])
        if str(what) not in columns:
            columns.append(str(what))


def row_features(engine: Engine, rows: Joined, label: Value, time: Value, taken: set[str]) -> Chosen:
    columns = looked(engine, rows, rows.values)
    by_value = {column.value: column for column in columns}
    (wanted, when) = by_value[label], by_value[time]
    chosen, late = Chosen(), _late_tables(rows, columns, when)
    for column in columns:
        if column.value not in (label, time):
            _choose(chosen, column, wanted, when, rows, late, taken)
    return chosen


def _choose(
    chosen: Chosen, column: Looked, label: Looked, time: Looked, rows: Joined, late: set[str], taken: set[str]
) -> None:
    value = column.value
    if value.alias in late:
        chosen.leave_out(f"{value.alias}.*", f"with a date at or after {time.value} in some rows")
    elif not column.is_key and tells(column, label):
        chosen.telling.add(value)
        chosen.leave_out(value, f"tells the label {label.value}")
    elif why := column.why_not:
        chosen.leave_out(value, why)
    elif column.kind in DATES and (_is_late(column, time) or time.kind not in DATES):
        chosen.leave_out(value, f"at or after {time.value} in some rows, so set after it")
    else:
        chosen.features.append(_feature(column, time, rows, taken))


def _feature(column: Looked, time: Looked, rows: Joined, taken: set[str]) -> Feature:
    value = column.value
    name = value.column.name if value.alias == rows.alias else word(f"{value.alias}_{value.column.name}")
    if column.kind not in DATES:
        return Feature(value.expression, unused([name], taken), value.alias)
    return Feature(days_between(value.expression, time.value.expression), unused([f"{name}_days"], taken), value.alias)


def days_between(earlier: exp.Expression, later: exp.Expression) -> exp.Expression:
    return sql.ratio(sql.minus(seconds(later), seconds(earlier)), DAY)


def _is_late(column: Looked, time: Looked) -> bool:
    return bool(np.any(column.values >= time.values))  # a NULL is nan, and is not


def _late_tables(rows: Joined, columns: Sequence[Looked], time: Looked) -> set[str]:
    """The lookups with a date at or after the row in some rows: what else they say may have been written then."""
    dates = [column for column in columns if column.kind in DATES and column.value.alias != rows.alias]
    late = {column.value.alias for column in dates if _is_late(column, time)}
    for step in rows.steps:  # what is reached through such a row
        if step.source in late:
            late.add(step.alias)
    return late if time.kind in DATES else set()
