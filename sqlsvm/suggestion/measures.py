"""What is summed up of the rows of a history: numbers, flags, and how often a category has each of its most common
values."""

from collections.abc import Iterator, Set
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.names import is_id
from sqlsvm.suggestion.joined import unused, word
from sqlsvm.suggestion.looked import Looked
from sqlsvm.suggestion.sources import Events
from sqlsvm.times import DATES

COMMON = 4
"""So many values of a category are counted,"""
RARE = 0.05
"""if they are in this share of the rows, and not in nearly all."""
MOST = 16
"""Numbers of one table, and as many shares."""


@dataclass(frozen=True)
class Measure:
    """A number of each row of a history."""

    value: exp.Expression
    name: str
    is_share: bool = False
    """Is it 1 where something is so, and 0 elsewhere?"""

    @property
    def mean(self) -> str:
        return f"{'share' if self.is_share else 'mean'}_{self.name}"


def measures(events: Events, not_known: Set[tuple[str, str]]) -> list[Measure]:
    """`not_known`: columns of the label's own table that tell the label: of earlier rows, too, they may not be known
    yet."""
    taken = set[str]()
    columns = [column for column in events.looked if _is_of_history(events, column, not_known)]
    numbers = [_number(events, c, taken) for c in columns if c.kind in ("numeric", "boolean") and len(c.common) > 1]
    shares = [share for c in columns if c.kind == "categorical" for share in _shares(events, c, taken)]
    return [*numbers[:MOST], *shares[:MOST]]


def _is_of_history(events: Events, column: Looked, not_known: Set[tuple[str, str]]) -> bool:
    value, rows = column.value, events.rows
    if value == events.time or column.is_key or is_id(value.column.name) or column.numbers_rows:
        return False
    if value.alias == rows.alias:
        return not (events.is_own and (rows.table.place.sql(), value.column.name) in not_known)
    step = next(step for step in rows.steps if step.alias == value.alias)
    is_owner = {(key.alias, key.column.name) for key in events.keys} <= {(step.source, c) for c in step.key.columns}
    is_dated = any(c.kind in DATES for c in step.table.columns)
    return not is_owner and not is_dated and not any(key.alias == value.alias for key in events.keys)


def _name(events: Events, column: Looked) -> str:
    own = column.value.alias == events.rows.alias
    return word(column.value.column.name if own else f"{column.value.alias}_{column.value.column.name}")


def _number(events: Events, column: Looked, taken: set[str]) -> Measure:
    value = column.value.expression
    name = unused([_name(events, column)], taken)
    if column.kind == "boolean":
        return Measure(sql.by_truth(value, 1.0, 0.0), name, True)
    return Measure(value, name)


def _shares(events: Events, column: Looked, taken: set[str]) -> Iterator[Measure]:
    for value, share in column.common[:COMMON]:
        if RARE <= share <= 1 - RARE / 2:
            name = unused([word(f"{_name(events, column)}_{word(str(value))[:20]}")], taken)
            is_so = sql.equal(column.value.expression, exp.Literal.string(str(value)))
            yield Measure(sql.case(is_so, 1.0, 0.0), name, True)
