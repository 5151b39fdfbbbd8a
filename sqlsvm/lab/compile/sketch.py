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

A *sketch* of a multiset A, which has A(t) values at or beyond t, is a multiset S with A(t)/(1+e) <= S(t) <= A(t) for
every t. To compress is to round every cumulative count down to a level; it costs a factor 1 + step, where a count
below the next level is at most (1 + step) times this one.

Without compression the same statements count exactly, at the price of lists as long as the joins behind them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import expm1, log1p

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.messages import bag_name, link_keys, states, states_table, value_table
from sqlsvm.compile.prepare import link_key
from sqlsvm.compile.resolve import resolve, value_counts
from sqlsvm.compile.scores import Bend, scored, straight, weight_of
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.compile.tally import Tally, active_rows
from sqlsvm.compile.weighting import STEP, Step
from sqlsvm.plan.join_tree import Link
from sqlsvm.plan.parameters import BOUND, BUCKETS, LEVELS, SLACK
from sqlsvm.plan.plan import Bag, Plan
from sqlsvm.solve.arrays import Array
from sqlsvm.sql import Named

ROUNDING = 1e-9  # the share of epsilon that is kept for the rounding of doubles where counts exceed 2^53


def compressions(ties: Sequence[tuple[int, int]]) -> int:
    """How many compressions stand behind a count at a bag, for a tree of bags given as pairs.

    Seen from a root, each of the m - 1 other bags compresses the message that it sends, and one with k children the
    k - 1 products that it is made of. The root multiplies what its k neighbours send, but the last product is only
    counted, never kept: k - 2. As children are neighbours less one, it is m - 1 + sum of max(0, neighbours - 2) for any
    root: m - 1 on a path, 2m - 4 on a star.

    >>> compressions([(0, 1), (1, 2), (2, 3)]), compressions([(0, 1), (0, 2), (0, 3)])
    (3, 4)
    """
    degrees = Counter(bag for tie in ties for bag in tie)
    return len(ties) + sum(max(0, degree - 2) for degree in degrees.values())


def step_for(epsilon: float, compressed: int) -> float:
    """The largest step that keeps (1 + step)^compressed <= 1 + epsilon."""
    return expm1(log1p(epsilon) / max(1, compressed)) * (1.0 - ROUNDING)


def levels(step: float, largest: float) -> Array:
    """1 = f_0 < f_1 < ..., up to `largest`: f' = floor((1 + step) f) + 1, so that f' - 1 <= (1 + step) f.

    All counts up to 1/step are levels. Beyond 2^53 a level is truncated to a double: the doubles below it are still at
    most (1 + step) f, because they are at least 2 apart.

    >>> levels(0.5, 20).tolist()
    [1.0, 2.0, 4.0, 7.0, 11.0, 17.0]
    """
    numerator, denominator = step.as_integer_ratio()
    found, level = [], 1
    while level <= largest:
        found.append(float(level))
        level += level * numerator // denominator + 1
        extra = max(0, level.bit_length() - 53)
        level = level >> extra << extra
    return np.array(found)


def real_levels(step: float, smallest: float, largest: float) -> Array:
    """The same for weights that are no integers: smallest * (1 + step)^k."""
    if not smallest <= largest:
        return np.zeros(0)
    size = int(np.log(largest / smallest) / log1p(step)) + 1
    found: Array = smallest * np.exp(log1p(step) * np.arange(size))
    return found


LEVELS_TABLE = "sqlsvm_levels"


def levels_statement() -> Statement:
    """SELECT f FROM UNNEST($levels): the parameter as a table."""
    return statement(
        "levels", sql.select([(sql.column("f"), "f")], sql.items(sql.array(LEVELS), "l", "f")), LEVELS_TABLE
    )


def compressed(entries: exp.Select, keys: list[str]) -> exp.Select:
    """SELECT keys, s, c: a sketch of entries (keys, s, c) in which no (keys, s) occurs twice."""
    level = sql.column("level")
    before = sql.window(exp.Lag(this=level), keys, ["level"])
    c = (sql.minus(level, sql.or_zero(before)), "c")
    return sql.select([*sql.columns([*keys, "s"]), c], sql.derived(reached(entries, keys), "t"))


def reached(entries: exp.Select, keys: list[str]) -> exp.Select:
    """SELECT keys, level, MIN(s) AS s: for each level that a cumulative count is rounded down to, where it is first."""
    f, first = sql.column("f"), sql.smallest("s")
    floor = sql.window(sql.largest(f), [], ["n", "f"], running=True)
    looked_up = [*sql.columns([*keys, "s", "f"]), (floor, "level")]
    floored = sql.select(looked_up, sql.derived(_with_levels(entries, keys), "m"))
    found = sql.grouped(sql.columns([*keys, "level"]), [(first, "s")], sql.derived(floored, "n"))
    return sql.where(found, sql.is_null(f), sql.not_null(sql.column("level")))


def _with_levels(entries: exp.Select, keys: list[str]) -> exp.Query:
    """Entries with cumulative counts n, and the levels. Of equal n the level comes first: its f is not NULL."""
    n = sql.window(sql.total("c"), keys, ["s"], running=True)
    own = [*sql.columns([*keys, "s"]), (n, "n"), (sql.double(exp.null()), "f")]
    of_levels = [*((exp.null(), name) for name in (*keys, "s")), (sql.column("f"), "n"), (sql.column("f"), "f")]
    return sql.union_all(sql.select(own, sql.derived(entries, "e")), sql.select(of_levels, sql.table(LEVELS_TABLE)))


THRESHOLDS = "thresholds"
EXCESS = "excess"


def perturbed(term: exp.Expression) -> exp.Expression:
    """theta x + slack |theta x|: the paper's rows moved to where they count less, each coordinate by itself."""
    return sql.plus(term, sql.product(sql.parameter(SLACK), exp.Abs(this=term)))


def counted(plan: Plan, bend: Bend = straight, step: Step = STEP) -> Iterator[Statement]:
    """The active tables of one label, sketched or exact as the plan says."""
    counting = Sketch(plan, compressing=plan.method == "sketch").counts(strict=step.strict)
    yield from Tally(plan, signed=False, bend=bend, weighting=step).active(counting)


def thresholds(plan: Plan) -> Iterator[Statement]:
    """SELECT f, threshold: the levels at which the list of all 1 - margin steps, each with the largest z that reaches
    it. A level in between has the threshold of the next one."""
    yield from Tally(plan, signed=False).scores()
    yield from Sketch(plan, compressing=plan.method == "sketch").thresholds()


def excess(plan: Plan, bend: Bend = straight) -> Iterator[Statement]:
    """SELECT the sum of max(0, bound - margin) over the rows of one label: the area under the sketch of these values,
    so within 1 + epsilon and never too much."""
    yield from Tally(plan, signed=False, bend=bend).scores()
    yield from Sketch(plan, compressing=plan.method == "sketch").excess()


def sizes(plan: Plan) -> Iterator[Statement]:
    """SELECT the total weight of a bag's rows, and the smallest: between them lies every count of a message."""
    for bag in plan.bags:
        rows = scored(plan, bag.core)
        w = weight_of(rows)
        smallest = sql.coalesce(sql.smallest(sql.case(sql.positive(w), w)), 1.0)
        outputs: Named = [(sql.sum_or_zero(w), "total"), (smallest, "smallest")]
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
        """All totals in one list, rounded down to levels."""
        if not self.compressing:
            yield levels_statement()
        yield from self._states()
        root, links = self._leaf()
        yield from self._arriving(root, links)
        levels = sql.derived(reached(self._entries(root, links, []), []), "t")
        outputs: Named = [(sql.column("level"), "f"), (sql.minus(1.0, exp.paren(self._margin())), "threshold")]
        yield statement(THRESHOLDS, sql.select(outputs, levels).order_by("f"))

    def _margin(self) -> exp.Expression:
        """A total is margin - bound; on the grid in buckets."""
        if self.plan.method != "grid":
            return sql.plus("s", sql.parameter(BOUND))
        whole = exp.Ceil(this=sql.product(sql.parameter(BOUND), sql.parameter(BUCKETS)))
        return sql.ratio(exp.paren(sql.plus(sql.double(sql.column("s")), whole)), sql.parameter(BUCKETS))

    def excess(self) -> Iterator[Statement]:
        """SELECT SUM(c * how far below 0 the totals are that a state is part of): the sum of max(0, -total)."""
        yield from self._states()
        root, links = self._leaf()
        yield from self._arriving(root, links)
        found = self._below_with(root, links[0]) if links else self._below_alone(root)
        area = sql.sum_or_zero(sql.product("c", "below"))
        yield statement(EXCESS, sql.select([(area, EXCESS)], sql.derived(found, "t")))

    def _leaf(self) -> tuple[int, list[Link]]:
        """A bag with one link at most, so that no product is made of whole messages: as good a root as any."""
        root = next(bag.number for bag in self.plan.bags if len(self._links(bag.number)) <= 1)
        return root, self._links(root)

    # -- lists

    def _states(self) -> Iterator[Statement]:
        if self.compressing:
            yield levels_statement()
        yield from (states(self.plan, bag.number) for bag in self.plan.bags)

    def _arriving(self, bag: int, links: Sequence[Link]) -> Iterator[Statement]:
        """Makes the product of what comes in over these links, after all that it is made from."""
        if not links or self._list(bag, links) in self._made:
            return
        if len(links) == 1:
            child = links[0].other(bag)
            others = [link for link in self._links(child) if link != links[0]]
            yield from self._arriving(child, others)
            made = self._entries(child, others, self._keys(links))
            name = f"message from {bag_name(self.plan, child)} to {bag_name(self.plan, bag)}"
        else:
            left, right = self._halves(bag, links)
            yield from self._arriving(bag, left)
            yield from self._arriving(bag, right)
            made = self._product(bag, left, right)
            name = f"messages to {bag_name(self.plan, bag)}, multiplied"
        table = self._list(bag, links)
        self._made.add(table)
        yield statement(name, compressed(made, self._keys(links)) if self.compressing else made, table)

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
        columns = [*sql.columns(keys, "q"), (sql.plus(*_both("s", links)), "s")]
        made = self._met(bag, links, [*columns, (sql.total(sql.product(*_both("c", links))), "c")])
        return sql.group(made, [column for column, _ in columns])

    def _met(self, bag: int, links: Sequence[Link], outputs: Named) -> exp.Select:
        made = sql.select(outputs, sql.table(states_table(bag, 0), "q"))
        return self._joined(made, bag, links, "m") if links else made

    def _joined(self, made: exp.Select, bag: int, links: Sequence[Link], alias: str) -> exp.Select:
        """A SELECT from states q JOIN what arrives over these links."""
        return sql.join(made, sql.table(self._list(bag, links), alias), sql.same(self._keys(links), "q", alias))

    def _product(self, bag: int, left: Sequence[Link], right: Sequence[Link]) -> exp.Select:
        """SELECT keys, a.s + b.s AS s, SUM(a.c * b.c) AS c FROM (SELECT DISTINCT keys FROM states) q JOIN a JOIN b"""
        keys = self._keys([*left, *right])
        wanted = sql.select(sql.columns(keys) or [(sql.integer(1), "one")], sql.table(states_table(bag, 0)))
        columns = [*sql.columns(keys, "q"), (sql.plus("a.s", "b.s"), "s")]
        c = sql.total(sql.product("a.c", "b.c"))
        made = sql.grouped(columns, [(c, "c")], sql.derived(wanted.distinct(), "q"))
        return self._joined(self._joined(made, bag, left, "a"), bag, right, "b")

    # -- counts, by one sort for each key: a state that `lacks` as much to total = 0 stands there among what arrives

    def _count(self, bag: int, links: Sequence[Link], last: Link, strict: bool) -> Statement:
        """SELECT keys, s, SUM(c * what arrives before) AS v"""
        names = [*link_keys(self.plan, bag), "s"]
        size = sql.column("c", "m") if links else sql.number(1)
        lined_up = sql.union_all(self._lacking(bag, links, size, strict), self._arrived(bag, last, strict))
        before = (self._before(sql.column("arrived"), last), "before")
        found = sql.select([*sql.columns([*names, "c"]), before], sql.derived(lined_up, "e"))
        v = sql.total(sql.product("c", "before"))
        made = _of_states(sql.grouped(sql.columns(names), [(v, "v")], sql.derived(found, "t")))
        return statement(f"values of {bag_name(self.plan, bag)}", made, value_table(bag, 0))

    def _below_alone(self, root: int) -> exp.Select:
        below = sql.negated("s")
        states = sql.select([(sql.column("c"), "c"), (below, "below")], sql.table(states_table(root, 0)))
        return states.where(sql.less("s", 0))

    def _below_with(self, root: int, last: Link) -> exp.Select:
        """The sum of at - s over what arrives before is at * how much that is, less the sum of its s."""
        at, arrived = sql.column("at"), sql.column("arrived")
        lacking = self._lacking(root, [], sql.column("c", "q"), strict=True)
        lined_up = sql.union_all(lacking, self._arrived(root, last, strict=True))
        taken = self._before(sql.product(arrived, at), last)
        below = sql.minus(sql.product(at, self._before(arrived, last)), taken)
        found = sql.select([(sql.column("c"), "c"), (below, "below")], sql.derived(lined_up, "e"))
        return _of_states(sql.select(sql.columns(["c", "below"]), sql.derived(found, "b")))

    def _before(self, value: exp.Expression, last: Link) -> exp.Expression:
        return sql.window(sql.total(value), self._keys([last]), ["at", "rank"], running=True)

    def _lacking(self, bag: int, links: Sequence[Link], size: exp.Expression, strict: bool) -> exp.Select:
        at = sql.negated(sql.plus(*_both("s", links)))
        outputs = [*sql.columns([*link_keys(self.plan, bag), "s"], "q"), (at, "at")]
        outputs += [(sql.integer(0 if strict else 1), "rank"), (size, "c"), (sql.number(0), "arrived")]
        return self._met(bag, links, outputs)

    def _arrived(self, bag: int, last: Link, strict: bool) -> exp.Select:
        meet = self._keys([last])
        outputs: Named = [(sql.column(k) if k in meet else exp.null(), k) for k in link_keys(self.plan, bag)]
        outputs += [(exp.null(), "s"), (sql.column("s"), "at"), (sql.integer(1 if strict else 0), "rank")]
        outputs += [(sql.number(0), "c"), (sql.column("c"), "arrived")]
        return sql.select(outputs, sql.table(self._list(bag, [last])))

    # -- names

    def _links(self, bag: int) -> list[Link]:
        return [link for link in self.plan.links if bag in link.bags]

    def _keys(self, links: Sequence[Link]) -> list[str]:
        return sorted({link_key(v) for link in links for v in link.edge.on})

    def _list(self, bag: int, links: Sequence[Link]) -> str:
        return f"sqlsvm_m{bag}_{'_'.join(str(self.plan.links.index(link)) for link in links)}"


def _both(name: str, links: Sequence[Link]) -> list[exp.Expression]:
    """A column of the states q, and of the message m if one arrives."""
    return [sql.column(name, of) for of in ("qm" if links else "q")]


def _of_states(made: exp.Select) -> exp.Select:
    """What arrives has c = 0 in the line."""
    return sql.where(made, sql.positive("c"))


def row_count(plan: Plan) -> Iterator[Statement]:
    """A count for every feature and value."""
    yield from Tally(plan, signed=False).active()
    for bag in plan.bags:
        yield from resolve(plan, bag.core, active_rows(bag.number), value_counts)
