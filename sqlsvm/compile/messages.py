"""Counting the pairs with a total below 0, for every row at once, without the join.

Shift each score at the label: s = p - y there and s = p elsewhere (on the grid in whole buckets), so that the total of
a join row is score - y. For y = +1 it is active iff s < 0; for y = -1 it is active iff s > 0, that
is, not s < 0. So one rule, total < 0, serves both labels, and with N- the number of negative rows, for any row r
        sum of y over the active rows that r is part of = #{total < 0} - N-(r).

Every bag is a list of states (keys of its links, s, how many rows). Messages travel towards the centre link:
        extend      state (K, s, c) meets message (k, s', c')  ->  (K without k, s + s', c c'), equal ones merged.
At the centre, the two lists are merged by one sort per key: a window sum gives each entry its number of partners with
total < 0. Going back is the derivative of going forward: with v the count of an extended state,
        v of a state   = sum over the messages that it met   of c' v
        v of a message = sum over the states that it met     of c v
so each bag learns, for each of its states, in how many join rows with total < 0 one row of it takes part. No step looks
at more than (states x entries of a message with that key), and no product of messages is ever made twice.

On the grid, each list also carries what rounding has taken from the scores: the sums of e and of e^2 over the rows of a
state, where e = exact - rounded, in buckets. Of rows that meet, e adds up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import Name, link_key
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.join_tree import Link
from sqlsvm.plan.parameters import SPAN
from sqlsvm.plan.plan import Plan
from sqlsvm.sql import Named

TIE = "o"  # on exact scores the side of the label also carries o = 1 for y = -1, where total = 0 counts as well


def tie_of(plan: Plan, y: exp.Expression) -> exp.Expression:
    """o of a row with this code."""
    return sql.case(plan.design.target.is_negative(y), 1, 0)


SIZE, REST, SQUARES = "c", "e", "ee"
"""Of a state: how many rows, and the sums over them of what rounding has left of the score, and of its square."""

PLACE = "at"
"""On the grid the key and the bucket of an extended state as one number: planners know the distinct values of a column,
not those of a pair, and take the wrong side of a join for the small one if there are two. Unless places are
close it is a double, because PostgreSQL hashes an integer by folding its halves together, which would make key and
bucket collide."""

WIDTH = 24  # bits of a place that hold the bucket; 29 are left for the key


def place(plan: Plan, code: exp.Expression, bucket: exp.Expression) -> exp.Expression:
    """code * 2^24 + 2^23 + bucket, exact as a double; never negative, so that shifting it right gives the code back.
    Places that lie close together are the whole numbers code * span + bucket. DuckDB looks such up in an array, if they
    lie within a million: this takes half of the time that a hash table takes."""
    if plan.close:
        return sql.plus(sql.product(code, span()), bucket)
    return sql.double(sql.plus(sql.product(code, 1 << WIDTH), 1 << (WIDTH - 1), bucket))


def out_of(plan: Plan, at: exp.Expression) -> tuple[exp.Expression, exp.Expression]:
    """The code and the bucket of a place."""
    if plan.close:
        half = exp.IntDiv(this=span(), expression=sql.integer(2))
        code: exp.Expression = exp.IntDiv(this=exp.paren(sql.plus(at, half)), expression=span())
        return code, sql.minus(at, exp.paren(sql.product(exp.paren(code), span())))
    at = exp.cast(at, exp.DType.BIGINT)
    code = exp.BitwiseRightShift(this=at, expression=sql.integer(WIDTH))
    zero = sql.plus(sql.product(code, 1 << WIDTH), 1 << (WIDTH - 1))
    return code, sql.minus(at, zero)


def span() -> exp.Expression:
    return exp.cast(exp.Placeholder(this=SPAN), exp.DType.BIGINT)


def spanning(plan: Plan) -> Statement:
    """The least span: twice the largest total that scores can have, and two buckets more."""

    def farthest(bag: int) -> exp.Query:
        far = sql.coalesce(sql.largest(exp.Abs(this=sql.column("s"))), 0)
        return sql.select([(far, "far")], scored_rows(plan, bag, ["s"]))

    each = sql.derived(reduce(sql.union_all, (farthest(bag.number) for bag in plan.bags)), "r")
    twice = sql.product(2, sql.plus(sql.total("far"), 1))
    made = statement("span of the grid", sql.select([(exp.cast(twice, exp.DType.BIGINT), SPAN)], each))
    return replace(made, gives=True)


scored_table: Name = "sqlsvm_s{}".format


def scored_rows(plan: Plan, bag: int, names: Sequence[str], alias: str = "") -> exp.Expr:
    """These columns of the scored rows of a bag. A row of a shared bag is two: its score lies e buckets above the lower
    one of two, and a share e of the row is in the upper one."""
    table = scored_table(bag)
    if bag not in plan.shared:
        return sql.table(table, alias) if alias else sql.table(table)
    share = sql.greatest(sql.least(REST, 1.0), 0.0)  # a score may lie beyond all buckets
    upper = {"w": sql.product("w", share), "s": sql.plus("s", 1), REST: sql.minus(REST, 1.0)}
    both = ({"w": sql.product("w", sql.minus(1.0, share))}, upper)
    below, above = (sql.select([(each.get(n, sql.column(n)), n) for n in names], sql.table(table)) for each in both)
    return sql.derived(sql.union_all(below, sql.where(above, sql.positive(REST))), alias or "r")


CENTRE_TABLE = "sqlsvm_centre"  # both lists where they meet, each entry with its v
Step = Callable[[int, int], str]  # the name of a table of a bag that has met so many messages

states_table: Step = "sqlsvm_q{}_{}".format
value_table: Step = "sqlsvm_v{}_{}".format  # v for each of these states
returned_table: Step = "sqlsvm_r{}_{}".format  # v for the states and for the messages of a meeting, side by side


@dataclass(frozen=True)
class Meeting:
    """One meeting: the states of a bag after `step` messages with the message of a child."""

    bag: int
    step: int
    child: int
    keys: tuple[str, ...]  # key columns of the states before
    meet: tuple[str, ...]
    rest: tuple[str, ...]  # key columns after
    tie_states: bool
    tie_message: bool


def bag_name(plan: Plan, bag: int) -> str:
    return plan.tree.name(plan.bags[bag].core)


def link_keys(plan: Plan, bag: int) -> list[str]:
    return sorted(map(link_key, plan.linked(bag)))


def states(plan: Plan, bag: int, *, order: Sequence[str] = (), tied: bool = False, rests: bool = False) -> Statement:
    """SELECT keys, s, SUM(w) AS c FROM scored rows GROUP BY keys, s ORDER BY order, s"""
    keys = [*link_keys(plan, bag), "s", *([TIE] if tied else [])]
    factors = {SIZE: ["w"], REST: ["w", REST], SQUARES: ["w", REST, REST]}
    sums: Named = [(sql.total(sql.product(*map(sql.column, factors[name]))), name) for name in _sums(rests)]
    rows = scored_rows(plan, bag, [*keys, "w", *([REST] if rests else [])])
    made = sql.grouped(sql.columns(keys), sums, rows)
    if order:
        made = made.order_by(*map(sql.column, (*order, "s")))
    return statement(f"states of {bag_name(plan, bag)}", made, states_table(bag, 0))


def _sums(rests: bool) -> tuple[str, ...]:
    return (SIZE, REST, SQUARES) if rests else (SIZE,)


def met_sums(one: str, other: str, rests: bool) -> Named:
    """The sums over the rows that two entries make together, of which each has its own rows."""

    def both(first: str, second: str) -> exp.Expression:
        return sql.product(sql.column(first, one), sql.column(second, other))

    crossed = sql.product(2.0, both(REST, REST))
    terms = {
        SIZE: [both(SIZE, SIZE)],
        REST: [both(SIZE, REST), both(REST, SIZE)],
        SQUARES: [both(SIZE, SQUARES), crossed, both(SQUARES, SIZE)],
    }
    return [(sql.plus(*terms[name]), name) for name in _sums(rests)]


class Messages:
    """The statements that take the states of every bag to the centre and back."""

    def __init__(self, plan: Plan, *, ties: bool, rests: bool = False) -> None:
        """`rests`: does it matter how far the rounding of scores puts them off?"""
        assert plan.centre is not None
        self.plan, self.ties, self.centre = plan, ties, plan.centre
        self.rests = rests and plan.method == "grid"
        self.label_bag = plan.bag_of(plan.label_node)
        first, second = plan.centre.bags
        links = dict(pair for bag in (first, second) for pair in plan.upwards(bag, plan.centre))
        self.towards: Callable[[int], Link] = links.__getitem__
        self._with_label = [self.label_bag]  # the bags on its way to the centre
        while (bag := self._with_label[-1]) not in plan.centre.bags:
            self._with_label.append(links[bag].other(bag))
        self.left, self.right = (first, second) if first in self._with_label else (second, first)
        self.meetings = cache(self._meetings)

    # -- the shape of the lists

    def centre_keys(self) -> list[str]:
        return [link_key(v) for v in self.centre.edge.on]

    def tied(self, bag: int, step: int) -> bool:
        """Do the states carry o? They do if the label's bag is this one, or behind a message that they have met."""
        met = self.plan.children(bag, self.towards(bag))[:step]
        return self.ties and (bag == self.label_bag or any(link.other(bag) in self._with_label for link in met))

    def _meetings(self, bag: int) -> list[Meeting]:
        """The messages that a bag meets, in order, and which keys are still needed after each."""
        towards = self.towards(bag)
        children = self.plan.children(bag, towards)
        meetings, keys = [], link_keys(self.plan, bag)
        for i, link in enumerate(children):
            needed = {link_key(v) for later in (*children[i + 1 :], towards) for v in later.edge.on}
            rest = [k for k in keys if k in needed]
            meet, child = map(link_key, link.edge.on), link.other(bag)
            ties = self.tied(bag, i), self.tied(child, len(self.plan.children(child, link)))
            meetings.append(Meeting(bag, i, child, tuple(keys), tuple(meet), tuple(rest), *ties))
            keys = rest
        return meetings

    def last(self, bag: int) -> str:
        """The table of what a bag sends: its states after the last message."""
        return states_table(bag, len(self.meetings(bag)))

    def values(self, bag: int) -> str:
        """The table of what it gets back."""
        return value_table(bag, len(self.meetings(bag)))

    # -- towards the centre

    def forward(self) -> Iterator[Statement]:
        if self.plan.close:
            yield spanning(self.plan)
        for side in (self.left, self.right):
            for bag, _ in self.plan.upwards(side, self.centre):
                yield states(self.plan, bag, order=self._order(bag), tied=self.tied(bag, 0), rests=self.rests)
                yield from (self._extend(met) for met in self.meetings(bag))

    def _order(self, bag: int) -> Sequence[str]:
        """How the states lie that meet others: by the keys towards the centre first. Then the pairs that a hash adds up
        come one after the other, and it finds their sum in the processor's cache."""
        first = [link_key(v) for v in self.towards(bag).edge.on]
        met = self.meetings(bag) or self.towards(bag) is not self.centre
        return [*first, *(k for k in link_keys(self.plan, bag) if k not in first)] if met else ()

    def _extend(self, met: Meeting) -> Statement:
        """SELECT rest, q.s + m.s AS s, SUM(q.c * m.c) AS c FROM states q JOIN message m GROUP BY rest, q.s + m.s"""
        plain, total, tie = self._extended(met)
        keys = [*sql.columns(plain, "q"), total, *tie]
        sums = [(sql.total(each), name) for each, name in met_sums("q", "m", self.rests)]
        made = sql.group(self._met([*keys, *sums], met), [key for key, _ in keys])
        name = f"{bag_name(self.plan, met.bag)} meets {bag_name(self.plan, met.child)}"
        if self.placed(met.bag, met.step + 1):
            # with the code and the bucket out of the place, which tells planners how many entries are the same: none
            high, bucket = out_of(self.plan, sql.column(PLACE))
            columns = [(high, met.rest[0]), (bucket, "s"), *sql.columns(made.named_selects)]
            made = sql.select(columns, sql.derived(made, "e"))
        return statement(name, made, states_table(met.bag, met.step + 1))

    def _extended(self, met: Meeting) -> tuple[tuple[str, ...], tuple[exp.Expression, str], Named]:
        """What an extended state has: keys of q, its s or its place, and its o. At most one of q and m has o, because
        the label is in one place."""
        s = sql.plus("q.s", "m.s")
        ties: Named = [
            (sql.column(TIE, of), TIE) for of, tied in (("q", met.tie_states), ("m", met.tie_message)) if tied
        ]
        if self.placed(met.bag, met.step + 1):
            return met.rest[1:], (place(self.plan, sql.column(met.rest[0], "q"), s), PLACE), ties[:1]
        return met.rest, (s, "s"), ties[:1]

    def placed(self, bag: int, step: int) -> bool:
        """Do these states have a place?"""
        return self.plan.method == "grid" and step > 0 and bool(self.meetings(bag)[step - 1].rest)

    def _placed_last(self, bag: int) -> bool:
        """Does what a bag sends have a place?"""
        return self.placed(bag, len(self.meetings(bag)))

    def _met(self, outputs: Named, met: Meeting) -> exp.Select:
        """The planner knows nothing of the keys of q, so it makes the hash table of m and reads q in its order. If it
        knew both, the noise of its statistics would decide."""
        read = sql.slowly_read if self.plan.close else sql.table
        made = sql.select(outputs, read(states_table(met.bag, met.step), "q"))
        keys = ((sql.plus(sql.column(k, "q"), 0), sql.column(k, "m")) for k in met.meet)
        return sql.join(made, sql.table(self.last(met.child), "m"), [sql.equal(*each) for each in keys])

    # -- at the centre

    def merge(self) -> Iterator[Statement]:
        """One list of both sides, ordered by where an entry stands: a left entry at -s, a right one at s. A left entry
        counts the right ones before it; a right entry counts the left ones after it."""
        keys = self.centre_keys()
        tie = self.tied(self.left, len(self.meetings(self.left)))
        merged = sql.union_all(self._side(self.left, tie, is_left=True), self._side(self.right, tie, is_left=False))
        columns = sql.columns([*keys, "s", *([TIE] if tie else []), "side"])
        place = ("at", "rank")
        before = sql.window(sql.total("cr"), keys, place, running=True)
        after = sql.window(sql.total("cl"), keys, place, running=True, descending=True)
        v = sql.case(sql.equal("side", 0), before, after)
        made = sql.select([*columns, (v, "v")], sql.derived(merged, "e"))
        yield statement("the two sides meet", made, CENTRE_TABLE)
        for bag, side, carries in ((self.left, 0, tie), (self.right, 1, False)):
            kept = sql.columns([*keys, "s", *([TIE] if carries else []), "v"])
            own = sql.select([*kept, *self.place_of(bag, len(self.meetings(bag)), kept)], sql.table(CENTRE_TABLE))
            # Entries that count nothing have nothing to hand back. About half of them are such.
            own = sql.where(own, sql.equal("side", side), sql.positive("v"))
            yield statement(f"values of {bag_name(self.plan, bag)}", own, self.values(bag))

    def place_of(self, bag: int, step: int, columns: Named) -> Named:
        """The place that these columns of a list of states make. The rows of a bag have one too when they look up their
        counts."""
        keys = self.meetings(bag)[step - 1].rest if step else link_keys(self.plan, bag)
        if self.plan.method != "grid" or not keys:
            return []
        named = {name: column for column, name in columns}
        return [(place(self.plan, named[keys[0]], named["s"]), PLACE)]

    def _side(self, bag: int, tie: bool, *, is_left: bool) -> exp.Select:
        s, c, zero, side = sql.column("s"), sql.column("c"), sql.number(0), sql.integer(0 if is_left else 1)
        o = [(sql.column(TIE) if is_left else sql.integer(0), TIE)] if tie else []
        # In the order of `at`, entries at equal places stand as: left (total < 0), right, left (total <= 0).
        rank = sql.product(2, TIE) if tie and is_left else side
        at, cl, cr = (sql.negated(s), c, zero) if is_left else (s, zero, c)
        placed: Named = [(at, "at"), (rank, "rank"), (cl, "cl"), (cr, "cr"), (side, "side")]
        return sql.select([*sql.columns([*self.centre_keys(), "s"]), *o, *placed], sql.table(self.last(bag)))

    def across(self, outputs: Named) -> exp.Select:
        """SELECT outputs FROM the left list l JOIN the right list r: every pair of entries. Only for few of them."""
        left, right = sql.table(self.last(self.left), "l"), sql.table(self.last(self.right), "r")
        return sql.join(sql.select(outputs, left), right, sql.same(self.centre_keys(), "l", "r"))

    def near(self, name: str, each: Sequence[exp.Query], sign: exp.Expression | None = None) -> Statement:
        """SELECT what tells the rows of `each` apart, how many join rows and what rounding has left of their residuals,
        for those with the residual z of such a row. That is -total, or -sign * total if left entries l have a sign.

        The entries of one side meet these rows first: a planner may else pair all entries that have the same key. Those
        of a side that has met no message are fewer, and where the others have a place, they are found by it."""
        columns, y, sides = each[0].named_selects, [sign] if sign else [], (self.left, self.right)
        first, second = sides if sign or self._placed_last(self.right) else sorted(sides, key=self._placed_last)
        bucket = sql.plus("l.s", sql.product(*y, "t.z"))
        tie = [TIE] if sign else []
        opposite: exp.Expression = sql.negated(bucket)
        where = "s"
        if self._placed_last(second):
            where, opposite = PLACE, place(self.plan, sql.column(self.meetings(second)[-1].rest[0], "l"), opposite)
        kept = [*sql.columns(columns, "t"), *sql.columns([*self.centre_keys(), *tie, *_sums(self.rests)], "l")]
        met = sql.select([*kept, (opposite, "opposite")], sql.table(self.last(first), "l"))
        met = sql.join(met, sql.derived(reduce(sql.union_all, each), "t"), [])
        sums = met_sums("l", "r", self.rests)
        signed = [(sql.negated(sql.product(*y, of)) if name == REST else of, name) for of, name in sums]
        added = [(sql.total(of), column) for of, column in signed]
        made = sql.grouped(sql.columns(columns, "l"), added, sql.derived(met, "l"))
        meet = [*sql.same(self.centre_keys(), "l", "r"), sql.equal(sql.column(where, "r"), "l.opposite")]
        return statement(name, sql.join(made, sql.table(self.last(second), "r"), meet))

    def rests_of_all(self) -> exp.Select:
        """SELECT the sum over the join of the squares of what rounding has left."""
        keys = self.centre_keys()

        def side(bag: int, alias: str) -> exp.Expr:
            sums = sql.totals(_sums(rests=True))
            return sql.derived(sql.grouped(sql.columns(keys), sums, sql.table(self.last(bag))), alias)

        made = [(sql.sum_or_zero(of), name) for of, name in met_sums("l", "r", rests=True) if name == SQUARES]
        return sql.join(sql.select(made, side(self.left, "l")), side(self.right, "r"), sql.same(keys, "l", "r"))

    # -- and back

    def exchange(self, met: Iterable[Statement] | None = None) -> Iterator[Statement]:
        """To the centre and back. If the two sides do not meet by `merge`, then as these statements say."""
        yield from self.forward()
        yield from self.merge() if met is None else met
        yield from (statement for side in (self.left, self.right) for statement in self.back(side))

    def back(self, side: int) -> Iterator[Statement]:
        """From the centre to the bags of one side."""
        for bag, _ in reversed(self.plan.upwards(side, self.centre)):
            for met in reversed(self.meetings(bag)):
                yield from self._return(met)

    def _return(self, met: Meeting) -> Iterator[Statement]:
        """The value of an extended state, handed back to the states and to the messages that made it: one meeting of
        the three lists, grouped both ways at once."""
        own = [sql.column(n, "q") for n in (*met.keys, "s", *([TIE] if met.tie_states else []))]
        sent = [sql.column(n, "m") for n in (*met.meet, "s", *([TIE] if met.tie_message else []))]
        columns = [(e, f"{e.table}_{e.name}") for e in (*own, *sent)]
        v_of = {of: sql.total(sql.product(sql.column("c", other), "a.v")) for of, other in ("qm", "mq")}
        sums = [(v, f"{of}_v") for of, v in v_of.items()]
        to_message = exp.Grouping(expressions=[sql.column("s", "q")])
        made = self._met([*columns, *sums, (to_message, "side")], met)
        plain, total, tie = self._extended(met)
        extension = [sql.equal(sql.column(n, "a"), e) for e, n in (total, *sql.columns(plain, "q"), *tie)]
        made = sql.join(made, sql.table(value_table(met.bag, met.step + 1), "a"), extension)
        table = returned_table(met.bag, met.step)
        yield statement(f"{bag_name(self.plan, met.bag)} returns", sql.grouping_sets(made, own, sent), table)
        to_states, to_messages = (met.bag, met.step, own), (met.child, len(self.meetings(met.child)), sent)
        for side, of, (bag, at, keys) in ((0, "q", to_states), (1, "m", to_messages)):
            picked: Named = [(sql.column(f"{of}_{e.name}"), e.name) for e in keys]
            v = (sql.column(f"{of}_v"), "v")
            rows = sql.select([*picked, *self.place_of(bag, at, picked), v], sql.table(table))
            rows = rows.where(sql.equal("side", side))
            yield statement(f"values of {bag_name(self.plan, bag)}", rows, value_table(bag, at))
