"""What a row of the join counts in a pass over one bag, as SQL.

The residual of a row is z = o - m, where o is its origin and m = sign * score its margin. The row counts u(z), a slope
of the loss. The sums of sign u x and of u o - psi*(u) make a cut, a plane that is nowhere above the objective; psi* is
the conjugate of the loss. If u is not the slope of the loss at z, the cut misses something at its own beta too: the
shortfall.

A pass keeps the rows that count, with c = sign * w * u, and adds up what the cut is made of. Another loss is another
`Weighting`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.resolve import COUNT
from sqlsvm.plan.parameters import WIDTH
from sqlsvm.solve.loss import Logistic, Loss, Piece, Piecewise
from sqlsvm.sql import Named

OFFSET = "b"
SHORTFALL = "blur"
SIZE = "a"


@dataclass(frozen=True)
class Residual:
    """z = origin - margin."""

    origin: exp.Expression
    margin: exp.Expression

    def negated(self) -> exp.Expression:
        return sql.minus(self.margin, self.origin)

    def past(self, at: float) -> exp.Expression:
        """z - at"""
        return sql.minus(self._before(at), self.margin)

    def above(self, at: float) -> exp.Expression:
        """z > at"""
        return sql.less(self.margin, self._before(at))

    def is_number(self) -> exp.Expression:
        """PostgreSQL and DuckDB have NaN above all numbers."""
        return sql.less(self.margin, inf)

    def _before(self, at: float) -> exp.Expression:
        return sql.minus(self.origin, sql.number(at)) if at else self.origin


class Weighting:
    once = True  # is the margin read several times, so that it is to be computed once?

    def counts(self, z: Residual) -> exp.Expression:
        """Is u other than 0? A row without a partner may have the margin NaN, which no number is above."""
        return z.is_number()

    def value(self, z: Residual) -> list[exp.Expression]:
        """u, as factors; none where it is 1."""
        return []

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        """What `totals` reads of a row that counts apart from c, from its residual and its weight if it has one."""
        return [(weight, "w")] if weight else []

    def totals(self, weighted: bool, origin: exp.Expression) -> Named:
        """What is added up over the rows r that count: the offset of the cut, and the shortfall if there is one.
        `origin` is that of a row."""
        return [(_size(), OFFSET)]


@dataclass(frozen=True)
class Step(Weighting):
    """u = 1 for z > 0 and 0 elsewhere; not strict: for z >= 0."""

    strict: bool = True
    once = False

    def counts(self, z: Residual) -> exp.Expression:
        below = exp.LT if self.strict else exp.LTE
        return below(this=z.margin, expression=z.origin)

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        return []


STEP = Step()


@dataclass(frozen=True)
class Ramp(Weighting):
    """u rises from 0 at z = -width to 1 at z = width. It is a slope that max(0, z) has, only not that at z."""

    width: exp.Expression = field(default_factory=lambda: sql.parameter(WIDTH))

    def counts(self, z: Residual) -> exp.Expression:
        return sql.less(z.negated(), self.width)

    def value(self, z: Residual) -> list[exp.Expression]:
        """(1 - -z / width) / 2, at most 1"""
        return [sql.least(sql.product(0.5, sql.minus(1.0, sql.ratio(z.negated(), self.width))), 1.0)]

    def totals(self, weighted: bool, origin: exp.Expression) -> Named:
        """The shortfall max(0, z) - u z is |z| (1 - |z| / width) / 2 within the width. There |z| / width is |2 u - 1|,
        so the row does not have to be scored again."""
        weights = [sql.double(sql.column("w", "r"))] if weighted else []
        within = exp.Abs(this=sql.minus(sql.product(2.0, _slope_of(weighted)), 1.0))
        shortfall = sql.product(0.5, self.width, *weights, within, sql.minus(1.0, within))
        return [*super().totals(weighted, origin), (shortfall, SHORTFALL)]


@dataclass(frozen=True)
class BySlope(Weighting):
    """u = psi'(z). A row that counts has u in its c, and psi*(u) is computed from there."""

    loss: Loss

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        """u itself only where c does not tell, because its sign is that of the row too."""
        weights = super().kept(z, weight)
        return [*weights, (sql.product(*self.value(z)), "u")] if self.signed else weights

    @property
    def signed(self) -> bool:
        return self.loss.slopes[0] < 0.0

    def totals(self, weighted: bool, origin: exp.Expression) -> Named:
        """The sum of w (u o - psi*(u))"""
        u = sql.column("u", "r") if self.signed else _slope_of(weighted)
        value = sql.minus(sql.product(u, origin), self.conjugate(u))
        weights = [sql.double(sql.column("w", "r"))] if weighted else []
        return [(sql.product(*weights, value), OFFSET)]

    def conjugate(self, u: exp.Expression) -> exp.Expression:
        """psi*(u)"""
        raise NotImplementedError


@dataclass(frozen=True)
class ByPiece(BySlope):
    """Of a loss that is linear or quadratic on a few pieces."""

    loss: Piecewise

    @property
    def counted(self) -> Piecewise:
        """The loss whose slope a row counts."""
        return self.loss

    def counts(self, z: Residual) -> exp.Expression:
        """Not where psi is 0."""
        if self._zero is None:
            return z.is_number()
        before, after = self.counted.changes[: self._zero][-1:], self.counted.changes[self._zero :][:1]
        sides = [sql.every([exp.not_(z.above(change.at)), z.is_number()]) for change in before]
        return exp.paren(sql.either([*sides, *(z.above(change.at) for change in after)]))

    @property
    def _zero(self) -> int | None:
        """The piece where psi is 0."""
        pieces = enumerate(self.counted.pieces)
        return next((i for i, piece in pieces if not (piece.value or piece.slope or piece.bend)), None)

    def value(self, z: Residual) -> list[exp.Expression]:
        def u(piece: Piece) -> exp.Expression:
            return _line(piece.slope, piece.bend, z.past(piece.at))

        return [_by_piece(self.counted, [i != self._zero for i in range(len(self.counted.pieces))], z.above, u)]

    def conjugate(self, u: exp.Expression) -> exp.Expression:
        """Of slopes that psi has."""
        dual, (lowest, highest) = self.loss.dual, self.loss.slopes
        ends = [-inf, *(change.at for change in dual.changes), inf]
        reached = [max(low, lowest) < min(high, highest) for low, high in pairwise(ends)]

        def above(at: float) -> exp.Expression:
            return sql.more(u, sql.number(at))

        def value(piece: Piece) -> exp.Expression:
            return _value(piece, sql.minus(u, sql.number(piece.at)) if piece.at else u)

        return exp.paren(_by_piece(dual, reached, above, value))


@dataclass(frozen=True)
class Smoothed(ByPiece):
    """Rows count by the slope of the smoothed loss, which is one that the loss itself has, only not at z."""

    width: float

    @property
    def counted(self) -> Piecewise:
        return self.loss.smoothed(self.width)

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        """The shortfall psi(z) - (u z - psi*(u)) as well; where u is 0, psi is least and falls short of nothing."""
        (u,), at = self.value(z), z.past(0.0)
        value = exp.paren(
            _by_piece(self.loss, [True] * len(self.loss.pieces), z.above, lambda p: _value(p, z.past(p.at)))
        )
        line = sql.minus(sql.product(u, at), self.conjugate(exp.paren(u)))
        factors = [sql.double(weight)] if weight else []
        return [*super().kept(z, weight), (sql.product(*factors, sql.minus(value, line)), SHORTFALL)]

    def totals(self, weighted: bool, origin: exp.Expression) -> Named:
        return [*super().totals(weighted, origin), (sql.column(SHORTFALL, "r"), SHORTFALL)]


@dataclass(frozen=True)
class Sigmoid(BySlope):
    """u = 1 / (1 + exp(-z)), the slope of log(1 + exp(z))."""

    def value(self, z: Residual) -> list[exp.Expression]:
        return [sql.ratio(1.0, sql.plus(1.0, exp.Exp(this=_within(z))))]

    def kept(self, z: Residual, weight: exp.Expression | None) -> Named:
        """|z| too: psi*(u) takes one logarithm with it, and two without."""
        return [*super().kept(z, weight), (exp.Abs(this=_within(z)), SIZE)]

    def conjugate(self, u: exp.Expression) -> exp.Expression:
        """u log u + (1 - u) log(1 - u) is log(1 - s) - s |z|, where s is the smaller one of u and 1 - u"""
        s = sql.least(u, sql.minus(1.0, u))
        return sql.minus(exp.Ln(this=sql.minus(1.0, s)), sql.product(s, sql.column(SIZE, "r")))


FARTHEST = 700.0  # in PostgreSQL, the exponential of a smaller number than its negative is an underflow


def _within(z: Residual) -> exp.Expression:
    return sql.greatest(sql.least(z.negated(), sql.number(FARTHEST)), sql.number(-FARTHEST))


def _by_piece(
    loss: Piecewise,
    reached: Sequence[bool],
    above: Callable[[float], exp.Expression],
    of: Callable[[Piece], exp.Expression],
) -> exp.Expression:
    """CASE WHEN above the end of a piece THEN the next ... ELSE of(piece) END, for the pieces that are reached."""
    pieces = [piece for piece, wanted in zip(loss.pieces, reached, strict=True) if wanted]
    ends = [end for end, wanted in zip([*(change.at for change in loss.changes), inf], reached, strict=True) if wanted]
    made = of(pieces[-1])
    for piece, end in reversed([*zip(pieces[:-1], ends[:-1], strict=True)]):
        made = sql.case(above(end), made, of(piece))
    return made


def _value(piece: Piece, d: exp.Expression) -> exp.Expression:
    """value + (slope + bend d / 2) d"""
    rise = sql.product(_line(piece.slope, piece.bend / 2.0, d), d)
    return sql.plus(sql.number(piece.value), rise) if piece.value else rise


def _line(start: float, bend: float, d: exp.Expression) -> exp.Expression:
    """start + bend d"""
    if not bend:
        return sql.number(start)
    steep = sql.product(sql.number(bend), d)
    return exp.paren(sql.plus(sql.number(start), steep) if start else steep)


def weighting_of(loss: Loss, width: float = 0.0) -> Weighting:
    """How a pass over one bag counts for this loss. That of a soft pass with the hinge has the width as a parameter."""
    if isinstance(loss, Logistic):
        return Sigmoid(loss)
    assert isinstance(loss, Piecewise)
    if loss.is_step:
        return Ramp() if width else STEP
    return Smoothed(loss, width) if width else ByPiece(loss)


def _slope_of(weighted: bool) -> exp.Expression:
    """u, which is not below 0 here, from c and the weight. A row of weight 0 adds 0: a group may have no other rows."""
    if not weighted:
        return _size()
    weight = exp.Nullif(this=sql.double(sql.column("w", "r")), expression=sql.number(0))
    return sql.or_zero(sql.ratio(_size(), weight))


def _size() -> exp.Expression:
    """w u = |c|. With psi* = 0 and the origin 1 it is also what the row adds to the offset."""
    return exp.Abs(this=sql.column(COUNT, "r"))
