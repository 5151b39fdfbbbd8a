"""What a row of the join counts in a pass over one bag, as SQL.

The residual of a row is z = o - m, where o is its origin and m = sign * score its margin. The row counts u(z), a slope
of the loss. The sums of sign u x and of u o - psi*(u) make a cut, a plane that is nowhere above the objective; psi* is
the conjugate of the loss. If u is not the slope of the loss at z, the cut misses something at its own beta too: the
shortfall.

A pass keeps the rows that count, with c = sign * w * u, and adds up what the cut is made of. Another loss is another
`Weighting`.
"""

from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.resolve import COUNT
from sqlsvm.plan.parameters import WIDTH
from sqlsvm.sql import Named

OFFSET = "b"
SHORTFALL = "blur"


@dataclass(frozen=True)
class Residual:
    """z = origin - margin."""

    origin: exp.Expression
    margin: exp.Expression

    def negated(self) -> exp.Expression:
        return exp.paren(sql.minus(self.margin, self.origin))


class Weighting(Protocol):
    def counts(self, z: Residual) -> exp.Expression:
        """Is u other than 0?"""

    def value(self, z: Residual) -> list[exp.Expression]:
        """u, as factors; none where it is 1."""

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        """What `totals` reads of a row that counts apart from c, from its residual and its weight if it has one."""

    def totals(self, weighted: bool) -> Named:
        """What is added up over the rows r that count: the offset of the cut, and the shortfall if there is one."""


@dataclass(frozen=True)
class Step:
    """u = 1 for z > 0 and 0 elsewhere; not strict: for z >= 0."""

    strict: bool = True

    def counts(self, z: Residual) -> exp.Expression:
        below = exp.LT if self.strict else exp.LTE
        return below(this=z.margin, expression=z.origin)

    def value(self, z: Residual) -> list[exp.Expression]:
        return []

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        return []

    def totals(self, weighted: bool) -> Named:
        return [(_size(), OFFSET)]


STEP = Step()


@dataclass(frozen=True)
class Ramp:
    """u rises from 0 at z = -width to 1 at z = width. It is a slope that max(0, z) has, only not that at z."""

    def counts(self, z: Residual) -> exp.Expression:
        return exp.LT(this=z.negated(), expression=sql.parameter(WIDTH))

    def value(self, z: Residual) -> list[exp.Expression]:
        """(1 - -z / width) / 2, at most 1"""
        rest = sql.minus(sql.number(1), exp.Div(this=z.negated(), expression=sql.parameter(WIDTH)))
        share = sql.product(sql.number(0.5), exp.paren(rest))
        return [exp.Least(this=share, expressions=[sql.number(1)])]

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        return [(weight, "w")] if weight else []

    def totals(self, weighted: bool) -> Named:
        """The shortfall max(0, z) - u z is |z| (1 - |z| / width) / 2 within the width. There |z| / width is |2 u - 1|,
        so the row does not have to be scored again."""
        weights = [sql.double(sql.column("w", "r"))] if weighted else []
        u = _size()
        if weights:
            u = exp.Div(this=u, expression=exp.Nullif(this=weights[0].copy(), expression=sql.number(0)))
        within = exp.Abs(this=sql.minus(sql.product(sql.number(2), u), sql.number(1)))
        rest = exp.paren(sql.minus(sql.number(1), within))
        shortfall = sql.product(sql.number(0.5), sql.parameter(WIDTH), *weights, within.copy(), rest)
        return [(_size(), OFFSET), (shortfall, SHORTFALL)]


def _size() -> exp.Expression:
    """w u = |c|. With psi* = 0 and the origin 1 it is also what the row adds to the offset."""
    return exp.Abs(this=sql.column(COUNT, "r"))
