"""Features that come from the future: rows that are dated at or after the row of the label which they are joined with.

For each date that the query reads, the join has a number more, and how often it is not before the time of the label's
row is counted as how often a label is up to a score. No row of the join is made.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from sqlsvm import sql, words
from sqlsvm.ask.evaluate import residuals_of
from sqlsvm.engine.base import Column, Engine
from sqlsvm.errors import DataError, FormError, OptionError
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.query import Feature, FeatureQuery, Relation
from sqlsvm.query.dates_inside import Dates
from sqlsvm.query.facts import Facts
from sqlsvm.query.ir import VALUE
from sqlsvm.query.names import column_named, output_named
from sqlsvm.query.read_query import fast_inside, taken_apart
from sqlsvm.query.rewrites import ruled
from sqlsvm.query.rewrites.meet import shown, with_outputs
from sqlsvm.run.data import prepared
from sqlsvm.run.derived import reading
from sqlsvm.run.training import Training
from sqlsvm.terminal import NOTE, amount, share
from sqlsvm.times import DATES, TIMES

steps = logging.getLogger(__name__)

WHEN, DATED, EARLY = "sqlsvm_when", "sqlsvm_dated", "0001-01-01"


@dataclass(frozen=True)
class Leak:
    """A date that is at or after the time of the label's row in some rows of the join."""

    date: str
    time: str
    rows: float
    share: float
    condition: str | None  # what leaves these rows out, if the query can say it
    is_read: bool = True  # does the query use it, or is it in another table?

    def __str__(self) -> str:
        of = share(self.share, 1.0)
        when = f"that of the label's row, {self.time}," if self.date == self.time else self.time
        return f"{self.date} is at or after {when} in {of} of the join rows ({amount(self.rows)})"


@dataclass(frozen=True)
class AsOf:
    """What was checked."""

    time: str
    dates: tuple[str, ...]
    leaks: tuple[Leak, ...]
    afterwards: tuple[Leak, ...]
    """Dates of the label's own table that the query does not use: its other columns may have been written then."""
    missed: tuple[str, ...]  # parts of sub-queries that were not looked into

    def as_json(self) -> Mapping[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class _Date:
    alias: str
    value: exp.Column
    kind: str
    said: str
    is_own: bool  # is it a column that the query can name?
    is_read: bool = True

    @property
    def or_early(self) -> exp.Expression:
        """NULL is before all: such a row is not of the future."""
        return sql.coalesce(self.value, exp.cast(exp.Literal.string(EARLY), TIMES[self.kind].type))


def leaks(engine: Engine, text: str, as_of: str, label: str) -> AsOf:
    """`as_of`: an output, or a column of the label's table, that says when its row is."""
    try:
        return _leaks(engine, taken_apart(engine, text, answer=False, label=label), as_of)
    except FormError as error:
        return _leaks(engine, taken_apart(engine, text, error, answer=False, label=label), as_of)


def _leaks(engine: Engine, query: FeatureQuery, as_of: str) -> AsOf:
    query = shown(Facts(engine), query, "⟦as_of⟧", as_of)
    when, said = _when(engine, query, as_of)
    asked, dates, missed = _dates(engine, query, when)
    alias = query.label_relation
    found = []
    for date, rows, not_before in _counted(engine, asked, alias, when, dates) if dates else ():
        if later := round(rows * not_before):
            condition = sql.less(date.value, when).sql(engine.dialect) if date.is_own else None
            found.append(Leak(date.said, said, float(later), later / rows, condition, is_read=date.is_read))
    largest = {leak.date: leak for leak in sorted(found, key=lambda leak: leak.rows)}  # a window reads its own row, too
    leaks, afterwards = (tuple(e for e in largest.values() if e.is_read == wanted) for wanted in (True, False))
    return AsOf(said, tuple(dict.fromkeys(date.said for date in dates)), leaks, afterwards, missed)


def check_leaks(engine: Engine, text: str, training: Training) -> None:
    """An error if a feature comes from the future."""
    if not training.as_of:
        return
    found = leaks(engine, text, training.as_of, training.label or "")
    for line in said(replace(found, leaks=())) if not found.leaks else ():
        steps.log(NOTE, "%s: %s", words.said("⟦as_of⟧"), line)
    if found.leaks:
        first, *others = found.leaks
        conditions = " AND ".join(each.condition for each in found.leaks if each.condition)
        hint = (
            f"leave these rows out: WHERE {conditions}"
            if conditions
            else "in the sub-query, take only rows before that time"
        )
        raise DataError(f"⟦as_of⟧: {first}", detail="; ".join(map(str, others)) or None, hint=hint)


def _when(engine: Engine, query: FeatureQuery, as_of: str) -> tuple[exp.Expression, str]:
    alias = query.label_relation
    relation, output = query.relation(alias), output_named(query, "⟦as_of⟧", as_of, engine.fold)
    value = output.expression if output else None
    if not value:
        column = column_named(query, "⟦as_of⟧", as_of, engine.fold)
        moved = [layer[column.name].value for layer in relation.computed if column.name in layer]
        value = moved[0] if moved else sql.named(column.name, alias)
    (column,) = Facts(engine).columns(relation, [value])
    if column.kind not in DATES:
        hint = "take a date or a timestamp"
        raise OptionError(f"⟦as_of⟧: {as_of} is of type {column.type}", hint=hint)
    return value, f"{relation.table or alias}.{value.name or as_of}"


def _dates(
    engine: Engine, query: FeatureQuery, when: exp.Expression
) -> tuple[FeatureQuery, list[_Date], tuple[str, ...]]:
    """All dates that the query reads, but those that the label is made of."""
    assert query.label
    label = {c.name for c in query.label.expression.find_all(exp.Column)} | {c.name for c in when.find_all(exp.Column)}
    dates, missed = list[_Date](), list[str]()
    for relation in query.relations:
        is_labels = relation.alias == query.label_relation
        known = frozenset(label) if is_labels else frozenset()
        used = {c.name for c in query.used_columns(relation.alias)}
        known |= {name for layer in relation.computed for name in layer}
        for column in relation.columns:
            is_when = not is_labels and _is_joined_with(query, relation, column, when)
            is_computed = column.name.startswith(VALUE)  # of rows with a date, which is looked at inside
            if column.kind in DATES and column.name not in known and not is_when and not is_computed:
                name = f"{relation.table or relation.alias}.{column.name}"
                is_read = not is_labels or column.name in used
                value = sql.named(column.name, relation.alias)
                dates.append(_Date(relation.alias, value, column.kind, name, True, is_read))
        shown = {column.name for column in relation.columns if column.kind in DATES}
        changed, inside, lost = _inside(engine, relation, known | shown)
        query, missed = query.with_relation(changed), [*missed, *lost]
        dates += inside
    return query, dates, tuple(missed)


def _is_joined_with(query: FeatureQuery, relation: Relation, column: Column, when: exp.Expression) -> bool:
    """Is it the time, which the label's relation has from there, or does a sub-query give it back, to be joined by it?
    What else that reads is told by its other dates."""
    brought = query.relation(query.label_relation).brought
    if brought and brought.names.get(sql.named(column.name, relation.alias)) == when.name:
        return True
    equalities = [*query.equalities, *(e for join in query.left_joins for e in join.equalities)]
    sides = [{equality.left.expression, equality.right.expression} for equality in equalities]
    return bool(relation.once) and {sql.named(column.name, relation.alias), when} in sides


def _inside(engine: Engine, relation: Relation, known: frozenset[str]) -> tuple[Relation, list[_Date], list[str]]:
    """The dates that a sub-query reads and does not show."""
    source: exp.Expr = relation.source.copy()
    if not isinstance(source, exp.Subquery):
        return relation, [], []
    found = Dates(engine.describe, known)
    names = found.add(source.this)
    source = fast_inside(engine, source)
    shown = with_outputs(relation, source, [Column(name, "timestamp", "timestamp") for name in names])
    kinds = Facts(engine).columns(replace(shown, columns=()), [sql.named(name, relation.alias) for name in names])
    made = [replace(column, name=name) for column, name in zip(kinds, names, strict=True)]
    dates = [_Date(relation.alias, sql.named(c.name, relation.alias), c.kind, found.found[c.name], False) for c in made]
    return replace(shown, columns=(*relation.columns, *made)), dates, found.missed


def _counted(
    engine: Engine, query: FeatureQuery, alias: str, when: exp.Expression, dates: Sequence[_Date]
) -> Iterator[tuple[_Date, float, float]]:
    """The rows of the join that have a time, and the share of them in which a date is not earlier. What the database
    makes of the query is made once for all of them."""
    features = {date: Feature(f"{DATED}{n}", date.alias, date.or_early, "other") for n, date in enumerate(dates)}
    label = Feature(WHEN, alias, when, "other")
    asked = replace(query, features=tuple(features.values()), label=label, weight=None)
    made = ruled(asked, Facts(engine))
    options = ProblemOptions(WHEN, loss="absolute", scale="none", intercept=False, nulls="drop")
    with reading(engine, made) as (work, made):
        for date, feature in features.items():
            one = replace(made, features=tuple(each for each in made.features if each.name == feature.name))
            with work.scratch():
                problem = prepared(work, one, options)
                found = residuals_of(problem, np.ones(problem.plan.design.size))
            yield date, found.rows, found.coverage


def said(found: AsOf) -> Iterator[str]:
    """As lines."""
    checked = f"{amount(len(found.dates))} date{'s' * (len(found.dates) != 1)}"
    if not found.leaks:
        yield f"no date is at or after {found.time}: {checked} checked"
    yield from map(str, found.leaks)
    for leak in found.afterwards:
        yield f"{leak}: what that table says may have been written then"
    if conditions := [leak.condition for leak in found.leaks if leak.condition]:
        yield f"leave these rows out: WHERE {' AND '.join(conditions)}"
    if found.missed:
        yield f"not looked into: {', '.join(dict.fromkeys(found.missed))}"
