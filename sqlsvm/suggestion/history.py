"""The history of rows as SQL: what was known before the time of each.

The rows of a table that belong to an owner are numbered by their time. A table has, for each of them, what was known
after it: sums over the rows up to it, which one window gives. For each owner and time another table has how many rows
are before, found by putting both sides on one line and counting. So the history of a row is found by a number, and all
of it costs n log n.

A window of 30 days is two parts: time is cut into blocks of 30 days, and a window begins in the block before the one in
which it ends. So it is what is left of the one after its beginning, and the other one up to its end: both are sums from
the edge of a block, and no difference of large sums is taken. For a trend, times are counted from the edge between the
two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.suggestion.joined import Joined, Value, unused
from sqlsvm.suggestion.looked import moment
from sqlsvm.suggestion.measures import Measure
from sqlsvm.suggestion.sources import Events, used_steps
from sqlsvm.suggestion.windows import Window
from sqlsvm.times import DATES, DAY

SECOND, NUMBER, WHEN, IS_ROW, MARK = "at_second", "number", "known_at", "is_row", "mark"
LAST = "last_at"
"""When the last row was. It is no feature: by it the query can be checked for rows of the future."""
PAST, ASKED = "past", "asked"
SAME = 1e-9
"""Times whose squares differ by a smaller share are the same: the rest is rounding."""


@dataclass(frozen=True)
class Points:
    """A table of owners and times: where a history is wanted."""

    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A window, and one of the two blocks that it lies in."""

    window: Window
    name: str
    is_later: bool
    """The block in which the window ends."""

    @property
    def block(self) -> str:
        return f"block_{self.window.name}"


def parts(windows: Sequence[Window]) -> list[Part]:
    return [Part(window, f"{side}_{window.name}", side == "begun") for window in windows for side in ("begun", "left")]


class Block:
    """The history that one table is."""

    def __init__(
        self,
        events: Events,
        measures: Sequence[Measure],
        windows: Sequence[Window],
        points: Points,
        known: str,
        before: str,
        further: Sequence[Value] = (),
    ) -> None:
        """`known` and `before` name its two tables. `further`: columns whose last value is wanted."""
        self.events, self.measures, self.windows, self.points = events, measures, windows, points
        self.known_name, self.before_name, self.further = known, before, further
        self.is_date = events.time.column.kind in DATES
        self._names = {SECOND, NUMBER, WHEN}
        self._sums = dict[tuple[str, str, str], tuple[exp.Expression, str]]()
        self.keys = [f"key_{n}" for n in range(1, len(events.keys) + 1)]
        for measure in measures:
            self._names.add(measure.name)

    # -- what was known after each row ---------------------------------------------------------------------------------

    def known(self) -> exp.Select:
        numbered = self._numbered()
        own = [*self.keys, NUMBER, SECOND, WHEN, *(self.block_of(w) for w in self.windows)]
        plain = [*own, *(m.name for m in self.measures), *(f"last_{v.column.name}" for v in self.further)]
        outputs = [*sql.columns(plain), *((value, name) for value, name in self._all_sums())]
        made = sql.select(outputs, sql.derived(numbered, "numbered"))
        made.set("windows", [self._past(), *self._blocks()])
        return made

    def _numbered(self) -> exp.Select:
        events, second = self.events, moment(self.events.time)
        keys = [key.expression for key in events.keys]
        used = {key.alias for key in events.keys} | {events.time.alias} | self._read()
        rows = Joined(events.rows.alias, events.rows.table, used_steps(events.rows, used))
        order = [events.time.expression, *self._ties()]
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=[*keys],
            order=exp.Order(expressions=[exp.Ordered(this=value, nulls_first=False) for value in order]),
        )
        outputs = [
            *zip(keys, self.keys, strict=True),
            (place, NUMBER),
            (second, SECOND),
            (events.time.expression, WHEN),
            *((self._block(second, w), self.block_of(w)) for w in self.windows),
            *((m.value, m.name) for m in self.measures),
            *((v.expression, f"last_{v.column.name}") for v in self.further),
        ]
        present = [sql.not_null(value) for value in (*keys, second)]
        return sql.where(rows.select(outputs), *present)

    def _ties(self) -> list[exp.Expression]:
        """What orders rows of one time: a key, or all that is read of them."""
        table, alias = self.events.rows.table, self.events.rows.alias
        names = min((sorted(key) for key in table.keys), key=len, default=[])
        return [sql.named(n, alias) for n in names] or [m.value for m in self.measures]

    def _read(self) -> set[str]:
        found = {column.table for m in self.measures for column in m.value.find_all(exp.Column)}
        return found | {value.alias for value in self.further}

    def block_of(self, window: Window) -> str:
        return f"block_{window.name}"

    def _block(self, second: exp.Expression, window: Window) -> exp.Expression:
        return exp.Floor(this=sql.ratio(second, sql.number(window.size)))

    def _from_edge(self, part: Part) -> exp.Expression:
        """The time since the edge between the two blocks of a window, in days."""
        block = sql.column(part.block)
        first = block if part.is_later else sql.plus(block, 1)
        since = sql.minus(SECOND, sql.product(first, sql.number(part.window.size)))
        return sql.ratio(since, DAY) if self.is_date else since

    def _past(self) -> exp.Window:
        return _named_window(PAST, self.keys)

    def _blocks(self) -> list[exp.Window]:
        return [
            _named_window(part.name, [*self.keys, part.block], descending=not part.is_later)
            for part in parts(self.windows)
        ]

    # -- sums ----------------------------------------------------------------------------------------------------------

    def _all_sums(self) -> list[tuple[exp.Expression, str]]:
        for measure in self.measures:
            for kind, value in _over_past(measure, self.is_date):
                self._sum(kind, measure.name, PAST, value)
        for part in parts(self.windows):
            self._sum("rows", "", part.name, exp.Count(this=exp.Star()))
            for measure in self.measures:
                for kind, value in _over_block(measure, self._from_edge(part)):
                    self._sum(kind, measure.name, part.name, value)
        return list(self._sums.values())

    def _sum(self, kind: str, measure: str, window: str, value: exp.Expression) -> None:
        name = unused(["_".join(filter(None, (kind, measure, window * (window != PAST))))], self._names)
        made: exp.Expression = exp.Window(this=value, alias=exp.to_identifier(window), over="OVER")
        if kind == "trend":  # of rows of one time DuckDB has NaN where others have NULL
            made = exp.Nullif(this=made, expression=sql.double(exp.Literal.string("NaN")))
        self._sums[kind, measure, window] = made, name

    def sum_of(self, kind: str, measure: str, window: str) -> str:
        return self._sums[kind, measure, window][1]

    # -- how many rows are before --------------------------------------------------------------------------------------

    def before(self) -> exp.Select:
        """At one time what asks comes first: a row of that time is not before it."""
        line: exp.Query = self._marked(None)
        for window in self.windows:
            line = sql.union_all(line, self._marked(window))
        keys = sql.columns(self.keys)
        rows = [*keys, (sql.column(SECOND), MARK), (exp.null(), SECOND), (sql.integer(1), IS_ROW)]
        line = sql.union_all(line, sql.select([*rows, (exp.null(), ASKED)], sql.table(self.known_name)))
        is_row = exp.Nullif(this=sql.column(IS_ROW), expression=sql.integer(0))
        counted = sql.window(exp.Count(this=is_row), self.keys, (MARK, IS_ROW))
        names = [*self.keys, SECOND, IS_ROW, ASKED]
        inner = sql.select([*sql.columns(names), (counted, "rows_before")], sql.derived(line, "line"))
        numbers = [
            (sql.largest(sql.case(sql.equal(ASKED, n), "rows_before")), name)
            for n, name in enumerate([NUMBER, *(f"{NUMBER}_{w.name}" for w in self.windows)])
        ]
        by = sql.grouped(sql.columns([*self.keys, SECOND]), numbers, sql.derived(inner, "counted"))
        return sql.where(by, sql.equal(IS_ROW, 0))

    def _marked(self, window: Window | None) -> exp.Select:
        """The times that ask, or the beginnings of their windows."""
        second: exp.Expression = sql.column(SECOND)
        mark = sql.minus(second, sql.number(window.size)) if window else second
        own = [(sql.column(name), key) for name, key in zip(self.points.keys, self.keys, strict=True)]
        of = self.windows.index(window) + 1 if window else 0
        outputs = [*own, (mark, MARK), (sql.column(SECOND), SECOND), (sql.integer(0), IS_ROW), (sql.integer(of), ASKED)]
        return sql.select(outputs, sql.table(self.points.name))

    # -- the history of a point ----------------------------------------------------------------------------------------

    def joins(self, points: str) -> Iterator[tuple[exp.Expression, list[exp.Expression]]]:
        """What is joined to the points, which have an alias, each with its conditions."""
        on = [sql.equal(sql.column(k, self.at("before")), sql.column(p, points)) for k, p in self._pairs()]
        on.append(sql.equal(sql.column(SECOND, self.at("before")), sql.column(SECOND, points)))
        yield sql.table(self.before_name, self.at("before")), on
        yield self._known_at("last", sql.column(NUMBER, self.at("before")), points)
        for part in parts(self.windows):
            place: exp.Expression = sql.column(NUMBER, self.at("before"))
            second = sql.column(SECOND, points)
            block = self._block(second, part.window)
            if not part.is_later:
                number = sql.column(f"{NUMBER}_{part.window.name}", self.at("before"))
                place, block = sql.plus(number, 1), sql.minus(block, 1)
            table, found = self._known_at(part.name, place, points)
            yield table, [*found, sql.equal(sql.column(part.block, self.at(part.name)), block)]

    def _known_at(self, name: str, number: exp.Expression, points: str) -> tuple[exp.Expression, list[exp.Expression]]:
        alias = self.at(name)
        keys = [sql.equal(sql.column(k, alias), sql.column(p, points)) for k, p in self._pairs()]
        return sql.table(self.known_name, alias), [*keys, sql.equal(sql.column(NUMBER, alias), number)]

    def _pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.keys, self.points.keys, strict=True))

    def at(self, name: str) -> str:
        return f"{self.known_name.removesuffix('_known')}_{name}"

    def outputs(self, points: str) -> Iterator[tuple[exp.Expression, str]]:
        """What is known of a point."""
        rows = sql.column(NUMBER, self.at("before"))
        yield sql.coalesce(rows, 0), "count"
        since: exp.Expression = sql.minus(sql.column(SECOND, points), self._last(SECOND))
        yield (sql.ratio(since, DAY), "days_since") if self.is_date else (since, "since")
        if self.is_date:
            yield self._last(WHEN), LAST
        for measure in self.measures:
            yield _or_usual(self._last(measure.name), measure.usual), f"last_{measure.name}"
            for kind, _ in _over_past(measure, self.is_date):
                usual = {"stddev": measure.spread, "trend": 0.0}.get(kind, measure.usual)
                yield _or_usual(self._last(self.sum_of(kind, measure.name, PAST)), usual), f"{kind}_{measure.name}"
        for window in self.windows:
            yield from ((value, f"{name}_{window.name}") for value, name in self._of_window(window))

    def _last(self, name: str) -> exp.Column:
        return sql.column(name, self.at("last"))

    def _of_window(self, window: Window) -> Iterator[tuple[exp.Expression, str]]:
        rows = self._both("rows", "", window)
        yield rows, "count"
        for measure in self.measures:
            n, total = (self._both(kind, measure.name, window) for kind in ("known", "total"))
            mean = sql.ratio(total, _nonzero(n))
            whole = sql.plus(sql.number(measure.centre), mean) if measure.centre else mean
            yield _or_usual(whole, measure.usual), f"{'share' if measure.is_share else 'mean'}_{measure.name}"
            if not measure.is_share:
                for of, kind in ((exp.Least, "min"), (exp.Greatest, "max")):
                    yield _or_usual(self._extreme(of, kind, measure, window), measure.usual), f"{kind}_{measure.name}"
                deviation = self._deviation(measure, window, n, total)
                yield _or_usual(deviation, measure.spread), f"stddev_{measure.name}"
                yield _or_usual(self._trend(measure, window, n, total), 0.0), f"trend_{measure.name}"

    def _both(self, kind: str, measure: str, window: Window) -> exp.Expression:
        names = ((self.sum_of(kind, measure, part.name), self.at(part.name)) for part in parts([window]))
        return sql.plus(*(sql.coalesce(sql.column(*name), 0) for name in names))

    def _extreme(
        self, of: type[exp.Least | exp.Greatest], kind: str, measure: Measure, window: Window
    ) -> exp.Expression:
        names = ((self.sum_of(kind, measure.name, part.name), self.at(part.name)) for part in parts([window]))
        one, other = (sql.column(name, alias) for name, alias in names)
        return of(this=one, expressions=[other], ignore_nulls=True)

    def _deviation(self, measure: Measure, window: Window, n: exp.Expression, total: exp.Expression) -> exp.Expression:
        """Not below 0 by rounding, and NULL of fewer than two."""
        square = sql.ratio(sql.product(total, total), _nonzero(n))
        over = sql.minus(self._both("squares", measure.name, window), square)
        left = exp.Greatest(this=over, expressions=[sql.number(0)], ignore_nulls=True)
        return sql.case(sql.more(n, 1), exp.Sqrt(this=sql.ratio(left, sql.minus(n, 1))))

    def _trend(self, measure: Measure, window: Window, n: exp.Expression, total: exp.Expression) -> exp.Expression:
        """NULL where all times are the same, or nearly."""
        kinds = "products", "times", "times_squared"
        products, times, squares = (self._both(of, measure.name, window) for of in kinds)
        left = sql.minus(sql.product(n, products), sql.product(total, times))
        spread = sql.minus(sql.product(n, squares), sql.product(times, times))
        differ = sql.more(spread, sql.product(sql.number(SAME), n, squares))
        return sql.case(differ, sql.ratio(left, spread))


def _or_usual(value: exp.Expression, usual: float) -> exp.Expression:
    return sql.coalesce(value, exp.Literal.number(repr(usual)))


def _nonzero(n: exp.Expression) -> exp.Expression:
    return exp.Nullif(this=n, expression=sql.integer(0))


def _over_past(measure: Measure, is_date: bool) -> Iterator[tuple[str, exp.Expression]]:
    value = sql.column(measure.name)
    if measure.is_share:
        yield "share", exp.Avg(this=value)
        return
    yield "mean", exp.Avg(this=value)
    yield "min", sql.smallest(value)
    yield "max", sql.largest(value)
    yield "stddev", exp.StddevSamp(this=value)
    unit = sql.ratio(SECOND, DAY) if is_date else sql.column(SECOND)
    yield "trend", exp.RegrSlope(this=value, expression=unit)


def _over_block(measure: Measure, time: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    value = sql.column(measure.name)
    around = sql.minus(value, sql.number(measure.centre)) if measure.centre else value
    yield "known", exp.Count(this=value)
    yield "total", sql.total(around)
    if not measure.is_share:
        yield "min", sql.smallest(value)
        yield "max", sql.largest(value)
        yield "squares", sql.total(sql.product(around, around))
        known = sql.case(sql.not_null(value), time)
        yield "times", sql.total(known)
        yield "times_squared", sql.total(sql.product(known, time))
        yield "products", sql.total(sql.product(around, time))


def _named_window(name: str, by: Sequence[str], *, descending: bool = False) -> exp.Window:
    return exp.Window(
        this=exp.to_identifier(name),
        partition_by=[sql.column(key) for key in by],
        order=exp.Order(
            expressions=[exp.Ordered(this=sql.column(NUMBER), desc=descending or None, nulls_first=descending)]
        ),
        spec=exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW", end_side=None),
    )
