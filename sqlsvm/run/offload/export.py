"""FeatureQuery -> Exports: for each relation the SELECT that the server runs to copy its rows.

    SELECT CAST(f.distance AS double precision) AS c0, f.late AS c1, f.plane AS k0, o1.n AS k1
    FROM flights AS f JOIN (SELECT v, ROW_NUMBER() OVER (ORDER BY v) AS n FROM ...) AS o1 ON f.carrier = o1.v
    WHERE f.cancelled = 0 AND NOT f.plane IS NULL

Integers, booleans and times, which are integers on the wire, are equal on both engines. Other values that are equal on
one may differ on the other: 1.0 and 1.00, 'a' and 'A' under citext or some collations, 'a' and 'a ' as character(2),
the two zeros, NaN. Such a key or category travels as its number among the distinct values of one relation, in their
order. The server numbers them, because it knows which values are distinct.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import key
from sqlsvm.engine.base import Column
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.planner import KEPT_IN_PLACE
from sqlsvm.query import Relation, Term
from sqlsvm.query.ir import Variable, inner_variables
from sqlsvm.query.rows import row_of_nulls

KEEP = "keep"
"""A column of the optional side of a LEFT JOIN: does WHERE keep the row? It is NULL only if nothing was found."""

HELD, TIME = "held", "time"
"""Columns of the label's relation: `FeatureQuery.held_out`, and the number of `FeatureQuery.time`."""


@dataclass(frozen=True)
class Carried:
    """A value that is copied into the column `name`."""

    name: str
    expression: exp.Expression
    type: exp.DType
    codes: exp.Query | None = None  # SELECT v, n: it travels as the number n of its value v
    spelled: bool = False  # in the copy it is v again: a category must keep its name
    needed: bool = False  # an inner join is on it: a row without it has no partner


@dataclass(frozen=True)
class Export:
    relation: Relation
    columns: tuple[Carried, ...]
    optional: bool
    reduced: tuple[exp.Expression, ...] = ()  # conditions that leave out rows without a partner in another relation

    @cached_property
    def rows(self) -> exp.Select:
        """SELECT columns of the rows that can be in the join, or that a LEFT JOIN can find."""
        whole = [sql.not_null(c.expression) for c in self.columns if c.needed and not c.codes]
        found = self._from(exp.select().from_(self.relation.serving(c.expression for c in self.columns)))
        return found.where(*(f.copy() for f in self.relation.at_first), *whole, *self.reduced)

    @cached_property
    def nothing(self) -> exp.Select:
        """SELECT columns of the row of NULLs of a LEFT JOIN."""
        return self._from(row_of_nulls(self.relation, [(c.expression, c.name) for c in self.columns]))

    def _from(self, rows: exp.Select) -> exp.Select:
        outputs = []
        for place, c in enumerate(self.columns):
            value = c.expression.copy()
            if c.codes:
                o = f"o{place}"
                meet, kind = [sql.equal(value, sql.column("v", o))], "" if c.needed else "left"
                rows, value = sql.join(rows, sql.derived(c.codes.copy(), o), meet, kind), sql.column("n", o)
            outputs.append(exp.alias_(value, c.name))
        return rows.select(*outputs)


def match_key(relation: int, place: int) -> str:
    """A side of an equality of a LEFT JOIN."""
    return f"m{relation}_{place}"


def output(place: int) -> str:
    return f"c{place}"


def exports(catalog: Catalog) -> tuple[Export, ...]:
    made = _Exporter(catalog)
    return tuple(made.export(relation) for relation in catalog.query.relations)


class _Exporter:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.query = catalog.query
        self.variables = inner_variables(self.query)
        self.types = _types(catalog)
        self.portable = catalog.engine.abilities.portable

    def export(self, relation: Relation) -> Export:
        alias, optional = relation.alias, relation.optional is not None
        columns = [*self._outputs(alias), *self._keys(alias), *self._match_keys(alias)]
        if self.query.label and self.query.label_relation == alias:
            if self.query.held_out:
                columns.append(Carried(HELD, self.query.held_out, exp.DType.BOOLEAN))
            if self.query.time:
                columns.append(Carried(TIME, self.query.time.value, exp.DType.DOUBLE))
            columns += [Carried(name, value, exp.DType.DOUBLE) for name, value in self.query.marks.items()]
        if optional or not columns:
            keep = sql.every(f.copy() for f in relation.filters if optional)
            columns.append(Carried(KEEP, sql.case(keep, exp.true(), exp.false()), exp.DType.BOOLEAN))
        reduced = [] if optional else list(self._reduced(alias))
        return Export(relation, tuple(columns), optional, tuple(reduced))

    def _outputs(self, alias: str) -> Iterator[Carried]:
        """Numbers are the same as in place: integers stay as they are, others become doubles."""
        for place, f in enumerate(self.query.outputs):
            if f.relation != alias:
                continue
            name, column = output(place), self.types[alias, f.expression]
            if column.kind == "categorical":
                codes = sql.numbered(self.catalog.of(alias).rows_of([(f.expression.copy(), "v")]))
                yield Carried(name, f.expression, exp.DType.BIGINT, codes, spelled=True)
            elif column.type in self.portable:
                yield Carried(name, f.expression, self.portable[column.type])
            elif f == self.query.label and column.type == self.catalog.engine.abilities.single:
                yield Carried(name, f.expression, exp.DType.FLOAT)  # as a double 0.9 would be another number
            else:
                yield Carried(name, sql.double(f.expression.copy()), exp.DType.DOUBLE)

    def _keys(self, alias: str) -> Iterator[Carried]:
        for v in self.variables:
            if alias in v.holders:
                known, term = self._alike(v.terms), v.at(alias)[0]
                codes = None if known else self._codes(v)
                needed = alias not in self.query.parents
                yield Carried(key(v.index), term.expression, known or exp.DType.BIGINT, codes, needed=needed)

    def _match_keys(self, alias: str) -> Iterator[Carried]:
        """The keys of a LEFT JOIN are numbered among those of its optional side."""
        for number, left_join in enumerate(self.query.left_joins):
            found = self.query.relation(left_join.relation)
            for place, e in enumerate(left_join.equalities):
                for term in (t for t in (e.left, e.right) if t.relation == alias):
                    known = self._alike((e.left, e.right))
                    rows = found.partners.rows([(e.right.expression.copy(), "v")])
                    codes = None if known else sql.numbered(rows)
                    yield Carried(match_key(number, place), term.expression, known or exp.DType.BIGINT, codes)

    def _alike(self, terms: Iterable[Term]) -> exp.DType | None:
        """The type of keys that both engines compare alike: all of one portable type, or all integers."""
        columns = [self.types[t.relation, t.expression] for t in terms]
        types = {re.sub(r"\(\d+\)", "", column.type) for column in columns}
        comparable = len(types) == 1 or {column.kind for column in columns} == {"numeric"}
        return self.portable[types.pop()] if comparable and types <= self.portable.keys() else None

    def _codes(self, v: Variable) -> exp.Select:
        """Numbers for the values of the relation with the fewest rows; no join row has another value."""
        alias = min(sorted(v.holders), key=lambda a: (a in self.query.parents, self.catalog.rows(a)))
        return sql.numbered(self.catalog.of(alias).rows_of([(v.at(alias)[0].expression.copy(), "v")]))

    def _reduced(self, alias: str) -> Iterator[exp.Expression]:
        """term IN (SELECT theirs FROM neighbour WHERE ...) for each neighbour whose filters leave few rows: this
        costs less than to copy the rows that it leaves out. Numbered keys are looked up in a neighbour anyway."""
        for v in self.variables:
            if alias in v.holders and self._alike(v.terms):
                for other in sorted(v.holders - {alias}):
                    if other not in self.query.parents and self._is_small_beside(other, alias):
                        theirs = self.catalog.of(other).rows_of([(v.at(other)[0].expression.copy(), "v")])
                        yield v.at(alias)[0].expression.copy().isin(query=theirs)

    def _is_small_beside(self, other: str, alias: str) -> bool:
        if not self.query.relation(other).filters:
            return False
        rows = self.catalog.rows(other)
        return rows < KEPT_IN_PLACE * self.catalog.of(other).table_rows and rows <= self.catalog.rows(alias)


def _types(catalog: Catalog) -> dict[tuple[str, exp.Expression], Column]:
    """The types, on the server, of all values that are copied."""
    query, found = catalog.query, dict[tuple[str, exp.Expression], Column]()
    for r in query.relations:
        if own := query.expressions(r.alias):
            probe = sql.select([(e.copy(), f"c{n}") for n, e in enumerate(own)], r.serving(own))
            found |= {(r.alias, e): column for e, column in zip(own, catalog.engine.describe(probe), strict=True)}
    return found
