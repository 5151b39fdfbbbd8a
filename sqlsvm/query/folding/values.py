"""An expression over several relations -> sums of products of factors, each over one relation.

SUM(p.score * (b.class + 1)) is the sum of p.score * b.class and p.score. A factor is 0 where it is NULL. So each
product has its value in the rows of the join where all of the expression is known, and is 0 in the others.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal, NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.joins import conjuncts
from sqlsvm.query.names import relations_in

Size = Literal["whole", "decimal", "double"]  # how a number is added up. Whole numbers and decimals are exact.


class Factor(NamedTuple):
    relation: str  # empty for a constant
    value: exp.Expression
    size: Size = "whole"


Product = tuple[Factor, ...]
ONE: Product = ()


class Value(NamedTuple):
    terms: tuple[Product, ...]
    present: Product  # 1, and 0 where it is NULL


Sizes = Callable[[exp.Expression], Size | None]  # what the database says of a value; None if it is no number


def leaves(value: exp.Expression) -> list[exp.Expression]:
    """The largest parts that use one relation, if sums and products of them make the value. Else the value itself."""
    found = _leaves(value)
    return [value] if found is None else found


def _leaves(value: exp.Expression) -> list[exp.Expression] | None:
    if len(relations_in(value)) < 2:
        return [value]
    if isinstance(value, exp.Paren | exp.Neg):
        return _leaves(value.this)
    if isinstance(value, exp.Add | exp.Sub | exp.Mul):
        left, right = _leaves(value.this), _leaves(value.expression)
        return None if left is None or right is None else [*left, *right]
    return None


def value_of(value: exp.Expression, sizes: Sizes) -> Value | None:
    """None if a part of it is no number. What `leaves` does not split is one factor."""
    if value in leaves(value):
        return _factor(value, sizes)
    one = value_of(value.this, sizes)
    if one is None or isinstance(value, exp.Paren):
        return one
    if isinstance(value, exp.Neg):
        return Value(tuple(map(_negated, one.terms)), one.present)
    other = value_of(value.expression, sizes)
    if other is None:
        return None
    present = times(one.present, other.present)
    if isinstance(value, exp.Mul):
        return Value(tuple(times(a, b) for a in one.terms for b in other.terms), present)
    right = other.terms if isinstance(value, exp.Add) else tuple(map(_negated, other.terms))
    added = (*(times(a, other.present) for a in one.terms), *(times(b, one.present) for b in right))
    return Value(added, present)


def _factor(value: exp.Expression, sizes: Sizes) -> Value | None:
    size = sizes(value)
    if size is None:
        return None
    alias = owner(value)
    number = sql.double(value.copy()) if size == "double" else value.copy()
    zero = sql.number(0) if size == "double" else sql.integer(0)
    return Value(((Factor(alias, sql.coalesce(number, zero), size),),), known(value))


def known(value: exp.Expression) -> Product:
    return truth(sql.not_null(value.copy())) if relations_in(value) or isinstance(value, exp.Null) else ONE


def truth(condition: exp.Expression) -> Product:
    """1, and 0 where it is false or NULL."""
    return (Factor(owner(condition), sql.case(condition.copy(), 1, 0)),)


def owner(value: exp.Expression) -> str:
    """A relation in whose rows the value is known: with several of them, these are joined."""
    return next(iter(relations_in(value)), "")


def times(*products: Product) -> Product:
    """Each factor that is 0 or 1 once."""
    every = [factor for product in products for factor in product]
    return tuple(f for n, f in enumerate(every) if not (isinstance(f.value, exp.Case) and f in every[:n]))


def _negated(product: Product) -> Product:
    return (Factor("", sql.integer(-1)), *product)


def size_of(product: Product) -> Size:
    order: tuple[Size, ...] = ("whole", "decimal", "double")
    return reduce(lambda a, b: max(a, b, key=order.index), (factor.size for factor in product), "whole")


# -- what a table sends to the next one on the way to the groups -------------------------------------------------------


WHOLE = exp.DataType.build("DECIMAL(38, 0)")  # for exact sums that may be larger than a BIGINT


@dataclass(frozen=True)
class Total:
    """SUM of a product over the rows of the join. Without factors it counts them."""

    product: Product = ()

    def within(self, relations: Collection[str]) -> "Total":
        return Total(tuple(factor for factor in self.product if factor.relation in relations))


@dataclass(frozen=True)
class Extreme:
    """MIN or MAX."""

    relation: str
    function: type[exp.Min | exp.Max]
    value: exp.Expression

    def within(self, relations: Collection[str]) -> "Extreme | None":
        return self if self.relation in relations else None


Carried = Total | Extreme


def summed(total: Total, value: exp.Expression) -> exp.Expression:
    """Two sums of a BIGINT could have a product that is none."""
    found = sql.total(value)
    return exp.cast(found, WHOLE) if size_of(total.product) == "whole" else found


Read = Callable[[Carried], exp.Expression]  # the column of the groups that holds something


class Aggregate(NamedTuple):
    function: type[exp.Expr]
    value: exp.Expression | None  # none for COUNT(*)
    conditions: tuple[exp.Expression, ...] = ()  # those of FILTER

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


Made = tuple[tuple[Carried, ...], Callable[[Read], exp.Expression]]  # what is carried, and the value over it


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
