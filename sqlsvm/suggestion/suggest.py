"""A query for a label of a table, from what the database says of its tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Engine
from sqlsvm.errors import OptionError
from sqlsvm.suggestion.features import Chosen, row_features
from sqlsvm.suggestion.history import Past
from sqlsvm.suggestion.joined import Joined, Value, commented, joined, left_out, text
from sqlsvm.suggestion.schema import Schema, Table, read_schema
from sqlsvm.suggestion.sources import Search, fitting, read
from sqlsvm.suggestion.task import LABEL, Next, Task, column_of, task
from sqlsvm.times import DATES


@dataclass(frozen=True)
class Wanted:
    """What a suggestion is asked for."""

    table: str
    label: str | None = None
    time: str | None = None
    entity: Sequence[str] = ()
    windows: Sequence[str] | None = None
    tables: Sequence[str] = ()  # no others than these; all, if there are none
    next: Next | None = None
    """What the label is made of, if it is no column of the table, which is then that of the entities."""


@dataclass(frozen=True)
class Suggestion:
    query: str
    label: str
    time: str
    questions: tuple[str, ...]  # what the database does not say, for a person to answer
    is_dated: bool = True  # is the time a date, and not a number?

    def __str__(self) -> str:
        return self.query


def suggest(engine: Engine, wanted: Wanted) -> Suggestion:
    schema, table = read_schema(engine, wanted.table, wanted.tables)
    if made := _task(engine, schema, table, wanted):
        schema, table = made.schema, made.table
        wanted = replace(wanted, label=wanted.label or LABEL, time=made.time, entity=made.entity)
    label, time = (_role(engine, table, flag, name) for flag, name in _roles(wanted))
    entity = [column_of(engine, table, "--entity", name).column.name for name in wanted.entity]
    rows, features = joined(schema, table), {label.column.name, time.column.name}
    chosen = row_features(engine, rows, label, time, features)
    search = Search(engine, schema, table, time)
    found = [(owner, events) for owner in search.owners(entity) if (events := search.events(owner))]
    is_date = time.column.kind in DATES
    windows = fitting(engine, [each for _, events in found for each in events])
    if wanted.windows is not None:
        windows = tuple(read(span, is_date) for span in wanted.windows)
    telling = {(table.place.sql(), v.column.name) for v in (label, *chosen.telling) if v.alias == rows.alias}
    query = _query(rows, label, chosen)
    for past in (Past(each, owner, time) for owner, events in found for each in events):
        more = list(past.features(windows, telling, features))
        query = sql.also(query, [(feature.expression, feature.name) for feature in more])
        commented(query.selects[-len(more)], *filter(None, [past.events.guess]))
    if search.later:
        chosen.left_out[f"no row is before the row of {table.name} that it refers to"] = search.later
    said = made.said if made else _said(rows, label, time)
    commented(query, "; ".join((said, *left_out(chosen.left_out))))
    questions = tuple(dict.fromkeys((*(made.questions if made else ()), *search.questions)))
    return Suggestion(text(engine, query), label.column.name, time.column.name, questions, is_date)


def _task(engine: Engine, schema: Schema, table: Table, wanted: Wanted) -> Task | None:
    if not wanted.next:
        return None
    return task(engine, schema, table, wanted.next, wanted.entity, wanted.label or LABEL, wanted.time)


def _roles(wanted: Wanted) -> list[tuple[str, str | None]]:
    return [("--label", wanted.label), ("--time", wanted.time)]


def _role(engine: Engine, table: Table, flag: str, name: str | None) -> Value:
    if name is None:
        hint = f"{flag} COLUMN of {table.name}, or --label-next for a label to come"
        hint += "; without a time, write a query and train on it" * (flag == "--time")
        raise OptionError(f"{flag} is missing", hint=hint)
    found = column_of(engine, table, flag, name)
    if flag == "--time" and found.column.kind not in (*DATES, "numeric"):
        raise OptionError(f"--time: {name} is of type {found.column.type}", hint="take a date, a timestamp or a number")
    return found


def _query(rows: Joined, label: Value, chosen: Chosen) -> exp.Select:
    steps = {step.alias: step for step in rows.steps}
    needed = _needed(rows, {feature.block for feature in chosen.features})
    outputs = [(label.expression, label.column.name), *((f.expression, f.name) for f in chosen.features)]
    query = Joined(rows.alias, rows.table, tuple(s for s in rows.steps if s.alias in needed)).select(outputs)
    for join in query.args.get("joins") or []:
        commented(join.this, steps[join.this.alias].said)
    return query


def _needed(rows: Joined, used: set[str]) -> set[str]:
    """The lookups that are read, and those on the way to them."""
    for step in reversed(rows.steps):
        if step.alias in used:
            used = used | {step.source}
    return used


def _said(rows: Joined, label: Value, time: Value) -> str:
    return f"a row of {rows.table.name}: its label is {label.column.name}, its time {time.column.name}"
