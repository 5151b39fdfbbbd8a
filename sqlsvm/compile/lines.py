"""Where the two sides of a join meet, for a loss with several pieces. Counts are exact.

The slope of the loss is u(z) = sum over its changes k of (jump_k + bend_k (z - t_k)) for z > t_k. A join row of a left
entry with the score s and a right one with s' has z = -y (s + s'). So a left entry is one *line* for each change, at
the place a = -y t_k - s, with jump = y jump_k and bend = bend_k:
    y u counts   jump + bend (a - s')   for the right entries s' below the line (y = +1), or above it (y = -1).
This is linear in what right entries have, and in what lines have. So running sums over one list of both, by place, give
    v of a left entry  = sum over its lines of        jump X0 + bend (a X0 - X1)      Xi = sum of c' s'^i on its side
    v of a right entry = sum over the lines that have it on their side of   c (jump + bend a) - c bend s'
and with the changes of another loss the sum of its values,
    sum over the lines of   c (jump (a X0 - X1) + bend (a^2 X0 - 2 a X1 + X2) / 2)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import CENTRE_TABLE, TIE, Messages, bag_name
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.solve.loss import Change, Piecewise
from sqlsvm.sql import Named

LOSS = "loss of the join"
"""The statement whose row has the sum of psi over the join."""
PSI = "psi"

ABOVE, RIGHT, BELOW = 0, 1, 2
"""The rank of a line of y = +1, of a right entry, and of a line of y = -1. In this order, no right entry at the place
of a line is on its side: there the slope of the loss is that on the left."""


@dataclass(frozen=True)
class Lines:
    """Rows count by the slope of one loss, and another one is added up: a soft pass counts by a smoothed loss. Both are
    0 before their first change."""

    counted: Piecewise
    valued: Piecewise

    def size(self, reach: float) -> tuple[float, float]:
        """What the rounding of the running sums is multiplied by: the sizes of the terms of psi and of u, for scores of
        which the root of the mean square is at most `reach` on each side: |a| + |s'| has one of at most `far`."""
        places = [abs(change.at) for loss in (self.counted, self.valued) for change in loss.changes]
        far = 2.0 * reach + abs(self.valued.origin or 0.0) + max(places)

        def slope(loss: Piecewise) -> float:
            return sum(abs(c.jump) + abs(c.bend) * far for c in loss.changes)

        return far * slope(self.valued), slope(self.counted)

    def meet(self, messages: Messages) -> Iterator[Statement]:
        """In place of `Messages.merge`."""
        keys = messages.centre_keys()
        entries = reduce(sql.union_all, [*self._lines(messages), _right(messages)])
        summed = sql.select([*_kept(keys), *_sums(keys)], sql.derived(entries, "e"))
        met = sql.select([*_kept(keys), (_v(), "v"), (_psi(), PSI)], sql.derived(summed, "e"))
        yield statement("the two sides meet", met, CENTRE_TABLE)
        for bag, tie, is_right in ((messages.left, [TIE], False), (messages.right, [], True)):
            names = sql.columns([*keys, "s", *tie])
            own = sql.grouped(names, [(sql.total(sql.column("v")), "v")], exp.to_table(CENTRE_TABLE))
            own = sql.where(own, _is(RIGHT) if is_right else exp.not_(_is(RIGHT)), exp.not_(_zero(sql.column("v"))))
            yield statement(f"values of {bag_name(messages.plan, bag)}", own, messages.values(bag))
        yield statement(LOSS, sql.select([(sql.sum_or_zero(sql.column(PSI)), PSI)], exp.to_table(CENTRE_TABLE)))

    def _lines(self, messages: Messages) -> Iterator[exp.Query]:
        """SELECT keys, s, o, a, rank, c, jump, bend, psi_jump, psi_bend, once for each change"""
        places = sorted({change.at for loss in (self.counted, self.valued) for change in loss.changes})
        y = exp.paren(sql.minus(sql.number(1), sql.product(sql.number(2), sql.column(TIE))))
        for place in places:
            at = exp.Neg(this=exp.paren(sql.plus(sql.column("s"), sql.product(y.copy(), sql.number(place)))))
            made: Named = [(at, "a"), (sql.product(sql.integer(2), sql.column(TIE)), "rank"), (sql.column("c"), "c")]
            for name, change in (("", _at(self.counted, place)), ("psi_", _at(self.valued, place))):
                made.append((sql.product(y.copy(), sql.number(change.jump)), f"{name}jump"))
                made.append((sql.number(change.bend), f"{name}bend"))
            columns = sql.columns([*messages.centre_keys(), "s", TIE])
            yield sql.select([*columns, *made], exp.to_table(messages.last(messages.left)))


def _at(loss: Piecewise, place: float) -> Change:
    return next((change for change in loss.changes if change.at == place), Change(place))


def _right(messages: Messages) -> exp.Query:
    """The right entries in the same columns."""
    none = [(sql.number(0), name) for name in ("jump", "bend", "psi_jump", "psi_bend")]
    made: Named = [(sql.integer(0), TIE), (sql.column("s"), "a"), (sql.integer(RIGHT), "rank"), (sql.column("c"), "c")]
    columns = sql.columns([*messages.centre_keys(), "s"])
    return sql.select([*columns, *made, *none], exp.to_table(messages.last(messages.right)))


def _kept(keys: Sequence[str]) -> Named:
    return sql.columns([*keys, "s", TIE, "a", "rank", "c", "jump", "bend", "psi_jump", "psi_bend"])


def _sums(keys: Sequence[str]) -> Iterator[tuple[exp.Expression, str]]:
    """x0, x1, x2 for a line, from the right entries on its side; r0 and r1 for a right entry, from the lines. What is
    above an entry is the total less what is below: one order serves both sides."""

    def below(of: exp.Expression) -> exp.Expression:
        return sql.window(sql.total(of), keys, ("a", "rank"), running=True)

    def whole(of: exp.Expression) -> exp.Expression:
        return sql.window(sql.total(of), keys)

    s, c, zero = sql.column("s"), sql.column("c"), sql.number(0)
    for power in range(3):
        sent = sql.case(_is(RIGHT), sql.product(c, *[s] * power), zero)
        yield sql.case(_is(ABOVE), below(sent), sql.minus(whole(sent.copy()), below(sent.copy()))), f"x{power}"
    height = exp.paren(sql.plus(sql.column("jump"), sql.product(sql.column("bend"), sql.column("a"))))
    for name, of_line in (("r0", height), ("r1", sql.column("bend"))):
        size = sql.product(c, of_line)
        less = sql.case(_is(ABOVE), exp.Neg(this=exp.paren(size.copy()))).when(_is(BELOW), size.copy())
        less.set("default", zero.copy())
        yield sql.plus(whole(sql.case(_is(ABOVE), size, zero)), below(less)), name


def _v() -> exp.Expression:
    """jump X0 + bend (a X0 - X1) for a line, and r0 - r1 s for a right entry."""
    x0, s = sql.column("x0"), sql.column("s")
    line = sql.plus(sql.product(sql.column("jump"), x0), sql.product(sql.column("bend"), _distances()))
    right = sql.minus(sql.column("r0"), sql.product(sql.column("r1"), s))
    return sql.case(_is(RIGHT), right, line)


def _psi() -> exp.Expression:
    """c (jump (a X0 - X1) + bend (a^2 X0 - 2 a X1 + X2) / 2); 0 for a right entry, which has neither."""
    a, x0, x1, x2 = map(sql.column, ("a", "x0", "x1", "x2"))
    squares = exp.paren(
        sql.plus(sql.product(a, exp.paren(sql.minus(sql.product(a.copy(), x0), sql.product(sql.number(2), x1)))), x2)
    )
    bent = sql.product(sql.number(0.5), sql.column("psi_bend"), squares)
    return sql.product(sql.column("c"), exp.paren(sql.plus(sql.product(sql.column("psi_jump"), _distances()), bent)))


def _distances() -> exp.Expression:
    """The sum of c' (a - s')"""
    return exp.paren(sql.minus(sql.product(sql.column("a"), sql.column("x0")), sql.column("x1")))


def _is(rank: int) -> exp.Expression:
    return sql.equal(sql.column("rank"), sql.integer(rank))


def _zero(value: exp.Expression) -> exp.Expression:
    return sql.equal(value, sql.number(0))
