"""Where the two sides of a join meet, for a loss with several pieces.

The slope u(z) of the loss is a sum over places t: beyond each, u0 + u1 d is added, where d = |z - t|. Beyond is above,
or for the falling arm at t and below. A join row of a left entry with the score s and a right one with s' has
z = -y (s + s'). So a left entry is one *line* for each of the places, at a = -y t - s. Right entries are beyond it on
one side in the order of s', and there d = side (a - s'), with side +1 if s' is before the line and -1 if it is after.
What a join row adds is linear in what right entries have, and in what lines have. So running sums over one list of
both, by place, give what y u adds up to,
    v of a left entry  = sum over its lines of   y u0 X0 + side y u1 (a X0 - X1)      Xi = sum of c' s'^i beyond it
    v of a right entry = sum over the lines that it is beyond of   c (y u0 + side y u1 a) - c side y u1 s'
and for functions that are added up, such as psi*(u),
    sum over the lines of   c (q0 X0 + side q1 (a X0 - X1) + q2 (a^2 X0 - 2 a X1 + X2) / 2)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import CENTRE_TABLE, TIE, Messages, bag_name
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.parameters import BUCKETS
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Change, Piecewise
from sqlsvm.solve.loss.arms import Parts, Side, Terms, bends, conjugates, slopes, split_of, values
from sqlsvm.sql import Named

ADDED = "functions of the join"  # the statement with the sums over the join, less what they are where psi is least
U, PSI, CONJUGATE, BEND = "u", "psi", "dual", "bend"
RESTS = "squares of what was rounded away"  # the statement whose row has their sum over the join

BEFORE, RIGHT = 0, 1
"""The rank of a line of y = +1 and of a right entry. That of a line of y = -1 is 2. In this order, a join row at the
place of a line is not above it: there the slope of the loss is that on the left."""
NEITHER = 0  # the side of a right entry, which has no lines
SLIGHT = 0.1  # what a smaller change of the second derivative may do is bounded as if all rows were at that place


@dataclass(frozen=True)
class Lines:
    """A join row counts the slope u of `counted`, and the cut is one of `loss`. A soft pass counts by a smoothed loss.
    Then psi is added up too. If scores are rounded, it is psi'', for what that may change."""

    counted: Piecewise
    loss: Piecewise
    rounded: bool = False

    @cached_property
    def slopes(self) -> Mapping[Side, Terms]:
        return slopes(self.counted).arms(self._split, 0.0)

    @cached_property
    def added(self) -> Mapping[str, Mapping[Side, Terms]]:
        """By name, the functions that are added up and are more than their constant."""
        found = {CONJUGATE: conjugates(self.loss, self.counted).arms(self._split, self.constants[CONJUGATE])}
        if self.counted != self.loss:
            found[PSI] = values(self.loss).arms(self._split, self.constants[PSI])
        if self.rounded:
            found[BEND] = bends(self.loss).arms(self._split, 0.0)
        return {name: arms for name, arms in found.items() if arms}

    @cached_property
    def constants(self) -> Mapping[str, float]:
        """psi where the split is, and psi*(0)."""
        psi, least = self.loss.value(np.array([self._split, split_of(self.loss)]))
        return {PSI: float(psi), CONJUGATE: -float(least)}

    @cached_property
    def _split(self) -> float:
        return split_of(self.counted)

    def size(self, reach: float, origin: float) -> tuple[float, float]:
        """What the rounding of the running sums is multiplied by: the sizes of the terms of the functions and of u, for
        scores whose root mean square is at most `reach` on each side, and origins with one of `origin`: |a| + |s'| has
        one of at most `far`."""
        far = 2.0 * reach + origin + self.farthest
        others, u = (float(np.polyval(sizes[::-1], far)) for sizes in self.sizes)
        return others, u

    @cached_property
    def farthest(self) -> float:
        """The place that is furthest from 0."""
        return max(abs(at) for each in (self.slopes, *self.added.values()) for at, _ in each)

    @cached_property
    def sizes(self) -> tuple[Array, Array]:
        """The sizes of the terms of all functions, and of u: what 1, `far` and its square are multiplied by."""
        others = [_sizes(each) for each in self.added.values()]
        return np.sum([np.zeros(3), *others], axis=0), _sizes(self.slopes)

    def meet(self, messages: Messages) -> Iterator[Statement]:
        """In place of `Messages.merge`."""
        yield from Meeting(self, messages).statements()

    # -- on the grid

    @cached_property
    def sharp(self) -> Sequence[Change]:
        """The changes near which it is counted how many residuals there are."""
        return [change for change in self.loss.changes if change.jump or abs(change.bend) > SLIGHT]

    def near(self, messages: Messages, reach: int, name: str) -> Iterator[Statement]:
        """SELECT at, z, how many join rows c and what rounding has left, for residuals z, in buckets, that it may have
        taken past a change at `at`."""
        if self.sharp:
            yield Meeting(self, messages).near(reach, name)
        if BEND in self.added:
            yield statement(RESTS, messages.rests_of_all())


def _sizes(arms: Mapping[Side, Terms]) -> Array:
    found: Array = np.abs(np.reshape([*arms.values()], (-1, 3))).sum(axis=0)
    return found


@dataclass(frozen=True)
class Given:
    """In place of `Lines`: what a row counts is given."""

    parts: Parts
    sharp: Sequence[Change] = ()

    @property
    def slopes(self) -> Mapping[Side, Terms]:
        return self.parts.arms(self.parts.ends[len(self.parts.ends) // 2], 0.0)

    @property
    def added(self) -> Mapping[str, Mapping[Side, Terms]]:
        return {}


@dataclass(frozen=True)
class Meeting:
    lines: Lines | Given
    messages: Messages
    one_sided: bool = False  # is the value of right entries of no use?
    only: exp.Expression | None = None  # which left entries have lines, if not all

    def statements(self) -> Iterator[Statement]:
        messages, keys, tie = self.messages, self._keys, [TIE] if self._tied else []
        entries = reduce(sql.union_all, [*self._left(), self._right()])
        columns = sql.columns([*keys, "s", *tie, "a", "rank", "side", "c", *self._terms])
        summed = sql.select([*columns, *self._sums()], sql.derived(entries, "e"))
        added = [(sql.product("c", self._over_lines(name)), name) for name in self.lines.added]
        met = sql.select([*sql.columns([*keys, "s", *tie, "side"]), (self._v(), "v"), *added], sql.derived(summed, "e"))
        yield statement("the two sides meet", met, CENTRE_TABLE)
        right = [] if self.one_sided else [(messages.right, sql.columns([]), True)]
        for bag, carried, is_right in [(messages.left, sql.columns(tie), False), *right]:
            names = [*sql.columns([*keys, "s"]), *carried]
            own = sql.grouped(names, sql.totals(["v"]), sql.table(CENTRE_TABLE))
            own = sql.where(own, _is(NEITHER) if is_right else exp.not_(_is(NEITHER)), exp.not_(sql.equal("v", 0.0)))
            if place := messages.place_of(bag, len(messages.meetings(bag)), names):
                own = sql.select([*names, *place, (sql.column("v"), "v")], sql.derived(own, "e"))
            yield statement(f"values of {bag_name(messages.plan, bag)}", own, messages.values(bag))
        if added:
            totals = [(sql.sum_or_zero(name), name) for name in self.lines.added]
            yield statement(ADDED, sql.select(totals, sql.table(CENTRE_TABLE)))

    def near(self, reach: int, name: str) -> Statement:
        each: list[exp.Query] = []
        for change in self.lines.sharp:
            bucket = exp.Floor(this=sql.product(sql.number(change.at), sql.parameter(BUCKETS)))
            for i in range(-reach, reach + 2):
                z = exp.cast(sql.plus(bucket, i), exp.DType.BIGINT)
                each.append(sql.select([(sql.number(change.at), "at"), (z, "z")]))
        return self.messages.near(name, each, _sign("l") if self._tied else None)

    # -- the list

    @cached_property
    def _keys(self) -> list[str]:
        return self.messages.centre_keys()

    @cached_property
    def _tied(self) -> bool:
        """Do left entries say their sign? If not, it is +1."""
        return self.messages.tied(self.messages.left, len(self.messages.meetings(self.messages.left)))

    @cached_property
    def _terms(self) -> Mapping[str, Mapping[Side, float]]:
        """The columns for u0, u1 and so on, if they are not 0 on all lines."""
        arms = {U: self.lines.slopes, **self.lines.added}
        named = {f"{of}{i}": {at: t[i] for at, t in each.items()} for of, each in arms.items() for i in range(3)}
        return {name: by_side for name, by_side in named.items() if any(by_side.values())}

    def _left(self) -> Iterator[exp.Query]:
        """SELECT keys, s, o, a, rank, side, c, terms, once for each line of an entry"""
        rank = sql.product(2, TIE) if self._tied else sql.integer(BEFORE)
        y = [sql.double(_sign())] if self._tied else []
        for at, direction in sorted({side for by_side in self._terms.values() for side in by_side}):
            place = sql.plus(self._score(), sql.product(*y, sql.number(at)))
            side = sql.product(*([_sign()] if self._tied else []), direction)
            made: Named = [(sql.negated(place), "a"), (rank, "rank"), (side, "side"), (sql.column("c"), "c")]
            for name, by_side in self._terms.items():
                value = by_side.get((at, direction), 0.0) * (direction if name.endswith("1") else 1)
                signs = y if name.startswith(U) != name.endswith("1") else []
                made.append((sql.product(*signs, sql.number(value)), name))
            columns = sql.columns([*self._keys, "s", *([TIE] if self._tied else [])])
            rows = sql.select([*columns, *made], sql.table(self.messages.last(self.messages.left)))
            yield sql.where(rows, *([self.only] if self.only else []))

    def _right(self) -> exp.Query:
        """The right entries in the same columns."""
        tie: Named = [(sql.integer(0), TIE)] if self._tied else []
        made: Named = [(self._score(), "a"), (sql.integer(RIGHT), "rank"), (sql.integer(NEITHER), "side")]
        none: Named = [(sql.column("c"), "c"), *((sql.number(0), name) for name in self._terms)]
        columns = sql.columns([*self._keys, "s"])
        return sql.select([*columns, *tie, *made, *none], sql.table(self.messages.last(self.messages.right)))

    def _score(self) -> exp.Expression:
        """On the grid, s is in buckets."""
        s, exact = sql.column("s"), self.messages.plan.method == "exact"
        return s if exact else sql.ratio(sql.double(s), sql.parameter(BUCKETS))

    # -- running sums over it

    def _sums(self) -> Iterator[tuple[exp.Expression, str]]:
        """x0, x1, x2 for a line, from the right entries beyond it; r0 and r1 for a right entry, from the lines that it
        is beyond. What is after an entry is the total less what is before: one order serves both sides."""
        c, zero = sql.column("c"), sql.number(0)
        for power in range(1 + max(int(name[-1]) for name in self._terms)):
            sent = sql.case(_is(NEITHER), sql.product(c, *[sql.column("a")] * power), zero)
            after = sql.minus(self._whole(sent), self._before(sent))
            yield sql.case(_is(1), self._before(sent), after), f"x{power}"
        if self.one_sided:
            return
        height, steep = ([n for n in self._terms if n == f"{U}{i}"] for i in range(2))
        r0 = sql.plus(*height, *(sql.product(slope, "a") for slope in steep))
        for name, size in [("r0", sql.product(c, r0)), *(("r1", sql.product(c, slope)) for slope in steep)]:
            less = sql.case(_is(1), sql.negated(size), zero).when(_is(-1), size, copy=False)
            yield sql.plus(self._whole(sql.case(_is(1), size, zero)), self._before(less)), name

    def _before(self, of: exp.Expression) -> exp.Expression:
        return sql.window(sql.total(of), self._keys, ("a", "rank"), running=True)

    def _whole(self, of: exp.Expression) -> exp.Expression:
        return sql.window(sql.total(of), self._keys)

    def _v(self) -> exp.Expression:
        """u0 X0 + u1 (a X0 - X1) for a line, and r0 - r1 a for a right entry."""
        if self.one_sided:
            return self._over_lines(U)
        steep = [sql.negated(sql.product("r1", "a"))] if f"{U}1" in self._terms else []
        return sql.case(_is(NEITHER), sql.plus("r0", *steep), exp.paren(self._over_lines(U)))

    def _over_lines(self, of: str) -> exp.Expression:
        """q0 X0 + q1 (a X0 - X1) + q2 (a^2 X0 - 2 a X1 + X2) / 2"""
        a, x0, x1, x2 = map(sql.column, ("a", "x0", "x1", "x2"))
        along = sql.product(a, x0)
        squares = sql.plus(sql.product(a, sql.minus(along, sql.product(2.0, x1))), x2)
        factors: list[list[sql.Operand]] = [[x0], [sql.minus(along, x1)], [0.5, squares]]
        return sql.plus(*(sql.product(f"{of}{i}", *f) for i, f in enumerate(factors) if f"{of}{i}" in self._terms))


def _sign(of: str | None = None) -> exp.Expression:
    """y of a left entry, from its o"""
    return sql.minus(1, sql.product(2, sql.column(TIE, of)))


def _is(side: int) -> exp.Expression:
    return sql.equal("side", side)
