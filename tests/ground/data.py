"""Rows for drafted tables. One integer makes one row, its digits the cells: few choices, quick to draw and shrink."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.ground.choose import Chooser, chance, pick
from tests.ground.columns import REAL, Domain
from tests.ground.world import Value

if TYPE_CHECKING:
    from tests.ground.build import Draft, Member

MAX_JOIN_ROWS = 20_000

Row = dict[str, Value]


def draw_rows(chooser: Chooser, draft: "Draft", most: int) -> list[Row]:
    """Up to `most` rows; those that would break uniqueness are dropped. An empty table is rare: it empties the join."""
    if not (draft.twins or draft.label) and chance(chooser, 1):
        return []
    least = min(2, most)
    sizes = (*range(least, most), *range(max(least, most // 2), most + 1))
    rows: list[Row] = []
    seen: set[tuple[object, ...]] = set()
    for index in range(pick(chooser, sizes)):
        row = _row(chooser, draft, index, rows[-1] if rows else None)
        keys = {(names, *(_fold(row[n]) for n in names)) for names in draft.unique}
        firm = {k for k in keys if None not in k}
        if not firm & seen:
            seen |= firm
            rows.append(row)
    return rows


def trim(members: Sequence["Member"], rows: dict[str, list[Row]]) -> None:
    """Halve tables until the join cannot exceed MAX_JOIN_ROWS: each relation multiplies it at most by its fan-out."""
    while math.prod(fan := [max(1, _fan_out(m, rows[m.table.name])) for m in members]) > MAX_JOIN_ROWS:
        widest = members[fan.index(max(fan))].table
        del rows[widest.name][len(rows[widest.name]) // 2 :]


def _fan_out(member: "Member", rows: Sequence[Row]) -> int:
    """How many of its rows one row of its parent can meet."""
    names = [member.key[v] for v in member.node.shared]
    return max(Counter(tuple(_fold(row[n]) for n in names) for row in rows).values(), default=0)


def _row(chooser: Chooser, draft: "Draft", index: int, previous: Row | None) -> Row:
    """One time in eight the previous row again: duplicates are what merging must get right."""
    ordered = {n: draft.columns[n] for n in (*draft.keys, *draft.columns)}
    span = math.prod(len(d.values) for d in ordered.values())
    number = chooser.integer(0, span * 8 - 1)
    if number >= span * 7 and previous and not draft.unique:
        return previous
    counted = {names[0] for names in draft.unique}
    row: Row = {}
    for name, domain in ordered.items():
        number, digit = divmod(number, len(domain.values))
        same = draft.twins and index < 2 and name in draft.keys
        value = domain.values[0 if same else _place(domain, digit, index, name in counted)]
        row[name] = chooser.real() if value is REAL else value
    return row


def _place(domain: Domain, digit: int, index: int, counted: bool) -> int:
    """Unique columns count up, or most of their rows would be dropped as duplicates."""
    if counted:
        return index % len(domain.values)
    return (digit + index) % len(domain.values) if domain.alternates else digit


def _fold(value: Value) -> object:
    """Keys may be joined by lower(key), so they must be unique in that."""
    return value.lower() if isinstance(value, str) else value
