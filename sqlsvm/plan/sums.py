"""How many terms the sums of a pass have at most. What rounding may do to a sum grows with their number.

A sum over the rows of a table has at most as many terms as that table has rows. The lists of messages can be longer:
with three or more bags a sum goes over pairs of entries. Counts of rows are whole numbers, which are never rounded. So
messages matter only where rows have weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlsvm.plan.join_tree import Link
from sqlsvm.plan.plan import Plan

TOTALS_A_BAG = 1 << 20
"""More than the number of different scores of a bag on the grid (compile/tally.py); the label shifts by fewer."""


@dataclass(frozen=True)
class Rows:
    """How many rows a relation has; with variables, at most for one value of them."""

    relation: str
    on: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return " ".join((self.relation, *(f"v{v}" for v in self.on)))


@dataclass(frozen=True)
class Terms:
    """No more than these numbers of rows, multiplied, and no more than `most`."""

    factors: tuple[Rows, ...]
    most: int | None = None
    weighted: bool = False
    """Whole numbers are added up, unless rows have weights."""


def terms(plan: Plan) -> tuple[Terms, ...]:
    """The terms of all sums that one weight, or one value, goes through on its way to an answer."""
    return tuple(Terms(_rows(plan, node)) for node in range(len(plan.tree.nodes))) + tuple(_of_messages(plan))


def met(plan: Plan) -> tuple[Terms, ...]:
    """Where two bags meet: the terms of the sums over the entries of each side that have one key."""
    assert plan.centre is not None
    cores = {bag: _rows(plan, plan.bags[bag].core) for bag in plan.centre.bags}
    return tuple(Terms(_for_one_key(plan, plan.centre, bag, rows)) for bag, rows in cores.items())


def _of_messages(plan: Plan) -> Iterator[Terms]:
    """With two bags, the entries of a message are no more than the rows of its core: they are counted already."""
    if plan.centre is None or len(plan.bags) == 2:
        return
    most = TOTALS_A_BAG * (len(plan.bags) + 1) if plan.method == "grid" else None
    for side in plan.centre.bags:
        held: dict[int, tuple[Rows, ...]] = {}
        for bag, towards in plan.upwards(side, plan.centre):
            held[bag] = _rows(plan, plan.bags[bag].core)
            for link in plan.children(bag, towards):
                message = held[link.other(bag)]
                met = _for_one_key(plan, link, link.other(bag), message)
                # On the grid, of all entries of a message with one key at most one makes a given total with a state.
                yield Terms(held[bag] if most else held[bag] + met, weighted=True)
                yield Terms(message, most, weighted=True)
                held[bag] += met
        yield Terms(held[side], most, weighted=True)


def _rows(plan: Plan, node: int) -> tuple[Rows, ...]:
    return tuple(map(Rows, plan.tree.leading(node)))


def _for_one_key(plan: Plan, link: Link, bag: int, message: tuple[Rows, ...]) -> tuple[Rows, ...]:
    """The entries of a message that have one key: of the core itself only the rows with that key."""
    variables = [plan.tree.variables[v] for v in link.edge.on]
    for alias in plan.tree.nodes[plan.bags[bag].core]:
        if all(alias in v.holders and not v.is_found for v in variables):
            own = Rows(alias, link.edge.on)
            return tuple(own if rows == Rows(alias) else rows for rows in message)
    return message  # the key is looked up in another table of the bag
