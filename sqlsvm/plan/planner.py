"""Choose a plan: estimate a cost for each from the sizes in the catalog, and take the cheapest.

A cost is a number of rows touched. It only has to put plans in order; each heuristic says what it counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import inf, prod
from typing import NamedTuple

from sqlglot import exp

from sqlsvm import sql
from sqlsvm.errors import OptionError
from sqlsvm.options import Counting
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.design import Design
from sqlsvm.plan.join_tree import JoinTree, Link, estimated_rows
from sqlsvm.plan.plan import Method, Places, Plan
from sqlsvm.solve.loss import Logistic, Loss

MOST_EXACT = 1e8  # with --counting exact, more rows than this are refused
BUCKETS_PER_BAG = 64  # the expected number of different scores of a bag on the grid: a range of 4 at 16 buckets a unit
KEPT_IN_PLACE = 2 / 3  # a relation whose filters keep less is copied: every pass would read the others for nothing
CACHED = 10_000  # with so many rows, what is read of a relation at random is in no cache
FEW_COLUMNS = 40  # so many columns are joined at once on an engine that is slow to start a statement
MANY_KEYS = 12
"""With more keys that are not looked for, the label's rows that find all of theirs are copied. Else the message to each
of these tables would join all others."""

FULL = 0.5  # an array is made if at least this share of its places has a key


@dataclass(frozen=True)
class Sizes:
    """Estimated rows of the lists that travel, for one choice of the centre."""

    states: dict[int, float]
    extended: dict[int, list[float]]  # for each bag the entries read while it meets its children, one after the other
    kept: dict[int, list[float]]  # the entries that remain when equal ones are merged

    def and_(self, other: "Sizes") -> "Sizes":
        pairs = (self.states, other.states), (self.extended, other.extended), (self.kept, other.kept)
        return Sizes(*({**one, **two} for one, two in pairs))  # type: ignore[arg-type]

    @property
    def cost(self) -> float:
        """An entry is touched once on the way to the centre and twice on the way back."""
        return sum(self.states.values()) + 3 * sum(map(sum, self.extended.values()))


def choose(
    tree: JoinTree, design: Design, catalog: Catalog, counting: Counting = "auto", loss: Loss | None = None
) -> Plan:
    """The plan with the cheapest centre. It counts exactly if that is affordable; one bag is always counted exactly."""
    copied = frozenset(n for n in range(len(tree.nodes)) if why_copied(tree, catalog, n))
    unique = {n for n in copied if any(edge.unique_at(n) for edge in tree.edges_of(n))}
    # where all features are categories and booleans, equal rows are likely, and it pays to merge them
    numeric = {tree.node_of(f.relation) for f in tree.query.features if f.kind == "numeric"}
    merged = copied - unique - numeric
    links = tree.links
    if not links:
        return Plan(tree, design, "exact", None, copied, merged)
    exact = min(links, key=lambda link: half_joins(tree, catalog, link))
    size = half_joins(tree, catalog, exact)
    if counting == "exact" and len(links) > 1 and size > MOST_EXACT:
        said = f"exact counting would sort about {size:.2g} rows"
        hint = "use ⟦counting grid⟧: its cuts are exact, and the error of its values is certified"
        raise OptionError(said, detail=f"{len(links) + 1} groups of tables meet many-to-many", hint=hint)
    # the entries of a bridge, which has few nodes, are few on the grid; a logistic loss needs it too fine for that
    merges = tree.is_bridge(links[0].edge) and not isinstance(loss, Logistic)
    few = size <= catalog.engine.sizes.sorted or (len(links) == 1 and not merges)
    if counting == "exact" or (counting == "auto" and few):
        return Plan(tree, design, "exact", exact, copied, merged)
    lists = Lists(tree, catalog)
    method: Method = "grid" if counting == "auto" else counting
    return Plan(tree, design, method, min(links, key=lambda k: lists.at(k).cost), copied, merged)


JOINED = 3  # with more nodes to join, moments in one scan take less time than in one for each node


def fitted(plan: Plan, catalog: Catalog) -> Plan:
    """The same plan with the choices that pay on this engine for the data as they are."""
    found = in_one_scan(replace(plan, placed=_worth_an_array(plan, catalog)), catalog)
    found = replace(found, looked=_worth_a_look(found, catalog), close=_is_close(plan, catalog))
    together = not found.measured_at_once and len(found.foreign.keys() - found.looked) > MANY_KEYS
    return replace(found, copied=found.copied | {found.label_node}) if together else found


def in_one_scan(plan: Plan, catalog: Catalog, *, partners: bool = True) -> Plan:
    """The same plan, with passes and moments of one scan each where that pays. Unless it is known that keys always have
    partners, rows are grouped by each key after they were joined with all others."""
    once, cost = _at_once(plan, catalog)
    measured = _is_measured_at_once(plan, catalog) or (not partners and len(plan.bags[0].nodes) > JOINED)
    return replace(once, measured_at_once=measured) if cost < inf and cost <= _kept(plan, catalog) else plan


def _is_close(plan: Plan, catalog: Catalog) -> bool:
    """Are there so many pairs of entries on the grid that arrays and several threads pay?"""
    if plan.centre is None or plan.method != "grid" or catalog.engine.rates.met == inf:
        return False
    met = Lists(plan.tree, catalog).at(plan.centre).extended.values()
    return max((most for entries in met for most in entries), default=0.0) >= catalog.engine.rates.met


def _at_once(plan: Plan, catalog: Catalog) -> tuple[Plan, float]:
    """The plan with one scan, and what that costs for each row of the core. The columns of a node are joined, or else
    looked up by place if that costs less. Sums that are too wide for one statement would score the rows in each."""
    if plan.centre is not None or plan.design.dictionaries or len(plan.design.coordinates) > sql.WIDEST:
        return plan, inf
    core, rates, placed = plan.bags[0].core, catalog.engine.rates, {}
    rows, columns = node_rows(plan.tree, catalog, core), {n: _columns(plan, n) for n in plan.bags[0].nodes if n != core}
    if rates.slow_to_start:
        return replace(plan, at_once=True), 0.0 if sum(columns.values()) <= FEW_COLUMNS else inf
    joined = {n: k * (rates.column + rates.far * _far(plan, catalog, n)) for n, k in columns.items() if k}
    cost = sum(joined.values())
    for child, places in plan.placed.items():
        nodes, far = plan.together(child), (rates.array or 0.0) * _far(plan, catalog, child)
        read, by_join = sum(columns[n] for n in nodes), sum(joined.get(n, 0.0) for n in nodes)
        looked = read and read * rates.look + (read + 1) * rates.built * places.size / rows
        if looked <= by_join + far:
            placed[child] = places
        cost += min(looked, by_join + far) - by_join if read else 0.0
    return replace(plan, at_once=True, placed=placed), cost


def _kept(plan: Plan, catalog: Catalog) -> float:
    """What it costs for each row of the core to keep the active rows, and to group their counts back."""
    core, rates = plan.bags[0].core, catalog.engine.rates
    nodes = [n for n in plan.bags[0].nodes if n != core and _columns(plan, n)]
    grouped = rates.statement * len(nodes) / node_rows(plan.tree, catalog, core) if nodes else 0.0
    return rates.row + rates.own * _columns(plan, core) + rates.key * len(set(nodes) - plan.placed.keys()) + grouped


def _is_measured_at_once(plan: Plan, catalog: Catalog) -> bool:
    """If not, the rows are grouped by each key first, in a statement for each relation."""
    most = catalog.engine.rates.measured
    return most > 0 and (most == inf or node_rows(plan.tree, catalog, plan.bags[0].core) <= most)


def _columns(plan: Plan, node: int) -> int:
    return sum(c.role != "intercept" for c in plan.coordinates(node))


def _far(plan: Plan, catalog: Catalog, node: int) -> float:
    """The share of reads of a relation that no cache answers."""
    return min(1.0, node_rows(plan.tree, catalog, node) / CACHED)


def _worth_a_look(plan: Plan, catalog: Catalog) -> frozenset[int]:
    """Children for which many rows of the label's node share each key. Keys of different types are left out, unless
    they are numbers: two that are equal to each other may be equal to different keys. Where moments
    are measured at once, no key is counted."""
    if plan.measured_at_once:
        return frozenset()
    variables, edges = plan.tree.variables, plan.foreign.items()
    plain = [child for child, edge in edges if all(catalog.alike(variables[v]) for v in edge.on)]
    rows = catalog.engine.sizes.rows_a_key
    return _shared(plan, catalog, {child: rows * node_rows(plan.tree, catalog, child) for child in plain})


def _worth_an_array(plan: Plan, catalog: Catalog) -> dict[int, Places]:
    """Children for which many rows of the label's node share each place, and few places are empty. With many empty
    places a join is faster: it drops the rows without a partner early."""
    sizes = catalog.engine.sizes
    close = {child: places for child, places in places(plan, catalog) if places.size <= sizes.array}
    shared = _shared(plan, catalog, {child: sizes.rows_a_place * places.size for child, places in close.items()})
    full = {child for child in shared if node_rows(plan.tree, catalog, child) >= FULL * close[child].size}
    return {child: places for child, places in close.items() if child in full}


def places(plan: Plan, catalog: Catalog) -> Iterator[tuple[int, Places]]:
    """Those of the children that may be placed."""
    for child, edge in plan.placeable.items() if catalog.engine.rates.array is not None else ():
        variable = plan.tree.variables[edge.on[0]]
        alias = plan.tree.holder(variable, child)
        if catalog.whole(variable) and (ends := catalog.of(alias).ends(variable.at(alias)[0])):
            yield child, Places(*ends)


def _shared(plan: Plan, catalog: Catalog, needed: Mapping[int, float]) -> frozenset[int]:
    """Of the children those for which the label's node has as many rows as needed."""
    most = max(needed.values(), default=0.0)
    rows = max(catalog.of(alias).rows_up_to(most) for alias in plan.tree.leading(plan.label_node)) if needed else 0.0
    return frozenset(child for child, least in needed.items() if rows >= least)


# -- copies ------------------------------------------------------------------------------------------------------------


def why_copied(tree: JoinTree, catalog: Catalog, node: int) -> str | None:
    """Why a node is copied into a working table; None if reading it in place costs no more."""
    relations = [tree.query.relation(alias) for alias in tree.nodes[node]]
    if len(relations) > 1:
        return "joined up front"
    (relation,) = relations
    made = {name for each in tree.query.maps for name in each.formulas}  # else every pass would compute them
    if relation.lookups or relation.alias in tree.query.parents:
        return "LEFT JOIN"
    if not isinstance(relation.source, exp.Table):
        return "sub-query"
    if relation.filters and catalog.rows(relation.alias) < KEPT_IN_PLACE * catalog.of(relation.alias).table_rows:
        return "filtered"
    return "maps" if made and any(f.name in made for f in tree.query.features if f.relation == relation.alias) else None


# -- centres -----------------------------------------------------------------------------------------------------------


def half_joins(tree: JoinTree, catalog: Catalog, link: Link) -> float:
    """The rows of the two joins that remain when a link is cut. Exact counting has to sort them."""
    nodes = ([n for b in tree.side(link, bag) for n in tree.bags[b]] for bag in link.bags)
    sides = (tuple(alias for n in side for alias in tree.nodes[n]) for side in nodes)
    return sum(estimated_rows(side, tree.variables, catalog) for side in sides)


class Sent(NamedTuple):
    """What a bag sends along a link."""

    per_key: float  # entries
    bags: int  # this one, and those behind it
    sizes: Sizes


class Lists:
    """The sizes of lists, for any choice of the centre. A bag has at most (keys x buckets) states. Each is joined with
    the entries of a message for one key. Nearly all exact scores are different: for them `buckets` is infinite."""

    def __init__(self, tree: JoinTree, catalog: Catalog, buckets: float = BUCKETS_PER_BAG) -> None:
        self.tree, self.catalog, self.buckets = tree, catalog, buckets
        self.sent = cache(self._sent)

    def at(self, centre: Link) -> Sizes:
        first, second = (self.sent(bag, centre).sizes for bag in centre.bags)
        return first.and_(second)

    def _sent(self, bag: int, towards: Link) -> Sent:
        tree, catalog, sizes = self.tree, self.catalog, Sizes({}, {}, {})
        links = tree.links_of(bag, towards)

        def most(links: Iterable[Link], bags: int) -> float:
            return key_sets(tree, catalog, bag, [*links, towards]) * bags * self.buckets

        bags, entries = 1, min(node_rows(tree, catalog, tree.bags[bag][0]), most(links, 1))
        sizes.states[bag], sizes.extended[bag], sizes.kept[bag] = entries, [], []
        for place, link in enumerate(links, 1):
            message = self.sent(link.other(bag), link)
            sizes, bags = sizes.and_(message.sizes), bags + message.bags
            sizes.extended[bag].append(entries * message.per_key)
            entries = min(entries * message.per_key, most(links[place:], bags))
            sizes.kept[bag].append(entries)
        return Sent(entries / distinct_keys(tree, catalog, towards), bags, sizes)


def key_sets(tree: JoinTree, catalog: Catalog, bag: int, links: Iterable[Link]) -> float:
    """How many different combinations of keys of these links the rows of a bag have, if the keys are independent."""
    variables = {v for link in links for v in link.edge.on}
    holders = {v: next(n for n in tree.bags[bag] if v in tree.variables_of(n)) for v in variables}
    return prod(max(1.0, distinct_at(tree, catalog, (v,), holder)) for v, holder in holders.items())


def node_rows(tree: JoinTree, catalog: Catalog, node: int) -> float:
    return max(1.0, estimated_rows(tree.nodes[node], tree.variables, catalog))


def distinct_keys(tree: JoinTree, catalog: Catalog, link: Link) -> float:
    """Distinct keys over a link: those of the smaller side. A cross product has one key."""
    return max(1.0, min(distinct_at(tree, catalog, link.edge.on, node) for node in (link.edge.left, link.edge.right)))


def distinct_at(tree: JoinTree, catalog: Catalog, on: tuple[int, ...], node: int) -> float:
    """Distinct values of some variables over the rows of a node that holds them."""
    product = 1.0
    for v in on:
        variable = tree.variables[v]
        alias = tree.holder(variable, node)
        product *= catalog.distinct(alias, variable.at(alias)[:1])
    return product
