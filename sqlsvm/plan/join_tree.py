"""FeatureQuery -> JoinTree: which relations share which values, and the tree along which counts will travel.

A *variable* is one value that several relations share: an equivalence class of the sides of the query's equalities.
In a join tree the holders of every variable are connected. Weight each edge of a spanning tree by the number of shared
variables: the join trees are the heaviest spanning trees, if their weight is sum over the variables of (holders - 1);
else there is none (Bernstein and Goodman 1981). GYO ear removal empties the same queries. With spanning trees we can
choose among all join trees, and so prefer paths.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations, islice, starmap
from math import prod
from typing import Literal, Protocol

from sqlsvm.query import FeatureQuery, Term
from sqlsvm.query.ir import Variable, gathered, join_variables, leader_of, reached
from sqlsvm.query.rewrites.left_joins import inner

EdgeKind = Literal["foreign-key", "many-to-many"]
Block = tuple[str, ...]
"""The aliases of the relations of one node of the tree: one, or several that are joined up front, because they make a
cycle, or the label says whether a LEFT JOIN has found a row."""
Pair = tuple[int, int]  # two nodes, the first one first
TRIED = 50_000  # edges of trees that are tried before the best is taken. Twelve relations that share a key need fewer.
DEEPEST = 250  # relations in a chain, each joined to the one before: a statement nests one sub-query for each


class Facts(Protocol):
    """What the choice of a tree must know about the data."""

    def rows(self, alias: str) -> float:
        """Rows that a relation brings to the join: after its own filters."""

    def distinct(self, alias: str, terms: tuple[Term, ...]) -> float:
        """Distinct values of a key, without NULL."""

    def unique(self, alias: str, terms: tuple[Term, ...]) -> bool:
        """Is no value of the key repeated, apart from NULL?"""


@dataclass(frozen=True)
class Edge:
    """A pair of nodes and the variables that they share; without any it is a cross product."""

    left: int
    right: int
    on: tuple[int, ...]
    unique_left: bool
    unique_right: bool

    @property
    def kind(self) -> EdgeKind:
        return "foreign-key" if self.unique_left or self.unique_right else "many-to-many"

    def other(self, node: int) -> int:
        return self.right if node == self.left else self.left

    def unique_at(self, node: int) -> bool:
        return self.unique_left if node == self.left else self.unique_right


@dataclass(frozen=True)
class Link:
    """A many-to-many edge between two bags."""

    edge: Edge
    bags: Pair

    def other(self, bag: int) -> int:
        return self.bags[1] if bag == self.bags[0] else self.bags[0]


@dataclass(frozen=True)
class JoinTree:
    query: FeatureQuery
    variables: tuple[Variable, ...]
    nodes: tuple[Block, ...]
    edges: tuple[Edge, ...]
    root: int
    acyclic: bool

    @cached_property
    def node_of(self) -> Callable[[str], int]:
        return {alias: node for node, block in enumerate(self.nodes) for alias in block}.__getitem__

    @cached_property
    def held(self) -> Callable[[str], Sequence[Variable]]:
        """The variables of a relation."""
        found = gathered((alias, variable) for variable in self.variables for alias in variable.holders)
        return {alias: found.get(alias, ()) for block in self.nodes for alias in block}.__getitem__

    @cached_property
    def variables_of(self) -> Callable[[int], tuple[int, ...]]:
        return [tuple(sorted(held)) for held in _held(self.nodes, self.variables)].__getitem__

    def holder(self, variable: Variable, node: int) -> str:
        """The first relation of a node that holds a variable."""
        return next(alias for alias in self.nodes[node] if alias in variable.holders)

    def leading(self, node: int) -> Block:
        """The relations of a node that tell its rows apart. The others are those where a LEFT JOIN from another
        relation of the node finds one row: a row of the node has one row of each."""
        block = self.nodes[node]
        once = {j.relation for j in self.query.numbered if j.finds_one and j.parent in block}
        return tuple(alias for alias in block if alias not in once)

    @cached_property
    def edges_of(self) -> Callable[[int], tuple[Edge, ...]]:
        ends = gathered((end, edge) for edge in self.edges for end in (edge.left, edge.right))
        return [tuple(ends.get(node, ())) for node in range(len(self.nodes))].__getitem__

    def rerooted(self, root: int) -> "JoinTree":
        return replace(self, root=root)

    def down(self, root: int | None = None) -> Iterator[tuple[int, Edge | None]]:
        """Every node with the edge towards its parent, parents first. Reversed, it is the order of an upward pass."""
        todo: list[tuple[int, Edge | None]] = [(self.root if root is None else root, None)]
        while todo:
            node, parent = todo.pop()
            yield node, parent
            todo.extend((e.other(node), e) for e in reversed(self.edges_of(node)) if e is not parent)

    @cached_property
    def depth(self) -> int:
        """The longest way from the root."""
        depth = dict.fromkeys(range(len(self.nodes)), 0)
        for node, parent in self.down():
            depth[node] = depth[parent.other(node)] + 1 if parent else 1
        return max(depth.values())

    @cached_property
    def above(self) -> dict[int, Edge | None]:
        """The edge of each node towards its parent."""
        return dict(self.down())

    def beyond(self, node: int, edge: Edge) -> Iterator[int]:
        """A node, and all others on its side of an edge."""
        yield from reached(node, lambda at: (e.other(at) for e in self.edges_of(at) if e != edge))

    def nodes_of(self, node: int) -> str | None:
        """The relation of whose rows a node has the nodes on the lines of a bridge."""
        once = self.query.relation(self.nodes[node][0]).once
        return once.nodes_of if once else None

    def is_bridge(self, edge: Edge) -> bool:
        return None not in (self.nodes_of(edge.left), self.nodes_of(edge.right))

    def name(self, node: int) -> str:
        return "+".join(self.nodes[node])

    @cached_property
    def folds(self) -> dict[int, Edge]:
        """Which node folds along which edge: its key is unique there, so each row of the other side meets at most one.

        An edge has at most one fold, and a node folds at most once. Leaves first, a node prefers an edge that no child
        needs to the one to its parent. By the exchange argument for matchings in trees the number of folds is maximal,
        so that of bags is minimal.
        """
        folds: dict[int, Edge] = {}
        for node, parent in reversed(list(self.down())):
            free = [e for e in self.edges_of(node) if e is not parent and folds.get(e.other(node)) is not e]
            choices = [e for e in (*free, *([parent] if parent else [])) if e.unique_at(node)]
            if choices:
                folds[node] = choices[0]
        return folds

    @cached_property
    def folded(self) -> dict[int, list[tuple[int, Edge]]]:
        return gathered((edge.other(child), (child, edge)) for child, edge in sorted(self.folds.items()))

    @cached_property
    def bag_numbers(self) -> dict[int, int]:
        return {node: number for number, nodes in enumerate(self.bags) for node in nodes}

    @cached_property
    def bags(self) -> tuple[tuple[int, ...], ...]:
        """Groups of nodes in which every row of the first, the core, meets at most one row of each other."""
        members: dict[int, list[int]] = {n: [n] for n in range(len(self.nodes)) if n not in self.folds}
        for node in range(len(self.nodes)):
            if node in self.folds:
                members[self.core(node)].append(node)
        return tuple(tuple(m) for m in members.values())

    @cached_property
    def core(self) -> Callable[[int], int]:
        """The node that one folds into at last."""
        cores = list(range(len(self.nodes)))
        for core in cores.copy():
            todo = [] if core in self.folds else [core]
            while todo:
                node = todo.pop()
                cores[node] = core
                todo.extend(child for child, _ in self.folded.get(node, ()))
        return cores.__getitem__

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The many-to-many edges, which connect the bags."""
        bags = ((e, (self.bag_numbers[e.left], self.bag_numbers[e.right])) for e in self.edges)
        return tuple(Link(e, (left, right)) for e, (left, right) in bags if left != right)

    @cached_property
    def _links(self) -> dict[int, list[Link]]:
        return gathered((bag, link) for link in self.links for bag in link.bags)

    def links_of(self, bag: int, but: Link | None = None) -> list[Link]:
        """The links of a bag, without one of them."""
        return [link for link in self._links.get(bag, ()) if but is None or link.bags != but.bags]

    def side(self, link: Link, bag: int) -> tuple[int, ...]:
        """The bags that stay connected with this one when a link of it is cut."""
        return tuple(sorted(reached(bag, lambda at: (each.other(at) for each in self.links_of(at, link)))))


def join_tree(query: FeatureQuery, facts: Facts, *, to_count: bool = False) -> JoinTree:
    """The join tree with the fewest bags, then the most path-like one. `to_count`: what says whether a LEFT JOIN has
    found a row is joined up front, and of the keys of one bag no more is known than that they make it one."""
    query = inner(query)
    variables = join_variables(query)
    blocks: tuple[Block, ...] = tuple((r.alias,) for r in query.relations)
    acyclic = is_acyclic(blocks, variables)
    if not acyclic:
        blocks = decompose(blocks, variables, facts)
    if to_count:
        blocks = _with_label(blocks, query)
    wanted = query.label.relation if query.label else query.relations[0].alias
    root = next(i for i, block in enumerate(blocks) if wanted in block)
    written = {frozenset((q.left.relation, q.right.relation)) for q in query.equalities}
    held = _held(blocks, variables)

    @cache
    def edge(a: int, b: int, unique_left: bool = False, unique_right: bool = False) -> Edge:
        return Edge(a, b, tuple(sorted(held[a] & held[b])), unique_left, unique_right)

    @cache
    def unique(node: int, a: int, b: int) -> bool:
        return _unique(blocks[node], edge(a, b).on, variables, facts)

    def tree(edges: Iterable[Pair]) -> JoinTree:
        pairs = sorted(edges)
        made = JoinTree(query, variables, blocks, tuple(starmap(edge, pairs)), root, acyclic)
        below = {(e.left, e.right): node for node, e in made.down() if e}
        if to_count and all(unique(node, *pair) for pair, node in below.items()):
            marked = (edge(a, b, below[a, b] == a, below[a, b] == b) for a, b in pairs)
        else:
            marked = (edge(a, b, unique(a, a, b), unique(b, a, b)) for a, b in pairs)
        return replace(made, edges=tuple(marked))

    def cost(edges: frozenset[Pair]) -> tuple[int, ...]:
        t = tree(edges)
        typed = sum(any(frozenset((p, q)) in written for p in blocks[a] for q in blocks[b]) for a, b in edges)
        links = ((t.core(e.left), t.core(e.right)) for e in t.edges if t.core(e.left) != t.core(e.right))
        return len(t.bags), _branching(links), _branching(edges), -typed

    return tree(_best_spanning_tree(held, cost))


def _with_label(blocks: tuple[Block, ...], query: FeatureQuery) -> tuple[Block, ...]:
    """If the label tells of the rows of another relation, that and its own are joined up front. The other is copied in
    any case, and the copy has as many rows as without."""
    alias = query.label.relation if query.label else ""
    while query.label and alias != query.label_relation:
        first, second = ((next(b for b in blocks if a in b)) for a in (query.parents[alias], alias))
        if first != second:
            blocks = tuple(b + second if b == first else b for b in blocks if b != second)
        alias = query.parents[alias]
    return blocks


def _held(blocks: tuple[Block, ...], variables: tuple[Variable, ...]) -> list[set[int]]:
    homes = {alias: i for i, block in enumerate(blocks) for alias in block}
    held: list[set[int]] = [set() for _ in blocks]
    for variable in variables:
        for alias in variable.holders & homes.keys():
            held[homes[alias]].add(variable.index)
    return held


# -- the tree ----------------------------------------------------------------------------------------------------------


def is_acyclic(blocks: tuple[Block, ...], variables: tuple[Variable, ...]) -> bool:
    """The heaviest spanning tree connects the holders of every variable iff it weighs sum of (holders - 1)."""
    held = _held(blocks, variables)
    needed = sum(map(len, held)) - len(set().union(*held))
    return sum(len(held[a] & held[b]) for a, b in _heaviest(len(blocks), _weights(held))) == needed


def _weights(held: Sequence[set[int]]) -> Counter[Pair]:
    """The pairs of blocks that share variables, with the number of these."""
    holders = gathered((variable, block) for block, variables in enumerate(held) for variable in variables)
    return Counter(pair for blocks in holders.values() for pair in combinations(blocks, 2))


def _heaviest(size: int, weights: Counter[Pair]) -> frozenset[Pair]:
    """Kruskal. What is not connected then is by pairs that share nothing; they are cross products."""
    chosen, leaders = set[Pair](), dict[int, int]()
    for a, b in (*sorted(weights, key=lambda pair: (-weights[pair], pair)), *((0, block) for block in range(1, size))):
        if (first := leader_of(a, leaders)) != (second := leader_of(b, leaders)):
            chosen.add((a, b))
            leaders[second] = first
    return frozenset(chosen)


def _best_spanning_tree(
    held: Sequence[set[int]], cost: Callable[[frozenset[Pair]], tuple[int, ...]]
) -> frozenset[Pair]:
    """Exchange an edge for one of equal weight while that lowers the cost. The weight stays the same, so the result is
    a join tree. `TRIED` bounds the work for many blocks that share one variable."""
    size, weights = len(held), _weights(held)
    best = _heaviest(size, weights)
    least, left = cost(best), TRIED // size
    is_cross = not all(map(weights.__contains__, best))
    while True:
        pairs = _exchanges(best, weights, combinations(range(size), 2) if is_cross else sorted(weights))
        better = None
        for candidate in islice((best - {old} | {new} for new, old in pairs), left):
            left -= 1
            if (found := cost(candidate)) < least:
                better = candidate
                break
        if better is None:
            return best
        best, least = better, found


def _exchanges(edges: frozenset[Pair], weights: Counter[Pair], pairs: Iterable[Pair]) -> Iterator[tuple[Pair, Pair]]:
    """Each pair that is no edge of a tree, with each edge of equal weight that it can replace."""
    up = _parents(edges)
    for a, b in pairs:
        if (a, b) not in edges:
            for old in _path(up, a, b):
                if weights[old] == weights[a, b]:
                    yield (a, b), old


def _parents(edges: frozenset[Pair]) -> dict[int, tuple[int, int]]:
    """Of each node of a tree its depth and its parent; the first node is the root."""
    neighbours = gathered(pair for a, b in edges for pair in ((a, b), (b, a)))
    up, todo = {0: (0, 0)}, [0]
    for node in todo:
        below = [other for other in neighbours.get(node, ()) if other not in up]
        up.update((other, (up[node][0] + 1, node)) for other in below)
        todo += below
    return up


def _path(up: dict[int, tuple[int, int]], start: int, goal: int) -> list[Pair]:
    """The edges between two nodes of a tree."""
    before, after = [], []
    while start != goal:
        if up[start][0] >= up[goal][0]:
            before.append((start, start := up[start][1]))
        else:
            after.append((goal, goal := up[goal][1]))
    return [(min(pair), max(pair)) for pair in (*before, *reversed(after))]


def _branching(edges: Iterable[Pair]) -> int:
    """How far a tree is from a path: the number of neighbours beyond the second. Each costs a product."""
    degrees = Counter(node for edge in edges for node in edge)
    return sum(max(0, d - 2) for d in degrees.values())


def _unique(block: Block, on: tuple[int, ...], variables: tuple[Variable, ...], facts: Facts) -> bool:
    """Do these variables determine the row of a block? If they determine the row of a member, they also determine its
    other variables."""
    known = set(on)
    open_ = list(block)
    while open_:
        fixed = [a for a in open_ if _member_unique(a, known, variables, facts)]
        if not fixed:
            return False
        open_ = [a for a in open_ if a not in fixed]
        if open_:
            known |= {v.index for v in variables if v.holders & set(fixed)}
    return True


def _member_unique(alias: str, known: set[int], variables: tuple[Variable, ...], facts: Facts) -> bool:
    held = [variables[v] for v in sorted(known) if alias in variables[v].holders]
    key = tuple(v.at(alias)[0] for v in held)
    return facts.unique(alias, key) if key or not held else False


# -- cycles ------------------------------------------------------------------------------------------------------------


def decompose(blocks: tuple[Block, ...], variables: tuple[Variable, ...], facts: Facts) -> tuple[Block, ...]:
    """Group relations so that the groups, each joined up front, form an acyclic query with the fewest joined rows. For
    up to eight relations all groupings are tried, for more a pair is merged at a time."""
    if len(blocks) <= 8:
        groupings = (g for g in _groupings(blocks) if all(_connected(b, variables) for b in g))
        return min((g for g in groupings if is_acyclic(g, variables)), key=lambda g: _total(g, variables, facts))
    while not is_acyclic(blocks, variables):
        pairs = ((blocks[a], blocks[b]) for a, b in sorted(_weights(_held(blocks, variables))))
        merged = ((*(c for c in blocks if c not in pair), pair[0] + pair[1]) for pair in pairs)
        blocks = min(merged, key=lambda g: _total(g, variables, facts))
    return blocks


def _groupings(blocks: tuple[Block, ...]) -> Iterator[tuple[Block, ...]]:
    """All partitions of the relations, members and groups in the order of the query."""
    if not blocks:
        yield ()
        return
    *rest, last = blocks
    for grouping in _groupings(tuple(rest)):
        yield (*grouping, last)
        yield from ((*grouping[:i], group + last, *grouping[i + 1 :]) for i, group in enumerate(grouping))


def _connected(block: Block, variables: tuple[Variable, ...]) -> bool:
    shared = [v.holders.intersection(block) for v in variables]
    found = reached(block[0], lambda alias: (other for own in shared if alias in own for other in own))
    return len(found) == len(block)


def _total(blocks: tuple[Block, ...], variables: tuple[Variable, ...], facts: Facts) -> tuple[float, int]:
    """The rows that are joined up front, and of how many relations. A relation alone is not joined."""
    joined = [b for b in blocks if len(b) > 1]
    return sum(estimated_rows(b, variables, facts) for b in joined), sum(map(len, joined))


def estimated_rows(block: Block, variables: tuple[Variable, ...], facts: Facts) -> float:
    """The textbook estimate: the product of the rows, divided for every shared variable by all distinct counts but the
    smallest. It assumes uniform values, and that each smaller set of values is part of the larger ones."""
    size, own = prod(max(1.0, facts.rows(alias)) for alias in block), set(block)
    for v in variables if len(block) > 1 else ():
        holders = v.holders & own
        if len(holders) > 1:  # else nothing has to be counted
            for d in sorted(facts.distinct(alias, v.at(alias)[:1]) for alias in holders)[1:]:
                size /= max(1.0, d)
    return size
