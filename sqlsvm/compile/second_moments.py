"""The sums over the join of all products of two factors: what a squared loss needs, in place of passes.

A factor is a number that each row of a node has: a coordinate, a category as 0 or 1, or the label. If each row of a
node counts as often as a factor says, the number of join rows that a row of another node is part of is the sum of that
factor over them. So messages from one node, with a column for each of its factors, give all products with it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts
from sqlsvm.compile.moments import messages_to
from sqlsvm.compile.scores import source
from sqlsvm.compile.statement import Statement, statement
from sqlsvm.plan.design import Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE


@dataclass(frozen=True)
class Factor:
    """`place`: that of its coordinate in theta, or the one after all for the label. `value` is over the rows n of its
    node."""

    place: int
    value: exp.Expression

    @property
    def column(self) -> str:
        return f"x{self.place}"

    @property
    def counted(self) -> str:
        """How often rows count because of it."""
        return f"f{self.place}"


def factors(plan: Plan) -> Mapping[int, list[Factor]]:
    """Of each node that has some."""
    found = {node: list(_of_node(plan, node)) for node in range(len(plan.tree.nodes))}
    return {node: own for node, own in found.items() if own}


def _of_node(plan: Plan, node: int) -> Iterator[Factor]:
    yield from (Factor(c.index, c.of("n")) for c in plan.coordinates(node))
    for d in plan.dictionaries(node):
        yield from (Factor(place, _is_category(d, place)) for place in range(d.offset, d.offset + len(d.categories)))
    if node == plan.label_node:
        yield Factor(plan.design.size, sql.column(CODE, "n"))


def _is_category(d: Dictionary, place: int) -> exp.Expression:
    return d.listing(lambda n: sql.number(float(n == place + 1)), "n", sql.number(0))


def second_moments(plan: Plan, node: int) -> Iterator[Statement]:
    """For the factors of a node their products with its own, and with those of later nodes."""
    every = factors(plan)
    counted = {f.counted: f.value for f in every[node]}
    counts = Counts(plan.tree.rerooted(node), lambda n: source(plan, n, "n"), plan.weighted, factors=counted)
    later = [other for other in every if other >= node]
    yield from messages_to(plan, counts, later)
    for at in later:
        rows = [(f.value.copy(), f.column) for f in every[at]]
        rows += [(counts.times(at, name), name) for name in counted]
        pairs = [(f, o) for f in every[node] for o in every[at] if at != node or f.place <= o.place]
        sums = [(_sum(f, o), product_name(f.place, o.place)) for f, o in pairs]
        yield statement(second_moments_name(node, at), sql.select(sums, sql.derived(counts.joined(at, rows), "t")))


def _sum(f: Factor, o: Factor) -> exp.Expression:
    return sql.sum_or_zero(sql.product(sql.column(f.counted, "t"), sql.column(o.column, "t")))


def product_name(place: int, other: int) -> str:
    return f"s{place}_{other}"


def second_moments_name(node: int, at: int) -> str:
    return f"second moments {node} {at}"
