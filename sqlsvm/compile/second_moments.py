"""The sums over the join of all products of two factors: what a squared loss and a correlation need.

A factor is a number that each row of a node has: a coordinate, a category as 0 or 1, the label, a column. If each row
of a node counts as often as a factor says, the number of join rows that a row of another node is part of is the sum of
that factor over them. So messages from one node, with a column for each of its factors, give all products with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.compile.count import Counts
from sqlsvm.compile.moments import joins_of, messages_to
from sqlsvm.compile.statement import Asked, Statement, in_row, statement
from sqlsvm.engine.base import Rows
from sqlsvm.plan.design import Dictionary
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE

SUMS = 1000
"""In one statement: PostgreSQL has at most 1664 outputs."""
CARRIED = 400
"""Factors in one message."""


@dataclass(frozen=True)
class Factor:
    """`place`: in the matrix of sums. `value` is over the rows n of its node."""

    place: int
    value: exp.Expression
    degree: int = 1
    """Products of a degree above 2 are not made."""

    @property
    def column(self) -> str:
        return f"x{self.place}"

    @property
    def counted(self) -> str:
        """How often rows count because of it."""
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
    found = {node: list(_of_node(plan, node)) for node in range(len(plan.tree.nodes))}
    return Factored(joins_of(plan), {node: own for node, own in found.items() if own})


def _of_node(plan: Plan, node: int) -> Iterator[Factor]:
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
        for carried in _batches(own, CARRIED):
            yield Asked(_products(found, node, carried), _by_places)


def _by_places(rows: Rows) -> dict[tuple[int, int], float]:
    places = (name.removeprefix("s").split("_") for name in rows)
    return {(int(f), int(o)): value for (f, o), value in zip(places, in_row(rows).values(), strict=True)}


def _products(found: Factored, node: int, carried: Sequence[Factor]) -> Iterator[Statement]:
    counts = found.join.of(node, {f.counted: f.value for f in carried})
    later = [other for other in found.factors if other >= node]
    yield from messages_to(counts, later)
    for at in later:
        pairs = [(f, o) for f in carried for o in found.factors[at] if _wanted(f, o, own=at == node)]
        for number, some in enumerate(_batches(pairs, SUMS)):
            name = f"second moments {node} {at}" + (f" part {number}" if number else "")
            yield statement(name, _sums(counts, at, some))


def _batches(every: Sequence[T], size: int) -> list[Sequence[T]]:
    return [every[first : first + size] for first in range(0, len(every), size)]


def _wanted(f: Factor, o: Factor, *, own: bool) -> bool:
    return f.degree + o.degree <= 2 and (not own or f.place <= o.place)


def _sums(counts: Counts, at: int, pairs: Sequence[Pair]) -> exp.Select:
    here = {o.place: (o.value.copy(), o.column) for _, o in pairs}
    came = {f.place: (counts.times(at, f.counted), f.counted) for f, _ in pairs}
    sums = [(_sum(f, o), f"s{f.place}_{o.place}") for f, o in pairs]
    return sql.select(sums, sql.derived(counts.joined(at, [*here.values(), *came.values()]), "t"))


def _sum(f: Factor, o: Factor) -> exp.Expression:
    return sql.sum_or_zero(sql.product(sql.column(f.counted, "t"), sql.column(o.column, "t")))
