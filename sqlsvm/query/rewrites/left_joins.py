"""A LEFT JOIN -> an inner join on numbers.

    o LEFT JOIN v ON v.k = o.k
    (SELECT o.*, COALESCE(n.number, 0) AS number FROM o LEFT JOIN numbered AS n ON n.k = o.k) AS o
    JOIN numbered AS v ON v.number = o.number

The optional relation gets one more row, all NULL, for what finds nothing: its number is 0. Where its key is unique, its
rows are numbered, from 1. Else its keys are, so that rows of one key have one number. Where no two rows of the parent
look for the same key, theirs are numbered, and each has a row of NULLs of its own if it finds nothing: then the parent
folds.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.query.facts import Facts, Terms
from sqlsvm.query.ir import Derived, FeatureQuery, LeftJoin, LookedFor, Lookup, Relation
from sqlsvm.query.rows import copies, row_of_nulls, rows_of

MATCH, LOOKING, KEY = (f"{sql.WORKING}{name}" for name in ("match", "looking", "key"))


def numbers(query: FeatureQuery, facts: Facts, *, lasting: bool = False) -> FeatureQuery:
    """With what is numbered. Call it inside the snapshot. `lasting`: also for rows of the parent that come later."""
    for join in query.left_joins:
        relation = query.relation(join.relation)
        found = facts.of(relation.partners).key(join.key)
        if found.largest <= 1:
            query = _with(query, replace(join, numbers="rows"))
            if not relation.filters:
                facts.of(relation).counted = found.rows + 1.0
        elif not lasting and _are_told_apart(facts, query.relation(join.parent), join):
            relation = replace(relation, looked_for=LookedFor(query.relation(join.parent), join.equalities))
            query = _with(query, replace(join, numbers="parents")).with_relation(relation)
        if found.largest <= 1 or not relation.filters:
            facts.of(relation).unique[join.key] = found.largest <= 1
    return query


def _are_told_apart(facts: Facts, parent: Relation, join: LeftJoin) -> bool:
    """Does each row of the parent look for another key? One may look for NULL."""
    terms: Terms = tuple(e.left for e in join.equalities)
    plain = all(isinstance(term.expression, exp.Column) for term in join.key)  # it is NULL if nothing is found
    return plain and facts.of(parent).is_unique(terms) and facts.of(parent).key(terms).nulls <= 1


def _with(query: FeatureQuery, changed: LeftJoin) -> FeatureQuery:
    joins = (changed if join.relation == changed.relation else join for join in query.left_joins)
    return replace(query, left_joins=tuple(joins))


def without_unread(query: FeatureQuery, read: Collection[str]) -> FeatureQuery:
    """Without features, and without the LEFT JOINs that find nothing of what is read. They lose no row of the join, so
    what occurs in it is the same. Rows may be fewer."""
    kept = {*read, query.label_relation, *(term.relation for e in query.equalities for term in (e.left, e.right))}
    for join in reversed(query.left_joins):
        if join.relation in kept or query.relation(join.relation).filters:
            kept |= {join.relation, join.parent}
    gone = {join.relation for join in query.left_joins} - kept
    return replace(
        query,
        features=(),
        audited=(),
        weight=None,
        relations=tuple(r for r in query.relations if r.alias not in gone),
        left_joins=tuple(join for join in query.left_joins if join.relation not in gone),
        relied=tuple(key for key in query.relied if key.relation.alias not in gone),
    )


# -- the inner joins ---------------------------------------------------------------------------------------------------


def inner(query: FeatureQuery) -> FeatureQuery:
    """Of a query that `numbers` knows: only inner joins, some of them over working tables. What hangs from an optional
    relation comes before it."""
    equalities = (*query.equalities, *(join.found for join in query.left_joins))
    found = replace(query, equalities=equalities, left_joins=(), numbered=(*query.numbered, *query.left_joins))
    return reduce(_inner, reversed(query.left_joins), found)


def _inner(query: FeatureQuery, join: LeftJoin) -> FeatureQuery:
    relation, parent = query.relation(join.relation), query.relation(join.parent)
    columns, table, looking = _read(query, join.relation), f"{MATCH}{join.place}", f"{LOOKING}{join.place}"
    made = _Numbering(join, relation, [sql.named(column.name, join.relation) for column in columns])
    if join.numbers == "parents":
        first = Derived(f"numbered keys of {join.parent}", join.parent, made.looking(query), looking)
        derived = [first, Derived(f"rows of {join.relation}", join.relation, made.looked_for(looking), table)]
    else:
        derived = [Derived(f"numbered rows of {join.relation}", join.relation, made.rows, table)]
    number = Column(made.number, "bigint", "numeric")
    lookups = (*parent.lookups, made.looked_up(derived[0].table))
    over = relation.stored(sql.users_table(table, join.relation), (*columns, number))
    query = query.with_relation(replace(parent, lookups=lookups, columns=(*parent.columns, number)))
    query = query.with_relation(replace(over, filters=relation.filters))
    return replace(query, derived=(*query.derived, *derived))


def _read(query: FeatureQuery, alias: str) -> tuple[Column, ...]:
    """The columns of a relation that are read of it, also by what tells the rows of the label apart."""
    more = [*query.marks.values(), *filter(None, [query.held_out])]
    names = {column.name for column in query.used_columns(alias)}
    names |= {c.name for value in more for c in value.find_all(exp.Column) if c.table == alias}
    return tuple(column for column in query.relation(alias).columns if column.name in names)


@dataclass(frozen=True)
class _Numbering:
    join: LeftJoin
    relation: Relation
    values: list[exp.Column]  # the columns that are read

    @property
    def number(self) -> str:
        return self.join.found.right.expression.name

    @property
    def keys(self) -> list[str]:
        return [f"{KEY}{i}" for i in range(len(self.join.key))]

    @property
    def own_keys(self) -> sql.Named:
        return [(term.expression.copy(), name) for term, name in zip(self.join.key, self.keys, strict=True)]

    @property
    def parents_keys(self) -> sql.Named:
        return [(e.left.expression.copy(), name) for e, name in zip(self.join.equalities, self.keys, strict=True)]

    @property
    def rows(self) -> exp.Query:
        """SELECT the number, the key and the columns of each row, and the row of NULLs"""
        rank = sql.any_number() if self.join.finds_one else sql.dense_rank([value for value, _ in self.own_keys])
        source = self.relation.serving([*self.values, *(value for value, _ in self.own_keys)])
        own = self._select([(rank, self.number), *self.own_keys]).from_(source, copy=False)
        own = sql.where(own, *copies(self.relation.at_first))
        nothing = self._select([(sql.integer(0), self.number), *((exp.null(), name) for name in self.keys)])
        missing = row_of_nulls(self.relation, [(value, "") for value in self.values])
        return sql.union_all(own, missing.select(*nothing.selects, copy=False))

    def looking(self, query: FeatureQuery) -> exp.Select:
        """SELECT the keys of the parent and a number for each, 0 for the one that is NULL."""
        named = [(value, f"m{i}") for i, (value, _) in enumerate(self.parents_keys)]
        known = sql.every(sql.not_null(sql.column(m)) for _, m in named)
        number = exp.alias_(sql.case(known, sql.any_number(), 0), self.number, quoted=True)
        keys = (exp.alias_(sql.column(m), key, quoted=True) for (_, m), key in zip(named, self.keys, strict=True))
        rows = sql.derived(rows_of(query, self.join.parent, named), "r")
        return exp.select(number, *keys, copy=False).from_(rows, copy=False)

    def looked_for(self, looking: str) -> exp.Select:
        """What each of these keys finds, or NULLs, for which a number is looked up too."""
        alias, names = self.relation.alias, [self.number, *self.keys]
        given = (exp.alias_(v, n, quoted=True) for v, n in [(_own(self.number, looking), self.number), *self.own_keys])
        rows = exp.select(*given, sql.everything(alias), copy=False).from_(sql.table(looking), copy=False)
        on = [sql.equal(value, _own(key, looking)) for value, key in self.own_keys]
        plain = replace(self.relation, lookups=()).serving([*self.values, *(value for value, _ in self.own_keys)])
        rows = sql.join(rows, plain, [*on, *copies(self.relation.at_first)], "left")
        found = self.relation.looking_up(sql.aliased(rows, alias), [value.name for value in self.values])
        return self._select([(sql.named(name, alias), name) for name in names]).from_(found, copy=False)

    def looked_up(self, table: str) -> Lookup:
        """The number of a key, which is there once."""
        source: exp.Expr = sql.table(table)
        if self.join.numbers == "keys":
            source = sql.derived(exp.select(*map(_own, (*self.keys, self.number))).distinct().from_(source), table)
        on = [sql.equal(value, _own(key, table)) for value, key in self.parents_keys]
        return Lookup(self.number, sql.coalesce(_own(self.number, table), 0), source, on)

    def _select(self, outputs: sql.Named) -> exp.Select:
        """SELECT outputs, and the columns that are read"""
        made = (exp.alias_(value, name, quoted=True) for value, name in outputs)
        return exp.select(*made, *copies(self.values), copy=False)


def _own(name: str, table: str | None = None) -> exp.Column:
    """A column of ours in a working table that has columns of the user."""
    return exp.column(exp.to_identifier(name, quoted=True), table)
