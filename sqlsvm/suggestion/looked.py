"""What a column is, by its first rows: an id, a number, a category, a date."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine, Values
from sqlsvm.query.names import is_id
from sqlsvm.solve.calibration import ranks
from sqlsvm.suggestion.joined import Joined, Step, Value, unused, word
from sqlsvm.times import DATES, DAY

READ = 20_000  # so many rows are looked at
FEW = 50  # most categories of a feature


@dataclass(frozen=True)
class Looked:
    """A column with its values in the first rows: numbers, seconds, or texts. NULL is nan or None."""

    value: Value
    values: Values
    is_key: bool = False  # is it in a key of its table?
    rows: int = 0  # different rows of its own table among them

    @property
    def kind(self) -> str:
        return self.value.column.kind

    @cached_property
    def missing(self) -> Values:
        """Which are NULL."""
        if self.values.dtype.kind == "f":
            return np.asarray(np.isnan(self.values))
        return np.fromiter((value is None for value in self.values), dtype=bool)

    @cached_property
    def known(self) -> Values:
        return np.asarray(self.values[~self.missing])

    @cached_property
    def common(self) -> list[tuple[object, float]]:
        """Its values with their shares of the rows, the most frequent first."""
        found, counts = np.unique(self.known, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [(found[at], float(counts[at] / max(len(self.values), 1))) for at in order]

    @property
    def why_not(self) -> str | None:
        """Why it is no feature of the row that it is in."""
        n, different = len(self.known), len(self.common)
        if self.is_key or (self.kind in ("numeric", "categorical") and is_id(self.value.column.name)):
            return "a key"
        if self.kind not in ("numeric", "boolean", "categorical", *DATES):
            return f"of type {self.value.column.type}"
        if n == 0 or (different < 2 and n == len(self.values)):
            return "always the same"
        if self.kind == "categorical" and different > 5 and (2 * different > n or different > max(0.8 * self.rows, 10)):
            return "a text of its own in most rows of its table"
        if self.kind == "categorical" and different > FEW:
            return f"more than {FEW} values"
        return "a number for each row" if self.numbers_rows else None

    @property
    def differs(self) -> bool:
        """Has each row a value of its own?"""
        return 0 < len(self.common) == len(self.values)

    @property
    def numbers_rows(self) -> bool:
        n, different = len(self.known), len(self.common)
        if self.kind != "numeric" or different < n or n < 20 or n < len(self.values):
            return False
        whole = bool(np.all(self.known == np.round(self.known)))
        return whole and float(self.known.max() - self.known.min()) + 1 == n


def looked(engine: Engine, rows: Joined, values: Sequence[Value]) -> list[Looked]:
    """Columns of a table and its lookups. Texts and numbers come as they are, dates as seconds."""
    keys = _keys(rows)
    outputs = [(_plain(value), f"c{n}") for n, value in enumerate(values)]
    if not outputs:
        return []
    found = engine.fetch(rows.select(outputs).limit(READ))
    types = [object if value.column.kind == "categorical" else float for value in values]
    columns = [np.asarray(found[f"c{n}"], dtype=type) for n, type in enumerate(types)]
    at = {(value.alias, value.column.name): n for n, value in enumerate(values)}
    different = {step.alias: _different(columns, at, step) for step in rows.steps}
    return [
        Looked(value, found, (value.alias, value.column.name) in keys, different.get(value.alias, len(found)))
        for value, found in zip(values, columns, strict=True)
    ]


def _different(columns: Sequence[Values], at: Mapping[tuple[str, str], int], step: Step) -> int:
    """How many rows of a lookup are found; only of a key of one column."""
    place = at.get((step.alias, step.key.keys[0]))
    values = columns[place] if place is not None and len(step.key.keys) == 1 else np.zeros(0)
    return len(set(values.tolist()) - {None}) if values.dtype.kind == "O" else len(np.unique(values[~np.isnan(values)]))


def _keys(rows: Joined) -> set[tuple[str, str]]:
    steps = rows.steps
    tables = [(rows.alias, rows.table), *((step.alias, step.table) for step in steps)]
    unique = {(alias, column) for alias, table in tables for key in table.keys if len(key) == 1 for column in key}
    refers = {(step.source, column) for step in steps for column in step.key.columns}
    return unique | refers | {(step.alias, column) for step in steps for column in step.key.keys}


def _plain(value: Value) -> exp.Expression:
    """If its type is no feature: only whether it is NULL."""
    kind, own = value.column.kind, value.expression
    if kind == "categorical":
        return sql.text(own)
    if kind == "boolean":
        return sql.double(sql.by_truth(own, 1, 0))
    if kind == "numeric":
        return sql.double(own)
    return seconds(own) if kind in DATES else sql.double(sql.case(sql.not_null(own), 1))


def seconds(value: exp.Expression) -> exp.Expression:
    """Since 1970, as a double."""
    return sql.double(exp.Extract(this=exp.var("EPOCH"), expression=value.copy()))


def moment(value: Value) -> exp.Expression:
    """A time as a double: seconds since 1970, or the number that it is."""
    return seconds(value.expression) if value.column.kind in DATES else sql.double(value.expression)


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
    varies = labels.dtype.kind == "f" and np.ptp(values) > 0 and np.ptp(labels) > 0
    return bool(varies and abs(np.corrcoef(values, labels)[0, 1]) >= 0.999)


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


@dataclass(frozen=True)
class Feature:
    """An output of the query."""

    expression: exp.Expression
    name: str
    block: str  # what it is read from
    window: str = ""  # how far back that goes


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
