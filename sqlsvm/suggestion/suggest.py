"""A query for a label of a table, from what the database says of its tables.

The history of a row as sub-queries that a person reads: what was known before the time of the row.

    (SELECT AVG(visits.minutes) FROM visits WHERE visits.customer_id = orders.customer_id AND visits.day < orders.day)

A training does not run them one by one: query/answers.py finds the answers to all in n log n.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.query.asked import alike
from sqlsvm.query.names import is_id
from sqlsvm.suggestion.joined import Joined, Value, commented, joined, left_out, text, unused, word
from sqlsvm.suggestion.looked import Chosen, Feature, Looked, days_between, moment, row_features
from sqlsvm.suggestion.schema import Table, read_schema
from sqlsvm.suggestion.sources import Events, Owner, Search, Window, fitting, read, used_steps
from sqlsvm.suggestion.task import LABEL, Next, column_of, task
from sqlsvm.times import DATES

COMMON = 4  # so many values of a category are counted,
RARE = 0.05  # if they are in this share of the rows, and not in nearly all
MOST = 16  # numbers of one table, and as many shares


@dataclass(frozen=True)
class Measure:
    """A number of each row of a history."""

    value: exp.Expression
    name: str
    is_share: bool = False  # is it 1 where something is so, and 0 elsewhere?

    @property
    def mean(self) -> str:
        return f"{'share' if self.is_share else 'mean'}_{self.name}"


def measures(events: Events, not_known: Set[tuple[str, str]]) -> list[Measure]:
    """`not_known`: columns of the label's own table that tell the label: of earlier rows, too, they may not be known
    yet."""
    taken = set[str]()
    columns = [column for column in events.looked if _is_of_history(events, column, not_known)]
    numbers = list[Measure]()
    for c in (c for c in columns if c.kind in ("numeric", "boolean") and len(c.common) > 1):
        is_share, own = c.kind == "boolean", c.value.expression
        value = sql.by_truth(own, 1.0, 0.0) if is_share else own
        numbers.append(Measure(value, unused([_name(events, c)], taken), is_share))
    shares = [share for c in columns if c.kind == "categorical" for share in _shares(events, c, taken)]
    return [*numbers[:MOST], *shares[:MOST]]


def _is_of_history(events: Events, column: Looked, not_known: Set[tuple[str, str]]) -> bool:
    value, rows = column.value, events.rows
    if value == events.time or column.is_key or is_id(value.column.name) or column.numbers_rows:
        return False
    if value.alias == rows.alias:
        return not (events.is_own and (rows.table.place.sql(), value.column.name) in not_known)
    step = next(step for step in rows.steps if step.alias == value.alias)
    is_owner = {(key.alias, key.column.name) for key in events.keys} <= {(step.source, c) for c in step.key.columns}
    is_dated = any(c.kind in DATES for c in step.table.columns)
    return not is_owner and not is_dated and not any(key.alias == value.alias for key in events.keys)


def _name(events: Events, column: Looked) -> str:
    own = column.value.alias == events.rows.alias
    return word(column.value.column.name if own else f"{column.value.alias}_{column.value.column.name}")


def _shares(events: Events, column: Looked, taken: set[str]) -> Iterator[Measure]:
    for value, share in column.common[:COMMON]:
        if RARE <= share <= 1 - RARE / 2:
            name = unused([word(f"{_name(events, column)}_{word(str(value))[:20]}")], taken)
            is_so = sql.equal(column.value.expression, exp.Literal.string(str(value)))
            yield Measure(sql.case(is_so, 1.0, 0.0), name, True)


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
        for window in (None, *windows):
            said = window.said if window else f"all before {self.time.column.name}"
            for value, name in self._outputs(found, window):
                yield Feature(value, unused([word(f"{self.events.name}_{name}")], taken), self.events.name, said)

    def _outputs(self, found: Sequence[Measure], window: Window | None) -> Iterator[tuple[exp.Expression, str]]:
        end = f"_{window.name}" if window else ""
        yield self._asked(exp.Count(this=exp.Star()), window), f"count{end}"
        if not window:
            yield self._since()
        for measure in found:
            if not window:
                yield self._last(measure.value), f"last_{measure.name}"
            yield self._asked(exp.Avg(this=measure.value), window), f"{measure.mean}{end}"

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
        own = [column for column in events.looked if column.value.alias == alias]
        differ = [column.value.column.name for column in own if column.differs]
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
            span: exp.Expression = exp.Interval(this=exp.Literal.string(window.said))
            if now.column.kind not in DATES:
                span = exp.Literal.number(window.said)
            yield sql.at_least(at.copy(), sql.minus(end.copy(), span if is_plain else sql.number(window.size)))


@dataclass(frozen=True)
class Wanted:
    """What a suggestion is asked for."""

    table: str
    label: str | None = None
    time: str | None = None
    entity: Sequence[str] = ()
    windows: Sequence[str] | None = None
    tables: Sequence[str] = ()  # no others than these; all, if there are none
    next: Next | None = None  # what the label is made of, if it is no column of the table, which then has the entities


@dataclass(frozen=True)
class Suggestion:
    query: str
    label: str
    time: str
    questions: tuple[str, ...]  # what the database does not say, for a person to answer
    is_dated: bool = True  # is the time a date, and not a number?
    windows: Mapping[str, str] = field(default_factory=dict)  # by the features that are read from one

    def __str__(self) -> str:
        return self.query


def suggest(engine: Engine, wanted: Wanted) -> Suggestion:
    schema, table = read_schema(engine, wanted.table, wanted.tables)
    made = None
    if wanted.next:
        made = task(engine, schema, table, wanted.next, wanted.entity, wanted.label or LABEL, wanted.time)
        schema, table = made.schema, made.table
        wanted = replace(wanted, label=wanted.label or LABEL, time=made.time, entity=made.entity)
    roles = ("label", wanted.label), ("time", wanted.time)
    label, time = (_role(engine, table, role, name) for role, name in roles)
    if label.column == time.column:
        raise OptionError(f"{label.column.name} is both the label and the time", hint="take another column for one")
    entity = [column_of(engine, table, "⟦entity⟧", name).column.name for name in wanted.entity]
    rows, features = joined(schema, table), {label.column.name, time.column.name}
    chosen = row_features(engine, rows, label, time, features)
    search = Search(engine, schema, table, time)
    found = [(owner, events) for owner in search.owners(entity) if (events := search.events(owner))]
    is_date = time.column.kind in DATES
    windows = fitting(engine, [each for _, events in found for each in events])
    if wanted.windows is not None:
        windows = tuple(read(span, is_date) for span in wanted.windows)
    telling = {(table.place.sql(), v.column.name) for v in (label, *chosen.telling) if v.alias == rows.alias}
    query, of_past = _query(rows, label, chosen), list[Feature]()
    for past in (Past(each, owner, time) for owner, events in found for each in events):
        more = list(past.features(windows, telling, features))
        query = sql.also(query, [(feature.expression, feature.name) for feature in more])
        commented(query.selects[-len(more)], *filter(None, [past.events.guess]))
        of_past += more
    if search.later:
        chosen.left_out[f"no row is before the row of {table.name} that it refers to"] = search.later
    said = f"a row of {rows.table.name}: its label is {label.column.name}, its time {time.column.name}"
    said = made.said if made else said
    commented(query, "; ".join((said, *left_out(chosen.left_out))))
    questions = tuple(dict.fromkeys((*(made.questions if made else ()), *search.questions)))
    spans = {feature.name: feature.window for feature in of_past}
    return Suggestion(text(engine, query), label.column.name, time.column.name, questions, is_date, spans)


def _role(engine: Engine, table: Table, role: str, name: str | None) -> Value:
    if name is None:
        hint = f"⟦{role} COLUMN⟧ of {table.name}, or ⟦label_next⟧ for a label to come"
        hint += "; without a time, write a query and train on it" * (role == "time")
        raise OptionError(f"⟦{role}⟧ is missing", hint=hint)
    found = column_of(engine, table, f"⟦{role}⟧", name)
    if role == "time" and found.column.kind not in (*DATES, "numeric"):
        raise OptionError(f"⟦time⟧: {name} is of type {found.column.type}", hint="take a date, a timestamp or a number")
    return found


def _query(rows: Joined, label: Value, chosen: Chosen) -> exp.Select:
    steps, needed = {step.alias: step for step in rows.steps}, {feature.block for feature in chosen.features}
    for step in reversed(rows.steps):  # those that are read, and those on the way to them
        needed |= {step.source} if step.alias in needed else set()
    outputs = [(label.expression, label.column.name), *((f.expression, f.name) for f in chosen.features)]
    query = Joined(rows.alias, rows.table, tuple(s for s in rows.steps if s.alias in needed)).select(outputs)
    for join in query.args.get("joins") or []:
        commented(join.this, steps[join.this.alias].said)
    return query
