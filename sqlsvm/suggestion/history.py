"""The history of a row as sub-queries that a person reads: what was known before the time of the row.

    (SELECT AVG(visits.minutes) FROM visits WHERE visits.customer_id = orders.customer_id AND visits.day < orders.day)

A training does not run them one by one: query/answers.py finds the answers to all in n log n.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.asked import alike
from sqlsvm.suggestion.features import Feature, days_between
from sqlsvm.suggestion.joined import Value, unused, word
from sqlsvm.suggestion.looked import moment
from sqlsvm.suggestion.measures import Measure, measures
from sqlsvm.suggestion.sources import Events, Owner, used_steps
from sqlsvm.suggestion.windows import Window
from sqlsvm.times import DATES


@dataclass(frozen=True)
class Past:
    """The rows of a table that belong to the owner of a row and are before its time."""

    events: Events
    owner: Owner
    time: Value

    def features(
        self, windows: Sequence[Window], not_known: Set[tuple[str, str]], taken: set[str]
    ) -> Iterator[Feature]:
        found = measures(self.events, not_known)
        outputs = [*self._all(found), *(each for window in windows for each in self._of_window(found, window))]
        for value, name in outputs:
            named = unused([word(f"{self.events.name}_{name}")], taken)
            yield Feature(value, named, self.events.name)

    def _all(self, found: Sequence[Measure]) -> Iterator[tuple[exp.Expression, str]]:
        yield self._asked(exp.Count(this=exp.Star())), "count"
        yield self._since()
        for measure in found:
            yield self._last(measure.value), f"last_{measure.name}"
            yield self._asked(exp.Avg(this=measure.value)), measure.mean

    def _of_window(self, found: Sequence[Measure], window: Window) -> Iterator[tuple[exp.Expression, str]]:
        yield self._asked(exp.Count(this=exp.Star()), window), f"count_{window.name}"
        for measure in found:
            yield self._asked(exp.Avg(this=measure.value), window), f"{measure.mean}_{window.name}"

    def _since(self) -> tuple[exp.Expression, str]:
        last, now = self._asked(sql.largest(self.events.time.expression)), self.time.expression
        if self.time.column.kind not in DATES:
            return sql.minus(now, last), "since"
        is_day = self.time.column.kind == self.events.time.column.kind == "date"
        return sql.minus(now, last) if is_day else days_between(last, now), "days_since"

    def _last(self, value: exp.Expression) -> exp.Subquery:
        """Of rows of one time that with the smallest key, or the smallest value if there is none."""
        events, made = self.events, self._asked(value)
        alias = events.rows.alias
        declared = min((sorted(key) for key in events.rows.table.keys), key=len, default=[])
        differ = [
            column.value.column.name for column in events.looked if column.value.alias == alias and column.differs
        ]
        ties: list[exp.Expression] = [sql.named(name, alias) for name in declared or differ[:1]]
        ties = ties or [value]
        latest = exp.Ordered(this=events.time.expression, desc=True, nulls_first=False)
        order = [latest, *(exp.Ordered(this=each.copy(), nulls_first=False) for each in ties)]
        made.this.set("order", exp.Order(expressions=order))
        made.this.limit(1, copy=False)
        return made

    def _asked(self, value: exp.Expression, window: Window | None = None) -> exp.Subquery:
        """Strictly before: a row of the same time is not known yet."""
        events, conditions = self.events, list(self._conditions(window))
        aliases = {column.table for each in (value, *conditions) for column in each.find_all(exp.Column)}
        rows = replace(events.rows, steps=used_steps(events.rows, aliases))
        made = rows.select([]).select(value.copy(), copy=False)
        return exp.Subquery(this=sql.where(made, *conditions))

    def _conditions(self, window: Window | None) -> Iterator[exp.Expression]:
        for key, own in zip(self.events.keys, self.owner.columns, strict=True):
            yield sql.equal(key.expression, own.expression)
        then, now = self.events.time, self.time
        is_plain = alike(then.column.type.lower(), now.column.type.lower())
        at, end = (value.expression if is_plain else moment(value) for value in (then, now))
        yield sql.less(at, end)
        if window:
            yield sql.at_least(at.copy(), sql.minus(end.copy(), self._span(window, is_plain)))

    def _span(self, window: Window, is_plain: bool) -> exp.Expression:
        if not is_plain:
            return sql.number(window.size)
        is_date = self.time.column.kind in DATES
        return exp.Interval(this=exp.Literal.string(window.said)) if is_date else exp.Literal.number(window.said)
