"""Which part of the data a row of the label's relation is in, and which parts train and which measure.

Rows of the join are never parted: in a many-to-many join they repeat. A `Holdout` is one condition, which a stored
model keeps. `Folds` number the parts, and each of their rounds trains on some and measures on others.

At random, a row is held out iff the MD5 of a seed and of its values, as text, is below the fraction. Only the columns
count that the query uses: rows that are equal there are in the same part, and a column that is added later changes
nothing. Where these are booleans and texts only, all columns of the relation count. `--split-by` names one column
instead, which need not be in the query, so that all rows with the same value stay together. Numbers and times have the
same text for any type, engine and session, except non-integers beyond 1e15. Other values are cast to text by the
database. Folds are not asked for again, so they take the hash of the engine: the MD5 takes as long as several passes.

In time, parts follow each other: each round trains on what lies before a start, less a gap, and measures what begins
there. So the parts of one round are among those of the next, and sums that are kept by part serve all rounds.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import ceil, inf
from typing import Any, Literal, get_args

import numpy as np
from sqlglot import exp

from sqlsvm import sql, words
from sqlsvm.engine.base import Column, Values
from sqlsvm.errors import DataError, QueryError
from sqlsvm.query.facts import Facts, Rule, one
from sqlsvm.query.ir import ENTITY, ROW, TIME, VALUE, Feature, FeatureQuery, Fold, Moment
from sqlsvm.query.names import column_named, output_named
from sqlsvm.query.rewrites.kinds import plain, remedy
from sqlsvm.query.rewrites.meet import showing
from sqlsvm.solve.arrays import Array, Indices, Mask
from sqlsvm.terminal import NOTE
from sqlsvm.times import DATES, TIMES

steps = logging.getLogger(__name__)

Part = Literal["train", "holdout"]
PARTS: tuple[Part, ...] = get_args(Part)

DIGITS = 13  # the hexadecimal digits of the MD5 that are compared: as many as a double has
WHOLE = 1e16  # smaller whole numbers are written without a point or an exponent


# -- rows held out -----------------------------------------------------------------------------------------------------


def timed(name: str | None) -> Rule:
    """With the time of each row. An output of that name is no feature: what is measured lies beyond all values that it
    had in the training."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        if name is None:
            return query
        query = showing("⟦time⟧", name)(query, facts)
        alias, fold = query.label_relation, facts.engine.fold
        if (output := output_named(query, "⟦time⟧", name, fold)) is None:
            column = column_named(query, "⟦time⟧", name, fold)
            return replace(query.without(column.name), time=_moment(column, alias))
        kind = query.times.get(output.name)
        if output.kind != "numeric" or kind not in (None, *DATES):
            raise _no_time(output.name, kind or output.kind)
        time = Moment(output.name, sql.double(output.expression), kind)
        return replace(query.without(output.name), time=time)

    return rule


def _moment(column: Column, alias: str) -> Moment:
    own = sql.named(column.name, alias)
    if column.kind in DATES:
        return Moment(column.name, TIMES[column.kind].number(own), column.kind)
    if column.kind != "numeric":
        raise _no_time(column.name, column.type)
    return Moment(column.name, sql.double(own))


def _no_time(name: str, type: str) -> QueryError:
    return QueryError(f"⟦time⟧: {name} is of type {type}", hint="take a date, a timestamp or a number")


@dataclass(frozen=True)
class Holdout:
    share: float | str  # of the rows, or the time of the first row that is held out
    seed: int = 0
    by: str | None = None  # the column of the label's relation that decides
    gap: float | str | None = None  # so much before that time is left out of the training

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Holdout | None":
        share, own = options.get("holdout"), (options.get(name) for name in ("split_by", "gap"))
        return cls(share, int(options["effort"]["seed"]), *own) if share else None

    def condition(self, query: FeatureQuery, facts: Facts) -> exp.Expression:
        if query.time:
            start, gap = query.time.read(str(self.share)), query.time.span(self.gap)
            later = sql.at_least(query.time.value.copy(), sql.number(start))
            earlier = sql.less(query.time.value.copy(), sql.number(start - gap))
            return sql.case(later, exp.true()).when(earlier, exp.false())
        end = exp.Literal.string(threshold(float(self.share)))
        return sql.less(digest(deciding(query, self.by, facts), query.label_relation, self.seed), end)

    @property
    def said(self) -> str:
        return words.said(f"⟦holdout {self.share}⟧")

    @property
    def hint(self) -> str:
        at_random = isinstance(self.share, float)
        return "choose another fraction or ⟦seed⟧ to split the rows differently" if at_random else "choose another date"


def marked(holdout: "HeldOut | None") -> Rule:
    """With the condition by which rows of the label's relation are held out. It is NULL for rows that are on neither
    side: those in the gap, and those without a time."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        query = showing("⟦split_by⟧", holdout.by if holdout else None)(query, facts)
        return replace(query, held_out=holdout.condition(query, facts)) if holdout else query

    return rule


def deciding(query: FeatureQuery, by: str | None, facts: Facts) -> tuple[Column, ...]:
    """The columns of the label's relation that say in which part a row is: the one that `--split-by` names, or all that
    the query uses, also in sub-queries that compute a value. If these are booleans and texts, rows of one part would be
    alike, and all columns count."""
    alias = query.label_relation
    if by is not None:
        return (column_named(query, "⟦split_by⟧", by, facts.engine.fold),)
    relation, used = query.relation(alias), query.used_columns(alias)
    inside = relation.source.find_all(exp.Column) if any(c.name.startswith(VALUE) for c in used) else ()
    names = {c.name for c in used} | {c.name for c in inside}
    own = [c for c in relation.columns if not c.name.startswith(sql.WORKING)]
    chosen = [c for c in own if c.name in names]
    are_few = all(c.kind in ("boolean", "categorical") for c in chosen)
    return tuple(c for c in own if c.kind != "other") if are_few else tuple(chosen)


def _told(query: FeatureQuery, by: str | None) -> tuple[Column, ...]:
    """The column of a copy that tells rows or entities apart, if there is one."""
    mark = query.marks.get(ROW if by is None else ENTITY)
    return (Column(mark.name, "double", "numeric"),) if isinstance(mark, exp.Column) else ()


def part_of(part: Part) -> Rule:
    """A marked query with one more conjunct in its WHERE."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        assert query.held_out is not None
        held = query.held_out.copy()
        return query.where(query.label_relation, held if part == "holdout" else exp.not_(exp.paren(held)))

    return rule


Parts = frozenset[int]

# -- folds -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """The parts that train, and those that measure."""

    trains: Parts
    measures: Parts

    def masks(self, parts: Indices) -> tuple[Mask, Mask]:
        trains, measures = (np.isin(parts, list(these)) for these in (self.trains, self.measures))
        return trains, measures


@dataclass(frozen=True)
class Split:
    """The part of each row, as a number, and what the parts are for."""

    part: exp.Expression
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class Folds:
    """Each row is in one of several parts, and each part is left out of a training once."""

    number: int
    seed: int = 0
    by: str | None = None  # the column of the label's relation that decides
    gap: float | str | None = None  # of folds in time: so much is left out before what is measured

    def split(self, query: FeatureQuery, facts: Facts) -> Split:
        if query.time is None:
            columns = _told(query, self.by) or deciding(query, self.by, facts)
            found = row_hash(query, facts, columns, self.seed, self.number)
            return Split(exp.cast(exp.Abs(this=found), exp.DType.INT), self.rounds)
        first, starts = times_at(query, query.time, facts, self._shares)
        forward = Forward.after(first, starts, query.time.span(self.gap))
        if len(forward.starts) < 2:  # of one round there is no error
            said = f"⟦folds {self.number}⟧ ⟦time {query.time.name}⟧: the rows have too few different times"
            raise DataError(said, hint="take fewer folds or a smaller ⟦gap⟧, or measure with ⟦holdout 0.2⟧")
        return Split(forward.part(query.time.value), forward.rounds)

    @property
    def _shares(self) -> list[float]:
        """The share of the rows that is before each round."""
        return [k / (self.number + 1) for k in range(1, self.number + 1)]

    def of_rows(
        self, rows: Values, entities: Values | None = None, times: Array | None = None, gap: float = 0.0
    ) -> list[tuple[Mask, Mask]]:
        """Of rows in memory: which train, and which measure, in each round. `rows` says which row of the label's
        relation each is of. Those with the same entity stay together; with times the rounds go forward, and the gap is
        in the unit of the times."""
        if times is not None:
            _, first = np.unique(rows, return_index=True)
            forward = Forward.of(times[first], self._shares, gap)
            return [each.masks(forward.parts(times)) for each in forward.rounds]
        different, place = np.unique(rows if entities is None else entities, return_inverse=True)
        parts = np.random.default_rng(self.seed).permutation(len(different)) % self.number
        return [each.masks(parts[place]) for each in self.rounds]

    @property
    def rounds(self) -> tuple[Round, ...]:
        every = frozenset(range(self.number))
        return tuple(Round(every - {part}, frozenset({part})) for part in range(self.number))


@dataclass(frozen=True)
class OfFold:
    """One fold held out, where what its rows are known by differs from fold to fold."""

    folds: Folds
    number: int

    @property
    def by(self) -> str | None:
        return self.folds.by

    def condition(self, query: FeatureQuery, facts: Facts) -> exp.Expression:
        split = self.folds.split(query, facts)
        here = split.rounds[self.number]
        measures, trains = (sql.one_of(split.part.copy(), sorted(parts)) for parts in (here.measures, here.trains))
        return sql.case(measures, exp.true()).when(trains, exp.false())

    @property
    def said(self) -> str:
        return f"fold {self.number + 1} of {self.folds.number}"

    hint = "use fewer folds"


HeldOut = Holdout | OfFold
SPLITS: list[Any] = [Holdout]  # each tells of options whether they ask for it


def holdout_of(options: Mapping[str, Any]) -> HeldOut | None:
    """The rows that the options of a training, or those stored with a model, keep out."""
    return next(filter(None, (split.of(options) for split in SPLITS)), None)


@dataclass(frozen=True)
class Forward:
    """Parts that follow each other in time. What begins at a start is measured by a training on what lies before it,
    less the gap."""

    starts: tuple[float, ...]
    gap: float = 0.0

    @classmethod
    def of(cls, times: Array, shares: Sequence[float], gap: float = 0.0) -> "Forward":
        """A round begins after each of these shares of the rows, if their times differ."""
        known = np.sort(times[~np.isnan(times)])
        after = [known[rank - 1] for rank in ranks(len(known), shares)] if len(known) else []
        return cls.after(known[0], after, gap) if after else cls((), gap)

    @classmethod
    def after(cls, first: float, starts: Iterable[float], gap: float = 0.0) -> "Forward":
        """The starts that leave something to train on after `first`. None begins at infinity."""
        return cls(tuple(sorted({float(start) for start in starts if start - gap > first and start < inf})), gap)

    @cached_property
    def ends(self) -> tuple[float, ...]:
        return tuple(sorted({*self.starts, *(start - self.gap for start in self.starts)}))

    @property
    def rounds(self) -> tuple[Round, ...]:
        begins = [*(self.ends.index(start) + 1 for start in self.starts), len(self.ends) + 1]
        before = (self.ends.index(start - self.gap) + 1 for start in self.starts)
        measured = (frozenset(range(*each)) for each in pairwise(begins))
        return tuple(Round(frozenset(range(n)), parts) for n, parts in zip(before, measured, strict=True))

    def parts(self, times: Array) -> Indices:
        """A row without a time is in none."""
        return np.where(np.isnan(times), -1, np.searchsorted(self.ends, times, side="right"))

    def part(self, time: exp.Expression) -> exp.Expression:
        """CASE WHEN time < end THEN 0 ... WHEN time >= end THEN n END"""
        found = exp.Case()
        for n, end in enumerate(self.ends):
            found = found.when(sql.less(time.copy(), sql.number(end)), sql.integer(n))
        last = sql.at_least(time.copy(), sql.number(self.ends[-1]))
        return found.when(last, sql.integer(len(self.ends)))


def ranks(rows: float, shares: Iterable[float]) -> list[int]:
    """The places of the rows that come after these shares of all, counted from 1."""
    return [int(min(ceil(share * rows - 1e-9) + 1, rows)) for share in shares]


def times_at(query: FeatureQuery, time: Moment, facts: Facts, shares: Sequence[float]) -> tuple[float, list[float]]:
    """The first time, and those of the rows after these shares of the label's relation. Rows without one are in no
    part."""
    rows = facts.of(query.relation(query.label_relation)).rows_of([(time.value.copy(), "x")])
    x = sql.column("x")
    counts = [(sql.count(), "rows"), (exp.Count(this=x), "known"), (sql.smallest(x.copy()), "first")]
    found = one(facts.engine, sql.select(counts, sql.derived(rows.copy(), "r")))
    if missing := found["rows"] - found["known"]:
        said = "%s rows of %s have no %s, and are in no part"
        steps.log(NOTE, said, f"{missing:,.0f}", query.label_relation, time.name)
    if not found["known"]:
        raise DataError(f"⟦time⟧: no row of {query.label_relation} has a {time.name}")
    known = sql.grouped([(x, "x")], [(sql.count(), "c")], sql.derived(rows, "r")).where(sql.not_null(x))
    at = facts.engine.fetch(sql.at_ranks(known, ranks(found["known"], shares)))
    return found["first"], [float(at[f"q{n}"][0]) for n in range(len(shares))]


def start_of(query: FeatureQuery, facts: Facts, share: float) -> str:
    """The time that leaves so many rows at or after it."""
    time = query.time
    assert time
    first, (start,) = times_at(query, time, facts, [1.0 - share])
    if not first < start < inf:
        hint = "take another share, or say from when on: ⟦holdout DATE⟧"
        raise DataError(f"⟦holdout {share}⟧ ⟦time {time.name}⟧: no rows are earlier than those held out", hint=hint)
    return time.written(start)


# -- the hash of a row -------------------------------------------------------------------------------------------------


def row_hash(query: FeatureQuery, facts: Facts, columns: Iterable[Column], seed: int, number: int) -> exp.Expression:
    """hash(seed, values) % number, as the engine hashes"""
    named = [(sql.named(column.name, query.label_relation), column.kind == "numeric") for column in columns]
    values = [sql.double(own) if is_number else sql.text(own) for own, is_number in named]
    return exp.Mod(this=facts.engine.hashed([sql.integer(seed), *values]), expression=sql.integer(number))


def digest(columns: Iterable[Column], alias: str, seed: int) -> exp.Expression:
    """MD5(seed || '|' || value || ...) COLLATE "C": hexadecimal digits compare as the numbers do."""
    text: exp.Expression = exp.Literal.string(str(seed))
    for column in columns:
        value = sql.coalesce(_written(column, alias), exp.Literal.string(""))
        text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string("|")), expression=value)
    return exp.Collate(this=exp.MD5(this=text), expression=exp.to_identifier("C", quoted=True))


def threshold(share: float) -> str:
    """So large a share of all digests comes before it."""
    return f"{int(share * 16**DIGITS):0{DIGITS}x}"


def _written(column: Column, alias: str) -> exp.Expression:
    own = sql.named(column.name, alias)
    if column.kind == "numeric":
        return _number_written(sql.double(own))
    type = column.type.lower()
    if type == "date" or (type.startswith("timestamp") and not type.endswith("]")):
        return _number_written(sql.double(exp.Extract(this=exp.var("EPOCH"), expression=own)))
    return sql.text(own)


def _number_written(value: exp.Expression) -> exp.Expression:
    """The same text for 3, 3.0 and 3.00: engines agree on that of integers, and of most other numbers."""
    is_small = sql.less(exp.Abs(this=value.copy()), sql.number(WHOLE))
    whole = sql.every([is_small, sql.equal(value, exp.Floor(this=value.copy()))])
    return sql.case(whole, sql.text(exp.cast(value.copy(), exp.DType.BIGINT)), sql.digits(value.copy()))


# -- marks -------------------------------------------------------------------------------------------------------------


DIFFERENT = 2**31 - 1  # so many numbers there are: of the rows of a sample hardly two get the same


def telling(by: str | None) -> Rule:
    """With what a row of a sample tells of its row of the label's relation: which one it is, its entity (`by` has
    these), and its time. They are numbers, and the join repeats them as it repeats the label. So parts of a sample can
    be made of whole rows of the label's relation."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        def number(by: str | None) -> exp.Expression:
            return sql.double(row_hash(query, facts, deciding(query, by, facts), 0, DIFFERENT))

        entity = {} if by is None else {ENTITY: number(by)}
        time = {TIME: query.time.value} if query.time else {}
        return replace(query, marks={ROW: number(None), **entity, **time})

    return rule


def by_column(name: str) -> Rule:
    """The column is set apart, as a category. It is an output of the query of that name; else a column of the label's
    relation. An output is no feature then: it is the same in all rows of a group."""

    def rule(query: FeatureQuery, facts: Facts) -> FeatureQuery:
        fold = facts.engine.fold
        assert query.label is not None
        found = output_named(query, "⟦by⟧", name, fold)
        if found is None:
            return replace(query, by=_of_table(query, name, fold))
        if time := query.times.get(found.name):
            hint = "select it as text, or a part of it: EXTRACT(YEAR FROM ...)"
            raise QueryError(f"⟦by⟧: {found.name} is of type {time}", hint=hint)
        return replace(query.without(found.name), by=replace(found, kind="categorical", top=None, rare=0))

    return rule


def grouped(query: FeatureQuery, facts: Facts) -> FeatureQuery:
    """The column is the last feature."""
    return replace(query, features=(*query.features, query.by), by=None) if query.by else query


def _of_table(query: FeatureQuery, name: str, fold: Fold) -> Feature:
    assert query.label is not None
    alias = query.label.relation
    column = column_named(query, "⟦by⟧", name, fold)
    if column.kind == "other" or column.kind in TIMES:
        raise QueryError(f"⟦by⟧: {column.name} is of type {column.type}", hint=remedy(column, query.dialect))
    own = sql.named(column.name, alias)
    return Feature(column.name, alias, plain(own, column), "categorical", column.spelling, exact=own)
