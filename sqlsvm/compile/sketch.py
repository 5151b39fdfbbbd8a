"""The paper's Row Counting: for every row of every bag, in how many join rows with total < 0 it takes part, within a
factor 1 + epsilon and never too many. One label at a time: a sketch bounds counts relatively, and that does not survive
a subtraction.

Let M(b -> e) be the message of bag b over its link e: per key a list (s, c), "c partial join rows behind b score s".
        message    M(b -> e) = compress( union over the states of b of  s + product of M over the other links of b )
        product    the pairs (s + s', c c') of two lists, compressed
        count      v(state) = number of pairs from (product of all links but the last) x (last) with total < 0
Lists are sketches: counts from below of how many score at most s. Unions and shifts keep that, a product multiplies the
factors, `compress` is the only step that loses, and the last product of a count is read by one sort instead of made.
Products depend on the keys alone, so they are made once for each combination of keys that some state has.

Without compression the same statements count exactly, at the price of lists as long as the joins behind them.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.compress import compressed, levels_statement, reached
from sqlsvm.compile.messages import Messages, scored_table, states_table, value_table
from sqlsvm.compile.prepare import link_key
from sqlsvm.compile.scores import Bend, scored, straight
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.tally import Tally
from sqlsvm.compile.weighting import STEP, Step
from sqlsvm.plan.parameters import BOUND, SLACK
from sqlsvm.plan.plan import Bag, Link, Plan
from sqlsvm.sql import Named

REACHED = "reached levels"
EXCESS = "excess"


def perturbed(term: exp.Expression) -> exp.Expression:
    """theta x + slack |theta x|: the paper's rows moved to where they count less, each coordinate by itself."""
    return sql.plus(term, sql.product(sql.parameter(SLACK), exp.Abs(this=term.copy())))


def counted(plan: Plan, bend: Bend = straight, step: Step = STEP) -> Iterator[Statement]:
    """The active tables of one label, sketched or exact as the plan says."""
    tally = Tally(plan, signed=False, bend=bend, weighting=step)
    if plan.centre is None:
        yield tally.one_bag()
        return
    yield from tally.scores()
    yield from Sketch(plan, compressing=plan.method == "sketch").counts(strict=step.strict)
    yield from tally.counts(Messages(plan, ties=False))


def reached_levels(plan: Plan, bend: Bend = straight) -> Iterator[Statement]:
    """SELECT f, threshold: the levels at which the sketch of all 1 - margin steps, each with the largest z that reaches
    it. A level in between has the threshold of the next one."""
    yield from Tally(plan, signed=False, bend=bend).scores()
    yield from Sketch(plan, compressing=True).thresholds()


def excess(plan: Plan, bend: Bend = straight) -> Iterator[Statement]:
    """SELECT the sum of max(0, bound - margin) over the rows of one label: the area under the sketch of these values,
    so within 1 + epsilon and never too much."""
    yield from Tally(plan, signed=False, bend=bend).scores()
    yield from Sketch(plan, compressing=plan.method == "sketch").excess()


def sizes(plan: Plan) -> Iterator[Statement]:
    """SELECT the total weight of a bag's rows, and the smallest: between them lies every count of a message."""
    for bag in plan.bags:
        rows = scored(plan, bag.core)
        w = sql.double(sql.column("w")) if "w" in rows.named_selects else sql.number(1)
        positive = sql.case(exp.GT(this=w.copy(), expression=sql.integer(0)), w.copy())
        outputs: Named = [(sql.sum_or_zero(w), "total")]
        outputs.append((sql.coalesce(exp.Min(this=positive), sql.number(1)), "smallest"))
        yield statement(size_name(bag), sql.select(outputs, sql.derived(rows, "s")))


def size_name(bag: Bag) -> str:
    return f"size {bag.number}"


class Sketch:
    """The statements of one program, from scored rows to counts. What is once made is not made again."""

    def __init__(self, plan: Plan, *, compressing: bool) -> None:
        self.plan = plan
        self.compressing = compressing
        self._made: set[str] = set()

    def counts(self, *, strict: bool) -> Iterator[Statement]:
        """v for each state of each bag."""
        yield from self._states()
        for bag in self.plan.bags:
            links = self._links(bag.number)
            yield from self._arriving(bag.number, links[:-1])
            yield from self._arriving(bag.number, links[-1:])
            yield self._count(bag.number, links[:-1], links[-1], strict)

    def thresholds(self) -> Iterator[Statement]:
        """All totals in one list, compressed."""
        yield from self._states()
        root, links = self._leaf()
        yield from self._arriving(root, links)
        levels = sql.derived(reached(self._entries(root, links, []), []), "t")
        # s is margin - bound
        z = exp.Sub(this=exp.Sub(this=sql.number(1), expression=sql.parameter(BOUND)), expression=sql.column("s"))
        yield statement(REACHED, sql.select([(sql.column("level"), "f"), (z, "threshold")], levels).order_by("f"))

    def excess(self) -> Iterator[Statement]:
        """The sum of max(0, -total)."""
        yield from self._states()
        root, links = self._leaf()
        yield from self._arriving(root, links)
        yield self._below(root, links)

    def _leaf(self) -> tuple[int, list[Link]]:
        """A bag with one link at most, so that no product is made of whole messages: as good a root as any."""
        root = next(bag.number for bag in self.plan.bags if len(self._links(bag.number)) <= 1)
        return root, self._links(root)

    # -- lists

    def _states(self) -> Iterator[Statement]:
        """SELECT keys, s, SUM(w) AS c FROM scored rows GROUP BY keys, s"""
        if self.compressing:
            yield levels_statement()
        for bag in self.plan.bags:
            columns = [sql.column(n) for n in (*self._keys(self._links(bag.number)), "s")]
            size = sql.total(sql.column("w"))
            made = sql.select([*((c, c.name) for c in columns), (size, "c")], exp.to_table(scored_table(bag.number)))
            name = f"states of {self._name(bag.number)}"
            yield statement(name, sql.group(made, [c.copy() for c in columns]), states_table(bag.number, 0))

    def _arriving(self, bag: int, links: Sequence[Link]) -> Iterator[Statement]:
        """Makes the product of what comes in over these links, and first whatever it is made from."""
        if not links or self._list(bag, links) in self._made:
            return
        if len(links) == 1:
            child = links[0].other(bag)
            others = [link for link in self._links(child) if link != links[0]]
            yield from self._arriving(child, others)
            made, keys = self._entries(child, others, self._keys(links)), self._keys(links)
            name = f"message from {self._name(child)} to {self._name(bag)}"
        else:
            left, right = self._halves(bag, links)
            yield from self._arriving(bag, left)
            yield from self._arriving(bag, right)
            made, keys = self._product(bag, left, right), self._keys(links)
            name = f"messages to {self._name(bag)}, multiplied"
        table = self._list(bag, links)
        self._made.add(table)
        yield statement(name, compressed(made, keys) if self.compressing else made, table)

    def _halves(self, bag: int, links: Sequence[Link]) -> tuple[Sequence[Link], Sequence[Link]]:
        """All links but one are those before it and those after it. Runs from either end grow by one link at a time, so
        a hub makes three products a link, not one for every pair."""
        every = self._links(bag)
        places = [every.index(link) for link in links]
        gap = next((i for i, (a, b) in enumerate(pairwise(places), 1) if b > a + 1), None)
        cut = gap if gap is not None else len(links) - 1 if places[0] == 0 else 1
        return links[:cut], links[cut:]

    def _entries(self, bag: int, links: Sequence[Link], keys: list[str]) -> exp.Select:
        """SELECT keys, q.s + m.s AS s, SUM(q.c * m.c) AS c FROM states q JOIN product m GROUP BY keys, q.s + m.s"""
        columns: Named = [(sql.column(k, "q"), k) for k in keys]
        columns.append((self._sum_of("s", links), "s"))
        c = sql.product(sql.column("c", "q"), *([sql.column("c", "m")] if links else []))
        made = self._met(bag, links, [*columns, (sql.total(c), "c")])
        return sql.group(made, [column.copy() for column, _ in columns])

    def _sum_of(self, name: str, links: Sequence[Link]) -> exp.Expression:
        return sql.plus(sql.column(name, "q"), *([sql.column(name, "m")] if links else []))

    def _met(self, bag: int, links: Sequence[Link], outputs: Named) -> exp.Select:
        made = sql.select(outputs, _from(states_table(bag, 0), "q"))
        return sql.join(made, _from(self._list(bag, links), "m"), _same(self._keys(links), "q", "m")) if links else made

    def _product(self, bag: int, left: Sequence[Link], right: Sequence[Link]) -> exp.Select:
        """SELECT keys, a.s + b.s AS s, SUM(a.c * b.c) AS c FROM (SELECT DISTINCT keys FROM states) q JOIN a JOIN b"""
        keys = self._keys([*left, *right])
        wanted = sql.select([(sql.column(k), k) for k in keys] or [(sql.integer(1), "one")]).distinct()
        columns: Named = [(sql.column(k, "q"), k) for k in keys]
        columns.append((sql.plus(sql.column("s", "a"), sql.column("s", "b")), "s"))
        c = sql.total(sql.product(sql.column("c", "a"), sql.column("c", "b")))
        made = sql.select([*columns, (c, "c")], sql.derived(wanted.from_(exp.to_table(states_table(bag, 0))), "q"))
        for links, alias in ((left, "a"), (right, "b")):
            made = sql.join(made, _from(self._list(bag, links), alias), _same(self._keys(links), "q", alias))
        return sql.group(made, [column.copy() for column, _ in columns])

    # -- counts, by one sort for each key: a state that `lacks` as much to total = 0 stands there among what arrives

    def _count(self, bag: int, links: Sequence[Link], last: Link, strict: bool) -> Statement:
        """SELECT keys, s, SUM(c * what arrives before) AS v"""
        columns = [sql.column(n) for n in (*self._keys(self._links(bag)), "s")]
        size = sql.column("c", "m") if links else sql.number(1)
        lined_up = exp.union(self._lacking(bag, links, size, strict), self._arrived(bag, last, strict), distinct=False)
        before = self._before(sql.column("arrived"), last)
        looked_up = [*((c, c.name) for c in columns), (sql.column("c"), "c"), (before, "before")]
        found = sql.derived(sql.select(looked_up, sql.derived(lined_up, "e")), "t")
        v = sql.total(sql.product(sql.column("c"), sql.column("before")))
        made = _of_states(sql.select([*((c.copy(), c.name) for c in columns), (v, "v")], found))
        name = f"values of {self._name(bag)}"
        return statement(name, sql.group(made, [c.copy() for c in columns]), value_table(bag, 0))

    def _below(self, root: int, links: Sequence[Link]) -> Statement:
        """SELECT SUM(c * how far below 0 the totals are that a state is part of) AS excess"""
        found = self._below_with(root, links[0]) if links else self._below_alone(root)
        area = sql.sum_or_zero(sql.product(sql.column("c"), sql.column("below")))
        return statement(EXCESS, sql.select([(area, EXCESS)], sql.derived(found, "t")))

    def _below_alone(self, root: int) -> exp.Select:
        below = exp.Neg(this=sql.column("s"))
        states = sql.select([(sql.column("c"), "c"), (below, "below")], exp.to_table(states_table(root, 0)))
        return states.where(exp.LT(this=sql.column("s"), expression=sql.integer(0)))

    def _below_with(self, root: int, last: Link) -> exp.Select:
        """The sum of at - s over what arrives before is at * how much that is, less the sum of its s."""
        at, arrived = sql.column("at"), sql.column("arrived")
        lacking = self._lacking(root, [], sql.column("c", "q"), strict=True)
        lined_up = exp.union(lacking, self._arrived(root, last, strict=True), distinct=False)
        taken = self._before(sql.product(arrived, at), last)
        below = exp.Sub(this=sql.product(at.copy(), self._before(arrived.copy(), last)), expression=taken)
        found = sql.select([(sql.column("c"), "c"), (below, "below")], sql.derived(lined_up, "e"))
        return _of_states(sql.select([(sql.column(n), n) for n in ("c", "below")], sql.derived(found, "b")))

    def _before(self, value: exp.Expression, last: Link) -> exp.Expression:
        return sql.window(sql.total(value), self._keys([last]), ["at", "rank"], running=True)

    def _lacking(self, bag: int, links: Sequence[Link], size: exp.Expression, strict: bool) -> exp.Select:
        at = exp.Neg(this=exp.paren(self._sum_of("s", links)))
        outputs: Named = [(sql.column(n, "q"), n) for n in (*self._keys(self._links(bag)), "s")]
        outputs += [(at, "at"), (sql.integer(0 if strict else 1), "rank")]
        outputs += [(size, "c"), (sql.number(0), "arrived")]
        return self._met(bag, links, outputs)

    def _arrived(self, bag: int, last: Link, strict: bool) -> exp.Select:
        meet = self._keys([last])
        outputs: Named = [(sql.column(k) if k in meet else exp.null(), k) for k in self._keys(self._links(bag))]
        outputs += [(exp.null(), "s"), (sql.column("s"), "at"), (sql.integer(1 if strict else 0), "rank")]
        outputs += [(sql.number(0), "c"), (sql.column("c"), "arrived")]
        return sql.select(outputs, exp.to_table(self._list(bag, [last])))

    # -- names

    def _links(self, bag: int) -> list[Link]:
        return [link for link in self.plan.links if bag in link.bags]

    def _keys(self, links: Sequence[Link]) -> list[str]:
        return sorted({link_key(v) for link in links for v in link.edge.on})

    def _list(self, bag: int, links: Sequence[Link]) -> str:
        return f"sqlsvm_m{bag}_{'_'.join(str(self.plan.links.index(link)) for link in links)}"

    def _name(self, bag: int) -> str:
        return self.plan.tree.name(self.plan.bags[bag].core)


def _of_states(made: exp.Select) -> exp.Select:
    """What arrives has c = 0 in the line."""
    return made.where(exp.GT(this=sql.column("c"), expression=sql.integer(0)))


def _from(table: str, alias: str) -> exp.Expr:
    return sql.table(table, alias)


def _same(keys: Sequence[str], left: str, right: str) -> list[exp.Expression]:
    return [sql.equal(sql.column(k, left), sql.column(k, right)) for k in keys]
