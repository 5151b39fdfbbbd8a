"""Dates, times and intervals are numbers: days since 1970, seconds since midnight, seconds.

The origin is the same for all data, so that weights of two trainings can be compared. A double has digits for less than
a microsecond there; where all dates are close together, run/centring.py measures them from their mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import inf
from typing import Any, Literal

import numpy as np
from sqlglot import exp

from sqlsvm import sql

TimeKind = Literal["date", "timestamp", "timestamptz", "time", "interval"]

DAY = 86_400
_MIDNIGHT = date(1970, 1, 1)


@dataclass(frozen=True)
class Time:
    """What a kind of time means."""

    type: exp.DType  # of a text that says one
    seconds: int  # in one unit of the number
    unit: str  # what its weight is for
    said: str  # what the number is
    example: str | timedelta = "1970-01-01"  # a value in memory

    def number(self, value: exp.Expression) -> exp.Expression:
        """As a double. The epoch of an infinite date is NULL in DuckDB, and must not count as one that is missing."""
        epoch = sql.double(exp.Extract(this=exp.var("EPOCH"), expression=value.copy()))
        infinite = sql.case(sql.not_null(value), inf)
        found = sql.coalesce(epoch, infinite)
        return found if self.seconds == 1 else exp.paren(sql.ratio(found, sql.number(self.seconds)))

    def read(self, value: Any) -> float:
        """The same of a value in memory, or of its text."""
        return _microseconds(value) / 1e6 / self.seconds

    def written(self, number: float) -> str:
        """The text that is read as this number of days."""
        found = datetime(1970, 1, 1) + timedelta(microseconds=round(number * self.seconds * 1e6))
        return str(found.date() if self.type == exp.DType.DATE else found)


_SINCE = "days since 1970-01-01"
TIMES: Mapping[str, Time] = {
    "date": Time(exp.DType.DATE, DAY, "day", _SINCE),
    "timestamp": Time(exp.DType.TIMESTAMP, DAY, "day", _SINCE),
    "timestamptz": Time(exp.DType.TIMESTAMPTZ, DAY, "day", f"{_SINCE} in UTC"),
    "time": Time(exp.DType.TIME, 1, "second", "seconds since midnight", "00:00"),
    "interval": Time(exp.DType.INTERVAL, 1, "second", "seconds", timedelta()),
}
DATES: tuple[TimeKind, ...] = "date", "timestamp", "timestamptz"  # those that go on


def _microseconds(value: Any) -> int | float:
    """A whole number, if the value is finite."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").astype(object)
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").astype(object)
    if isinstance(value, int):  # what numpy has for a year beyond those of Python
        return value
    if isinstance(value, time):
        since = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    elif isinstance(value, datetime):
        since = value - datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else UTC)
    elif isinstance(value, date):
        since = value - _MIDNIGHT
    elif isinstance(value, timedelta):
        since = value
    else:
        raise ValueError(f"{value!r} is no time")
    return since // timedelta(microseconds=1)


def _parsed(text: str) -> Any:
    """ISO 8601, as databases write it."""
    for read in (datetime.fromisoformat, time.fromisoformat):
        try:
            return read(text.strip())
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no time")
