"""A small join is read once, or made here of its tables. It is then solved and proven in memory, without passes."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf, prod

import numpy as np

from sqlsvm.compile.copies import working_tables
from sqlsvm.compile.joined import CLUSTER, TIMES, has_weights, is_narrow, is_plain, joined, keyed, values_of
from sqlsvm.compile.moments import join_size
from sqlsvm.compile.prepare import key
from sqlsvm.compile.statement import Asked, Statement, in_one, statement
from sqlsvm.engine.base import Rows, Values
from sqlsvm.engine.rates import Thresholds
from sqlsvm.plan.catalog import Catalog
from sqlsvm.plan.design import Design
from sqlsvm.plan.join_tree import Edge
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.query.facts import CLOSE
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Indices
from sqlsvm.solve.dane import sample_size
from sqlsvm.solve.solution import Effort

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
    return join_rows * _joined_width(plan) - apart > catalog.engine.sizes.sent * len(plan.tree.edges)


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


steps = logging.getLogger(__name__)

MORE, FEW = 3, 3_000_000  # or of one with more times its rows, if they are no more numbers than this
LARGEST = 40_000_000  # numbers, 320 MB
PASSES = 2  # that each of several models takes at least. A pass takes about as long as to read one number of each row.
JOIN = "rows of the join"


def fitting(design: Design, most: int = LARGEST) -> int:
    """So many rows have no more numbers than fit in memory."""
    return most // max(1, len(design.coordinates) + len(design.dictionaries))


def most_rows(design: Design, effort: Effort, sizes: Thresholds, models: int = 1) -> int:
    """A join with no more rows is read. If so many models are trained on it that all their passes read more, it is one
    that fits in memory."""
    columns = len(design.coordinates) + len(design.dictionaries)
    pays = models > 1 and PASSES * models * max(1, design.target.classes) >= columns
    much = sizes.read * (effort.sample or (fitting(design) if pays else _sample(design, sizes.sample)))
    return min(int(much) if effort.in_memory is None else effort.in_memory, fitting(design))


def _sample(design: Design, least: int) -> int:
    """The rows of the sample that it is compared with."""
    size = sample_size(design.size)
    return max(size, least, min(MORE * size, fitting(design, FEW)))


def small_join(work: Workspace, catalog: Catalog, plan: Plan, effort: Effort, models: int = 1) -> Rows | None:
    """SELECT times, y, x.., category numbers: each row of the join that weighs something. None if there are many, or if
    a row has no label: the database can tell a NULL from a NaN."""
    of_a_table, most = _limits(plan, catalog, effort, models)
    rows = _join_rows(work, catalog, plan, of_a_table, most) if is_narrow(plan) and most > 0 else inf
    if rows > most:
        return None
    steps.info("reading the rows of the join, which is small")
    found = weighing_rows(work, catalog, plan, rows)
    return None if np.isnan(found[CODE].astype(float)).any() else found


def _limits(plan: Plan, catalog: Catalog, effort: Effort, models: int) -> tuple[int, int]:
    """The most rows of a table, and of the join. Where partners are looked up, a server sends fewer numbers, and a
    many-to-many join is made here."""
    in_process, sizes, links = catalog.engine.abilities.in_process, catalog.engine.sizes, len(plan.links)
    most = most_rows(plan.design, effort, sizes, 1 if in_process else models)
    if effort.in_memory is not None or most < 1 or not can_look_up(plan, catalog):
        return most, most
    if links:
        made = min(links**2 * sizes.made_fast, sizes.made) if in_process else sizes.made
        return most, max(most, fitting(plan.design, 0 if effort.sample else made))
    served = most if in_process else min(int(most * spared(plan)), fitting(plan.design))
    return served, served


def missing_tables(work: Workspace, plan: Plan) -> list[Statement]:
    """The working tables of a plan that are not there."""
    return [s for s in working_tables(plan) if s.table not in work.tables]


def _with_tables(work: Workspace, plan: Plan, asked: Iterable[Statement]) -> list[Statement]:
    """What is asked, and before it the tables that it cannot do without. In a file of DuckDB the first one costs 9 ms,
    as its name must not be one of the user's."""
    return in_one([*missing_tables(work, plan), *asked])


def weighing_rows(work: Workspace, catalog: Catalog, plan: Plan, join_rows: float, *, apart: bool = False) -> Rows:
    """All rows of the join that weigh something. `apart`: also which row of the label's relation each is of."""
    found = (_looked_up if pays(plan, catalog, join_rows) else _joined)(work, plan, apart=apart)
    if TIMES not in found:
        return {TIMES: np.ones(len(found[CODE])), **found}
    weighs = found[TIMES].astype(float) > 0.0
    return found if weighs.all() else chosen(found, weighs)


def _looked_up(work: Workspace, plan: Plan, *, apart: bool = False) -> Rows:
    nodes = range(len(plan.tree.nodes))
    answers = _read(work, plan, [keyed(plan, node) for node in nodes])
    return looked_up(plan, dict(zip(nodes, answers, strict=True)), apart=apart)


def _joined(work: Workspace, plan: Plan, *, apart: bool = False) -> Rows:
    query = joined(plan, apart=apart)
    if not has_weights(plan):  # to send that each is 1 would take as long as a feature
        query = query.select(*(e for e in query.selects if e.alias != TIMES), append=False)
    (rows,) = _read(work, plan, [statement(JOIN, query)])
    return rows


def _read(work: Workspace, plan: Plan, asked: Iterable[Statement]) -> list[Rows]:
    """The answers, and no table is left that was made for them."""
    with work.scratch():
        made = _with_tables(work, plan, asked)
        work.run(s for s in made if s.table)
        return [work.read(s, plan.design.target.parameters) for s in made if not s.table]


def chosen(rows: Rows, these: Values) -> Rows:
    return {name: values[these] for name, values in rows.items()}


def _join_rows(work: Workspace, catalog: Catalog, plan: Plan, of_a_table: int, most: int) -> float:
    """Or a bound on them that is small enough; infinite if a table has too many. Tables are counted only as far as
    that. If each row of the join is one of one table, this is enough."""
    bare = replace(plan.bare, design=plan.bare.design.without_features())
    root = bare.tree.nodes[bare.core]
    plain = len(root) == 1 and is_plain(bare)
    aliases = root if plain else [relation.alias for relation in bare.tree.query.relations]
    if any(catalog.of(alias).rows_up_to(of_a_table + 1) > of_a_table for alias in aliases):
        return inf
    if plain:
        return catalog.rows(root[0])
    bound = _at_most(bare, catalog)
    return bound if bound <= most else _size(work, bare)


def _at_most(plan: Plan, catalog: Catalog) -> float:
    """A row of one table meets no more rows of the next than the largest group of its key has, and so on. What is not
    known of keys is not asked."""
    tree = plan.tree
    if any(len(block) > 1 for block in tree.nodes):
        return inf

    def met(node: int, edge: Edge) -> float:
        (alias,), on = tree.nodes[node], [tree.variables[v] for v in edge.on]
        if edge.unique_at(node):
            return 1.0
        return max(1.0, catalog.of(alias).largest_known(tuple(v.at(alias)[0] for v in on))) if on else inf

    def within(root: int) -> float:
        others = prod(met(node, edge) for node, edge in tree.down(root) if edge)
        return max(1.0, catalog.rows(tree.nodes[root][0])) * others if others < inf else inf

    return min(map(within, range(len(tree.nodes))))


def _size(work: Workspace, plan: Plan) -> float:
    asked = join_size(plan)
    return work.ask(Asked(_with_tables(work, plan, asked.statements), asked.read))
