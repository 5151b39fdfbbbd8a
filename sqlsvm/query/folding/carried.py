"""What a table sends to the next one on the way to the groups: sums of products, and extremes."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.query.folding.values import Product, size_of

WHOLE = exp.DataType.build("DECIMAL(38, 0)")
"""For exact sums that may be larger than a BIGINT."""


@dataclass(frozen=True)
class Total:
    """SUM of a product over the rows of the join. Without factors it counts them."""

    product: Product = ()

    def within(self, relations: Collection[str]) -> "Total":
        return Total(tuple(factor for factor in self.product if factor.relation in relations))

    @property
    def is_whole(self) -> bool:
        return size_of(self.product) == "whole"


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
    return exp.cast(found, WHOLE) if total.is_whole else found
