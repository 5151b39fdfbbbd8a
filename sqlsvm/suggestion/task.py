"""The rows of a task: each entity at each of several times, with what comes next of a table as its label.

A span of time is cut into blocks of the step between two times. So a row of the table meets only the times of the
blocks that its window may be in, found by their numbers, and no row is compared with all times.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlglot import exp

from sqlsvm import sql, words
from sqlsvm.engine.base import Engine, ForeignKey
from sqlsvm.errors import DataError, OptionError
from sqlsvm.query.names import named
from sqlsvm.suggestion.joined import Value, aliased, unused, with_tables, word
from sqlsvm.suggestion.looked import moment
from sqlsvm.suggestion.schema import Made, Schema, Table, found_table
from sqlsvm.suggestion.sources import Window, read
from sqlsvm.times import DATES, DAY

LABEL, TIME, SECOND, BLOCK = "label", "at_time", "at_second", "block"


@dataclass(frozen=True)
class Next:
    """A label that is made of the rows of a table in a span after each time: how many there are, by default."""

    label_next: str  # the table
    within: str
    every: str | None = None  # between two times; as long as the span if it is not said
    none: bool = False  # are there no rows?
    sum: str | None = None  # the column that is summed up
    label_time: str | None = None  # when a row of the table is
    active: str | None = None  # only entities with a row of the table in this span before the time


def next_of(label_next: str | None, **options: Any) -> Next | None:
    """What the options of a label to come say, if there are any."""
    given = {name: value for name, value in options.items() if value}
    if label_next is None:
        for name in given:
            hint = "⟦label_next TABLE⟧ makes a label of what comes next"
            raise OptionError(f"⟦{name}⟧ is only for ⟦label_next⟧", hint=hint)
        return None
    if "within" not in given:
        raise OptionError("⟦label_next⟧ needs ⟦within⟧", hint="add ⟦within 90 days⟧: how far the label looks ahead")
    if len(given.keys() & {"none", "sum", "count"}) > 1:
        raise OptionError("⟦count⟧, ⟦sum⟧ and ⟦none⟧ exclude each other", hint="take one of them")
    given.pop("count", None)
    return Next(label_next, **given)


@dataclass(frozen=True)
class Task:
    """A table that the query makes, in a schema that knows what it refers to."""

    schema: Schema
    table: Table
    entity: tuple[str, ...]
    time: str
    said: str
    questions: tuple[str, ...] = ()


def column_of(engine: Engine, table: Table, flag: str, name: str) -> Value:
    columns = {column.name: column for column in table.columns}
    return Value(word(table.name), named(flag, name, columns, engine.fold, f"{table.name} has no column"))


def task(
    engine: Engine, schema: Schema, table: Table, wanted: Next, entity: Sequence[str], label: str, since: str | None
) -> Task:
    """`table`: of the entities; `since`: its column that says when one begins to exist."""
    rows = schema.table(found_table(engine, [each.place for each in schema.tables], wanted.label_next))
    time, questions = _time(engine, rows, wanted.label_time)
    keys, of = _entity(engine, schema, table, rows, entity)
    begun = column_of(engine, table, "⟦time⟧", since) if since and of else None
    maker = _Maker(engine, schema, rows, time, keys, wanted, label)
    exists = None
    if of and begun:  # when each entity began to exist
        names = [(sql.named(name, begun.alias), column) for name, column in zip(of.keys, of.columns, strict=True)]
        exists = sql.select([*names, (moment(begun), "begun")], aliased(table.place, begun.alias))
    made = maker.table(exists, label)
    own = [replace(key, table=made.place) for key in schema.refers(rows) if set(key.columns) <= set(maker.names)]
    known = Schema((*schema.tables, made), (*schema.foreign_keys, *own))
    return Task(known, made, maker.names, maker.time_name, maker.said(table, begun), questions)


def _time(engine: Engine, rows: Table, named: str | None) -> tuple[Value, tuple[str, ...]]:
    """The earliest of its dates: then it happened. What it counts may be written later."""
    if named:
        return column_of(engine, rows, "⟦label_time⟧", named), ()
    alias = word(rows.name)
    dates = [Value(alias, column) for column in rows.columns if column.kind in DATES]
    if not dates:
        raise OptionError(f"⟦label_next⟧: {rows.name} has no date", hint="⟦label_time COLUMN⟧ says when a row of it is")
    sizes = [(exp.Count(this=v.expression), f"n{i}") for i, v in enumerate(dates)]
    means = [(exp.Avg(this=moment(v)), f"m{i}") for i, v in enumerate(dates)]
    found = engine.fetch(sql.select([*sizes, *means], aliased(rows.place, alias)))
    order = sorted(range(len(dates)), key=lambda i: (-float(found[f"n{i}"][0]), float(found[f"m{i}"][0])))
    first, *others = (dates[i] for i in order)
    said = f"the label goes by {first}; {', '.join(map(str, others))} too is a date: ⟦label_time⟧ says which"
    return first, (words.said(said),) if others else ()


def _entity(
    engine: Engine, schema: Schema, table: Table, rows: Table, entity: Sequence[str]
) -> tuple[list[Value], ForeignKey | None]:
    """Its columns in the rows that the label is of, and the foreign key to the table of entities."""
    to = [key for key in schema.refers(rows) if key.of == table.place]
    named = [column_of(engine, rows, "⟦entity⟧", name).column.name for name in entity]
    of = [key for key in to if not named or set(key.columns) == set(named)]
    if not named and len(of) != 1:
        several = f"{len(of)} foreign keys of {rows.name} refer" if of else f"no foreign key of {rows.name} refers"
        hint = f"⟦entity⟧ says the column of {rows.name} that is the entity"
        raise OptionError(f"⟦label_next⟧: {several} to {table.name}", hint=hint)
    names = named or list(of[0].columns)
    return [*Value.named(word(rows.name), rows, names)], of[0] if of else None


class _Maker:
    def __init__(
        self, engine: Engine, schema: Schema, rows: Table, time: Value, keys: Sequence[Value], wanted: Next, label: str
    ) -> None:
        self.engine, self.rows, self.time, self.keys, self.wanted = engine, rows, time, keys, wanted
        self.names = tuple(key.column.name for key in keys)
        self.is_date = time.column.kind in DATES
        self.within, self.every = self._span("⟦within⟧", wanted.within), self._span("⟦every⟧", wanted.every)
        self.active = self._span("⟦active⟧", wanted.active) if wanted.active else None
        taken = {word(each.name) for each in schema.tables}
        self.task = unused(["task"], taken)
        self.times, self.next, self.asked = (unused([f"{self.task}_{what}"], taken) for what in ("times", "next", "of"))
        used = {*self.names, label, SECOND, BLOCK}
        self.time_name = unused([TIME if self.is_date else time.column.name], used)

    def _span(self, flag: str, text: str | None) -> Window:
        found = read(text or self.wanted.within, self.is_date, flag)
        if self.time.column.kind == "date" and found.size % DAY:
            raise OptionError(f"{flag}: {text} is not whole days", hint=f"{self.time} is a date without a time of day")
        return found

    def table(self, begun: exp.Select | None, label: str) -> Table:
        first, steps = self._first()
        active = f", of those with rows in the {self.active.said} before" if self.active else ", once there is one"
        parts = [
            Made(self.times, self._times(first, steps), f"every {self.every.said}, while {self.within.said} follow"),
            Made(self.asked, self._asked(begun), f"each {' and '.join(self.names)} at each of these times{active}"),
            Made(self.next, self._next(), f"the rows of {self.rows.name} in the {self.within.said} after each time"),
            Made(self.task, self._labelled(label), "the rows to train on, with their label"),
        ]
        table = Table(sql.table(self.task), (), (), tuple(parts))
        whole = with_tables(exp.select("*").from_(table.place.copy()), parts)
        return replace(table, columns=self.engine.describe(whole))

    # -- times ---------------------------------------------------------------------------------------------------------

    def _first(self) -> tuple[float, int]:
        """The first time, and how many follow it: as late as the data allow, and back to their first row."""
        at = moment(self.time)
        sizes: sql.Named = [(sql.smallest(at), "low"), (sql.largest(at), "high")]
        found = self.engine.fetch(sql.select(sizes, aliased(self.rows.place, self.time.alias)))
        low, high = (float(found[name][0]) for name in ("low", "high"))
        if not np.isfinite(high - low):
            raise DataError(f"{self.time} has no first and last time", hint="is it empty, or has it infinite dates?")
        whole = DAY if self.is_date and not (self.every.size % DAY or self.within.size % DAY) else 1
        last = math.floor((high - self.within.size) / whole) * whole
        steps = math.floor((last - low) / self.every.size)
        if steps < 0:
            raise DataError(
                f"the {self.within.said} after a time are never whole: rows of {self.rows.name} are from one such span",
                hint="take a shorter ⟦within⟧",
            )
        return last - steps * self.every.size, steps

    def _times(self, first: float, steps: int) -> exp.Select:
        n = exp.TableAlias(this=exp.to_identifier("g"), columns=[exp.to_identifier("n")])
        source = exp.Table(this=sql.series(sql.integer(0), sql.integer(steps)), alias=n)
        made = sql.select([(self._at(first), self.time_name)], source)
        at = Value("times", replace(self.time.column, name=self.time_name))
        second = moment(at)
        own = [(at.expression, self.time_name), (second, SECOND), (self._block(second), BLOCK)]
        return sql.select(own, sql.derived(made, "times"))

    def _at(self, first: float) -> exp.Expression:
        kind, size, n = self.time.column.kind, self.every.size, sql.column("n")
        if not self.is_date:
            return sql.plus(sql.number(first), sql.product(n, sql.number(size)))
        zoned = kind == "timestamptz"
        unit, many = ("DAY", size / DAY) if size % DAY == 0 and not zoned else ("SECOND", size)
        step = exp.Interval(this=exp.Literal.string(f"{many:.15g}"), unit=exp.var(unit))
        written = datetime.fromtimestamp(first, UTC).replace(tzinfo=UTC if zoned else None)
        start = exp.cast(exp.Literal.string(str(written)), "timestamptz" if zoned else "timestamp")
        later = sql.plus(start, sql.product(n, step))
        return exp.cast(later, "date") if kind == "date" else later

    def _block(self, second: exp.Expression) -> exp.Expression:
        return exp.Floor(this=sql.ratio(second, sql.number(self.every.size)))

    # -- rows near a time ----------------------------------------------------------------------------------------------

    def _near(self, outputs: Mapping[str, exp.Expression], before: float, after: float) -> exp.Select:
        """Rows from `before` before a time, which does not count, to `after` after it; each once for each such time."""
        second = moment(self.time)
        own = [*((key.expression, key.column.name) for key in self.keys), (second, "row_second")]
        rows = sql.where(
            sql.select([*own, *((v, n) for n, v in outputs.items())], aliased(self.rows.place, self.time.alias)),
            *(sql.not_null(key.expression) for key in self.keys),
        )
        back, ahead = math.ceil(after / self.every.size), math.ceil(before / self.every.size)
        n = exp.TableAlias(this=exp.to_identifier("blocks"), columns=[exp.to_identifier("n")])
        blocks = exp.Table(this=sql.series(sql.integer(-back), sql.integer(ahead)), alias=n)
        at = sql.column("row_second", "r")
        block = sql.plus(self._block(at), "blocks.n")
        names = [*self.names, *outputs]
        plain = [(sql.named(name, "r"), name) for name in names]
        made = sql.select([*plain, (sql.named(self.time_name, self.times), self.time_name)], sql.derived(rows, "r"))
        made = sql.join(sql.also(made, [(sql.column(SECOND, self.times), SECOND)]), blocks, [])
        made = sql.join(made, sql.table(self.times), [sql.equal(sql.column(BLOCK, self.times), block)])
        gap = sql.minus("r.row_second", sql.column(SECOND, self.times))
        bounds = (sql.more(gap, sql.number(-before or 0.0)), sql.at_most(gap, sql.number(after)))
        return sql.where(made, *bounds)

    def _asked(self, begun: exp.Select | None) -> exp.Select:
        own = [(sql.named(name, "e"), name) for name in self.names]
        at = [(sql.named(self.time_name, self.times), self.time_name), (sql.column(SECOND, self.times), SECOND)]
        if self.active:
            return self._near({}, self.active.size, 0.0).distinct(copy=False)
        exists = begun or self._first_rows()
        later = sql.at_least(sql.column(SECOND, self.times), "e.begun")
        return sql.join(sql.select([*own, *at], sql.derived(exists, "e")), sql.table(self.times), [later])

    def _first_rows(self) -> exp.Select:
        keys = [(key.expression, key.column.name) for key in self.keys]
        first = sql.smallest(moment(self.time))
        made = sql.grouped(keys, [(first, "begun")], aliased(self.rows.place, self.time.alias))
        return sql.where(made, *(sql.not_null(key) for key, _ in keys))

    # -- the label -----------------------------------------------------------------------------------------------------

    def _next(self) -> exp.Select:
        value = column_of(self.engine, self.rows, "⟦sum⟧", self.wanted.sum) if self.wanted.sum else None
        near = self._near({"counted": value.expression} if value else {}, 0.0, self.within.size)
        by: sql.Named = [*((sql.named(name, "n"), name) for name in self.names), (sql.column(SECOND, "n"), SECOND)]
        found = sql.total("n.counted") if value else sql.count()
        return sql.grouped(by, [(found, "found")], sql.derived(near, "n"))

    def _labelled(self, label: str) -> exp.Select:
        found: exp.Expression = sql.column("found", self.next)
        value = sql.is_null(found) if self.wanted.none else sql.coalesce(found, 0)
        names = [*self.names, self.time_name]
        own = [(sql.named(name, self.asked), name) for name in names]
        on = [sql.equal(sql.named(n, self.next), sql.named(n, self.asked)) for n in (*self.names, SECOND)]
        made = sql.select([*own, (value, label)], sql.table(self.asked))
        return sql.join(made, sql.table(self.next), on, "left")

    def said(self, table: Table, begun: Value | None) -> str:
        what = f"the sum of {self.wanted.sum} of the" if self.wanted.sum else "how many"
        what = "whether no" if self.wanted.none else what
        exists = f"from {begun} on" if begun else f"from its first row of {self.rows.name} on"
        who = f"with rows in the {self.active.said} before" if self.active else exists
        return (
            f"each {', '.join(self.names)} {who}; its label says {what} rows of {self.rows.name} come "
            f"after {self.time_name} within {self.within.said}, by {self.time}"
        )
