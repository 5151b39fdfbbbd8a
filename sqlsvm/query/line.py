"""Conditions of order as ends of an interval: v.day >= o.day - 9 AND v.day < o.day says that the point v.day lies
between two ends of o."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from sqlsvm import sql

LEVELS = 31
NODE = f"{sql.WORKING}node"
POINT, LOW, HIGH = 0, 1, 2
BEFORE, AT, AFTER = 0, 1, 2  # where an end lies: just before its value, or just after it

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

    def questions(
        self, line: exp.Query, keys: Sequence[str], at: str, kept: Sequence[str], runs: sql.Named
    ) -> exp.Select:
        """The rows of a line that ask, with what runs along it up to each."""
        by, down = (at, "place"), self.kind == LOW
        found = [(sql.window(value, keys, by, running=True, descending=down), name) for value, name in runs]
        every = sql.select([*sql.columns([*kept, "place"]), *found], sql.derived(line, "line"))
        asks = sql.unequal("place", AT)
        return exp.select("*").from_(sql.derived(every, "f")).where(asks)


def comparisons(condition: exp.Expression) -> list[exp.Expression]:
    """The two of BETWEEN."""
    if not isinstance(condition, exp.Between) or condition.args.get("symmetric"):
        return [condition]
    low, high = condition.args["low"].copy(), condition.args["high"].copy()
    point = condition.this
    return [sql.at_least(point, low), sql.at_most(point, high)]


def ends_of(condition: exp.Expression, is_point: Test, is_end: Test) -> Iterator[tuple[exp.Expression, End]]:
    """The point and the ends of an interval. Nothing for another condition: then there are fewer than conditions."""
    found = [pair for each in comparisons(condition) for pair in _end_of(each, is_point, is_end)]
    yield from found if len(found) == len(comparisons(condition)) else ()


def _end_of(condition: exp.Expression, is_point: Test, is_end: Test) -> Iterator[tuple[exp.Expression, End]]:
    if isinstance(condition, tuple(_ENDS)):
        kind, left, right = cast(type[exp.Binary], type(condition)), condition.this, condition.expression
        if not is_point(left):
            kind, left, right = _MIRRORED[kind], right, left
        if is_point(left) and is_end(right):
            yield left, End(*_ENDS[kind], right)


# -- the tree of slots -------------------------------------------------------------------------------------------------


def slots(
    line: exp.Query, keys: Sequence[str], kept: Sequence[str], order: Sequence[str] = ("v", "place")
) -> exp.Select:
    """Points and ends on one line: the keys, what orders them, which, and columns that are kept. `at` is the number of
    slots up to here, of all keys; `base` that before this key, and `most` how many it has. A slot starts at a point
    whose predecessor is none; among equal points the first one is that, whichever it is."""
    before = sql.window(exp.Lag(this=sql.column("which")), keys, order)
    starts = sql.every([is_(POINT), sql.unequal(sql.coalesce(before, LOW), POINT)])
    own = sql.columns([*kept, *keys, *order, "which"])
    steps = sql.select([*own, (sql.case(starts, 1, 0), "start")], sql.derived(line, "line"))
    at = sql.window(sql.total("start"), (), (*keys, *order))
    placed_at: sql.Named = [*sql.columns([*kept, *keys, "which", "start"]), (sql.double(at), "at")]
    placed = sql.select(placed_at, sql.derived(steps, "steps"))
    earlier = sql.smallest(sql.minus("at", "start"))
    base, last = (sql.window(each, keys) for each in (earlier, sql.largest("at")))
    outputs = [*sql.columns([*kept, *keys, "which", "at"]), (base, "base"), (sql.minus(last, base), "most")]
    return sql.select(outputs, sql.derived(placed, "placed"))


def spanning_nodes(found: exp.Expr, names: Sequence[str], kinds: Collection[int], fan: int = 2) -> exp.Select:
    """Of the intervals that these names tell apart, from the first slot that one has to the first one after it. `kinds`
    of ends: an interval may be open. Of a level it has the nodes at its two ends that are not within a node of the next
    level that is within it: those from a, and those before b."""
    slot = sql.minus("at", "base")

    def of(kind: int, otherwise: exp.Expression) -> exp.Expression:
        return sql.coalesce(sql.smallest(sql.case(is_(kind), slot)), otherwise) if kind in kinds else otherwise

    low, high = of(LOW, sql.number(0)), of(HIGH, sql.smallest("most"))
    base = sql.smallest("base")
    ends = sql.grouped(sql.columns(names), [(base, "base"), (low, "low"), (high, "high")], found)
    ends = sql.where(ends, sql.unequal("which", POINT))
    first, last = exp.Ceil(this=_share("low")), exp.Floor(this=_share("high"))
    outputs = [*sql.columns([*names, "base", "level", "size"]), (first, "a"), (last, "b")]
    levels = sql.join(sql.select(outputs, sql.derived(ends, "ends")), _levels(fan), [sql.at_most("size", "high")])
    a, b, nth = sql.column("a"), sql.column("b"), sql.column("nth")
    before, after = _whole(exp.Ceil, a, fan), _whole(exp.Floor, b, fan)
    within = sql.least(before, b)
    is_low = sql.at_least(nth, 0)
    node = sql.case(is_low, sql.plus(a, nth), sql.plus(b, nth))
    first_side = sql.less(sql.plus(a, nth), within)
    last_side = sql.at_least(sql.plus(b, nth), sql.greatest(within, after))
    nths = [*(range(fan - 1) if LOW in kinds else ()), *range(-1, -fan, -1)]
    rows = sql.select([*sql.columns(names), (_code(node), NODE)], sql.derived(levels, "l"))
    rows = sql.join(rows, _values("nths", ("nth",), [[n] for n in nths]), [])
    return sql.where(rows, sql.less(a, b), sql.case(is_low, first_side, last_side)).copy()


def _whole(towards: type[exp.Expression], place: exp.Expression, fan: int) -> exp.Expression:
    return sql.product(sql.number(fan), towards(this=sql.ratio(place, sql.number(fan))))


def point_nodes(found: exp.Query, names: Sequence[str], fan: int = 2) -> exp.Select:
    """All nodes of points that are `at` these places."""
    slot = sql.minus(sql.minus("at", "base"), 1.0)
    outputs = [*sql.columns([*names, "base", "most"]), (slot, "slot")]
    places = sql.derived(sql.select(outputs, sql.derived(found, "f")), "p")
    rows = sql.select([*sql.columns(names), (_code(exp.Floor(this=_share("slot"))), NODE)], places)
    return sql.join(rows, _levels(fan), [sql.at_most("size", "most")])


def _levels(fan: int) -> exp.Values:
    return _values("levels", ("level", "size"), [[n, fan**n] for n in range(LEVELS) if fan**n < 2**LEVELS])


def _values(alias: str, names: Sequence[str], rows: Sequence[Sequence[int]]) -> exp.Values:
    tuples = [exp.Tuple(expressions=[sql.number(value) for value in row]) for row in rows]
    columns = [exp.to_identifier(name) for name in names]
    return exp.Values(expressions=tuples, alias=exp.TableAlias(this=exp.to_identifier(alias), columns=columns))


def _share(name: str) -> exp.Expression:
    return sql.ratio(name, "size")


def _code(node: exp.Expression) -> exp.Expression:
    """One number for a node of all keys: its first slot, and its level."""
    start = sql.plus("base", sql.product(exp.paren(node), "size"))
    code = sql.plus(sql.product(start, sql.number(LEVELS + 1)), "level")
    return exp.cast(code, exp.DType.BIGINT)


def is_(kind: int) -> exp.Expression:
    return sql.equal("which", kind)
