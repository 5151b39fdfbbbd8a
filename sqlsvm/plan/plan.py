"""JoinTree + Design + sizes -> Plan: how the passes will count.

A bag is a core node with the nodes that fold into it. Links, the many-to-many edges, connect the bags. One link is the
centre: messages travel towards it from both sides, meet there, and travel back.

How many terms the sums of a pass have at most. What rounding may do to a sum grows with their number.

A sum over the rows of a table has at most as many terms as that table has rows. The lists of messages can be longer:
with three or more bags a sum goes over pairs of entries. Counts of rows are whole numbers, which are never rounded. So
messages matter only where rows have weights.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

from sqlsvm.plan.design import Coordinate, Design, Dictionary
from sqlsvm.plan.join_tree import Edge, JoinTree, Link
from sqlsvm.plan.target import centred_at
from sqlsvm.query.ir import gathered
from sqlsvm.solve.loss import SQUARED, Loss, named

FACTORS = 40  # there are as many sums as pairs of them. With more factors, passes with a sample take less time.
Method = Literal["exact", "grid", "sketch"]
F = TypeVar("F", Coordinate, Dictionary)

PART = "part"  # the column of working tables with what `Plan.split` says of a row


@dataclass(frozen=True)
class Bag:
    """A core node and the nodes that fold into it, core first."""

    number: int
    nodes: tuple[int, ...]

    @property
    def core(self) -> int:
        return self.nodes[0]


@dataclass(frozen=True)
class Places:
    """Keys that are whole numbers from first to last. Each is a place in an array."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class Plan:
    tree: JoinTree
    design: Design
    method: Method
    centre: Link | None = None  # where the two sides meet; None when there is one bag only
    copied: frozenset[int] = frozenset()  # the nodes that are copied into working tables. The others are read in place.
    merged: frozenset[int] = frozenset()  # copied nodes whose equal rows are merged into a multiplicity
    looked: frozenset[int] = frozenset()
    """Neighbours of the label's node for which a query pays that asks if every row has a partner there
    (compile/partners.py)."""
    at_once: bool = False
    """With one bag: does a pass join all columns and add them up in one scan? If not, it keeps the active rows and
    groups their counts back along the folds."""
    measured_at_once: bool = False  # the moments too? It is one statement, but takes longer than several on few rows
    placed: Mapping[int, Places] = field(default_factory=dict)
    """Neighbours of the label's node whose scores are in an array, at the places of their keys (compile/places.py). If
    all is added up at once, their columns are too."""
    loss: Loss = field(default_factory=named)
    shared: frozenset[int] = frozenset()  # bags whose rows two buckets of the grid share (run/join_oracle.py)
    close: bool = False
    """Are there so many pairs of entries on the grid that compact places pay, and several threads that read the lists
    (compile/messages.py)?"""
    split: str | None = None
    """A column of the label's relation. Sums are kept apart by its values, with one bag; moments always."""
    marked: bool = False  # do the rows of a sample tell the marks of their row of the label's relation?

    def __post_init__(self) -> None:
        assert self.centre or self.method == "exact", "one bag is counted exactly"

    @cached_property
    def bags(self) -> tuple[Bag, ...]:
        return tuple(Bag(number, nodes) for number, nodes in enumerate(self.tree.bags))

    @property
    def links(self) -> tuple[Link, ...]:
        return self.tree.links

    @property
    def parts(self) -> tuple[str, ...]:
        """The column by which sums are kept apart, if there is one."""
        return (PART,) if self.split else ()

    @property
    def telling(self) -> "Plan":
        """The same with marks, if its query has any. The rows that have them are read in place."""
        if not self.tree.query.marks:
            return self
        return replace(self.in_place(self.marked_node), marked=True)

    @property
    def from_zero(self) -> "Plan":
        """Over rows whose label is as it is, if it is a number. A table of its node has it less the centre."""
        target = self.design.target
        if not target.centre:
            return self
        return replace(self.in_place(), design=replace(self.design, target=centred_at(target.label, 0.0)))

    def in_place(self, node: int | None = None) -> "Plan":
        """The same, which reads a node, or that of the label, from its own relations."""
        own = frozenset({self.label_node if node is None else node})
        return replace(self, copied=self.copied - own, merged=self.merged - own)

    @property
    def marked_node(self) -> int:
        return self.tree.node_of(self.tree.query.label_relation)

    def marks(self, node: int) -> tuple[str, ...]:
        """The columns of a node that are marks."""
        return tuple(self.tree.query.marks) if self.marked and node == self.marked_node else ()

    @property
    def by_moments(self) -> bool:
        """Is R a quadratic function of few factors? Then second moments take the place of passes."""
        few = self.design.size < FACTORS and all(d.listed for d in self.design.dictionaries)
        return few and self.loss == SQUARED and not self.design.target.signed

    def bag_of(self, node: int) -> int:
        return self.tree.bag_numbers[node]

    @cached_property
    def label_node(self) -> int:
        return self.tree.node_of(self.design.target.label.relation)

    @cached_property
    def core(self) -> int:
        """The node that the label's folds into: a row of it is in one row of its bag, and knows its label."""
        return self.tree.core(self.label_node)

    @cached_property
    def foreign(self) -> dict[int, Edge]:
        """The neighbours that the label's node points to by keys, if no node behind them multiplies rows."""
        tree, root = self.tree, self.label_node
        parents = {node: edge for node, edge in tree.down(root) if edge}
        once = {n for n, edge in parents.items() if edge.on and edge.unique_at(n) and not self.weighted(n)}
        edges = {edge.other(root): edge for edge in tree.edges_of(root)}
        return {child: edge for child, edge in edges.items() if once.issuperset(tree.beyond(child, edge))}

    @cached_property
    def met(self) -> dict[int, Edge]:
        """Those of them that are not looked at. Every row of the label's node has one row of each: its copy leaves out
        the others."""
        if self.label_node not in self.copied or self.measured_at_once:
            return {}
        return {child: edge for child, edge in self.foreign.items() if child not in self.looked}

    @cached_property
    def placeable(self) -> dict[int, Edge]:
        """The nodes that may be placed: with one bag, those that fold into the label's node by a single key. A row
        without a partner gets a score that is never active, and so is not counted."""
        root = self.label_node
        if self.centre is not None or root != self.bags[0].core:
            return {}
        return {child: edge for child, edge in self.folded(root) if child in self.foreign and len(edge.on) == 1}

    @cached_property
    def places_read(self) -> dict[int, int]:
        """Of the nodes in arrays those whose columns a scan looks up, each with its key."""
        if not self.at_once:
            return {}
        edges = {child: self.placeable[child] for child in self.placed}
        return {n: edge.on[0] for n, edge in edges.items() if any(map(self.featured, self.together(n)))}

    @property
    def bare(self) -> "Plan":
        """Without weights, and over the tables of the user: copies have sums of weights."""
        target = self.design.target
        ones = replace(target, class_weights=(1.0,) * len(target.class_weights))
        design = replace(self.design, weight=None, target=ones)
        return replace(self, design=design, copied=frozenset(), merged=frozenset())

    def weighted(self, node: int) -> bool:
        """Do the rows of a node have a column w?"""
        relations = self.tree.nodes[node]
        return (
            node in self.merged
            or (self.design.weight is not None and self.design.weight.relation in relations)
            or (self.design.target.weighted and self.design.target.label.relation in relations)
        )

    @cached_property
    def coordinates(self) -> Callable[[int], tuple[Coordinate, ...]]:
        return self._by_node(self.design.coordinates)

    @cached_property
    def dictionaries(self) -> Callable[[int], tuple[Dictionary, ...]]:
        return self._by_node(self.design.dictionaries)

    def _by_node(self, features: Iterable[F]) -> Callable[[int], tuple[F, ...]]:
        found = gathered((self.tree.node_of(each.relation), each) for each in features)
        return [tuple(found.get(node, ())) for node in range(len(self.tree.nodes))].__getitem__

    def featured(self, node: int) -> bool:
        """Is there anything to learn a weight for?"""
        return bool(self.coordinates(node) or self.dictionaries(node))

    def scored(self, bag: Bag) -> bool:
        """Does a bag add to the score, or to the residual? Then rounding changes its part."""
        is_number = not self.design.target.signed and self.label_node in bag.nodes
        return is_number or any(map(self.featured, bag.nodes))

    def folded(self, node: int) -> Sequence[tuple[int, Edge]]:
        return self.tree.folded.get(node, ())

    def together(self, node: int) -> list[int]:
        """A node and everything that folds into it."""
        return [node, *(n for child, _ in self.folded(node) for n in self.together(child))]

    def linked(self, bag: int) -> list[int]:
        """The join variables of the links of a bag."""
        return sorted({v for link in self.tree.links_of(bag) for v in link.edge.on})

    def children(self, bag: int, towards: Link) -> list[Link]:
        """The links of a bag but the one that leads towards the centre."""
        return self.tree.links_of(bag, towards)

    def upwards(self, bag: int, towards: Link) -> list[tuple[int, Link]]:
        """The bags of one side, each with the link that leads towards the centre, leaves first."""
        below = [pair for link in self.children(bag, towards) for pair in self.upwards(link.other(bag), link)]
        return [*below, (bag, towards)]


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
    weighted: bool = False  # whole numbers are added up, unless rows have weights


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
