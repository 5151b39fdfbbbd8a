"""Where the history of a row is: the tables that hang from what its foreign keys refer to."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sqlsvm import sql
from sqlsvm.engine.base import Engine, ForeignKey
from sqlsvm.errors import OptionError
from sqlsvm.options import Span
from sqlsvm.suggestion.joined import Joined, Step, Value, aliased, joined, unused, word
from sqlsvm.suggestion.looked import Looked, looked, moment
from sqlsvm.suggestion.schema import Schema, Table
from sqlsvm.times import DATES, DAY

MOST = 12  # tables whose rows make the history of one owner


@dataclass(frozen=True)
class Owner:
    """What several rows of the label's table belong to: a customer."""

    name: str
    columns: tuple[Value, ...]  # of the label's table
    table: Table | None
    keys: tuple[str, ...]  # the columns of that table that they refer to


@dataclass(frozen=True)
class Events:
    """Rows of a table that belong to an owner, each with its time."""

    name: str
    rows: Joined
    keys: tuple[Value, ...]
    time: Value
    looked: tuple[Looked, ...] = field(repr=False)
    guess: str | None = None  # what the keys go by, if no constraint says so
    is_own: bool = False  # are they earlier rows of the label's own table?


@dataclass
class Search:
    """Finds the events of owners. What it cannot know becomes a question."""

    engine: Engine
    schema: Schema
    table: Table
    time: Value
    names: set[str] = field(default_factory=set)  # of events
    owned: set[str] = field(default_factory=set)  # names of owners
    questions: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)  # tables whose rows refer to a row and are all of its time or after

    def owners(self, entity: Sequence[str]) -> list[Owner]:
        alias = word(self.table.name)
        found = []
        for key in self.schema.refers(self.table):
            if not entity or set(key.columns) <= set(entity):
                table, columns = self.schema.table(key.of), Value.named(alias, self.table, key.columns)
                name = unused([word(table.name), word(key.columns[-1])], self.owned)
                found.append(Owner(name, columns, table, key.keys))
        if not entity:  # what refers to the row itself
            for keys in dict.fromkeys(key.keys for key in self.schema.referred(self.table)):
                columns = Value.named(alias, self.table, keys)
                found.append(Owner(unused([f"this_{alias}"], self.owned), columns, self.table, keys))
        known = {column.column.name for owner in found for column in owner.columns}
        if loose := [name for name in entity if name not in known]:
            name = unused([word("_".join(loose))], self.owned)
            found.append(Owner(name, Value.named(alias, self.table, loose), None, tuple(loose)))
        return found

    def events(self, owner: Owner) -> list[Events]:
        """Those of the tables that refer to the owner, and of the tables that refer to these."""
        near = list(self._referring(owner))
        places = {key.table for key in near}
        found = [self._events(key) for key in near]
        for key in near:
            for further in self.schema.referred(self.schema.table(key.table)):
                if further.table not in places and further.of == key.table:
                    places.add(further.table)
                    found.append(self._events(further, key))
        known = [events for events in found if events][:MOST]
        return known if owner.table != self.table else [e for e in known if self._precedes(owner, e)]

    def _precedes(self, owner: Owner, events: Events) -> bool:
        """Is there one that is before a row which it refers to?"""
        keys = [(key.expression, f"k{n}") for n, key in enumerate(events.keys)]
        rows = sql.derived(events.rows.select([*keys, (moment(events.time), "at")]), "e")
        on = [sql.equal(sql.column(f"k{n}", "e"), value.expression) for n, value in enumerate(owner.columns)]
        own = sql.select([(sql.integer(1), "one")], aliased(self.table.place, word(self.table.name)))
        asked = sql.join(own, rows, [*on, sql.less(sql.column("at", "e"), moment(self.time))])
        if self.table.made or len(self.engine.fetch(asked.limit(1))["one"]):
            return True
        self.later.append(events.rows.table.name)
        return False

    def _referring(self, owner: Owner) -> Iterator[ForeignKey]:
        if owner.table:
            yield from (key for key in self.schema.referred(owner.table) if key.keys == owner.keys)
            return
        there = [table for table in self.schema.tables if not table.made]
        for table in there:  # the same column elsewhere, as no table says what it refers to
            own = [table.column(name) for name in owner.keys]
            if all(c and c.kind == v.column.kind for c, v in zip(own, owner.columns, strict=True)):
                yield ForeignKey(table.place, owner.keys, self.table.place, owner.keys, "by its name alone")

    def _events(self, key: ForeignKey, further: ForeignKey | None = None) -> Events | None:
        """Rows of the table of a key; with `further`, that refers to a table which has the key of the owner."""
        table = self.schema.table(key.table)
        rows = joined(self.schema, table, 1, word(self.table.name))
        steps = {step.key: step for step in rows.steps}
        alias = steps[further and key].alias if further else rows.alias
        owner_key = further or key
        holder = self.schema.table(owner_key.table)
        keys = Value.named(alias, holder, owner_key.columns)
        columns = tuple(looked(self.engine, rows, rows.values))
        is_own = table.place == self.table.place
        time = Value(rows.alias, self.time.column) if is_own else self._time(rows, columns, owner_key)
        if time is None:
            why = "so its rows may be of before or after: when is a row of it known?"
            self.questions.append(f"{table.name} has no time, {why}")
            return None
        if further and holder.place == self.table.place and time.alias == alias and time.column != self.time.column:
            time = Value(alias, self.time.column)
        guess = owner_key.guess and f"no constraint says so: guessed {owner_key.guess}"
        name = unused([f"earlier_{word(table.name)}" if is_own else word(table.name)], self.names)
        return Events(name, rows, keys, time, columns, guess, is_own)

    def _time(self, rows: Joined, columns: Sequence[Looked], owner_key: ForeignKey) -> Value | None:
        """The latest date of a row: then all of it is known. If it has none, that of a row that it refers to."""
        passed = {step.alias for step in rows.steps if step.key.of == owner_key.of and step.key == owner_key}
        known, time = [c for c in columns if c.value.alias not in passed and len(c.known)], self.time.column
        dated = [c for c in known if c.kind in DATES]
        if time.kind not in DATES:
            dated = [c for c in known if c.kind == "numeric" and c.value.column.name == time.name]
        own = [c for c in dated if c.value.alias == rows.alias]
        return self._latest(rows, own or dated)

    def _latest(self, rows: Joined, dated: Sequence[Looked]) -> Value | None:
        if not dated:
            return None
        least = min(float(column.missing.mean()) for column in dated)
        whole = [column for column in dated if column.missing.mean() <= least + 0.01]
        chosen = max(whole, key=lambda column: float(np.median(column.known)))
        for other in dated:
            if other not in whole and other.value.alias == rows.alias:
                self.questions.append(
                    f"rows of {rows.table.name} count from {chosen.value} on, but {other.value} is a date too: if "
                    "other columns are written then, leave those out"
                )
        return chosen.value


def used_steps(rows: Joined, aliases: set[str]) -> tuple[Step, ...]:
    return tuple(step for step in rows.steps if step.alias in aliases)


_TRIED = (1, 7, 30, 90, 365, 1825)
FEWEST = 3.0  # so many rows of an owner are in a window that fits, and several times as many in the next one
MANY = 20  # numbers: of more there is one window, unless others are asked for


@dataclass(frozen=True)
class Window:
    """A span, in seconds or in the unit of a time that is a number."""

    size: float
    name: str  # the end of the names of its features
    said: str


def read(text: str, is_date: bool, flag: str = "⟦windows⟧") -> Window:
    """
    >>> read("30 days", True)
    Window(size=2592000.0, name='30_days', said='30 days')
    >>> read("50", False).size
    50.0
    """
    said = " ".join(text.split()).lower()
    size, unit = Span.read(said) if said in Span() else (0.0, None)
    if size <= 0 or (unit is None) is is_date:
        example = "30 days" if is_date else "30: the time is a number"
        raise OptionError(f"{flag}: {text!r} is no span", hint=f"write {example}")
    return Window(size * (unit or 1), re.sub(r"\W+", "_", said), said)


def fitting(engine: Engine, events: Sequence[Events]) -> tuple[Window, ...]:
    """Of the table with the most rows for each owner: one in which there are a few, and a longer one."""
    found = [rate for each in events if (rate := _rate(engine, each))]
    if not found:
        return ()
    per_day, days = max(found)
    numbers = sum(column.kind == "numeric" for each in events for column in each.looked)
    fit = [n for n in _TRIED if n < days / 2]
    short = next((n for n in fit if n * per_day >= FEWEST), None)
    long = next((n for n in fit if short and n >= 4 * short and n * per_day >= 4 * FEWEST), None)
    return tuple(read(f"{n} day{'s' * (n > 1)}", True) for n in (short, long if numbers <= MANY else None) if n)


def _rate(engine: Engine, events: Events) -> tuple[float, float] | None:
    """Rows of an owner in a day in which it has rows, and the days from the first row to the last."""
    if events.time.column.kind not in DATES:
        return None
    s = moment(events.time)
    keys = [(key.expression, f"k{n}") for n, key in enumerate(events.keys)]
    sizes = [(sql.count(), "n"), (sql.smallest(s), "low"), (sql.largest(s), "high")]
    each = sql.derived(sql.group(events.rows.select([*keys, *sizes]), [key for key, _ in keys]), "o")
    low, high = sql.column("low"), sql.column("high")
    spans = sql.total(sql.minus(high, low))
    asked = [(sql.total("n"), "n"), (spans, "spans"), (sql.minus(sql.largest(high), sql.smallest(low)), "whole")]
    found = {name: float(values[0]) for name, values in engine.fetch(sql.select(asked, each)).items()}
    return None if not found["spans"] > 0 else (found["n"] * DAY / found["spans"], found["whole"] / DAY)
