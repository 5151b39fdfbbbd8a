"""Conditions of order as ends of an interval: v.day >= o.day - 9 AND v.day < o.day says that the point v.day lies
between two ends of o."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from sqlsvm import sql

LEVELS = 31
NODE = f"{sql.WORKING}node"
POINT, LOW, HIGH = 0, 1, 2
BEFORE, AT, AFTER = 0, 1, 2
"""Where an end lies: just before its value, or just after it."""

_MIRRORED = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
_ENDS = {exp.LT: (HIGH, BEFORE), exp.LTE: (HIGH, AFTER), exp.GT: (LOW, AFTER), exp.GTE: (LOW, BEFORE)}
"""Of point < end and so on: which end it is, and where it lies."""

Test = Callable[[exp.Expression], bool]


@dataclass(frozen=True)
class End:
    kind: int
    place: int
    value: exp.Expression

    def met_by(self, point: exp.Expression, value: exp.Expression | None = None) -> exp.Expression:
        """The condition that a point is on this side of it."""
        compares = next(kind for kind, end in _ENDS.items() if end == (self.kind, self.place))
        return cast(type[exp.Expression], compares)(this=point, expression=(value or self.value).copy())


def ends_of(condition: exp.Expression, is_point: Test, is_end: Test) -> Iterator[tuple[exp.Expression, End]]:
    """The point and the ends of an interval. Nothing for another condition: then there are fewer than conditions."""
    if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        low, high = condition.args["low"].copy(), condition.args["high"].copy()
        found = [
            *ends_of(exp.GTE(this=condition.this.copy(), expression=low), is_point, is_end),
            *ends_of(exp.LTE(this=condition.this.copy(), expression=high), is_point, is_end),
        ]
        yield from found if len(found) == 2 else ()
    elif isinstance(condition, tuple(_ENDS)):
        kind, left, right = cast(type[exp.Binary], type(condition)), condition.this, condition.expression
        if not is_point(left):
            kind, left, right = _MIRRORED[kind], right, left
        if is_point(left) and is_end(right):
            yield left, End(*_ENDS[kind], right)


# -- the tree of slots -------------------------------------------------------------------------------------------------


def slots(line: exp.Query, keys: Sequence[str], kept: Sequence[str]) -> exp.Select:
    """Points and ends on one line: the keys, v, place and which, and columns that are kept. `slot` is the number of
    slots up to here, and `most` that of all of a key. A slot starts at a point whose predecessor is none; among equal
    points the first one is that, whichever it is."""
    order = ("v", "place")
    before = sql.window(exp.Lag(this=sql.column("which")), keys, order)
    starts = sql.every(
        [is_(POINT), exp.NEQ(this=sql.coalesce(before, sql.integer(LOW)), expression=sql.integer(POINT))]
    )
    own = [*_columns(kept), *_columns(keys), *_columns(("v", "place", "which"))]
    steps = sql.select([*own, (sql.case(starts, sql.integer(1), sql.integer(0)), "start")], sql.derived(line, "line"))
    start = sql.total(sql.column("start"))
    slot, most = sql.window(start, keys, order), sql.window(start.copy(), keys)
    outputs = [*_columns(kept), *_columns(keys), (sql.column("which"), "which")]
    outputs += [(sql.double(slot), "slot"), (sql.double(most), "most")]
    return sql.select(outputs, sql.derived(steps, "steps"))


def spanning_nodes(found: exp.Expr, names: Sequence[str], kinds: Collection[int]) -> exp.Select:
    """Of the intervals that these names tell apart, from the first slot that one has to the first one after it. `kinds`
    of ends: an interval may be open."""
    slot, keys = sql.column("slot"), [sql.column(name) for name in names]

    def of(kind: int, otherwise: exp.Expression) -> exp.Expression:
        return exp.Min(this=sql.case(is_(kind), slot.copy())) if kind in kinds else otherwise

    low, high = of(LOW, sql.number(0)), of(HIGH, exp.Min(this=sql.column("most")))
    ends = sql.select([*_columns(names), (low, "low"), (high, "high")], found)
    ends = sql.group(ends.where(exp.NEQ(this=sql.column("which"), expression=sql.integer(POINT))), keys)
    first, last = exp.Ceil(this=_share("low")), exp.Floor(this=_share("high"))
    outputs = [*_columns(names), (first, "a"), (last, "b"), (sql.column("level"), "level")]
    levels = sql.select(outputs, sql.derived(ends, "ends")).join(_levels(), join_type="cross")
    parts = [
        _part(levels, names, sql.column("a"), "a"),
        _part(levels, names, sql.minus(sql.column("b"), sql.number(1)), "b"),
    ]
    return exp.select("*").from_(sql.derived(sql.union_all(*parts), "nodes"))


def _part(levels: exp.Select, names: Sequence[str], node: exp.Expression, end: str) -> exp.Select:
    """The nodes at one end of an interval: an odd one is not within a node of the next level that is within it."""
    c = sql.column(end)
    half = exp.Floor(this=exp.Div(this=c.copy(), expression=sql.number(2)))
    is_odd = exp.GT(this=c.copy(), expression=sql.product(sql.number(2), half))
    rows = sql.select([*_columns(names), (_code(node), NODE)], sql.derived(levels.copy(), "l"))
    return rows.where(exp.LT(this=sql.column("a"), expression=sql.column("b")), is_odd)


def place_of(names: Sequence[str]) -> sql.Named:
    """Of points, with slots from 0."""
    return [*_columns(names), (sql.minus(sql.column("slot"), sql.number(1)), "slot"), (sql.column("most"), "most")]


def point_nodes(found: exp.Query, names: Sequence[str]) -> exp.Select:
    """All nodes of points that have these places."""
    rows = sql.select([*_columns(names), (_code(exp.Floor(this=_share("slot"))), NODE)], sql.derived(found, "p"))
    return rows.join(_levels(), join_type="cross").where(
        exp.LTE(this=sql.column("size"), expression=sql.column("most"))
    )


def _levels() -> exp.Values:
    rows = [exp.Tuple(expressions=[sql.integer(n), sql.number(2**n)]) for n in range(LEVELS)]
    names = [exp.to_identifier(name) for name in ("level", "size")]
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier("levels"), columns=names))


def _share(name: str) -> exp.Expression:
    return exp.Div(this=sql.column(name), expression=sql.column("size"))


def _code(node: exp.Expression) -> exp.Expression:
    """One number for a node and its level."""
    code = sql.plus(sql.product(exp.paren(node.copy()), sql.number(LEVELS + 1)), sql.column("level"))
    return exp.cast(code, exp.DType.BIGINT)


def is_(kind: int) -> exp.Expression:
    return sql.equal(sql.column("which"), sql.integer(kind))


def _columns(names: Iterable[str]) -> sql.Named:
    return [(sql.column(name), name) for name in names]
