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
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.prepare import link_key
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.plan import Link, Plan
from sqlsvm.sql import Named

TIE = "o"
"""On exact scores the side of the label also carries o = 1 for y = -1, where total = 0 counts as well."""


def tie_of(plan: Plan, y: exp.Expression) -> exp.Expression:
    """o of a row with this code."""
    return sql.case(plan.design.target.is_negative(y), sql.integer(1), sql.integer(0))


PLACE = "at"
"""On the grid the key and the bucket of an extended state as one number: planners know the distinct values of a column,
not those of a pair, and take the wrong side of a join for the small one if there are two. It is a double, because
PostgreSQL hashes an integer by folding its halves together, which would make key and bucket collide."""

WIDTH = 24
"""Bits of a place that hold the bucket; 29 are left for the key."""


def place(code: exp.Expression, bucket: exp.Expression) -> exp.Expression:
    """code * 2^24 + 2^23 + bucket, exact as a double; never negative, so that shifting it right gives the code back."""
    return sql.double(sql.plus(sql.product(code, sql.integer(1 << WIDTH)), sql.integer(1 << (WIDTH - 1)), bucket))


def scored_table(bag: int) -> str:
    return f"sqlsvm_s{bag}"


def states_table(bag: int, step: int) -> str:
    """The states of a bag after it has met that many messages."""
    return f"sqlsvm_q{bag}_{step}"


CENTRE_TABLE = "sqlsvm_centre"
"""Both lists where they meet, each entry with its v."""


def returned_table(bag: int, step: int) -> str:
    """v for the states and for the messages of a meeting, side by side."""
    return f"sqlsvm_r{bag}_{step}"


def value_table(bag: int, step: int) -> str:
    """v for each of these states."""
    return f"sqlsvm_v{bag}_{step}"


@dataclass(frozen=True)
class Step:
    """One meeting: the states of a bag after `step` messages with the message over `link`."""

    bag: int
    step: int
    link: Link
    child: int
    keys: tuple[str, ...]
    """Key columns of the states before."""
    meet: tuple[str, ...]
    rest: tuple[str, ...]
    """Key columns after."""
    tie_states: bool
    tie_message: bool


class Messages:
    """The statements that take the states of every bag to the centre and back."""

    def __init__(self, plan: Plan, *, ties: bool) -> None:
        assert plan.centre is not None
        self.plan = plan
        self.ties = ties
        self.centre = plan.centre
        label = plan.bag_of(plan.label_node)
        sides = [[b for b, _ in plan.upwards(bag, plan.centre)] for bag in plan.centre.bags]
        ours = 0 if label in sides[0] else 1
        self.left, self.right = self.centre.bags[ours], self.centre.bags[1 - ours]
        self.label_bag = label

    # -- the shape of the lists

    def link_keys(self, bag: int) -> list[str]:
        return sorted({link_key(v) for link in self.plan.links if bag in link.bags for v in link.edge.on})

    def centre_keys(self) -> list[str]:
        return [link_key(v) for v in self.centre.edge.on]

    def towards(self, bag: int) -> Link:
        order = [*self.plan.upwards(self.left, self.centre), *self.plan.upwards(self.right, self.centre)]
        return next(link for b, link in order if b == bag)

    def holds_label(self, bag: int) -> bool:
        """Is the label's bag this one, or behind it?"""
        return any(b == self.label_bag for b, _ in self.plan.upwards(bag, self.towards(bag)))

    def tied(self, bag: int, step: int) -> bool:
        """Do the states carry o?"""
        if not self.ties:
            return False
        met = self.plan.children(bag, self.towards(bag))[:step]
        return bag == self.label_bag or any(self.holds_label(link.other(bag)) for link in met)

    def steps(self, bag: int) -> list[Step]:
        """The messages that a bag meets, in order, and which keys are still needed after each."""
        towards = self.towards(bag)
        children = self.plan.children(bag, towards)
        steps, keys = [], self.link_keys(bag)
        for i, link in enumerate(children):
            needed = {link_key(v) for later in (*children[i + 1 :], towards) for v in later.edge.on}
            rest = [k for k in keys if k in needed]
            meet = [link_key(v) for v in link.edge.on]
            child = link.other(bag)
            ties = self.tied(bag, i), self.tied(child, len(self.plan.children(child, link)))
            steps.append(Step(bag, i, link, child, tuple(keys), tuple(meet), tuple(rest), *ties))
            keys = rest
        return steps

    def last(self, bag: int) -> str:
        """The table of what a bag sends: its states after the last message."""
        return states_table(bag, len(self.steps(bag)))

    # -- towards the centre

    def forward(self) -> Iterator[Statement]:
        for side in (self.left, self.right):
            for bag, _ in self.plan.upwards(side, self.centre):
                yield self._states(bag)
                for step in self.steps(bag):
                    yield self._extend(step)

    def _states(self, bag: int) -> Statement:
        """SELECT keys, s, SUM(w) AS c FROM scored rows GROUP BY keys, s"""
        names = [*self.link_keys(bag), "s", *([TIE] if self.tied(bag, 0) else [])]
        columns = [sql.column(n) for n in names]
        size = sql.total(sql.column("w"))
        made = sql.select([*((c, c.name) for c in columns), (size, "c")], exp.to_table(scored_table(bag)))
        return statement(f"states of {self._name(bag)}", sql.group(made, columns), states_table(bag, 0))

    def _extend(self, step: Step) -> Statement:
        """SELECT rest, q.s + m.s AS s, SUM(q.c * m.c) AS c FROM states q JOIN message m GROUP BY rest, q.s + m.s"""
        total: exp.Expression = sql.plus(sql.column("s", "q"), sql.column("s", "m"))
        placed = self.placed(step.bag, step.step + 1)
        plain = step.rest[1:] if placed else step.rest
        outputs: Named = [(sql.column(k, "q"), k) for k in plain]
        outputs.append((place(sql.column(step.rest[0], "q"), total), PLACE) if placed else (total, "s"))
        outputs += [(e, TIE) for e in [_tie(step)] if e is not None]
        keys = [e.copy() for e, _ in outputs]
        size = sql.total(sql.product(sql.column("c", "q"), sql.column("c", "m")))
        made = sql.group(self._met([*outputs, (size, "c")], step), keys)
        name = f"{self._name(step.bag)} meets {self._name(step.child)}"
        found = self._unplaced(made, step.rest[0]) if placed else made
        return statement(name, found, states_table(step.bag, step.step + 1))

    def placed(self, bag: int, step: int) -> bool:
        """Do these states have a place?"""
        return self.plan.method == "grid" and step > 0 and bool(self.steps(bag)[step - 1].rest)

    def _unplaced(self, states: exp.Select, code: str) -> exp.Select:
        """The code and the bucket out of the place."""
        at = exp.cast(sql.column(PLACE), exp.DType.BIGINT)
        high = exp.BitwiseRightShift(this=at, expression=sql.integer(WIDTH))
        whole = sql.plus(sql.product(exp.paren(high), sql.integer(1 << WIDTH)), sql.integer(1 << (WIDTH - 1)))
        low = exp.Sub(this=at, expression=exp.paren(whole))
        kept: Named = [(sql.column(n), n) for n in states.named_selects if n != PLACE]
        return sql.select([(high, code), (low, "s"), *kept], sql.derived(states, "e"))

    def _met(self, outputs: Named, step: Step) -> exp.Select:
        made = sql.select(outputs, sql.table(states_table(step.bag, step.step), "q"))
        meet = [sql.equal(sql.column(k, "q"), sql.column(k, "m")) for k in step.meet]
        return sql.join(made, sql.table(self.last(step.child), "m"), meet)

    # -- at the centre

    def merge(self) -> Iterator[Statement]:
        """One list of both sides, ordered by where an entry stands: a left entry at -s, a right one at s. A left entry
        counts the right ones before it; a right entry counts the left ones after it."""
        keys = self.centre_keys()
        tie = self.tied(self.left, len(self.steps(self.left)))
        left, right = self._side(self.left, keys, tie, True), self._side(self.right, keys, tie, False)
        merged = exp.union(left, right, distinct=False)
        columns = [*keys, "s", *([TIE] if tie else []), "side"]
        place = ("at", "rank")
        before = sql.window(sql.total(sql.column("cr")), keys, place, running=True)
        after = sql.window(sql.total(sql.column("cl")), keys, place, running=True, descending=True)
        v = sql.case(sql.equal(sql.column("side"), sql.integer(0)), before, after)
        made = sql.select([*((sql.column(n), n) for n in columns), (v, "v")], sql.derived(merged, "e"))
        yield statement("the two sides meet", made, CENTRE_TABLE)
        for bag, side, carries in ((self.left, 0, tie), (self.right, 1, False)):
            names = [*keys, "s", *([TIE] if carries else []), "v"]
            kept: Named = [(sql.column(n), n) for n in names]
            own = sql.select([*kept, *self._place(bag, len(self.steps(bag)), kept)], exp.to_table(CENTRE_TABLE))
            own = own.where(sql.equal(sql.column("side"), sql.integer(side)), _positive("v"))
            yield statement(f"values of {self._name(bag)}", own, value_table(bag, len(self.steps(bag))))

    def _place(self, bag: int, step: int, columns: Named) -> Named:
        """The place that these columns of a list of states make, where such states have one."""
        if not self.placed(bag, step):
            return []
        named = {name: column for column, name in columns}
        return [(place(named[self.steps(bag)[step - 1].rest[0]], named["s"]), PLACE)]

    def _side(self, bag: int, keys: list[str], tie: bool, is_left: bool) -> exp.Select:
        s, c, zero = sql.column("s"), sql.column("c"), sql.number(0)
        outputs: Named = [(sql.column(k), k) for k in keys]
        outputs.append((s, "s"))
        if tie:
            outputs.append((sql.column(TIE) if is_left else sql.integer(0), TIE))
        # In the order of `at`, entries at equal places stand as: left (total < 0), right, left (total <= 0).
        rank = sql.product(sql.integer(2), sql.column(TIE)) if tie and is_left else sql.integer(0 if is_left else 1)
        outputs += [(exp.Neg(this=s.copy()) if is_left else s.copy(), "at"), (rank, "rank")]
        outputs += [(c if is_left else zero, "cl"), (zero.copy() if is_left else c.copy(), "cr")]
        outputs.append((sql.integer(0 if is_left else 1), "side"))
        return sql.select(outputs, exp.to_table(self.last(bag)))

    def across(self, outputs: Named) -> exp.Select:
        """SELECT outputs FROM the left list l JOIN the right list r: every pair of entries. Only for few of them."""
        keys = self.centre_keys()
        meet = [sql.equal(sql.column(k, "l"), sql.column(k, "r")) for k in keys]
        return sql.join(
            sql.select(outputs, sql.table(self.last(self.left), "l")), sql.table(self.last(self.right), "r"), meet
        )

    def near(self, reach: int, name: str) -> Statement:
        """SELECT total, how many join rows, for the totals within `reach` buckets of 0."""
        keys = self.centre_keys()
        totals: exp.Query = exp.select(exp.alias_(sql.integer(-reach), "total"))
        for total in range(-reach + 1, reach + 1):
            totals = exp.union(totals, exp.select(exp.alias_(sql.integer(total), "total")), distinct=False)
        size = sql.total(sql.product(sql.column("c", "l"), sql.column("c", "r")))
        made = sql.select([(sql.column("total", "t"), "total"), (size, "c")], sql.table(self.last(self.left), "l"))
        made = sql.join(made, sql.derived(totals, "t"), [])
        opposite = exp.Sub(this=sql.column("total", "t"), expression=sql.column("s", "l"))
        meet = [sql.equal(sql.column(k, "l"), sql.column(k, "r")) for k in keys]
        made = sql.join(made, sql.table(self.last(self.right), "r"), [*meet, sql.equal(sql.column("s", "r"), opposite)])
        return statement(name, sql.group(made, [sql.column("total", "t")]))

    # -- and back

    def backward(self) -> Iterator[Statement]:
        for side in (self.left, self.right):
            for bag, _ in reversed(self.plan.upwards(side, self.centre)):
                for step in reversed(self.steps(bag)):
                    yield from self._return(step)

    def _return(self, step: Step) -> Iterator[Statement]:
        """The value of an extended state, handed back to the states and to the messages that made it: one meeting of
        the three lists, grouped both ways at once."""
        own = [*(sql.column(k, "q") for k in step.keys), sql.column("s", "q")]
        own += [sql.column(TIE, "q")] if step.tie_states else []
        sent = [*(sql.column(k, "m") for k in step.meet), sql.column("s", "m")]
        sent += [sql.column(TIE, "m")] if step.tie_message else []
        columns = [(e, f"{e.table}_{e.name}") for e in (*own, *sent)]
        v = sql.column("v", "a")
        sums = [
            (sql.total(sql.product(sql.column("c", other), v)), f"{side}_v") for side, other in (("q", "m"), ("m", "q"))
        ]
        to_message = exp.Grouping(expressions=[sql.column("s", "q")])
        made = self._met([*columns, *sums, (to_message, "side")], step)
        made = sql.join(made, sql.table(value_table(step.bag, step.step + 1), "a"), self._extension(step))
        table = returned_table(step.bag, step.step)
        yield statement(f"{self._name(step.bag)} returns", sql.grouping_sets(made, own, sent), table)
        to_states, to_messages = (step.bag, step.step, own), (step.child, len(self.steps(step.child)), sent)
        for side, of, (bag, at, keys) in ((0, "q", to_states), (1, "m", to_messages)):
            picked: Named = [(sql.column(f"{of}_{e.name}"), e.name) for e in keys]
            v = sql.column(f"{of}_v")
            rows = sql.select([*picked, *self._place(bag, at, picked), (v, "v")], exp.to_table(table))
            rows = rows.where(sql.equal(sql.column("side"), sql.integer(side)))
            yield statement(f"values of {self._name(bag)}", rows, value_table(bag, at))

    def _extension(self, step: Step) -> list[exp.Expression]:
        """The extended state a that q and m make."""
        total: exp.Expression = sql.plus(sql.column("s", "q"), sql.column("s", "m"))
        placed = self.placed(step.bag, step.step + 1)
        if placed:
            total = place(sql.column(step.rest[0], "q"), total)
        on = [sql.equal(sql.column(PLACE if placed else "s", "a"), total)]
        on += [sql.equal(sql.column(k, "a"), sql.column(k, "q")) for k in (step.rest[1:] if placed else step.rest)]
        tie = _tie(step)
        return on + ([sql.equal(sql.column(TIE, "a"), tie)] if tie is not None else [])

    def _name(self, bag: int) -> str:
        return self.plan.tree.name(self.plan.bags[bag].core)


def _positive(name: str) -> exp.Expression:
    """Entries that count nothing have nothing to hand back; about half of them are such."""
    return exp.GT(this=sql.column(name), expression=sql.integer(0))


def _tie(step: Step) -> exp.Expression | None:
    """o of the extended state: at most one of the two has it, because the label is in one place."""
    if step.tie_states:
        return sql.column(TIE, "q")
    return sql.column(TIE, "m") if step.tie_message else None
