"""What a compiled program is made of."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Generic, TypeVar

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.engine.base import Rows, Values
from sqlsvm.plan.parameters import THETA
from sqlsvm.solve.arrays import Array


@dataclass(frozen=True)
class Statement:
    """One named query. With `table` its rows are kept under that name for the statements after it; without, they are
    an answer for the driver. `parameters` are the names of its $1, $2, ... If it `gives`, its one row has parameters of
    the statements after it."""

    name: str
    query: exp.Query
    table: str | None = None
    parameters: tuple[str, ...] = ()
    gives: bool = False


T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Asked(Generic[T]):
    """Statements, and what their answers say. The names in an answer are known here alone: `Workspace.ask` returns what
    `read` finds in its rows. Several answers are one, with the columns of all. If it `keeps` them, the tables stay."""

    statements: Iterable[Statement]
    read: Callable[[Rows], T]
    keeps: bool = False


def asked(name: str, query: exp.Query, read: Callable[[Rows], T], before: Iterable[Statement] = ()) -> Asked[T]:
    return Asked([*before, statement(name, query)], read)


def in_row(rows: Rows) -> dict[str, float]:
    """An answer of one row: each number by its name; nan for NULL."""
    return {name: float(nan if values[0] is None else values[0]) for name, values in rows.items()}


def one_number(rows: Rows) -> float:
    """An answer of one number."""
    (found,) = in_row(rows).values()
    return found


def at_places(shape: tuple[int, ...], places: Sequence[Values], values: Values) -> Array:
    """The values at their places, which are counted from 1; 0 elsewhere."""
    found = np.zeros(shape)
    found[tuple(each.astype(int) - 1 for each in places)] = values.astype(float)
    return found


def binned(rows: Rows, of: str, bins: int) -> Array:
    """The sizes of bins from a row for each that is not empty. What lies beyond the last belongs to it."""
    return np.bincount(np.minimum(rows["bin"].astype(int), bins - 1), rows[of].astype(float), bins).astype(float)


def statement(name: str, query: exp.Query, table: str | None = None) -> Statement:
    """Numbers the named parameters of a query in the order of their first use."""
    if not query.find(exp.Placeholder):
        return Statement(name, query, table)
    query = query.copy()  # parts of a query may be shared; numbering must see each of them
    placeholders = list(query.find_all(exp.Placeholder))
    names = list(dict.fromkeys(placeholder.name for placeholder in placeholders))
    for placeholder in placeholders:
        placeholder.replace(exp.Parameter(this=sql.integer(names.index(placeholder.name) + 1)))
    return Statement(name, query, table, tuple(names))


def wanted(statements: Iterable[Statement]) -> list[Statement]:
    """The same answers without the tables that none reads."""
    left: list[Statement] = []
    read: set[str] = set()
    for each in reversed(list(statements)):
        if each.table is None or each.table in read:
            left.append(each)
            read |= {table.name for table in each.query.find_all(exp.Table)}
    return left[::-1]


def in_one(statements: Iterable[Statement]) -> list[Statement]:
    """The same answers with fewer tables: what one statement reads once becomes a part of it, and what none reads is
    left out. A table that is read twice stays, because to find its rows twice may number them differently."""
    left: list[Statement] = []
    read: dict[str, list[exp.Table]] = {}
    for each in reversed([replace(s, query=s.query.copy()) for s in wanted(statements)]):
        readers = read.pop(each.table, []) if each.table else []
        if len(readers) == 1 and not each.parameters:
            readers[0].replace(sql.derived(each.query, readers[0].alias_or_name))
        else:
            left.append(each)
        for table in each.query.find_all(exp.Table):
            read.setdefault(table.name, []).append(table)
    return left[::-1]


def theta(index: exp.Expression) -> exp.Expression:
    """The coordinate theta[index], counted from 1, of the one array parameter."""
    return sql.element(sql.array(THETA), index)
