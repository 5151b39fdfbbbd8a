"""Working tables of a session that makes none: each is a CTE of the statements that read it.

    CREATE TEMPORARY TABLE sqlsvm_n0 AS SELECT d.v FROM sqlsvm_d0 AS d; SELECT SUM(v) FROM sqlsvm_n0
    WITH sqlsvm_d0 AS (...), sqlsvm_n0 AS (SELECT d.v FROM sqlsvm_d0 AS d) SELECT SUM(v) FROM sqlsvm_n0

So each statement computes anew what it reads. What is computed once for all statements of a pass must be asked for in
one statement, which `together` makes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from numbers import Integral, Real
from typing import Any

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Parameters


@dataclass(frozen=True, eq=False)
class Kept:
    """A working table as a query, with what it reads."""

    name: str
    query: exp.Query
    reads: tuple["Kept", ...]

    @property
    def cte(self) -> exp.CTE:
        return exp.CTE(this=self.query.copy(), alias=exp.TableAlias(this=exp.to_identifier(self.name)))


class Inlined:
    """The queries that replace the temporary tables of one session."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    def keep(self, name: str, query: exp.Query, values: Parameters) -> None:
        """A table may be dropped and made again while another one still needs its rows: then it has another name."""
        taken = {kept.name for kept in _closed(self._kept.values())}
        free = next(each for each in chain([name], (f"{name}_{n}" for n in count(2))) if each not in taken)
        found, reads = self._reading(valued(query, values))
        self._kept[name] = Kept(free, found, reads)

    def forget(self, name: str) -> None:
        self._kept.pop(name, None)

    def placed(self, statement: exp.Expr) -> exp.Expr:
        """The statement with a CTE for each working table that it needs."""
        if not any(self._names(node) for node in statement.find_all(exp.Table)):
            return statement
        statement = statement.copy()
        query = statement.find(exp.Select, exp.SetOperation)
        if query is None:  # the name of a table alone
            return statement
        found, reads = self._reading(query)
        own = found.args.get("with_") or exp.With(expressions=[])
        own.set("expressions", [*(kept.cte for kept in _closed(reads)), *own.expressions])
        found.set("with_", own)
        if query is statement:
            return found
        query.replace(found)
        return statement

    def whole(self, asked: Iterable[tuple[exp.Query, Parameters]]) -> exp.Query:
        """The one statement that asks these, however wide its answer is."""
        found = self.placed(together(valued(query, values) for query, values in asked))
        assert isinstance(found, exp.Query)
        return found

    def _names(self, node: exp.Table) -> bool:
        return not node.db and not node.this.args.get("quoted") and node.name in self._kept

    def _reading(self, query: exp.Query) -> tuple[exp.Query, tuple[Kept, ...]]:
        """A copy that reads what is kept now, and what that is."""
        query, reads = query.copy(), {}
        for node in list(query.find_all(exp.Table)):
            if not self._names(node):
                continue
            kept = reads[node.name] = self._kept[node.name]
            if kept.name != node.name:
                if not node.args.get("alias"):
                    node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name)))
                node.set("this", exp.to_identifier(kept.name))
        return query, tuple(reads.values())


def _closed(kept: Iterable[Kept]) -> list[Kept]:
    """These and all that they read, each after what it reads."""
    found: dict[int, Kept] = {}

    def add(each: Kept) -> None:
        if id(each) not in found:
            for read in each.reads:
                add(read)
            found[id(each)] = each

    for each in kept:
        add(each)
    return list(found.values())


def valued(query: exp.Query, values: Parameters) -> exp.Query:
    """The query with its parameters as constants. An element of an array is one number: many need not repeat it."""

    def constant(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Parameter):
            return _constant(values[int(node.name) - 1])
        if isinstance(node, exp.Bracket) and isinstance(place := node.expressions[0], exp.Literal):
            array = node.this.unnest()
            if isinstance(array, exp.Cast) and isinstance(array.this, exp.Parameter):
                whole: Any = values[int(array.this.name) - 1]
                return _constant(whole[int(place.name) - 1])
        return node

    found = query.transform(constant)
    assert isinstance(found, exp.Query)
    return found


def _constant(value: object) -> exp.Expression:
    """A double keeps all its digits."""
    match value:
        case exp.Expression():
            return value.copy()
        case bool() | np.bool_():
            return exp.Boolean(this=bool(value))
        case Integral():
            return sql.integer(int(value))
        case Real():
            return sql.double(exp.Literal.string(repr(float(value))))
        case np.ndarray() if value.dtype.kind in "biuf":
            digits = ",".join(map(repr, value.astype(float).ravel().tolist()))
            return exp.cast(exp.Literal.string(f"{{{digits}}}"), exp.DataType.build("double[]"))
    raise AssertionError(value)


def together(queries: Iterable[exp.Query]) -> exp.Select:
    """One row that holds all columns of several queries in their order, each as an array."""
    made = exp.select("*")
    for place, query in enumerate(queries):
        columns = sql.columns(f"c{n}" for n in range(len(query.named_selects)))
        rows = query.subquery(copy=False)
        rows.set("alias", exp.TableAlias(this=exp.to_identifier("r"), columns=[c.this for c, _ in columns]))
        listed = [(sql.coalesce(exp.ArrayAgg(this=c), exp.Literal.string("{}")), name) for c, name in columns]
        one = sql.derived(sql.select(listed, rows), f"a{place}")
        made = made.join(one, join_type="cross", copy=False) if place else made.from_(one, copy=False)
    return made


def batches(asked: Iterable[tuple[exp.Query, Parameters]]) -> Iterator[list[exp.Query]]:
    """Queries with their values, as many at a time as have columns for one row."""
    batch: list[exp.Query] = []
    for query, values in asked:
        if batch and sum(len(q.named_selects) for q in [*batch, query]) > sql.WIDEST:
            yield batch
            batch = []
        batch.append(valued(query, values))
    if batch:
        yield batch
