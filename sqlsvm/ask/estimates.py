"""How many rows each working table of a plan will have, from the sizes in the catalog.

Like the planner's costs, the estimates assume that keys are spread evenly and that a bag has `buckets` different
scores. Tables can be smaller: rows that do not count are left out, and scores can be equal.
"""

from collections.abc import Iterator
from math import inf

from sqlsvm.compile.count import down_table, up_table
from sqlsvm.compile.messages import CENTRE_TABLE, Messages, returned_table, scored_table, states_table, value_table
from sqlsvm.compile.moments import counts_of
from sqlsvm.compile.prepare import codes_table, node_table
from sqlsvm.compile.resolve import counts_table
from sqlsvm.compile.tally import active_table
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.planner import Lists, Sizes, distinct_at, node_rows

RANGE = 4
"""Scores and margins that matter are within this many units, so this many times the buckets of a unit are used."""

Estimates = dict[str, float]


def estimates(plan: Plan, catalog: Catalog, buckets: int) -> Estimates:
    """Rows by table. Compressed messages are left out: their length depends more on epsilon than on the data."""
    found = dict([*_prepared(plan, catalog), *_counted(plan, catalog), *_scored(plan, catalog)])
    if plan.centre is None:
        return found
    sizes = Lists(plan.tree, catalog, RANGE * buckets if plan.method == "grid" else inf).at(plan.centre)
    if plan.method == "sketch":
        return found | {states_table(bag, 0): rows for bag, rows in sizes.states.items()}
    return found | dict(_lists(Messages(plan, ties=False), sizes))


def _prepared(plan: Plan, catalog: Catalog) -> Iterator[tuple[str, float]]:
    for d in plan.design.dictionaries:
        if not d.listed:
            yield d.table, d.top or len(d.categories)
    yield from ((each.table, catalog.rows(each.of)) for each in plan.tree.query.derived)
    for node in plan.copied:
        yield node_table(node), node_rows(plan.tree, catalog, node)
    for link in plan.links:
        for variable in link.edge.on:
            yield codes_table(variable), distinct_at(plan.tree, catalog, (variable,), link.edge.left)


def _counted(plan: Plan, catalog: Catalog) -> Iterator[tuple[str, float]]:
    """Messages of counts have one row for each key of the side that sends them."""
    tree = counts_of(plan).tree
    for node, edge in tree.down():
        if edge is not None:
            yield up_table(node), distinct_at(tree, catalog, edge.on, node)
            yield down_table(node), distinct_at(tree, catalog, edge.on, edge.other(node))


def _scored(plan: Plan, catalog: Catalog) -> Iterator[tuple[str, float]]:
    for bag in plan.bags:
        rows = node_rows(plan.tree, catalog, bag.core)
        yield from ((table(bag.number), rows) for table in (scored_table, active_table))
    for node, edge in plan.tree.folds.items():
        yield counts_table(node), distinct_at(plan.tree, catalog, edge.on, edge.other(node))


def _lists(messages: Messages, sizes: Sizes) -> Iterator[tuple[str, float]]:
    """The lists on their way to the centre, and the values that return for each of their entries."""
    lists = {bag: [states, *sizes.kept[bag]] for bag, states in sizes.states.items()}
    for bag, rows in lists.items():
        for step, entries in enumerate(rows):
            yield states_table(bag, step), entries
            yield value_table(bag, step), entries
        for met in messages.meetings(bag):
            yield returned_table(bag, met.step), rows[met.step] + lists[met.child][-1]
    yield CENTRE_TABLE, lists[messages.left][-1] + lists[messages.right][-1]
