"""The parts of a feature query, as small frozen values that every later step reads."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, TypeVar

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Kind, Spelling
from sqlsvm.errors import OptionError, QueryError
from sqlsvm.options import Span
from sqlsvm.times import DAY, TIMES, TimeKind

FOUND = f"{sql.WORKING}found"

Fold = Callable[[str, bool], str]  # `Engine.fold`: what an identifier means, from its text and whether it is quoted


MARKS = ROW, ENTITY, TIME = "sqlsvm_row", "sqlsvm_entity", "sqlsvm_time"
"""The names of `FeatureQuery.marks`: the row of the label's relation, its entity, and its time."""

VALUE = f"{sql.WORKING}value"  # so begin the names of columns that sub-queries of the query compute
ANSWER = f"{sql.WORKING}answer"  # so begin the names of relations that answer sub-queries, one row for each question
MADE = f"{sql.WORKING}made"  # marks an item of FROM that the database makes once


class Once(NamedTuple):
    """Why the database makes the rows of a relation once, and what to write instead."""

    reason: str
    hint: str | None = None
    varying: QueryError | None = None  # the error if it is read several times
    rows: float | None = None  # known as soon as they are made
    spared: str | None = None  # what is not made, because the groups of it are
    nodes_of: str | None = None  # the relation of whose rows these are the nodes on the lines of a bridge
    size: exp.Select | None = None  # how many rows there will be, as "n", if the join need not be made for that


class Computed(NamedTuple):
    """A column that a sub-query computes."""

    value: exp.Expression
    reads: frozenset[str]  # the computed columns that it reads
    known: str | None = None  # the computed column that is true where this one is not NULL


class Lookup(NamedTuple):
    """A column that is looked up in a working table, by a key that is there once."""

    name: str
    value: exp.Expression
    source: exp.Expr
    on: Sequence[exp.Expression]


class Derived(NamedTuple):
    """Rows that the database makes before a query that reads them as a table."""

    said: str
    of: str  # the relation that has as many
    rows: exp.Query
    table: str


@dataclass(frozen=True)
class Relation:
    """One item of FROM. `source` is the item with its alias, ready for a FROM clause: an exp.Table for a table, a view
    or a file, an exp.Subquery for a sub-query or a CTE."""

    alias: str
    table: str  # its name with the schema as written, `air.flights`; empty for a sub-query
    source: exp.Expression
    columns: tuple[Column, ...]
    filters: tuple[exp.Expression, ...] = ()  # conjuncts of WHERE over this relation alone
    optional: tuple[exp.Expression, ...] | None = None
    """For the optional side of a LEFT JOIN: conjuncts of its ON over this relation alone. It brings the rows that meet
    them and one row more, all NULL, and WHERE is about all of these."""
    computed: tuple[Mapping[str, Computed], ...] = ()
    """What maps add to `source`, as sub-queries around it. Each reads the columns of `source` and of those before."""
    lookups: tuple[Lookup, ...] = ()  # what is looked up for its rows, where it is read
    brought: "Brought | None" = field(default=None, compare=False)  # what `source` has of other relations
    once: Once | None = field(default=None, compare=False)  # why its rows are made once
    looked_for: "LookedFor | None" = None
    """For the optional side: it brings a row of NULLs for each that finds nothing, and not one for all."""

    def column(self, value: exp.Expression) -> Column | None:
        """The description of a value that is a column of it."""
        return self._by_name.get(value.name) if isinstance(value, exp.Column) else None

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in reversed(self.columns)}

    @property
    def at_first(self) -> tuple[exp.Expression, ...]:
        """The conditions on its rows before they meet others."""
        return self.filters if self.optional is None else self.optional

    def over(self, source: exp.Expression) -> "Relation":
        if self.optional is None:
            return replace(self, source=source, filters=())
        return replace(self, source=source, optional=())

    @property
    def bare(self) -> "Relation":
        """Without what others have brought to it, and the conditions on that."""
        if not self.brought:
            return self
        names = set(self.brought.names.values())
        kept = [f for f in self.at_first if not any(c.name in names for c in f.find_all(exp.Column))]
        columns = tuple(column for column in self.columns if column.name not in names)
        return replace(self.over(self.brought.source), columns=columns, brought=None).where_at_first(kept)

    def stored(self, source: exp.Expression, columns: tuple[Column, ...]) -> "Relation":
        """The same over a table of the rows that meet its conditions, with these columns."""
        made = replace(self, source=source, columns=columns, filters=(), optional=None, looked_for=None)
        return replace(made, computed=(), lookups=(), brought=None)

    def where_at_first(self, conditions: Iterable[exp.Expression]) -> "Relation":
        every = (*self.at_first, *conditions)
        return replace(self, filters=every) if self.optional is None else replace(self, optional=every)

    @property
    def partners(self) -> "Relation":
        """The rows among which a join looks for partners, without the one that is all NULL."""
        return replace(self, filters=self.at_first, optional=None, looked_for=None)

    def rows(self, outputs: sql.Outputs) -> exp.Select:
        """SELECT outputs over its own rows that meet its conditions."""
        conditions = (f.copy() for f in (*(self.optional or ()), *self.filters))
        return sql.where(sql.select(outputs, self.serving(value for value, _ in outputs)), *conditions)

    def presence(self, value: exp.Expression) -> exp.Expression:
        """What is NULL where this is, and is found with less work."""
        for layer in self.computed:
            if isinstance(value, exp.Column) and (found := layer.get(value.name)) and found.known:
                return sql.case(sql.named(found.known, self.alias), 1)
        return value.copy()

    def serving(self, used: Iterable[exp.Expr]) -> exp.Expr:
        """The item of FROM where these are used: `source`, and around it sub-queries with the computed columns that
        they and the conditions need. So each is computed once for a row, and only where it is read."""
        found = self.source.copy()
        if not self.computed and not self.lookups:
            return found
        read = (*used, *self.filters, *(self.optional or ()))
        needed, layers = {column.name for value in read for column in value.find_all(exp.Column)}, []
        for layer in reversed(self.computed):
            if own := [(name, column) for name, column in layer.items() if name in needed]:
                needed.update(*(column.reads for _, column in own))
                layers.append(own)
        for own in reversed(layers):
            columns = (exp.alias_(column.value.copy(), name, quoted=True, copy=False) for name, column in own)
            rows = exp.select(sql.everything(self.alias), *columns, copy=False).from_(found, copy=False)
            found = sql.aliased(sql.fenced(rows), self.alias)
        return self.looking_up(found, needed)

    def looking_up(self, source: exp.Expr, names: Collection[str]) -> exp.Expr:
        """Rows of it as an item of FROM, with those of these columns that are looked up."""
        if not (lookups := [each for each in self.lookups if each.name in names]):
            return source
        columns = (exp.alias_(each.value.copy(), each.name, quoted=True) for each in lookups)
        rows = exp.select(sql.everything(self.alias), *columns, copy=False).from_(source, copy=False)
        for each in lookups:
            rows = sql.join(rows, each.source.copy(), [condition.copy() for condition in each.on], "left")
        return sql.aliased(rows, self.alias)


@dataclass(frozen=True)
class Term:
    """One side of a join equality: an expression over one relation."""

    relation: str
    expression: exp.Expression

    @property
    def is_found(self) -> bool:
        """Is it the number that a LEFT JOIN finds rows by? Only working tables have it."""
        return isinstance(self.expression, exp.Column) and self.expression.name.startswith(FOUND)


Pairs = tuple[tuple[Term, Term], ...]


class Brought(NamedTuple):
    """Columns that others have brought to a relation along unique keys (rewrites/meet.py)."""

    source: exp.Expression  # without them
    path: Mapping[str, Pairs]  # the relations on the way, each with the terms by which it is found
    names: Mapping[exp.Column, str]


class Key(NamedTuple):
    """Terms of a relation, each of whose values occurs once in its rows."""

    relation: Relation
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Equality:
    left: Term
    right: Term


class LookedFor(NamedTuple):
    """The rows that look for those of a relation, each for another key."""

    parent: "Relation"
    equalities: tuple["Equality", ...]


Numbered = Literal["rows", "keys", "parents"]
"""What is found has the number of its row, which is one; of its key; or of the row that looks for it, which is one."""


@dataclass(frozen=True)
class LeftJoin:
    """`LEFT JOIN relation ON equalities`. Left terms are over `parent`, right terms over `relation`."""

    parent: str
    relation: str
    equalities: tuple[Equality, ...]
    place: int = 0  # among the LEFT JOINs of the query
    numbers: Numbered = "keys"  # known inside the snapshot (rewrites/left_joins.py)

    @property
    def finds_one(self) -> bool:
        """Does each row of the parent find at most one?"""
        return self.numbers == "rows"

    @property
    def key(self) -> tuple[Term, ...]:
        return tuple(e.right for e in self.equalities)

    @cached_property
    def found(self) -> Equality:
        """The inner join that it is: on the number of what is found, 0 for nothing."""
        left, right = (Term(a, sql.named(f"{FOUND}{self.place}", a)) for a in (self.parent, self.relation))
        return Equality(left, right)


@dataclass(frozen=True)
class Feature:
    """An output over one relation, or a term of it: an output that adds up terms of several relations is one feature
    for each of them, all of one name."""

    name: str
    relation: str
    expression: exp.Expression
    kind: Kind
    spelling: Spelling = "exact"
    own: exp.Expression | None = None
    """What the query has, if the expression is another one: a term of it, or over columns that others have brought."""
    exact: exp.Expression | None = None  # the value, if the expression is a text that is the same for all equal to it
    top: int | None = None  # how many of its categories have a weight of their own; None if all have
    rare: int = 0  # categories in fewer rows of the join share a weight
    twin: str = ""  # the name that the query gives it, if an output before it has that name

    @property
    def typed(self) -> exp.Expression:
        return self.own or self.value

    @property
    def value(self) -> exp.Expression:
        """With its own type, over its relation."""
        return self.exact or self.expression


@dataclass(frozen=True)
class Unmet(Feature):
    """An output over several relations, which has no relation, and the error if these do not meet in a row."""

    refusal: QueryError = field(kw_only=True, compare=False)


@dataclass(frozen=True)
class Spanning:
    """A condition over several relations that is no equality of a join, and the error if these do not meet in a row."""

    expression: exp.Expression
    refusal: QueryError


@dataclass(frozen=True)
class Moment:
    """When a row of the label's relation is: a number, of days if the column is a date or a timestamp."""

    name: str
    value: exp.Expression
    kind: TimeKind | None = None

    def read(self, text: str) -> float:
        """The number of a text that a user types."""
        try:
            return TIMES[self.kind].read(text) if self.kind else float(text)
        except ValueError:
            wanted = "a date" if self.kind else "a number"
            raise OptionError(f"⟦holdout {text}⟧: {self.name} is {wanted}") from None

    def written(self, number: float) -> str:
        return TIMES[self.kind].written(number) if self.kind else f"{number:.17g}"

    def span(self, text: float | str | None) -> float:
        """The length of a gap in the unit of the number."""
        number, seconds = Span.read(text or 0)
        if self.kind:
            return number * (seconds or DAY) / TIMES[self.kind].seconds
        if seconds:
            raise OptionError(f"⟦gap {text}⟧: {self.name} is a number, and so is a gap", hint="leave out the unit")
        return number


@dataclass(frozen=True)
class FeatureQuery:
    """The query taken apart. Every column in every expression is quoted and qualified by a relation's alias."""

    text: str
    dialect: str
    relations: tuple[Relation, ...]
    equalities: tuple[Equality, ...]
    left_joins: tuple[LeftJoin, ...]
    features: tuple[Feature, ...]
    label: Feature | None
    weight: Feature | None = None
    audited: tuple[Feature, ...] = ()  # columns that are compared with the scores, called what the user calls them
    times: Mapping[str, TimeKind] = field(default_factory=dict, compare=False)
    """The outputs that are dates or times in the text. Their expressions are numbers."""
    held_out: exp.Expression | None = None
    """A condition over the label's relation: whether a row is held out of the training. Set only where the columns that
    decide this are not copied."""
    labelled_only: bool = False  # are rows whose label is NULL left out? They are found when rows are read
    unlabelled: float = 0.0  # so many rows of the label's relation were left out for that; NaN if that is not known
    marks: Mapping[str, exp.Expression] = field(default_factory=dict)
    """Numbers that tell rows of the label's relation apart in a sample (rewrites/marks.py)."""
    time: Moment | None = None  # the time that splits the rows of the label's relation
    relied: tuple[Key, ...] = ()
    """The keys along which columns were brought to another relation. They were unique when the query was read, which is
    before the snapshot."""
    maps: tuple[Any, ...] = ()  # what has computed some of the features from others: each is a `Mapped`
    by: Feature | None = None  # the column whose values are groups, until it is the last feature
    numbered: tuple[LeftJoin, ...] = ()  # LEFT JOINs that are inner joins on numbers already, which `equalities` has
    derived: tuple[Derived, ...] = ()  # the working tables that the query reads
    tells_of: str | None = None  # the alias of `label_relation`, if it is not that of the label (rewrites/told.py)

    @property
    def outputs(self) -> tuple[Feature, ...]:
        """Features, label, weight and audited columns."""
        return tuple(f for f in (*self.features, self.label, self.weight, *self.audited) if f)

    @cached_property
    def sums(self) -> dict[str, tuple[Feature, ...]]:
        """The outputs that use several relations, as their terms by name."""
        found: dict[str, tuple[Feature, ...]] = {}
        for f in self.features:
            found[f.name] = (*found.get(f.name, ()), f)
        return {name: terms for name, terms in found.items() if len(terms) > 1}

    @property
    def tables(self) -> tuple[exp.Table, ...]:
        """Those that its statements read, also in sub-queries."""
        parts = [part for r in self.relations for part in (r.source, *r.filters, *(r.optional or ()))]
        parts += [computed.value for r in self.relations for layer in r.computed for computed in layer.values()]
        return tuple(t for part in (*parts, *(o.expression for o in self.valued)) for t in part.find_all(exp.Table))

    @property
    def terms(self) -> tuple[Term, ...]:
        equalities = (*self.equalities, *(e for j in self.left_joins for e in j.equalities))
        return tuple(t for e in equalities for t in (e.left, e.right))

    @property
    def valued(self) -> tuple[Feature | Term, ...]:
        """All expressions that have a value in each row of their relation."""
        return (*self.terms, *self.outputs)

    def expressions(self, alias: str) -> list[exp.Expression]:
        """Those of a relation that have a value in each of its rows."""
        return [*dict.fromkeys(self._expressions.get(alias, ()))]

    @cached_property
    def _expressions(self) -> Mapping[str, list[exp.Expression]]:
        return gathered((each.relation, each.expression) for each in self.valued)

    @cached_property
    def relation(self) -> Callable[[str], Relation]:
        return {r.alias: r for r in self.relations}.__getitem__

    @property
    def label_relation(self) -> str:
        assert self.label is not None
        return self.tells_of or self.label.relation

    @property
    def parents(self) -> dict[str, str]:
        """The relation that a LEFT JOIN starts from, for each one that it looks for."""
        return {j.relation: j.parent for j in (*self.left_joins, *self.numbered)}

    def left_join(self, alias: str) -> LeftJoin | None:
        """Those whose optional side is a relation."""
        return self._left_joins.get(alias)

    @cached_property
    def _left_joins(self) -> Mapping[str, LeftJoin]:
        return {j.relation: j for j in (*self.left_joins, *self.numbered)}

    def spelt(self, term: Term) -> tuple[Term, ...]:
        """A term as the text has it: those of a LEFT JOIN for the number of what it finds."""
        for join in self._left_joins.values() if term.is_found else ():
            if term in (join.found.left, join.found.right):
                return tuple(e.left if term.relation == join.parent else e.right for e in join.equalities)
        return (term,)

    def without(self, name: str) -> Self:
        return replace(self, features=tuple(f for f in self.features if f.name != name))

    def with_relation(self, changed: Relation) -> Self:
        return replace(self, relations=tuple(changed if r.alias == changed.alias else r for r in self.relations))

    def where(self, alias: str, *conjuncts: exp.Expression) -> Self:
        """The query with more conditions of WHERE over one relation."""
        relation = self.relation(alias)
        return self.with_relation(replace(relation, filters=(*relation.filters, *conjuncts)))

    def used_columns(self, alias: str) -> tuple[Column, ...]:
        """The columns of a relation that the query mentions, in the order of the relation."""
        relation = self.relation(alias)
        when = [self.time.value] if self.time and alias == self.label_relation else []
        mentioned = [*self.expressions(alias), *when, *relation.filters, *(relation.optional or ())]
        names = {c.name for e in mentioned for c in e.find_all(exp.Column) if c.table == alias}
        return tuple(column for column in relation.columns if column.name in names)


@dataclass(frozen=True)
class Parsed(FeatureQuery):
    """The query as it is taken apart, before it is known which relations meet in a row (rewrites/meet.py)."""

    spanning: tuple[Spanning, ...] = ()

    @property
    def complete(self) -> FeatureQuery:
        return FeatureQuery(**{each.name: getattr(self, each.name) for each in fields(FeatureQuery)})


Q = TypeVar("Q", bound=FeatureQuery)


@dataclass(frozen=True)
class Variable:
    """A value that relations share."""

    index: int
    terms: tuple[Term, ...]

    @property
    def is_found(self) -> bool:
        """Is it the number that a LEFT JOIN finds rows by?"""
        return self.terms[0].is_found

    @cached_property
    def holders(self) -> frozenset[str]:
        return frozenset(t.relation for t in self.terms)

    def at(self, alias: str) -> tuple[Term, ...]:
        """The terms of one relation for this variable. They are equal in every row (`implied_filters`)."""
        return tuple(t for t in self.terms if t.relation == alias)

    def one_at(self, alias: str, query: Q) -> Q:
        """The query where these terms are equal in each row of the relation."""
        first, *others = self.at(alias)
        equal = [sql.equal(first.expression.copy(), other.expression.copy()) for other in others]
        return query.where(alias, *equal) if equal else query


T = TypeVar("T")
V = TypeVar("V")


def gathered(pairs: Iterable[tuple[T, V]]) -> dict[T, list[V]]:
    """The second ones of each first one, in order."""
    found: dict[T, list[V]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
    return found


def reached(start: T, beyond: Callable[[T], Iterable[T]]) -> dict[T, T]:
    """What a walk over a graph finds, nearest first, each with the one before it; the start has itself."""
    before, todo = {start: start}, [start]
    for node in todo:
        for other in beyond(node):
            if other not in before:
                before[other] = node
                todo.append(other)
    return before


def way_to(end: T, before: Mapping[T, T]) -> list[T]:
    """From the end of a walk back to its start."""
    way = [end]
    while before[way[-1]] != way[-1]:
        way.append(before[way[-1]])
    return way


def leader_of(each: T, leaders: dict[T, T]) -> T:
    """The one that stands for all that are known to be the same (union-find)."""
    while (leader := leaders.setdefault(each, each)) != each:
        each = leader
    return each


def join_variables(query: FeatureQuery) -> tuple[Variable, ...]:
    """The classes of the sides of the equalities. A LEFT JOIN is one on the number of what it finds."""
    leaders: dict[Term, Term] = {}
    for equality in (*query.equalities, *(j.found for j in query.left_joins)):
        left, right = leader_of(equality.left, leaders), leader_of(equality.right, leaders)
        leaders[right] = left
    classes = gathered((leader_of(term, leaders), term) for term in list(leaders))
    return tuple(Variable(i, tuple(terms)) for i, terms in enumerate(classes.values()))


def inner_variables(query: FeatureQuery) -> list[Variable]:
    return [v for v in join_variables(query) if not v.is_found]
