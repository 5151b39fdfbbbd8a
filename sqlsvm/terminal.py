"""Text for a terminal: safe names, readable numbers, colour where the terminal supports it."""

import logging
import os
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from sqlsvm.errors import masked

NOTE = logging.INFO + 1  # the level of what is worth keeping in a log of steps
READING = "reading the query and its tables"  # the first step of a training


class Listed(NamedTuple):
    """A table, for a terminal or a page: the first `words` columns are text, the others numbers."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


def in_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    r"""The text without secrets, and with escapes in place of characters that a terminal would act on or not show.

    >>> print(printable("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in masked(text))


def amount(n: float) -> str:
    """A readable count.

    >>> amount(1234567), amount(1e9), amount(2.34e15)
    ('1,234,567', '1.0e9', '2.3e15')
    """
    if n < 999_999_999.5:
        return f"{n:,.0f}"
    digits, _, exponent = f"{n:.1e}".partition("e")
    return f"{digits}e{int(exponent)}" if exponent else digits


def memory(n: float) -> str:
    """
    >>> memory(1536), memory(2.5e10), memory(3e22)
    ('2 kB', '25 GB', '30,000 EB')
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
    power = 0
    while n >= 999.5 and power < len(units) - 1:
        n, power = n / 1000, power + 1
    return f"{amount(n)} {units[power]}"


def duration(seconds: float) -> str:
    """
    >>> duration(0.123), duration(8.04), duration(89), duration(200), duration(4e4)
    ('0.12 s', '8 s', '89 s', '3 minutes', '11 hours')
    """
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"


def share(part: float, whole: float) -> str:
    """
    >>> share(1, 3), share(1, 10**6), share(999_999, 10**6)
    ('33 %', '< 1 %', '> 99 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "< 1 %"
    return "> 99 %" if 99 < percent < 100 else f"{percent:.0f} %"


def row_count(n: float, weighted: bool = False) -> str:
    """The number of rows, or their total weight.

    >>> row_count(1), row_count(1234), row_count(12.5, weighted=True)
    ('1 row', '1,234 rows', 'rows of total weight 12.5')
    """
    if weighted:
        return f"rows of total weight {weight(n)}"
    return "1 row" if n == 1 else f"{amount(n)} rows"


def weight(n: float) -> str:
    """A weight, which need not be a whole number.

    >>> weight(0.05), weight(123.4), weight(3458), weight(2e12)
    ('0.05', '123.4', '3,458', '2.0e12')
    """
    return f"{n:.4g}" if n < 999.95 else amount(n)
