"""The answers of the two counting queries as tables and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from types import NoneType
from typing import Any, TextIO

from rich.text import Text

from sqlsvm.lab.ask.counting import Count, Threshold
from sqlsvm.paper import columns, on_paper
from sqlsvm.terminal import amount, printable


def draw_counts(found: Sequence[Count], stream: TextIO) -> str:
    table = columns("feature", "value", numbers=("label", "count"))
    places = {name: place for place, name in enumerate(dict.fromkeys(c.feature for c in found))}
    last = None
    for c in sorted(found, key=lambda c: (places[c.feature], _order(c.value), c.label)):
        first = printable(c.feature) if c.feature != last else ""
        table.add_row(Text(first), Text(_value(c.value)), f"{c.label:+d}", amount(c.count))
        last = c.feature
    return on_paper(stream, table)


def draw_thresholds(found: Sequence[Threshold], stream: TextIO) -> str:
    table = columns(numbers=("label", "k", "count", "threshold"))
    for t in found:
        table.add_row(f"{t.label:+d}", str(t.k), amount(t.count), f"{t.threshold:.6g}")
    return on_paper(stream, table)


def as_json(found: Sequence[Count] | Sequence[Threshold]) -> list[dict[str, Any]]:
    """Values that JSON does not have (a date, an exact decimal) become text."""
    plain = (bool, int, float, str, NoneType)
    return [{n: v if isinstance(v, plain) else str(v) for n, v in asdict(answer).items()} for answer in found]


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    return f"{value:.10g}" if isinstance(value, float) else printable(str(value))


def _order(value: object) -> tuple[int, float, str]:
    """Numbers by size, then other values by name, then NULL."""
    if value is None:
        return 2, 0.0, ""
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))
