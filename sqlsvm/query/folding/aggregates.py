"""An aggregate of the query -> what must be carried to its groups, and the value that it is there."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.folding.values import (
    ONE,
    Carried,
    Extreme,
    Product,
    Sizes,
    Total,
    known,
    leaves,
    owner,
    times,
    truth,
    value_of,
)
from sqlsvm.query.joins import conjuncts

Read = Callable[[Carried], exp.Expression]
"""The column of the groups that holds something."""


class Aggregate(NamedTuple):
    function: type[exp.Expr]
    value: exp.Expression | None
    """None for COUNT(*)."""
    conditions: tuple[exp.Expression, ...] = ()
    """Those of FILTER."""

    @property
    def parts(self) -> list[exp.Expression]:
        """Each must be known in the rows of one relation, or of some that are joined."""
        if self.function not in _OF_SUMS:
            return [self._conditional]
        return [*(leaves(self.value) if self.value is not None else []), *self.conditions]

    @property
    def _conditional(self) -> exp.Expression:
        """CASE WHEN the conditions THEN the value END: NULL is left out of every aggregate but COUNT(*)."""
        assert self.value is not None
        value = self.value.copy()
        return sql.case(sql.every(c.copy() for c in self.conditions), value) if self.conditions else value


Made = tuple[tuple[Carried, ...], Callable[[Read], exp.Expression]]
"""What is carried, and the value over it."""


def aggregate_of(node: exp.Expr, dialect: str) -> Aggregate | None:
    """None if it is no aggregate that can be folded."""
    conditions: tuple[exp.Expression, ...] = ()
    if isinstance(node, exp.Filter):
        found = (c for c in conjuncts(node.expression.this, dialect) if isinstance(c, exp.Expression))
        conditions, node = tuple(found), node.this
    if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
        node = node.this
    value = node.this if not isinstance(node, exp.Anonymous) else next(iter(node.expressions), None)
    function = exp.LogicalAnd if isinstance(node, exp.Anonymous) and node.name.lower() == "every" else type(node)
    if function not in _MADE or not isinstance(value, exp.Expression) or isinstance(value, exp.Distinct | exp.Order):
        return None
    if len([v for v in node.args.values() if v and not isinstance(v, bool)]) > (2 if function is exp.LogicalAnd else 1):
        return None
    return Aggregate(function, None if isinstance(value, exp.Star) else value, conditions)


def made(aggregate: Aggregate, sizes: Sizes, type_: exp.DataType) -> Made | None:
    """None if it is over values that are no numbers."""
    return _MADE[aggregate.function](aggregate, sizes, type_)


def _among(aggregate: Aggregate) -> Product:
    """1 for the rows that meet the conditions."""
    return times(*(truth(condition) for condition in aggregate.conditions))


def _count(aggregate: Aggregate, sizes: Sizes, type_: exp.DataType) -> Made | None:
    present = ONE if aggregate.value is None else times(*map(known, leaves(aggregate.value)))
    total = Total(times(_among(aggregate), present))
    return (total,), lambda read: exp.cast(sql.coalesce(read(total), 0), type_)


def _count_if(aggregate: Aggregate, sizes: Sizes, type_: exp.DataType) -> Made | None:
    assert aggregate.value is not None
    return _count(Aggregate(exp.Count, None, (*aggregate.conditions, aggregate.value)), sizes, type_)


def _from_sums(
    shown: Callable[[exp.Expression, exp.Expression], exp.Expression],
    aggregate: Aggregate,
    sizes: Sizes,
    type_: exp.DataType,
) -> Made | None:
    """`shown`: the sum and the number of rows -> the value, where there are rows."""
    assert aggregate.value is not None
    among, value = _among(aggregate), value_of(aggregate.value, sizes)
    if value is None:
        return None
    terms = [Total(times(among, term)) for term in value.terms]
    number = Total(times(among, value.present))

    def found(read: Read) -> exp.Expression:
        total = exp.cast(sql.plus(*(read(term) for term in terms)), type_)
        rows = exp.cast(read(number), type_)
        return sql.case(sql.positive(read(number)), shown(total, rows))

    return (*terms, number), found


def _extreme(aggregate: Aggregate, sizes: Sizes, type_: exp.DataType) -> Made | None:
    value = aggregate._conditional
    function = exp.Min if aggregate.function is exp.Min else exp.Max
    if type_.this is exp.DType.BOOLEAN:
        return _of_truths(function, value)
    extreme = Extreme(owner(value), function, value)
    return (extreme,), lambda read: read(extreme)


def _of_truths(function: type[exp.Min | exp.Max], value: exp.Expression) -> Made:
    extreme = Extreme(owner(value), function, sql.by_truth(exp.paren(value), 1, 0))
    return (extreme,), lambda read: sql.equal(read(extreme), 1)


_MADE: Mapping[type[exp.Expr], Callable[[Aggregate, Sizes, exp.DataType], Made | None]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: partial(_from_sums, lambda total, rows: total),
    exp.Avg: partial(_from_sums, sql.ratio),
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.AnyValue: _extreme,
    exp.LogicalAnd: lambda aggregate, sizes, type_: _of_truths(exp.Min, aggregate._conditional),
    exp.LogicalOr: lambda aggregate, sizes, type_: _of_truths(exp.Max, aggregate._conditional),
}
_OF_SUMS = exp.Count, exp.CountIf, exp.Sum, exp.Avg
