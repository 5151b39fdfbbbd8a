"""Facts about the rows of relations: how many there are, how often a key repeats, where NULLs are.

Almost all are read by plain SELECTs over the relations. So tables, views, materialised views, partitions, foreign
tables and sub-queries are treated alike, and SELECT is the only privilege needed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column, Engine, Values
from sqlsvm.query.ir import MADE, FeatureQuery, Relation, Term
from sqlsvm.query.rows import Outputs, brought, row_of_nulls

EARLY = 5000  # most keys that are not unique repeat among this many rows
LARGE = 20 * EARLY  # with more rows it pays to look at the first ones alone, before all
CLOSE = 4  # whole numbers lie close together, if they span as many places for each of them
Terms = tuple[Term, ...]
Rule = Callable[[FeatureQuery, "Facts"], FeatureQuery]  # what query/rewrites/ is made of


@dataclass(frozen=True)
class KeyFacts:
    """The sizes of the groups of a key: all rows, those with a NULL, how many groups, and the largest."""

    rows: float
    nulls: float
    distinct: float
    largest: float


class Facts:
    """The facts about one snapshot. All queries on it share them, so a relation that two queries have is read once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._known: dict[str, list[RowFacts]] = {}  # by alias

    def of(self, relation: Relation) -> "RowFacts":
        """A working table is not remembered: it may be made again, with other rows. What is made once is."""
        for known in self._known.get(relation.alias, ()):
            if known.relation == relation:
                return known
        made = RowFacts(self.engine, relation)
        names = [table.name for table in relation.source.find_all(exp.Table)]
        if not any(name.startswith(sql.WORKING) and not name.startswith(MADE) for name in names):
            self._known.setdefault(relation.alias, []).append(made)
        return made

    def columns(self, relation: Relation, values: Sequence[exp.Expression]) -> tuple[Column, ...]:
        """What the database says of values over a relation. Its columns are known."""
        known = [relation.column(value) for value in values]
        return tuple(filter(None, known)) if None not in known else self.engine.describe(probe(relation, values))

    def is_known_of_nothing(self, relation: Relation, value: exp.Expression) -> bool:
        """Has a value over the optional side of a LEFT JOIN a value where no row is found?"""
        row = row_of_nulls(relation, [(value, "v")]).select(exp.alias_(exp.Count(this=value.copy()), "n"))
        return one(self.engine, row)["n"] > 0

    def may_be_null(self, relation: Relation, value: exp.Expression) -> bool:
        """Is a value NULL in a row of a relation, or where a LEFT JOIN finds none?"""
        if relation.optional is not None and not self.is_known_of_nothing(relation, value):
            return True
        some = relation.rows([(value.copy(), "v")])
        found = exp.select("*").from_(sql.derived(some, "r")).where(exp.Is(this=sql.column("v"), expression=exp.null()))
        return one(self.engine, sql.select([(sql.count(), "n")], sql.derived(found.limit(1), "r")))["n"] > 0

    def nulls(self, relation: Relation, value: exp.Expression) -> float:
        """In so many rows of a relation a value is NULL."""
        rows = sql.derived(relation.rows([(value.copy(), "v")]), "r")
        found = sql.where(sql.select([(sql.count(), "n")], rows), sql.is_null(sql.column("v")))
        return float(one(self.engine, found)["n"])

    def is_key(self, query: FeatureQuery, alias: str, terms: Terms) -> bool:
        """Does each value of these terms occur once in the rows among which a join looks?"""
        return self.of(query.relation(alias).partners).is_unique(terms)

    def declare(self, relations: Iterable["RowFacts"]) -> None:
        """Asks for the constraints of all of them in one statement."""
        asked = [each for each in relations if each.declared is None]
        tables = [table for each in asked if (table := each.table)]
        keys = iter(self.engine.unique_keys(tables) if tables else ())
        for each in asked:
            each.declared = next(keys) if each.table else []


class RowFacts:
    """Facts about the rows that one relation brings to the join. Each is read once."""

    def __init__(self, engine: Engine, relation: Relation) -> None:
        self.engine, self.relation = engine, relation
        self.keys: dict[Terms, KeyFacts] = {}
        self.unique: dict[Terms, bool] = {}
        self.early: dict[Terms, KeyFacts] = {}  # of the first rows
        self.counted: float | None = None  # the rows, if no more is known of them
        self.declared: list[frozenset[str]] | None = None
        """The sets of columns that a constraint declares unique; None if that was not asked yet."""
        self.nulls: dict[exp.Expression, float] = {}
        self._described: dict[Term, Column] = {}
        self._ends: dict[Term, tuple[int, int] | None] = {}

    def rows_of(self, outputs: Outputs) -> exp.Query:
        return brought(self.relation, outputs)

    def own_rows(self, terms: Terms) -> exp.Query:
        """The keys of the rows of the relation itself, without the row of NULLs of a LEFT JOIN."""
        return self.relation.rows(keyed(terms))

    # -- sizes ---------------------------------------------------------------------------------------------------------

    @cached_property
    def table_rows(self) -> float:
        """All rows of the table, before any filter."""
        return self._count(self.relation.source)

    @property
    def known_rows(self) -> float | None:
        return next((f.rows for f in self.keys.values()), self.counted)

    @property
    def rows(self) -> float:
        found = self.known_rows
        return self.key(()).rows if found is None else found

    def rows_up_to(self, most: float) -> float:
        """How many rows there are after the filters of the relation, but at most `most`. Reads no more than these."""
        if self.relation.optional is None and (known := self.known_rows) is not None:
            return min(known, most)
        found = self._count(sql.derived(self.own_rows(()).limit(ceil(most)), "r"))
        if found < most and self.relation.optional is None:
            self.counted = found
        return found

    @property
    def is_small(self) -> bool:
        """Is it read as soon as a part of it?"""
        return (self.known_rows or inf) <= self.engine.rates.read

    def _count(self, source: exp.Expr) -> float:
        return one(self.engine, sql.select([(sql.count(), "n")], source))["n"]

    # -- columns -------------------------------------------------------------------------------------------------------

    def column(self, term: Term) -> Column | None:
        return self.relation.column(term.expression)

    def described(self, term: Term) -> Column:
        """With its blur. The columns of a relation are described already."""
        if term not in self._described:
            rows, known = self.own_rows((term,)), self.column(term)
            (column,) = (known,) if known else self.engine.describe(rows)
            self._described[term] = replace(column, blur=self.engine.blur(column, rows))
        return self._described[term]

    def ends(self, term: Term) -> tuple[int, int] | None:
        """The least and the largest of whole numbers; None if there are none."""
        if term not in self._ends:
            k, rows = sql.column("k0"), self.own_rows((term,))
            ends = sql.select([(sql.smallest(k), "first"), (sql.largest(k.copy()), "last")], sql.derived(rows, "r"))
            first, last = (values[0] for values in self.engine.fetch(ends).values())
            self._ends[term] = None if first != first else (int(first), int(last))
        return self._ends[term]

    # -- keys ----------------------------------------------------------------------------------------------------------

    @property
    def table(self) -> exp.Table | None:
        """None for flights AS f(a, b): to the database a and b are columns of f, but not of flights."""
        source = self.relation.source
        alias = source.args.get("alias")
        return source if isinstance(source, exp.Table) and not (alias and alias.args.get("columns")) else None

    @cached_property
    def never_null(self) -> frozenset[str]:
        return self.engine.never_null(self.table) if self.table else frozenset()

    def is_unique(self, terms: Terms, *, quick: bool = False) -> bool:
        """Does each value of a key occur once? A constraint says so, or the rows do. `quick`: to read the rows takes
        no longer than to ask for constraints."""
        if terms not in self.unique:
            declared = not quick and self.is_declared(terms)
            self.unique[terms] = declared or self._is_found_unique(terms)
        return self.unique[terms]

    def is_declared(self, terms: Terms) -> bool:
        """Do the terms hold all columns of a key that a constraint declares? Then this saves the scan."""
        if self.declared is None:
            Facts(self.engine).declare([self])
        columns = {self.engine.fold(t.expression.name, True) for t in terms if isinstance(t.expression, exp.Column)}
        return any(key <= columns for key in self.declared or ())

    def _is_found_unique(self, terms: Terms) -> bool:
        # The first rows of a sub-query can cost as much as all, and DuckDB 2.0 can wait for them for ever.
        if terms and self.table and not self.is_small and terms not in self.keys:
            first = self.early.get(terms) or self._facts(self.first(terms), terms)
            if first.rows < EARLY and self.relation.optional is None:
                self.keys[terms] = first
            if first.largest > 1:
                return False
            if terms not in self.keys and (found := self._of_different(terms)):
                self.keys[terms] = found
        return self.key(terms).largest <= 1

    def first(self, terms: Terms) -> exp.Query:
        """If a key repeats in these rows, no others are read."""
        return self.own_rows(terms).limit(EARLY)

    def of_first(self, terms: Terms) -> KeyFacts:
        """The facts of a key in the first rows, or in all if they are known."""
        if not self.table:
            return self.key(terms)
        return self.keys.get(terms) or self.early.get(terms) or self._facts(self.first(terms), terms)

    def largest_known(self, terms: Terms) -> float:
        """No value of a key is in more rows; infinite if that was not asked yet."""
        found = self.keys.get(terms)
        return found.largest if found else inf

    def _of_different(self, terms: Terms) -> KeyFacts | None:
        """The facts of one number that does not repeat. To sort numbers takes PostgreSQL a fifth of the time in which
        it groups them."""
        if len(terms) > 1 or self.described(terms[0]).kind != "numeric":
            return None
        rows, k = sql.derived(self.rows_of(keyed(terms)), "r"), sql.column("k0")
        sizes = [(sql.count(), "rows"), (exp.Count(this=k), "whole"), (sql.different(k.copy()), "groups")]
        found = one(self.engine, sql.select(sizes, rows))
        if found["groups"] < found["whole"]:
            return None
        return KeyFacts(found["rows"], found["rows"] - found["whole"], found["groups"], min(1.0, found["groups"]))

    def key(self, terms: Terms) -> KeyFacts:
        if terms not in self.keys:
            known = None if terms else self.known_rows
            if known is not None:
                found = KeyFacts(known, 0.0, 1.0, known)
            else:
                found = self._facts(self.rows_of(keyed(terms)), terms, few=self.is_small)
            self.keys[terms] = found
        return self.keys[terms]

    def _facts(self, rows: exp.Query, terms: Terms, *, few: bool = True) -> KeyFacts:
        """Of these rows. A few whole numbers are read: in this process that takes a third of planning to group them."""
        kinds = [known.kind if (known := self.column(term)) else None for term in terms]
        if few and self.engine.abilities.in_process and kinds == ["numeric"]:
            keys = self.engine.fetch(rows)["k0"]
            if keys.dtype.kind == "i":  # without NULLs
                sizes = _sizes(keys)
                return KeyFacts(len(keys), 0.0, len(sizes), float(sizes.max(initial=0)))
        return key_facts(self.engine, rows, len(terms))


def _sizes(keys: Values) -> Values:
    """How often each of these whole numbers is there. Those that lie close together need not be sorted."""
    if not len(keys) or int(keys.max()) - int(keys.min()) > CLOSE * len(keys):
        return np.asarray(np.unique(keys, return_counts=True)[1])
    sizes = np.bincount(keys - keys.min())
    return sizes[sizes > 0]


# -- as statements -----------------------------------------------------------------------------------------------------


def probe(relation: Relation, values: Sequence[exp.Expression]) -> exp.Select:
    """SELECT the values. They get numbers as names: the name of an output can be an expression that is too long."""
    named = (exp.alias_(value.copy(), f"c{n}", quoted=True, copy=False) for n, value in enumerate(values))
    return exp.Select(expressions=[*named]).from_(relation.source.copy(), copy=False)


def one(engine: Engine, query: exp.Query) -> dict[str, float]:
    return {name: float(values[0]) for name, values in engine.fetch(query).items()}


def keyed(terms: Terms) -> Outputs:
    """Terms under the names k0, k1 ...; a 1 if there is none, because SELECT needs an output."""
    return [(t.expression.copy(), f"k{i}") for i, t in enumerate(terms)] or [(sql.integer(1), "one")]


def names(n: int) -> list[str]:
    return [f"k{i}" for i in range(n)]


def how_many(condition: exp.Expression) -> exp.Expression:
    return sql.or_zero(sql.double(sql.total(sql.case(condition, 1, 0))))


def grouped(rows: exp.Query, names: list[str], size: exp.Expression | None = None) -> exp.Select:
    """SELECT k0, ..., COUNT(*) AS c FROM rows GROUP BY k0, ..."""
    counted: sql.Named = [(size.copy() if size else sql.count(), "c")]
    return sql.grouped(sql.columns(names), counted, sql.derived(rows, "r"))


def whole(names: Iterable[str], table: str | None = None) -> exp.Expression:
    """No part of the key is NULL."""
    return sql.every(sql.not_null(sql.column(k, table)) for k in names)


def key_facts(engine: Engine, rows: exp.Query, width: int, size: exp.Expression | None = None) -> KeyFacts:
    """The facts of a key, in one scan of a SELECT whose first outputs are k0, k1, ..."""
    return as_facts(one(engine, key_measures(rows, width, size)))


def as_facts(found: dict[str, float]) -> KeyFacts:
    return KeyFacts(found["rows"], found["rows"] - found["whole"], found["groups"], found["largest"])


def key_measures(rows: exp.Query, width: int, size: exp.Expression | None = None) -> exp.Select:
    keys = names(width)
    present, c = whole(keys), sql.column("c")
    measures: Outputs = [
        (sql.sum_or_zero(c), "rows"),
        (sql.sum_or_zero(sql.case(present, c)), "whole"),
        (how_many(present), "groups"),
        (sql.or_zero(sql.largest(sql.case(present, c))), "largest"),
    ]
    return sql.select(measures, sql.derived(grouped(rows, keys, size), "g"))
