"""The scores of all join rows as one short list, and everything that evaluation needs from it.

The list has (s, o, c): c join rows score s, and o = 1 marks those with y = -1. One bag groups its rows. With more, the
messages travel to the centre and meet there, as for a pass, but nothing travels back. The label rides along as a column
of the states on its own side: one run for both labels then makes the messages of the other side once, and the list of
the label's side is no longer than those of two runs together.

Scores may be known only within delta. Shifted by a parameter, one statement gives the value and both bounds:
        above(t)    per label the rows with s > t:          at t = delta, 0, -delta
        area(t)     #{pos > neg + t} + 1/2 #{equal}:        at t = 2 delta, 0, -2 delta
"""

from collections.abc import Iterator

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import TIE, Messages, tie_of
from sqlsvm.compile.resolve import COUNT
from sqlsvm.compile.scores import scored
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.tally import Tally
from sqlsvm.plan.parameters import LOWEST, SHIFT, WIDTH
from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

LIST = "sqlsvm_list"
PAIRS, ABOVE, AREA, BINS = "pairs", "rows above", "area", "bins"

LONGEST_LIST = 1e7
"""Pairs of entries that may meet at the centre for an exact list of scores."""


class LabelledTally(Tally):
    """A tally whose states always say which label they are of."""

    @property
    def ties(self) -> bool:
        return True


# -- the list ----------------------------------------------------------------------------------------------------------


def list_of_rows(plan: Plan) -> Statement:
    """One bag: SELECT p AS s, sign < 0 AS o, SUM(w) AS c FROM scored rows GROUP BY s, o."""
    rows = scored(plan, plan.bags[0].core)
    y = sql.column(CODE)
    columns: Named = [(sql.column("p"), "s"), (tie_of(plan, y), TIE)]
    w = sql.double(sql.column("w")) if "w" in rows.named_selects else sql.number(1)
    return _listed(sql.select([*columns, (w, COUNT)], sql.derived(rows, "r")).where(sql.not_null(y)))


def towards_centre(plan: Plan) -> Iterator[Statement]:
    yield from LabelledTally(plan, signed=True).scores()
    yield from _messages(plan).forward()


def list_of_pairs(plan: Plan) -> Statement:
    """Every entry of the one side with every entry of the other that has its key."""
    s = sql.double(sql.plus(sql.column("s", "l"), sql.column("s", "r")))
    c = sql.product(sql.column("c", "l"), sql.column("c", "r"))
    return _listed(_messages(plan).across([(s, "s"), (sql.column(TIE, "l"), TIE), (c, COUNT)]))


def _listed(entries: exp.Select) -> Statement:
    keys = [sql.column(n) for n in ("s", TIE)]
    c = sql.total(sql.column(COUNT))
    rows = sql.select([*((k, k.name) for k in keys), (c, COUNT)], sql.derived(entries, "e"))
    some = sql.group(rows, [k.copy() for k in keys]).having(exp.GT(this=c.copy(), expression=sql.integer(0)))
    return statement("scores of the join", some, LIST)


def _messages(plan: Plan) -> Messages:
    return Messages(plan, ties=True)


# -- how long it would be, and how coarse it is ------------------------------------------------------------------------


def pairs(plan: Plan) -> Statement:
    """How many pairs of entries meet at the centre."""
    messages = _messages(plan)
    keys = messages.centre_keys()
    sides = []
    for bag in (messages.left, messages.right):
        columns: Named = [(sql.column(k), k) for k in keys]
        size = sql.select([*columns, (sql.count(), "n")], exp.to_table(messages.last(bag)))
        sides.append(sql.group(size, [c.copy() for c, _ in columns]))
    met = sql.sum_or_zero(sql.product(sql.column("n", "l"), sql.column("n", "r")))
    meet = [sql.equal(sql.column(k, "l"), sql.column(k, "r")) for k in keys]
    made = sql.select([(met, "n")], sql.derived(sides[0], "l"))
    return statement(PAIRS, sql.join(made, sql.derived(sides[1], "r"), meet))


def span(plan: Plan, bag: Bag) -> Statement:
    """SELECT the least and the largest score of a bag."""
    p = sql.column("p")
    outputs: Named = [(sql.or_zero(exp.Min(this=p)), "least")]
    outputs.append((sql.or_zero(sql.largest(p.copy())), "largest"))
    return statement(span_name(bag), sql.select(outputs, sql.derived(scored(plan, bag.core), "s")))


def span_name(bag: Bag) -> str:
    return f"span {bag.number}"


# -- without the list --------------------------------------------------------------------------------------------------


def above_at_centre(plan: Plan) -> Statement:
    """SELECT o, the rows with a score above 0, by one sort per key: a left entry at s has above it the right entries at
    -s that stand before it."""
    messages = _messages(plan)
    keys = messages.centre_keys()
    same: Named = [(sql.column(k), k) for k in keys]
    s, c, zero = sql.column("s"), sql.column("c"), sql.number(0)
    left: Named = [*same, (sql.column(TIE), TIE), (s, "at"), (sql.integer(0), "rank"), (c, "c"), (zero, "partners")]
    right: Named = [*same, (sql.integer(0), TIE), (exp.Neg(this=s.copy()), "at"), (sql.integer(1), "rank")]
    right += [(zero.copy(), "c"), (c.copy(), "partners")]
    both = exp.union(
        sql.select(left, exp.to_table(messages.last(messages.left))),
        sql.select(right, exp.to_table(messages.last(messages.right))),
        distinct=False,
    )
    partners = sql.window(sql.total(sql.column("partners")), keys, ["at", "rank"], running=True)
    counted = sql.select([(sql.column(TIE), TIE), (sql.product(c.copy(), partners), "above")], sql.derived(both, "e"))
    found = sql.select([(sql.column(TIE), TIE), (sql.total(sql.column("above")), "above")], sql.derived(counted, "t"))
    return statement(ABOVE, sql.group(found, [sql.column(TIE)]))


# -- what leaves the database ------------------------------------------------------------------------------------------


def above() -> Statement:
    """SELECT o, all rows, those with s > shift, and the range of s."""
    s, c = sql.column("s"), sql.column(COUNT)
    more = sql.case(exp.GT(this=s, expression=sql.parameter(SHIFT)), c, sql.number(0))
    outputs: Named = [(sql.column(TIE), TIE), (sql.total(c.copy()), "n"), (sql.total(more), "above")]
    outputs += [(exp.Min(this=s.copy()), "least"), (sql.largest(s.copy()), "largest")]
    return statement(ABOVE, sql.group(sql.select(outputs, exp.to_table(LIST)), [sql.column(TIE)]))


def area() -> Statement:
    """SELECT SUM(positive * (negatives below + equal ones / 2)), the negatives moved up by the shift."""
    s, c, zero = sql.column("s"), sql.column(COUNT), sql.number(0)
    is_negative = sql.equal(sql.column(TIE), sql.integer(1))
    moved = sql.case(is_negative, sql.plus(s, sql.parameter(SHIFT)), s.copy())
    apart: Named = [(moved, "at"), (sql.case(is_negative.copy(), c, zero), "negative")]
    apart.append((sql.case(is_negative.copy(), zero.copy(), c.copy()), "positive"))
    summed: Named = [(sql.column("at"), "at")]
    summed += [(sql.total(sql.column(n)), n) for n in ("negative", "positive")]
    places = sql.select(summed, sql.derived(sql.select(apart, exp.to_table(LIST)), "a"))
    places = sql.group(places, [sql.column("at")])
    up_to_here = sql.window(sql.total(sql.column("negative")), [], ["at"], running=True)
    half = sql.product(sql.number(0.5), sql.column("negative"))
    below = exp.Sub(this=up_to_here, expression=half)
    ranked = sql.select([(sql.product(sql.column("positive"), below), "area")], sql.derived(places, "p"))
    return statement(AREA, sql.select([(sql.sum_or_zero(sql.column("area")), "area")], sql.derived(ranked, "r")))


def histogram() -> Statement:
    """SELECT bin, o, rows: the bins have equal widths and begin at the lowest score."""
    place = exp.Sub(this=sql.column("s"), expression=sql.parameter(LOWEST))
    number = exp.Floor(this=exp.Div(this=exp.paren(place), expression=sql.parameter(WIDTH)))
    entries = sql.select(
        [(exp.cast(number, exp.DType.BIGINT), "bin"), (sql.column(TIE), TIE), (sql.column(COUNT), COUNT)],
        exp.to_table(LIST),
    )
    keys = [sql.column("bin"), sql.column(TIE)]
    found = sql.select([*((k, k.name) for k in keys), (sql.total(sql.column(COUNT)), COUNT)], sql.derived(entries, "e"))
    return statement(BINS, sql.group(found, [k.copy() for k in keys]))
