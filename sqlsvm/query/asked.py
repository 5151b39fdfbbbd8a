"""A correlated sub-query -> the question that it asks about each row of a relation.

    (SELECT AVG(v.minutes) FROM visits v WHERE v.customer = o.customer AND v.day < o.day AND v.kind = 3)

asks, about the rows of visits with kind = 3: those with customer = o.customer, and with day below o.day.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import cast

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.errors import QueryError
from sqlsvm.query.guards import varying
from sqlsvm.query.ir import Fold
from sqlsvm.query.joins import conjuncts
from sqlsvm.query.line import End, ends_of
from sqlsvm.query.names import Scope
from sqlsvm.query.sources import Source, from_items, probe_of, source_of

Describe = Callable[[exp.Select], tuple[Column, ...] | None]  # the columns of a query; None if it is not valid
Pair = tuple[exp.Expression, exp.Expression]  # what is equal: of the rows, and of the relation that asks
_CLAUSES = {"expressions", "from_", "joins", "where"}
_ANY_OF = (exp.In, exp.Any, exp.All, exp.Exists)
_INTEGERS = {"smallint", "integer", "bigint", "int2", "int4", "int8"}
_TIMES = {"date", "timestamp", "timestamp without time zone"}
_TEXTS = {"text", "varchar", "character varying"}
_JOINS = {"this", "on", "kind", "side"}


@dataclass(frozen=True)
class Question:
    """`keys` are equal pairs: of the rows, and of the relation that asks. All ends are about one point."""

    rows: exp.Select  # without outputs
    keys: tuple[Pair, ...]
    point: exp.Expression | None
    ends: tuple[End, ...]

    @property
    def key_names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    @property
    def end_names(self) -> list[str]:
        return [f"e{i}" for i in range(len(self.ends))]

    @property
    def asking(self) -> list[exp.Expression]:
        """What the other relation has for the keys and ends."""
        return [*(outer for _, outer in self.keys), *(end.value for end in self.ends)]

    def points(self, more: sql.Named) -> exp.Select:
        """The rows, with their keys and more."""
        keys = [(inner.copy(), name) for (inner, _), name in zip(self.keys, self.key_names, strict=True)]
        present = [sql.not_null(e) for e in (*(key for key, _ in keys), *([self.point] if self.point else []))]
        found = self.rows.copy().where(*present)
        return found.select(*(exp.alias_(e, name, copy=False) for e, name in [*keys, *more]))

    def questions(self, item: exp.Expression) -> exp.Select:
        names = [*self.key_names, *self.end_names]
        found = sql.select([(e.copy(), name) for e, name in zip(self.asking, names, strict=True)])
        return found.from_(item.copy()).where(*map(sql.not_null, self.asking)).distinct()


@dataclass(frozen=True)
class Asker:
    """The relation in FROM about whose rows sub-queries ask."""

    item: exp.Expression
    scope: Scope  # of this relation alone
    around: exp.Select  # has the CTEs that a sub-query may read
    describe: Describe
    known: "dict[exp.Expr, tuple[Question, Between] | None]" = field(default_factory=dict, compare=False)
    """What was read, by all but its outputs: many sub-queries ask about the same rows."""

    @property
    def dialect(self) -> str:
        return self.scope.dialect

    def question(self, asked: exp.Select) -> "tuple[Question, Between] | None":
        """None if the conditions are others than on equal columns and on one interval."""
        about = asked.copy()
        about.set("expressions", [])
        if about not in self.known:
            self.known[about] = self._question(about)
        return self.known[about]

    def _question(self, asked: exp.Select) -> "tuple[Question, Between] | None":
        between = self._between(asked)
        if between is None or any(value and clause not in _CLAUSES for clause, value in asked.args.items()):
            return None
        own, keys, ends = list[exp.Expression](), list[Pair](), list[tuple[exp.Expression, End]]()
        where = asked.args.get("where")
        for condition in cast(Iterator[exp.Expression], conjuncts(where and where.this.copy(), self.dialect)):
            if between.are_of(condition, inner=True) and not condition.find(exp.Query):
                own.append(condition)
            elif key := between.key(condition):
                keys.append(key)
            elif found := list(between.ends(condition)):
                ends += found
            else:
                return None
        points, kinds = {point for point, _ in ends}, {end.kind for _, end in ends}
        if not (keys or ends) or len(points) > 1 or len(kinds) < len(ends):
            return None
        rows = exp.Select(**{key: asked.args[key] for key in ("from_", "joins") if asked.args.get(key)}).copy()
        made = Question(rows.where(*own), tuple(keys), next(iter(points), None), tuple(end for _, end in ends))
        return (made, between) if _are_alike(made, self) else None

    def _between(self, asked: exp.Select) -> "Between | None":
        sources, columns = list[Source](), dict[str, tuple[Column, ...]]()
        if not asked.args.get("from_"):
            return None
        for item, join in zip(from_items(asked), [None, *(asked.args.get("joins") or [])], strict=True):
            other = {key for key, value in join.args.items() if value} - _JOINS if join else ()
            if not isinstance(item, exp.Table | exp.Subquery) or other:
                return None
            source = source_of(item, self.around, self.scope.fold)
            described = self.describe(source.probe)
            if described is None or source.alias in columns:
                return None
            sources.append(source)
            columns[source.alias] = described
        first, *others = (replace(self.scope, columns=columns, known={}).of(source) for source in sources)
        return Between(reduce(Scope.with_, others, first), self.scope)

    def described(self, query: exp.Select) -> tuple[Column, ...] | None:
        """The columns of a query that may read CTEs."""
        source = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=exp.to_identifier("r")))
        return self.describe(probe_of(source, self.around, self.scope.fold))


@dataclass(frozen=True)
class Between:
    """Whose columns an expression in a sub-query has. An inner name hides an outer one."""

    inner: Scope
    outer: Scope

    def _found(self, column: exp.Expr) -> tuple[bool, exp.Column] | None:
        """Whether it is an inner column, and its whole name; None for a column of neither."""
        if not isinstance(column, exp.Column):
            return None
        is_inner = self.inner.hides(column)
        with suppress(QueryError):
            return is_inner, (self.inner if is_inner else self.outer).find(column).reference
        return None

    def are_of(self, expression: exp.Expr, *, inner: bool) -> bool:
        every = map(self._found, expression.find_all(exp.Column))
        return all(found is not None and found[0] is inner for found in every)

    def _has(self, expression: exp.Expr, *, inner: bool) -> bool:
        """Has it columns of this side, and of no other?"""
        return expression.find(exp.Column) is not None and self._is_plain(expression, inner=inner)

    def _is_plain(self, expression: exp.Expr, *, inner: bool) -> bool:
        return expression.find(exp.Query) is None and self.are_of(expression, inner=inner)

    def key(self, condition: exp.Expression) -> Pair | None:
        """Of an equality of a column inside with one outside."""
        if isinstance(condition, exp.EQ):
            for left, right in ((condition.this, condition.expression), (condition.expression, condition.this)):
                if self._has(left, inner=True) and self._has(right, inner=False):
                    return self.qualified(left), self.qualified(right)
        return None

    def ends(self, condition: exp.Expression) -> Iterator[tuple[exp.Expression, End]]:
        of = self.qualified(condition)
        yield from ends_of(of, lambda e: self._has(e, inner=True), lambda e: self._is_plain(e, inner=False))

    def qualified(self, expression: exp.Expression) -> exp.Expression:
        """With the name of its relation at each column."""

        def whole(node: exp.Expr) -> exp.Expr:
            return found[1] if (found := self._found(node)) else node

        return cast(exp.Expression, expression.copy().transform(whole))


def sub_queries(root: exp.Expr) -> list[exp.Subquery | exp.Exists]:
    """The outermost ones that are a value: (SELECT ...) or EXISTS (...)."""
    outer = root.walk(prune=lambda n: isinstance(n, exp.Query | exp.Exists))
    found = (n for n in outer if isinstance(n, exp.Subquery | exp.Exists) and isinstance(n.this, exp.Select))
    return [n for n in found if isinstance(n, exp.Exists) or not isinstance(n.parent, _ANY_OF)]


def asker_of(item: exp.Expression, select: exp.Select, dialect: str, fold: Fold, describe: Describe) -> Asker | None:
    """None for an item of FROM without a name, that is not valid alone, or whose rows may be others the next time."""
    alias = item.args.get("alias")
    is_named = isinstance(alias.this if alias else item.this, exp.Identifier)
    source = source_of(item, select, fold) if is_named else None
    columns = describe(source.probe) if source and not varying(source.expression, dialect) else None
    if columns is None:
        return None
    assert source
    return Asker(item, Scope(dialect, fold, {source.alias: columns}).of(source), select, describe)


def _are_alike(question: Question, asker: Asker) -> bool:
    """On one line, values of two types might compare otherwise than in a condition."""
    inner = [*(key for key, _ in question.keys), *([question.point] if question.point else [])]
    outer = [key for _, key in question.keys]
    ends = [end.value for end in question.ends]
    theirs = _types(question.rows, inner, asker)
    mine = _types(exp.Select().from_(asker.item.copy()), [*outer, *ends], asker)
    if theirs is None or mine is None:
        return False
    size = len(outer)
    pairs = [*zip(theirs[:size], mine[:size], strict=True), *((theirs[-1], end) for end in mine[size:])]
    return all(alike(one, other) for one, other in pairs)


def _types(rows: exp.Select, values: Sequence[exp.Expression], asker: Asker) -> list[str] | None:
    of = rows.copy().select(*(exp.alias_(v.copy(), f"c{i}") for i, v in enumerate(values)))
    columns = asker.described(of)
    return None if columns is None else [column.type.lower() for column in columns]


def alike(one: str, other: str) -> bool:
    return one == other or any({one, other} <= family for family in (_INTEGERS, _TIMES, _TEXTS))
