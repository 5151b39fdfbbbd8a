"""Spans before a row's time in which its history counts once more."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.options import Span
from sqlsvm.suggestion.looked import moment
from sqlsvm.suggestion.sources import Events
from sqlsvm.times import DATES, DAY

_TRIED = (1, 7, 30, 90, 365, 1825)
FEWEST = 3.0
"""So many rows of an owner are in a window that fits, and several times as many in the next one."""

MANY = 20
"""Numbers: of more there is one window, unless others are asked for."""


@dataclass(frozen=True)
class Window:
    """A span, in seconds or in the unit of a time that is a number."""

    size: float
    name: str
    """The end of the names of its features."""
    said: str


def read(text: str, is_date: bool, flag: str = "--windows") -> Window:
    """
    >>> read("30 days", True)
    Window(size=2592000.0, name='30_days', said='30 days')
    >>> read("50", False).size
    50.0
    """
    said = " ".join(text.split()).lower()
    size, unit = Span.read(said) if said in Span() else (0.0, None)
    if size <= 0 or (unit is None) is is_date:
        example = "30 days" if is_date else "30: the time is a number"
        raise OptionError(f"{flag}: {text!r} is no span", hint=f"write {example}")
    return Window(size * (unit or 1), re.sub(r"\W+", "_", said), said)


def fitting(engine: Engine, events: Sequence[Events]) -> tuple[Window, ...]:
    """Of the table with the most rows for each owner: one in which there are a few, and a longer one."""
    found = [rate for each in events if (rate := _rate(engine, each))]
    if not found:
        return ()
    per_day, days = max(found)
    numbers = sum(column.kind == "numeric" for each in events for column in each.looked)
    fit = [n for n in _TRIED if n < days / 2]
    short = next((n for n in fit if n * per_day >= FEWEST), None)
    long = next((n for n in fit if short and n >= 4 * short and n * per_day >= 4 * FEWEST), None)
    return tuple(read(f"{n} day{'s' * (n > 1)}", True) for n in (short, long if numbers <= MANY else None) if n)


def _rate(engine: Engine, events: Events) -> tuple[float, float] | None:
    """Rows of an owner in a day in which it has rows, and the days from the first row to the last."""
    if events.time.column.kind not in DATES:
        return None
    s = moment(events.time)
    keys = [(key.expression, f"k{n}") for n, key in enumerate(events.keys)]
    sizes = [(sql.count(), "n"), (sql.smallest(s), "low"), (sql.largest(s), "high")]
    each = sql.derived(sql.group(events.rows.select([*keys, *sizes]), [key for key, _ in keys]), "o")
    low, high = sql.column("low"), sql.column("high")
    spans = sql.total(sql.minus(high, low))
    asked = [
        (sql.total("n"), "n"),
        (spans, "spans"),
        (sql.minus(sql.largest(high), sql.smallest(low)), "whole"),
    ]
    found = {name: float(values[0]) for name, values in engine.fetch(sql.select(asked, each)).items()}
    if not found["spans"] > 0:
        return None
    return found["n"] * DAY / found["spans"], found["whole"] / DAY
