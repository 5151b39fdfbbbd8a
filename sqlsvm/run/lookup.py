"""The rows of a join of which each is a row of one table: its partners are looked up here. Then a column of a small
table is not sent once for each row of a large one."""

from collections.abc import Mapping

import numpy as np

from sqlsvm.compile.joined import TIMES, values_of
from sqlsvm.compile.prepare import key
from sqlsvm.engine.base import Rows, Values
from sqlsvm.plan.catalog import CLOSE, Catalog
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import Plan
from sqlsvm.solve.arrays import Indices

WORTH = 100_000
"""To send so many numbers takes as long as one more statement."""


def pays(plan: Plan, catalog: Catalog) -> bool:
    """Are far fewer numbers sent, and are the keys whole numbers?"""
    edges = [(node, edge) for node, edge in plan.tree.down(plan.core) if edge]
    alone = all(len(block) == 1 for block in plan.tree.nodes)
    if not alone or catalog.engine.abilities.slow_to_start or not all(_is_looked_up(plan, catalog, *e) for e in edges):
        return False
    rows = [catalog.rows(alias) for (alias,) in plan.tree.nodes]
    apart = sum(n * _width(plan, node) for node, n in enumerate(rows))
    return rows[plan.core] * _joined_width(plan) - apart > WORTH * len(edges)


def spared(plan: Plan, catalog: Catalog) -> float:
    """How many times as many numbers a row of the join has as are sent for it."""
    return _joined_width(plan) / _width(plan, plan.core) if pays(plan, catalog) else 1.0


def _width(plan: Plan, node: int) -> int:
    """The numbers of a row of a node, with its keys."""
    return len(values_of(plan, node)) + len(plan.tree.edges_of(node))


def _joined_width(plan: Plan) -> int:
    return sum(len(values_of(plan, node)) for node in range(len(plan.tree.nodes)))


def _is_looked_up(plan: Plan, catalog: Catalog, node: int, edge: Edge) -> bool:
    """Can it be, by a single key?"""
    variables = [plan.tree.variables[v] for v in edge.on]
    return edge.unique_at(node) and len(variables) == 1 and not variables[0].match and catalog.whole(variables[0])


def looked_up(plan: Plan, read: Mapping[int, Rows]) -> Rows:
    """The columns of all nodes, for each row of the core that has all partners. There are no times where each is 1."""
    core, n = plan.core, len(next(iter(read[plan.core].values())))
    at: dict[int, Indices] = {core: np.arange(n)}
    for node, parent in plan.tree.down(core):
        if parent:
            above, k = parent.other(node), key(parent.on[0])
            at[node] = _places(read[above][k], read[node][k])[at[above]]
            met = at[node] >= 0
            if not met.all():
                at = {other: here[met] for other, here in at.items()}
    keys, found = {key(v) for edge in plan.tree.edges for v in edge.on}, Rows()
    for node, here in at.items():
        as_it_is = node == core and len(here) == n
        taken = {name: of if as_it_is else of[here] for name, of in read[node].items() if name not in keys}
        if TIMES in found and TIMES in taken:
            taken[TIMES] = found[TIMES] * taken[TIMES]
        found |= taken
    return found


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
