"""Sizes and moments of the virtual join: N, and the sum of every coordinate. If needed also its sum of squares, its
largest |x|, its sum over the rows with y = -1, and its range. One scan of each node joined with its count messages.

Which foreign keys of the label's node always find their row.

Along a foreign key a message up says 1 for every key that exists. It only drops the rows without a partner. If there
are none, no other message needs to join it. If this holds for all keys, each message down is a GROUP BY of the label's
node alone: m dimensions take m scans instead of m (m - 1) joins. This is the common case. To look costs little where
many rows share a key: the count of each key mostly is the message down, and only these few keys are looked up.

The sums over the join of all products of two factors: what a squared loss and a correlation need.

A factor is a number that each row of a node has: a coordinate, a category as 0 or 1, the label, a column. If each row
of a node counts as often as a factor says, the number of join rows that a row of another node is part of is the sum of
that factor over them. So messages from one node, with a column for each of its factors, give all products with it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.categories import by_category
from sqlsvm.compile.count import Counts, down_table, up_table
from sqlsvm.compile.prepare import Name, key
from sqlsvm.compile.scores import Scoring, carried, number_columns, source, weight_of
from sqlsvm.compile.statement import Asked, Statement, asked, in_row, one_number, statement
from sqlsvm.engine.base import Rows
from sqlsvm.options import Scale
from sqlsvm.plan.design import Coordinate, Design, Dictionary
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.sql import Named

EVERY = frozenset(("total", "squares", "largest", "negative"))
RANGE = frozenset(("least", "most"))  # zeros aside: a number that is missing is 0
CATEGORIES = frozenset(("categories",))  # the rows of each category. With "negative" these are always measured.
OF_CODES = "rows of each class"
TIMES = "c"  # what messages call the only factor that there is


def needed(plan: Plan, scale: Scale, *, by_class: bool = False) -> frozenset[str]:
    """What scaling asks for, or else how large features are (see `run/rounding.py`); with several bags also the sums
    for y = -1, which the cut needs (see `oracle`). `by_class`: these sums always, and the rows of categories."""
    size = "squares" if scale == "standard" else "largest"
    apart = by_class or (plan.centre is not None and plan.design.target.signed)
    return frozenset({"total", size} | ({"negative"} if apart else set()))


def counts_of(plan: Plan, *, apart: bool = True) -> Counts:
    """The count messages over the sources of a plan, rooted at the label; apart: also of the negative rows."""
    target, found = plan.design.target, joins_of(plan).of(plan.label_node, {})
    is_negative, apart = (target.is_negative, apart) if target.signed else (None, False)
    return replace(found, is_negative=is_negative, apart=apart, parts=plan.parts).without(plan.met)


def joins_of(plan: Plan) -> Counts:
    """The messages over the sources of a plan: all sums over its join are made of them."""
    return Counts(plan.tree, partial(source, plan, alias="n"), plan.weighted)


def moments(plan: Plan, measured: frozenset[str] = EVERY) -> Iterator[Statement]:
    yield from moments_by(plan, counts_of(plan, apart="negative" in measured), measured)


def moments_by(plan: Plan, counts: Counts, measured: frozenset[str]) -> Iterator[Statement]:
    """The same with given messages. Some may be known to be needless."""
    if plan.measured_at_once:
        yield from _at_once(plan, counts, measured)
        return
    yield from messages_to(counts, measured_at(plan, measured))
    for node in range(len(plan.tree.nodes)):
        yield from _of_node(plan, counts, node, measured)


def own_ends(plan: Plan) -> Iterator[Statement]:
    """The range of every coordinate over the rows of its node, of which the join may have fewer."""
    for node in filter(plan.coordinates, range(len(plan.tree.nodes))):
        found = sql.select(list(_measures(plan, node, RANGE, [])), source(plan, node, alias="t"))
        yield statement(moments_name(node), found)


def messages_to(counts: Counts, at: Collection[int]) -> Iterator[Statement]:
    """The messages without those down to where nothing is measured."""
    wanted = set(at)
    idle = {down_table(n) for n, edge in counts.tree.down() if edge and wanted.isdisjoint(counts.tree.beyond(n, edge))}
    yield from (s for s in counts.messages() if s.table not in idle)


def join_size(plan: Plan) -> Asked[float]:
    """How much the rows of the join weigh, and nothing else."""
    counts, root = counts_of(plan, apart=False), plan.label_node
    rows = sql.derived(counts.joined(root, [(counts.total(root), "total")]), "t")
    found = sql.select([(sql.sum_or_zero("t.total"), "n")], rows)
    return asked("size of the join", found, one_number, messages_to(counts, {root}))


def multiplied(design: Design) -> Iterator[tuple[Coordinate, tuple[Coordinate, ...]]]:
    """Of each sum every term with the later ones: their products are in its variance."""
    for terms in design.numbers.values():
        yield from ((c, terms[place:]) for place, c in enumerate(terms[:-1], 1))


def products(plan: Plan, c: Coordinate, others: Sequence[Coordinate]) -> Iterator[Statement]:
    """SELECT SUM(x * others) over the join. If each row of a node counts x times, the number of join rows that a row of
    another node is part of is their sum of x."""
    counts = joins_of(plan).of(plan.tree.node_of(c.relation), {TIMES: c.of("n")})
    found = {plan.tree.node_of(other.relation) for other in others}
    yield from messages_to(counts, found)
    for at in sorted(found):
        here = [other for other in others if plan.tree.node_of(other.relation) == at]
        yield _products_at(plan, counts, c, at, here)


def covariances(plan: Plan, c: Coordinate, mean: exp.Expression) -> Iterator[Statement]:
    """SELECT SUM((x - mean) * other) over the join, for all other coordinates and categories."""
    counts = joins_of(plan).of(plan.tree.node_of(c.relation), {TIMES: sql.minus(c.of("n"), mean)})
    found = [node for node in range(len(plan.tree.nodes)) if plan.featured(node)]
    yield from messages_to(counts, found)
    for at in found:
        if here := plan.coordinates(at):
            yield _products_at(plan, counts, c, at, here)
        for d in plan.dictionaries(at):
            rows = counts.joined(at, [*sql.columns([d.column], "n"), (counts.times(at, TIMES), "total")])
            sums, each = sql.totals(["total"], "t"), sql.derived(rows, "t")
            yield statement(category_products_name(c, d), by_category([(d, "n")], sums, each, known=True))


def _products_at(plan: Plan, counts: Counts, c: Coordinate, at: int, here: Sequence[Coordinate]) -> Statement:
    rows = counts.joined(at, [*sql.columns(number_columns(plan, at), "n"), (counts.times(at, TIMES), "total")])
    sums = [(o.total("t", sql.column("total", "t")), o.column) for o in here]
    return statement(products_name(c, at), sql.select(sums, sql.derived(rows, "t")))


def products_name(c: Coordinate, node: int) -> str:
    return f"products {c.index} at {node}"


def category_products_name(c: Coordinate, d: Dictionary) -> str:
    return f"products {c.index} of categories {d.number}"


moments_name: Name = "moments {}".format  # of a node
category_moments_name: Name = "category moments {}".format  # of a dictionary


def measured_at(plan: Plan, measured: frozenset[str]) -> set[int]:
    found = plan.featured if measures_categories(measured) else plan.coordinates
    return set(filter(found, range(len(plan.tree.nodes))))


def measures_categories(measured: frozenset[str]) -> bool:
    return not measured.isdisjoint(CATEGORIES | {"negative"})


def _at_once(plan: Plan, counts: Counts, measured: frozenset[str]) -> Iterator[Statement]:
    """In one scan of the joined rows, without messages."""
    rows = Scoring(plan, whole=True, vectors=()).rows(plan.bags[0].core, [], carried(plan, plan.bags[0].core))
    names, total = (name for name in rows.named_selects if name != "w"), weight_of(rows)
    weights = [sql.column("total", "t")] if "w" in rows.named_selects else []
    made = [*sql.columns(names), (total, "total")]
    if counts.is_negative:
        made.append((sql.case(counts.is_negative(sql.column(CODE)), total, 0.0), "negative"))
    every = [each for node in range(len(plan.tree.nodes)) for each in _measures(plan, node, measured, weights)]
    yield from _of_root(plan, sql.select(made, sql.derived(rows, "s")), counts.parts, every)


def _of_root(plan: Plan, rows: exp.Select, of: Sequence[str], measures: Named) -> Iterator[Statement]:
    """What is asked of rows that know their label: these measures, the size of the join, and that of each class."""
    parts = sql.columns(of, "t")
    if plan.design.target.classes:
        of_codes, codes = [(sql.total("total"), "n")], [*sql.columns([CODE]), *parts]
        yield statement(OF_CODES, sql.grouped(codes, of_codes, sql.derived(rows, "t")))
    found = sql.grouped(parts, [*measures, *_sizes(plan)], sql.derived(rows, "t"))
    yield statement(moments_name(plan.label_node), found)


def _of_node(plan: Plan, counts: Counts, node: int, measured: frozenset[str]) -> Iterator[Statement]:
    """A sub-query makes the products once; the sums over them are cheap."""
    root, dictionaries = node == counts.tree.root, plan.dictionaries(node) if measures_categories(measured) else ()
    counted = [(counts.total(node), "total")]
    by_class = plan.design.target.signed and (root or "negative" in measured)
    counted += [(counts.negative(node), "negative")] if by_class else []
    columns = [*number_columns(plan, node), *(d.column for d in dictionaries), *([CODE] if root else [])]
    rows = counts.joined(node, [*sql.columns(columns, "n"), *counted, *counts.parted(node)])
    parts = sql.columns(counts.parts, "t")
    sums = [*_measures(plan, node, measured, [sql.column("total", "t")])]
    if root:
        yield from _of_root(plan, rows, counts.parts, sums)
    elif sums:
        yield statement(moments_name(node), sql.grouped(parts, sums, sql.derived(rows, "t")))
    for d in dictionaries:
        sums, each = sql.totals((c for _, c in counted), "t"), sql.derived(rows, "t")
        yield statement(category_moments_name(d.number), by_category([(d, "n")], sums, each, counts.parts, known=True))


def _sizes(plan: Plan) -> Iterator[tuple[exp.Expression, str]]:
    total, y = sql.column("total", "t"), sql.column(CODE, "t")
    yield sql.sum_or_zero(total), "n"
    if plan.design.target.signed:
        yield sql.sum_or_zero("t.negative"), "n_negative"
    else:
        yield sql.sum_or_zero(sql.product(total, y)), "label"
        yield sql.sum_or_zero(sql.product(total, y, y)), "label_squares"
    yield sql.sum_or_zero(sql.case(sql.is_null(sql.column(CODE, "t")), total, 0.0)), "n_unlabelled"


def _measures(
    plan: Plan, node: int, measured: frozenset[str], total: Sequence[exp.Expression]
) -> Iterator[tuple[exp.Expression, str]]:
    """Of rows that weigh as much as the product of these says."""
    negative = sql.column("negative", "t")
    for c in plan.coordinates(node):
        wanted = measured if plan.design.target.signed else measured - {"negative"}
        found = {name: made(c, total, negative) for name, made in _MEASURES.items() if name in wanted}
        if plan.design.weight and "largest" in found:  # a row that weighs nothing is not there
            found["largest"] = sql.or_zero(sql.largest(exp.Abs(this=_counting(c, total))))
        yield from ((made, f"{name}{c.index}") for name, made in found.items())


def _counting(c: Coordinate, total: Sequence[exp.Expression]) -> exp.Expression:
    """CASE WHEN total > 0 AND x <> 0 THEN x END"""
    x = c.raw("t")
    is_met = [*map(sql.positive, total), sql.unequal(x, 0)]
    return sql.case(sql.every(is_met), x)


Made = Callable[[Coordinate, Sequence[exp.Expression], exp.Expression], exp.Expression]
"""Of a coordinate, and of the join rows that a row takes part in: all of them, as factors, and those with y = -1."""

_MEASURES: Mapping[str, Made] = {
    "total": lambda c, total, negative: c.total("t", *total),
    "squares": lambda c, total, negative: c.total("t", *total, *([] if c.role == "missing" else [c.raw("t")])),
    "largest": lambda c, total, negative: sql.or_zero(sql.largest(exp.Abs(this=c.raw("t")))),
    "negative": lambda c, total, negative: c.total("t", negative),
    "least": lambda c, total, negative: sql.smallest(_counting(c, total)),
    "most": lambda c, total, negative: sql.largest(_counting(c, total)),
}


# -- partners ----------------------------------------------------------------------------------------------------------


Children = Mapping[int, Edge]  # nodes that the root points to


def looked(plan: Plan, measured: frozenset[str]) -> Children:
    """The children to look at: those to which something is sent."""
    at, foreign = measured_at(plan, measured), plan.foreign.items()
    return {c: edge for c, edge in foreign if c in plan.looked and not at.isdisjoint(plan.tree.beyond(c, edge))}


def partners(counts: Counts, children: Children) -> Asked[set[int]]:
    """The children whose row each key finds."""
    return Asked(_looking(counts, children), lambda rows: {c for c in children if not rows[f"lost{c}"][0]}, keeps=True)


def _looking(counts: Counts, children: Children) -> Iterator[Statement]:
    """How often each key occurs: the message down, if no other drops a row. Then the keys without a partner."""
    tree = counts.tree
    alone = counts.without(edge.other(tree.root) for edge in tree.edges_of(tree.root))
    for child, edge in children.items():
        name = f"keys of {tree.name(tree.root)} for {tree.name(child)}"
        yield statement(name, alone.down(child, edge), down_table(child))
    if found := [(_lost(counts, child, edge), f"lost{child}") for child, edge in children.items()]:
        yield statement("keys without a partner", sql.select(found))


def missing(counts: Counts, children: Children, program: Iterable[Statement]) -> Iterator[Statement]:
    """A program by these counts without the messages that looking for partners has made already."""
    made = {down_table(child) for child in children if not counts.meets(counts.tree.root, up_table(child))}
    yield from (s for s in program if s.table not in made)


def _lost(counts: Counts, child: int, edge: Edge) -> exp.Subquery:
    """(SELECT COUNT(*) FROM keys LEFT JOIN the rows of a child WHERE there is none)"""
    keys, found = down_table(child), "u"
    rows, meet = sql.select([(sql.count(), "n")], sql.table(keys)), sql.same(map(key, edge.on), keys, found)
    rows = sql.join(rows, sql.derived(counts.entries(child, edge), found), meet, "left")
    return sql.where(rows, sql.is_null(sql.column("c", found))).subquery(copy=False)


SUMS = 1000  # in one statement: PostgreSQL has at most 1664 outputs
CARRIED = 400  # factors in one message


@dataclass(frozen=True)
class Factor:
    """`place`: in the matrix of sums. `value` is over the rows n of its node."""

    place: int
    value: exp.Expression
    degree: int = 1  # products of a degree above 2 are not made

    @property
    def column(self) -> str:
        return f"x{self.place}"

    @property
    def counted(self) -> str:
        return f"f{self.place}"


Pair = tuple[Factor, Factor]
T = TypeVar("T")


@dataclass(frozen=True)
class Factored:
    """The messages of a join, and the factors of each node that has some."""

    join: Counts
    factors: Mapping[int, Sequence[Factor]]

    @property
    def size(self) -> int:
        return 1 + max((f.place for own in self.factors.values() for f in own), default=-1)


def factors(plan: Plan) -> Factored:
    """A coordinate has its place in theta, and the label the one after all."""
    found = {node: list(_factors_of_node(plan, node)) for node in range(len(plan.tree.nodes))}
    return Factored(joins_of(plan), {node: own for node, own in found.items() if own})


def _factors_of_node(plan: Plan, node: int) -> Iterator[Factor]:
    yield from (Factor(c.index, c.of("n")) for c in plan.coordinates(node))
    for d in plan.dictionaries(node):
        yield from (Factor(place, _is_category(d, place)) for place in range(d.offset, d.offset + len(d.categories)))
    if node == plan.label_node:
        yield Factor(plan.design.size, sql.column(CODE, "n"))


def _is_category(d: Dictionary, place: int) -> exp.Expression:
    return d.listing(lambda n: sql.number(float(n == place + 1)), "n", sql.number(0))


def second_moments(found: Factored) -> Iterator[Asked[dict[tuple[int, int], float]]]:
    """For the factors of each node their products with its own, and with those of later nodes."""
    for node, own in found.factors.items():
        yield from (Asked(_products(found, node, some), _by_places) for some in _batches(own, CARRIED))


def _by_places(rows: Rows) -> dict[tuple[int, int], float]:
    places = (name.removeprefix("s").split("_") for name in rows)
    return {(int(f), int(o)): value for (f, o), value in zip(places, in_row(rows).values(), strict=True)}


def _products(found: Factored, node: int, carried: Sequence[Factor]) -> Iterator[Statement]:
    counts = found.join.of(node, {f.counted: f.value for f in carried})
    later = [other for other in found.factors if other >= node]
    yield from messages_to(counts, later)
    for at in later:
        pairs = [
            (f, o)
            for f in carried
            for o in found.factors[at]
            if f.degree + o.degree <= 2 and (at != node or f.place <= o.place)
        ]
        for number, some in enumerate(_batches(pairs, SUMS)):
            name = f"second moments {node} {at}" + (f" part {number}" if number else "")
            yield statement(name, _sums(counts, at, some))


def _batches(every: Sequence[T], size: int) -> list[Sequence[T]]:
    return [every[first : first + size] for first in range(0, len(every), size)]


def _sums(counts: Counts, at: int, pairs: Sequence[Pair]) -> exp.Select:
    here = {o.place: (o.value.copy(), o.column) for _, o in pairs}
    came = {f.place: (counts.times(at, f.counted), f.counted) for f, _ in pairs}
    products = ((sql.product(f"t.{f.counted}", f"t.{o.column}"), f, o) for f, o in pairs)
    sums = [(sql.sum_or_zero(each), f"s{f.place}_{o.place}") for each, f, o in products]
    return sql.select(sums, sql.derived(counts.joined(at, [*here.values(), *came.values()]), "t"))
