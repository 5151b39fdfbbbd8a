"""Intervals that overlap, as lines of a bridge: one begins in the other, on one side or on the other.

    a.lo < b.hi AND b.lo < a.hi    (a.lo, a.hi) OVERLAPS (b.lo, b.hi)    tsrange(a.lo, a.hi) && b.period

The start of b lies in a, or the start of a lies after the start of b and in b. These exclude each other: two parts on a
line each. That holds of intervals that end after they begin. Where columns are compared, an interval may be reversed:
such rows have parts of their own, on the two lines of the two conditions.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.query.bridge import Line, Place
from sqlsvm.query.facts import Facts, one
from sqlsvm.query.ir import Parsed
from sqlsvm.query.line import AFTER, AT, BEFORE, HIGH, LOW
from sqlsvm.query.names import relations_in

RARE = 0.01
"""With a larger share of reversed intervals, two columns are not taken for the ends of one."""

_OPEN = 2
"""Among equal values, a start that is not in its interval stands so far after one that is."""


class Choice(NamedTuple):
    """The lines of a bridge, and its parts."""

    lines: tuple[Line, ...]
    parts: tuple[tuple[int, ...], ...]

    def and_(self, other: "Choice") -> "Choice":
        first = len(self.lines)
        parts = ((*one, *(first + i for i in two)) for one in self.parts for two in other.parts)
        return Choice((*self.lines, *other.lines), tuple(parts))


def overlap(query: Parsed, facts: Facts, condition: exp.Expression) -> Choice | None:
    """Of OVERLAPS or of &&; None for another condition."""
    if not isinstance(condition, exp.Overlaps | exp.ArrayOverlaps):
        return None
    sides = condition.this, condition.expression
    aliases = [relations_in(side) for side in sides]
    if [len(each) for each in aliases] != [1, 1] or aliases[0] == aliases[1]:
        return None
    a, b = (each[0] for each in aliases)
    known = [_types(query, facts, alias, side) for alias, side in zip((a, b), sides, strict=True)]
    if isinstance(condition, exp.ArrayOverlaps):
        is_range = all(len(types) == 1 and types[0].type.lower().endswith("range") for types in known)
        return _ranges(a, b, *sides) if is_range and "multi" not in known[0][0].type.lower() else None
    return _periods(a, b, *(_ends(side, types) for side, types in zip(sides, known, strict=True)))


def _types(query: Parsed, facts: Facts, alias: str, side: exp.Expression) -> Sequence[Column]:
    values = side.expressions if isinstance(side, exp.Tuple) else [side]
    return facts.columns(query.relation(alias), values)


# -- ranges ------------------------------------------------------------------------------------------------------------


def _ranges(a: str, b: str, one: exp.Expression, other: exp.Expression) -> Choice:
    """A range that has no bound on a side has a NULL there."""
    only = {a: exp.not_(_of("isempty", one)), b: exp.not_(_of("isempty", other))}

    def line(spans: str, of: exp.Expression, points: str, within: exp.Expression, place: int) -> Line:
        ends = (
            Place(_of("lower", of), sql.plus(_start(of), place - AT), LOW),
            Place(_of("upper", of), sql.case(_of("upper_inc", of), AFTER, BEFORE), HIGH),
        )
        return Line(spans, points, Place(_of("lower", within), _start(within)), ends, unbounded=True, only=only)

    return Choice((line(a, one, b, other, BEFORE), line(b, other, a, one, AFTER)), ((0,), (1,)))


def _of(function: str, of: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=function, expressions=[of.copy()])


def _start(of: exp.Expression) -> exp.Expression:
    is_in = sql.either([_of("lower_inf", of), _of("lower_inc", of)])
    return sql.case(is_in, AT, AT + _OPEN)


# -- OVERLAPS ----------------------------------------------------------------------------------------------------------


def _ends(side: exp.Expression, types: Sequence[Column]) -> tuple[exp.Expression, exp.Expression]:
    """In their order; the end may be told as a span of time. If only one is known, nothing is the end."""
    first, second = side.expressions
    if types[1].type.lower().startswith("interval"):
        second = sql.plus(first, second)
    whole = sql.every([sql.not_null(first), sql.not_null(second)])
    return sql.least(first, second), sql.case(whole, sql.greatest(first, second))


def _periods(
    a: str, b: str, one: tuple[exp.Expression, exp.Expression], other: tuple[exp.Expression, exp.Expression]
) -> Choice:
    """Two that begin together overlap, also if they have no length; but both ends must be known."""
    within = [
        Line(spans, points, _point(start), (_low(of[0], AFTER), _high(of[1], BEFORE)))
        for spans, points, of, (start, _) in ((a, b, one, other), (b, a, other, one))
    ]
    whole = {a: sql.not_null(one[1]), b: sql.not_null(other[1])}
    together = Line(a, b, _point(other[0]), (_low(one[0], BEFORE), _high(one[0], AFTER)), only=whole)
    return Choice((*within, together), ((0,), (1,), (2,)))


def _point(value: exp.Expression) -> Place:
    return Place(value, sql.integer(AT))


def _low(value: exp.Expression, place: int) -> Place:
    return Place(value, sql.integer(place), LOW)


def _high(value: exp.Expression, place: int) -> Place:
    return Place(value, sql.integer(place), HIGH)


# -- comparisons -------------------------------------------------------------------------------------------------------


def are_compared(conditions: Iterable[exp.Expression]) -> bool:
    """Are both of < and its relatives, each about one relation on each side?"""
    kinds = exp.LT | exp.LTE | exp.GT | exp.GTE
    return all(isinstance(c, kinds) and all(len(relations_in(s)) == 1 for s in _ascending(c)) for c in conditions)


def compared(query: Parsed, facts: Facts, first: exp.Expression, second: exp.Expression) -> Choice | None:
    """Of a.lo < b.hi and b.lo < a.hi, if hardly any interval of a or of b is reversed."""
    (lo, hi), (start, end) = (_ascending(each) for each in (first, second))
    (a,), (b,) = (relations_in(each) for each in (lo, hi))
    if relations_in(start) == [a]:
        return None
    is_in = [isinstance(each, exp.LTE | exp.GTE) for each in (first, second)]
    kind = exp.LT if is_in[0] else exp.LTE
    back: dict[str, exp.Expression] = {
        a: sql.less(end, lo),
        b: kind(this=hi.copy(), expression=start.copy()),
    }
    if not all(
        _is_rare(query, facts, alias, [*ends], back[alias]) for alias, ends in ((a, (lo, end)), (b, (start, hi)))
    ):
        return None
    until = [AFTER if each else BEFORE for each in is_in]
    b_in_a = Line(a, b, _point(start), (_low(lo, BEFORE), _high(end, until[1])), only={b: exp.not_(back[b].copy())})
    a_in_b = Line(b, a, _point(lo), (_low(start, AFTER), _high(hi, until[0])), only={a: exp.not_(back[a].copy())})
    reversed_ = [
        line
        for alias in (b, a)
        for line in (
            Line(a, b, _point(hi), (_low(lo, BEFORE if is_in[0] else AFTER),), only={alias: back[alias]}),
            Line(a, b, _point(start), (_high(end, until[1]),), only={alias: back[alias]}),
        )
    ]
    return Choice((b_in_a, a_in_b, *reversed_), ((0,), (1,), (2, 3), (4, 5)))


def _ascending(condition: exp.Expression) -> tuple[exp.Expression, exp.Expression]:
    """The side that is below, and the other."""
    sides = condition.this, condition.expression
    return sides if isinstance(condition, exp.LT | exp.LTE) else (sides[1], sides[0])


def _is_rare(query: Parsed, facts: Facts, alias: str, ends: list[exp.Expression], back: exp.Expression) -> bool:
    relation = query.relation(alias)
    one_type, other = (column.type for column in facts.columns(relation, ends))
    if one_type != other:
        return False
    found = sql.sum_or_zero(sql.case(back, 1, 0))
    return one(facts.engine, relation.rows([(found, "n")]))["n"] <= RARE * facts.of(relation).rows
