"""Scores before counting, counts after it: from the rows of each bag to its states, and back to its rows.

A tally is signed, over both labels at once with y in the score's shift, or of one label, given as a parameter: then the
label's rows are filtered, theta comes multiplied by the label, and a row counts iff label * score < bound.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import (
    PLACE,
    REST,
    TIE,
    Messages,
    link_keys,
    place,
    scored_rows,
    scored_table,
    tie_of,
    value_table,
)
from sqlsvm.compile.prepare import Name, codes_table, key, link_key
from sqlsvm.compile.resolve import COUNT
from sqlsvm.compile.scores import Bend, Scoring, carried, fold_keys, straight, value_columns, weight_of
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.weighting import STEP, Residual, Weighting
from sqlsvm.plan.parameters import BUCKETS
from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

active_table: Name = "sqlsvm_a{}".format  # the rows of a core that are part of a counted join row, with the count c


def active_rows(bag: int) -> exp.Expr:
    return sql.table(active_table(bag), "r")


LARGEST_BUCKET = 2.0**19 - 1
"""Sums of sixteen buckets fit into what `messages.place` leaves for them. A score that is further out is counted as if
it were there: what that rounds away is measured, as all rounding is."""

MIDDLE = 0.5  # of a bucket, where a score stands that is rounded down so that a total of 0 is where a bucket ends


def bucket_of(p: exp.Expression, *, down: bool) -> exp.Expression:
    """A score in whole buckets, as a double: the nearest one, or the one below, which leaves room for the next."""
    exact, largest = sql.product(p, sql.parameter(BUCKETS)), LARGEST_BUCKET
    whole, top = (exp.Floor(this=exact), largest - 1) if down else (sql.rounded(exact), largest)
    return sql.greatest(sql.least(whole, sql.number(top)), sql.number(-largest))


def rounding_name(bag: Bag) -> str:
    return f"rounding {bag.number}"


def rounding(plan: Plan, bag: Bag) -> Statement:
    """The largest rounding error of a bag, in buckets: one half at most, or one if it is shared. Scores that are whole
    numbers of buckets have none, or one half if they are rounded down."""
    error, rows = exp.Abs(this=sql.column(REST)), scored_rows(plan, bag.number, [REST])
    return statement(rounding_name(bag), sql.select([(sql.or_zero(sql.largest(error)), "error")], rows))


def counted_score(plan: Plan, bag: Bag) -> exp.Expression:
    """The score; where the label is a number, less that."""
    p, target = sql.column("p"), plan.design.target
    if target.signed or plan.label_node not in bag.nodes:
        return p
    return sql.minus(p, target.origin(sql.column(CODE)))


def counted_rows(
    rows: exp.Select, weighting: Weighting, origin: exp.Expression, sign: Sequence[exp.Expression], more: Named
) -> exp.Select:
    """SELECT what is carried, sign * w * u AS c, what the weighting keeps FROM scored rows WHERE u <> 0"""
    weight = [sql.column("w")] if "w" in rows.named_selects else []
    z = Residual(origin, sql.product(*sign, "p"))
    made = sql.columns(n for n in rows.named_selects if n not in ("p", "sign", CODE, "w"))
    made += [(sql.product(*map(sql.double, (*sign, *weight)), *weighting.value(z)), COUNT)]
    made += [*weighting.kept(z, next(iter(weight), None)), *more]
    found = sql.select(made, sql.derived(sql.fenced(rows) if weighting.once else rows, "s"))
    return sql.where(found, weighting.counts(z))


@dataclass(frozen=True)
class Tally:
    plan: Plan
    signed: bool
    bend: Bend = straight
    weighting: Weighting = STEP  # for one bag. With more, the messages count by a step.
    whole: bool = False  # with one bag: do its rows carry all columns of it, or the keys along which counts go back?
    labelled: bool = False  # must states say which label they are of?
    even: bool = False
    """On the grid, are scores of the label's bag rounded down? Then a total of 0 is where a bucket ends. If it were in
    the middle of one, half of the rows in that bucket would be counted on the wrong side, all on the same."""

    @property
    def ties(self) -> bool:
        """Do states carry o? To say their label, or because y = -1 must count a total of 0 as well. Ties do
        not matter on the grid, nor with one label."""
        return self.plan.design.target.signed and (self.labelled or (self.signed and self.plan.method == "exact"))

    # -- one bag: no messages

    def counted(self) -> exp.Select:
        """SELECT what is carried, sign * w * u AS c, what the weighting keeps FROM scored rows WHERE u <> 0"""
        rows, weighting = self._rows, self.weighting
        code: Named = [] if self.plan.design.target.signed else [(sql.column(CODE), CODE)]
        return sql.where(counted_rows(rows, weighting, self._origin, self._sign, code), *self._of_label())

    def totals(self) -> Named:
        return self.weighting.totals(self.weighted, self.plan.design.target.origin(sql.column(CODE, "r")))

    @property
    def weighted(self) -> bool:
        return "w" in self._rows.named_selects

    @cached_property
    def _rows(self) -> exp.Select:
        plan, core = self.plan, self.plan.bags[0].core
        keys = sorted(plan.places_read.values()) if self.whole else fold_keys(plan, core)
        return Scoring(plan, self.bend, plan.placed, self.whole).rows(core, keys, carried(plan, core))

    @property
    def _sign(self) -> list[exp.Expression]:
        """As a factor; none with one label, by which theta was multiplied, and none where the label is a number."""
        target = self.plan.design.target
        return [target.sign(sql.column(CODE))] if self.signed and target.signed else []

    @property
    def _origin(self) -> exp.Expression:
        return self.plan.design.target.origin(sql.column(CODE))

    # -- more bags: before the messages

    def scores(self) -> Iterator[Statement]:
        """For every bag its rows with keys, what is carried, p, w, and the shifted score s (with its tie o)."""
        for bag in self.plan.bags:
            name = f"scores of {self.plan.tree.name(bag.core)}"
            yield statement(name, self._scores(bag), scored_table(bag.number))

    def _scores(self, bag: Bag) -> exp.Select:
        plan = self.plan
        links = plan.linked(bag.number)
        keys = sorted({*links, *fold_keys(plan, bag.core)})
        rows = Scoring(plan, self.bend).rows(bag.core, keys, carried(plan, bag.core))
        has_label = self._has_label(bag)
        coded = {key(v) for v in links} - {key(v) for v in fold_keys(plan, bag.core)}
        unread = {"w", "p"} if self._on_grid else {"w"}
        made = sql.columns((n for n in rows.named_selects if n not in unread | coded), "s")
        made += [(sql.column("g", codes_table(v)), link_key(v)) for v in links]
        made += [(weight_of(rows), "w"), (self._shifted(bag), "s")]
        made += [(self._rest(bag), REST)] if self._on_grid else []
        if has_label and self.ties:
            made.append((tie_of(plan, sql.column(CODE)), TIE))
        found = sql.select(made, sql.derived(sql.fenced(rows) if self._on_grid else rows, "s"))
        for v in links:
            same = sql.equal(sql.column(key(v), "s"), sql.column("k", codes_table(v)))
            found = sql.join(found, sql.table(codes_table(v)), [same])
        return sql.where(found, *(self._of_label() if has_label else []))

    def _has_label(self, bag: Bag) -> bool:
        return self.plan.label_node in bag.nodes

    def _of_label(self) -> list[exp.Expression]:
        return [] if self.signed else [self.plan.design.target.is_chosen(sql.column(CODE))]

    def _shifted(self, bag: Bag) -> exp.Expression:
        """s = p - y * bound; on the grid in whole buckets."""
        p, bound = counted_score(self.plan, bag), self._origin
        if self._on_grid:
            p = exp.cast(self._bucket(bag, p), exp.DType.BIGINT)
            bound = exp.cast(exp.Ceil(this=sql.product(bound, sql.parameter(BUCKETS))), exp.DType.BIGINT)
        signed = self.plan.design.target.signed and self._has_label(bag)
        return sql.minus(p, sql.product(*self._sign, bound)) if signed else p

    def _rest(self, bag: Bag) -> exp.Expression:
        """What is left of the score when it is rounded, in buckets. One that is rounded down for a total of 0 stands in
        the middle of its bucket."""
        p = counted_score(self.plan, bag)
        bucket = self._bucket(bag, p)
        stands = sql.plus(bucket, sql.number(MIDDLE)) if self._is_even(bag) else bucket
        return sql.minus(sql.product(p, sql.parameter(BUCKETS)), stands)

    def _bucket(self, bag: Bag, p: exp.Expression) -> exp.Expression:
        return bucket_of(p, down=bag.number in self.plan.shared or self._is_even(bag))

    def _is_even(self, bag: Bag) -> bool:
        return self.even and self._has_label(bag)

    @property
    def _on_grid(self) -> bool:
        return self.plan.method == "grid"

    # -- and after them

    def active(self, counting: Iterable[Statement] | None = None) -> Iterator[Statement]:
        """The active rows of every bag. With more than one, `counting` finds the value of each state."""
        yield from self.met(counting)
        yield from map(self.counts, self.plan.bags)

    def met(self, counting: Iterable[Statement] | None = None) -> Iterator[Statement]:
        """What comes before the counts."""
        if self.plan.centre is not None:
            yield from self.scores()
            yield from Messages(self.plan, ties=self.ties).exchange() if counting is None else counting

    def counts(self, bag: Bag) -> Statement:
        name = f"counts of {self.plan.tree.name(bag.core)}" if self.plan.centre else "active rows"
        return statement(name, self.counted_rows(bag), active_table(bag.number))

    def counted_rows(self, bag: Bag) -> exp.Select:
        """The rows of a bag with their counts: with several bags the value of a row's state, times its own
        multiplicity."""
        if self.plan.centre is None:
            return self.counted()
        has_label = self._has_label(bag)
        names = [*map(key, fold_keys(self.plan, bag.core)), *value_columns(self.plan, bag.core)]
        names += [CODE] if has_label else []
        count = sql.product("r.w", "a.v")
        keys, tie = link_keys(self.plan, bag.number), [TIE] if has_label and self.ties else []
        rows = scored_rows(self.plan, bag.number, [*names, *keys, "s", *tie, "w"], "r")
        made = sql.select([*sql.columns(names, "r"), (count, COUNT)], rows)
        if self._on_grid and keys:
            at = place(self.plan, sql.column(keys[0], "r"), sql.column("s", "r"))
            same = [sql.equal(at, sql.column(PLACE, "a")), *sql.same([*keys[1:], *tie], "r", "a")]
        else:
            same = sql.same([*keys, "s", *tie], "r", "a")
        return sql.join(made, sql.table(value_table(bag.number, 0), "a"), same)
