"""A correlated sub-query -> the question that it asks about each row of a relation.

    (SELECT AVG(v.minutes) FROM visits v WHERE v.customer = o.customer AND v.day < o.day AND v.kind = 3)

asks, about the rows of visits with kind = 3: those with customer = o.customer, and with day below o.day.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Column
from sqlsvm.query.guards import varying
from sqlsvm.query.ir import Fold
from sqlsvm.query.joins import conjuncts
from sqlsvm.query.line import End, ends_of
from sqlsvm.query.sources import from_items, source_of

Describe = Callable[[exp.Select], tuple[Column, ...] | None]
"""The columns of a query; None if it is not valid."""

_CLAUSES = {"expressions", "from_", "joins", "where"}
_ANY_OF = (exp.In, exp.Any, exp.All, exp.Exists)
_INTEGERS = {"smallint", "integer", "bigint", "int2", "int4", "int8"}
_TIMES = {"date", "timestamp", "timestamp without time zone"}
_TEXTS = {"text", "varchar", "character varying"}
_JOINS = {"this", "on", "kind", "side"}


@dataclass(frozen=True)
class Question:
    """`keys` are equal pairs: of the rows, and of the relation that asks. All ends are about one point."""

    rows: exp.Select
    """Without outputs."""
    keys: tuple[tuple[exp.Expression, exp.Expression], ...]
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
    name: exp.Identifier
    columns: frozenset[str]
    """What their names mean."""
    around: exp.Select
    """Has the CTEs that a sub-query may read."""
    dialect: str
    fold: Fold
    describe: Describe

    def question(self, asked: exp.Select) -> "tuple[Question, Names] | None":
        """None if the conditions are others than on equal columns and on one interval."""
        names = self._inside(asked)
        if names is None or any(value and clause not in _CLAUSES for clause, value in asked.args.items()):
            return None
        conditions = _conditions(asked, self.dialect)
        own = [c for c in conditions if names.are_of(c, inner=True) and not c.find(exp.Query)]
        others = [c for c in conditions if c not in own]
        keys, ends = [k for c in others for k in names.keys(c)], [e for c in others for e in names.ends(c)]
        points = {point for point, _ in ends}
        fits = all(list(names.keys(c)) or list(names.ends(c)) for c in others) and len(points) < 2
        if not fits or len({end.kind for _, end in ends}) < len(ends) or not others:
            return None
        rows = exp.Select(**{key: asked.args[key] for key in ("from_", "joins") if asked.args.get(key)}).copy()
        of = tuple(end for _, end in ends)
        found = Question(rows.where(*own), tuple(keys), points.pop() if points else None, of)
        return (found, names) if _are_alike(found, self) else None

    def _inside(self, asked: exp.Select) -> "Names | None":
        inner: dict[str, frozenset[str]] = {}
        if not asked.args.get("from_"):
            return None
        for item, join in zip(from_items(asked), [None, *(asked.args.get("joins") or [])], strict=True):
            if not isinstance(item, exp.Table | exp.Subquery) or (join and set(_present(join)) - _JOINS):
                return None
            source = source_of(item, self.around, self.fold)
            columns = self.describe(source.probe)
            if columns is None or source.alias in inner:
                return None
            inner[source.alias] = frozenset(self.fold(c.name, True) for c in columns)
        return Names(inner, self)

    def meaning(self, identifier: exp.Identifier | None) -> str:
        return self.fold(identifier.name, bool(identifier.args.get("quoted"))) if identifier else ""

    def described(self, query: exp.Select) -> tuple[Column, ...] | None:
        """The columns of a query that may read CTEs."""
        source = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=exp.to_identifier("r")))
        return self.describe(source_of(source, self.around, self.fold).probe)


@dataclass(frozen=True)
class Names:
    """Whose columns an expression in a sub-query has. An inner name hides an outer one."""

    inner: Mapping[str, frozenset[str]]
    outer: Asker

    def are_of(self, expression: exp.Expr, *, inner: bool) -> bool:
        return all(self._is_inner(column) is inner for column in expression.find_all(exp.Column))

    def _is_inner(self, column: exp.Column) -> bool | None:
        """None for a column of neither."""
        if not isinstance(column.this, exp.Identifier) or column.args.get("db"):
            return None
        name, table = (self.outer.meaning(identifier) for identifier in _parts(column))
        if table:
            if table in self.inner:
                return True if name in self.inner[table] else None
            is_outer = table == self.outer.meaning(self.outer.name) and name in self.outer.columns
            return False if is_outer else None
        if any(name in names for names in self.inner.values()):
            return True
        return False if name in self.outer.columns else None

    def _has(self, expression: exp.Expr, *, inner: bool) -> bool:
        """Has it columns of this side, and of no other?"""
        return expression.find(exp.Column) is not None and self._is_plain(expression, inner=inner)

    def _is_plain(self, expression: exp.Expr, *, inner: bool) -> bool:
        return expression.find(exp.Query) is None and self.are_of(expression, inner=inner)

    def keys(self, condition: exp.Expression) -> Iterator[tuple[exp.Expression, exp.Expression]]:
        if isinstance(condition, exp.EQ):
            for left, right in ((condition.this, condition.expression), (condition.expression, condition.this)):
                if self._has(left, inner=True) and self._has(right, inner=False):
                    yield self.qualified(left), self.qualified(right)

    def ends(self, condition: exp.Expression) -> Iterator[tuple[exp.Expression, End]]:
        of = self.qualified(condition)
        yield from ends_of(of, lambda e: self._has(e, inner=True), lambda e: self._is_plain(e, inner=False))

    def qualified(self, expression: exp.Expression) -> exp.Expression:
        """With the name of its relation at each column."""
        return cast(exp.Expression, expression.copy().transform(self._of))

    def _of(self, node: exp.Expr) -> exp.Expr:
        is_inner = self._is_inner(node) if isinstance(node, exp.Column) else None
        if is_inner is False:
            return exp.Column(this=node.this, table=self.outer.name.copy())
        if is_inner:
            name, table = (self.outer.meaning(identifier) for identifier in _parts(node))
            alias = table or next(alias for alias, names in self.inner.items() if name in names)
            return exp.Column(this=node.this, table=exp.to_identifier(alias, quoted=True))
        return node


def _parts(column: exp.Expr) -> tuple[exp.Identifier, exp.Identifier | None]:
    return column.this, column.args.get("table")


def _present(join: exp.Join) -> Iterator[str]:
    yield from (key for key, value in join.args.items() if value)


def _conditions(asked: exp.Select, dialect: str) -> list[exp.Expression]:
    where = asked.args.get("where")
    return [cast(exp.Expression, c) for c in conjuncts(where.this.copy(), dialect)] if where else []


def sub_queries(root: exp.Expr) -> list[exp.Subquery | exp.Exists]:
    """The outermost ones that are a value: (SELECT ...) or EXISTS (...)."""
    outer = root.walk(prune=lambda n: isinstance(n, exp.Query | exp.Exists))
    found = (n for n in outer if isinstance(n, exp.Subquery | exp.Exists) and isinstance(n.this, exp.Select))
    return [n for n in found if isinstance(n, exp.Exists) or not isinstance(n.parent, _ANY_OF)]


def asker_of(item: exp.Expression, select: exp.Select, dialect: str, fold: Fold, describe: Describe) -> Asker | None:
    """None for an item of FROM without a name, that is not valid alone, or whose rows may be others the next time."""
    alias = item.args.get("alias")
    name = alias.this if alias else item.this
    source = source_of(item, select, fold) if isinstance(name, exp.Identifier) else None
    columns = describe(source.probe) if source and not varying(source.expression, dialect) else None
    if columns is None:
        return None
    names = frozenset(fold(column.name, True) for column in columns)
    return Asker(item, name, names, select, dialect, fold, describe)


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
    return all(_alike(one, other) for one, other in pairs)


def _types(rows: exp.Select, values: Sequence[exp.Expression], asker: Asker) -> list[str] | None:
    of = rows.copy().select(*(exp.alias_(v.copy(), f"c{i}") for i, v in enumerate(values)))
    columns = asker.described(of)
    return None if columns is None else [column.type.lower() for column in columns]


def _alike(one: str, other: str) -> bool:
    return one == other or any({one, other} <= family for family in (_INTEGERS, _TIMES, _TEXTS))
