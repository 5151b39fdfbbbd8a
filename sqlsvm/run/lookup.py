"""The rows of a join whose tables are read by themselves: partners are looked up here. Then a column of a small table
is not sent once for each row of a large one, or of a many-to-many join."""

from collections.abc import Mapping

import numpy as np

from sqlsvm.compile.joined import CLUSTER, TIMES, values_of
from sqlsvm.compile.prepare import key
from sqlsvm.engine.base import Rows, Values
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import Plan
from sqlsvm.query.facts import CLOSE
from sqlsvm.solve.arrays import Indices

WORTH = 100_000
"""To send so many numbers takes as long as one more statement."""
MANY, ORDERED = 60, 40_000_000
"""To order more joins than this takes DuckDB longer than to send so many numbers: 0.7 s for the 80 of a star, 14 s for
150."""


def can_look_up(plan: Plan, catalog: Catalog) -> bool:
    """Are tables met by single keys that are whole numbers?"""
    edges, alone = plan.tree.edges, all(len(block) == 1 for block in plan.tree.nodes)
    quick = not catalog.engine.rates.slow_to_start
    return bool(edges) and alone and quick and all(_is_whole(plan, catalog, edge) for edge in edges)


def _is_whole(plan: Plan, catalog: Catalog, edge: Edge) -> bool:
    variables = [plan.tree.variables[v] for v in edge.on]
    return len(variables) == 1 and catalog.whole(variables[0])


def pays(plan: Plan, catalog: Catalog, join_rows: float) -> bool:
    """Are far fewer numbers sent, or is there too much to join at once?"""
    if not can_look_up(plan, catalog):
        return False
    apart = sum(catalog.rows(alias) * _width(plan, node) for node, (alias,) in enumerate(plan.tree.nodes))
    if len(plan.tree.edges) > MANY and apart <= ORDERED:
        return True
    return join_rows * _joined_width(plan) - apart > WORTH * len(plan.tree.edges)


def spared(plan: Plan) -> float:
    """How many times as many numbers a row of the join has as a row of the core and its keys; 1 if it has fewer."""
    return max(1.0, _joined_width(plan) / _width(plan, plan.core))


def _width(plan: Plan, node: int) -> int:
    """The numbers of a row of a node, with its keys."""
    return len(values_of(plan, node)) + len(plan.tree.edges_of(node))


def _joined_width(plan: Plan) -> int:
    return sum(len(values_of(plan, node)) for node in range(len(plan.tree.nodes)))


def looked_up(plan: Plan, read: Mapping[int, Rows], *, apart: bool = False) -> Rows:
    """The columns of all nodes, for each row of the join. There are no times where each is 1. `apart`: also the place
    of the label's row."""
    core, n = plan.core, len(next(iter(read[plan.core].values())))
    at: dict[int, Indices] = {core: np.arange(n)}
    for node, parent in plan.tree.down(core):
        if parent:
            above, k = parent.other(node), key(parent.on[0])
            meet = _one if parent.unique_at(node) else _each
            rows, here = meet(read[above][k], read[node][k], at[above])
            at = at if rows is None else {other: of[rows] for other, of in at.items()}
            at[node] = here
    keys, found = {key(v) for edge in plan.tree.edges for v in edge.on}, Rows()
    for node, here in at.items():
        as_it_is = node == core and len(here) == n
        taken = {name: of if as_it_is else of[here] for name, of in read[node].items() if name not in keys}
        if TIMES in found and TIMES in taken:
            taken[TIMES] = found[TIMES] * taken[TIMES]
        found |= taken
    return found | {CLUSTER: at[plan.label_node]} if apart else found


def _one(keys: Values, of: Values, at: Indices) -> tuple[Indices | None, Indices]:
    """Which of these rows have a partner, and its place; None for all of them. `at` says where the key of each is."""
    here = _places(keys, of)[at]
    (met,) = np.nonzero(here >= 0)
    return (None, here) if len(met) == len(here) else (met, here[met])


def _each(keys: Values, of: Values, at: Indices) -> tuple[Indices | None, Indices]:
    """The same where a row may have several: it is repeated for each."""
    order = np.argsort(of, kind="stable")
    known, firsts, sizes = np.unique(of[order], return_index=True, return_counts=True)
    place = _places(keys, known)[at]
    (met,) = np.nonzero(place >= 0)
    place = place[met]
    times = sizes[place]
    ends = np.cumsum(times)
    within = np.arange(ends[-1] if len(ends) else 0) - (ends - times).repeat(times)
    return met.repeat(times), order[firsts[place].repeat(times) + within]


def _places(keys: Values, of: Values) -> Indices:
    """Where each of these whole numbers is among others, which are all different; -1 for one that is not there.

    >>> _places(np.array([3, 9, 5]), np.array([5, 4, 3])).tolist()
    [2, -1, 0]
    """
    if not len(of):
        return np.full(len(keys), -1)
    first, span = int(of.min()), int(of.max()) - int(of.min()) + 1
    if span > CLOSE * (len(of) + len(keys)):
        order = np.argsort(of)
        found: Indices = order[np.minimum(np.searchsorted(of, keys, sorter=order), len(of) - 1)]
        found[of[found] != keys] = -1
        return found
    place: Indices = np.full(span + 1, -1)
    place[of - first] = np.arange(len(of))
    at: Indices = keys - first
    at[(at < 0) | (at >= span)] = span
    return place[at]
