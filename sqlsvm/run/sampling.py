"""A sample of the join for a solver: drawn in the database, or from small tables in memory, and scaled here."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import ceil

import numpy as np
from sqlglot import exp

from sqlsvm.compile.copies import copy
from sqlsvm.compile.drawing import J, is_direct, sample, thinnable
from sqlsvm.compile.joined import CLUSTER, TIMES, bag_rows, drawn_nodes, root_of, values_of, whole
from sqlsvm.engine.base import Engine, Rows
from sqlsvm.plan.parameters import DENSITY, SEED, TURN, points
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Moments
from sqlsvm.run.data import Data
from sqlsvm.run.drawn import Drawn, Reader, marks_in, read_rows, together
from sqlsvm.run.picking import can_pick, pick
from sqlsvm.run.small import fitting
from sqlsvm.solve.arrays import Array, Indices, Singles
from sqlsvm.solve.rows import SampleRows
from sqlsvm.sql import WIDEST

steps = logging.getLogger(__name__)

LARGEST_SAMPLE = 80_000_000  # numbers, 320 MB
LAST = 1.0 - 2.0**-32
"""Times the rows of a key it is below their number, also when it is rounded."""
MUCH = 2
"""If the bags have at most this many times the rows that would be drawn of them, they are read whole."""
MANY = 1000
"""From this size on, it does not matter that a thinned table keeps a few rows more or less than were asked for."""


def drawn_sample(problem: Data, size: int, seed: int, *, apart: bool = False) -> Drawn:
    """Rows drawn in proportion to their weights, so that all have weight 1 here. There are fewer than asked for if so
    many would not fit in memory."""
    work, plan, moments = problem.work, problem.plan, problem.moments
    columns = len(plan.design.coordinates) + len(plan.design.dictionaries)
    size = max(1, min(size, LARGEST_SAMPLE // max(1, columns), _enough(plan, moments)))
    reader = Reader(problem.scaling)
    if not apart and _is_little(problem, size):
        with work.clock.during("sampling"):
            return _once(reader, _picked(problem, size, seed))
    table = thinnable(plan) if size >= MANY else None
    thinned, chunked = table is not None and work.engine.thins(table), work.engine.abilities.spread
    hashed = work.engine.hashed if chunked or not _keeps_order(work.engine, plan, apart) else None
    direct = is_direct(plan, apart=apart)
    twice = direct and hashed is not None and _keeps_values(work.engine, plan)
    statements = list(sample(plan, thinned=thinned, apart=apart, hashed=hashed, chunked=chunked, twice=twice))
    places, answers = _places(plan, moments, size, seed, apart), [s for s in statements if not s.table]
    with work.clock.during("sampling"), work.scratch():
        work.run((s for s in statements if s.table), places)
        if direct:
            return together([_drawn_times(reader, block) for block in work.blocks(answers[0], places)])
        rows = _by_points([work.read(answer, places) for answer in answers])
        drawn = _once(reader, rows)
    return replace(drawn, clusters=_clusters(rows)) if apart else drawn


def _drawn_times(reader: Reader, rows: Rows) -> Drawn:
    """Each row as often as it was drawn."""
    return _as_drawn(reader, *reader.read(rows), marks_in(reader.scaling, rows, rows[TIMES].astype(int)))


def _once(reader: Reader, rows: Rows) -> Drawn:
    return _as_drawn(reader, *reader.read_once(rows, np.float32), marks_in(reader.scaling, rows))


def _as_drawn(reader: Reader, numbers: Singles, ones: Indices, labels: Array, marks: Rows) -> Drawn:
    rows = SampleRows(numbers, ones, reader.scaling.dimension)
    return Drawn(rows, labels, np.ones(len(labels)), marks=marks)


def _is_little(problem: Data, size: int) -> bool:
    """Have the bags few rows next to what would be drawn of them?"""
    plan, catalog = problem.plan, problem.catalog
    cores = [plan.tree.nodes[bag.core] for bag in plan.bags]
    widths = [sum(len(values_of(plan, node)) for node in bag.nodes) for bag in plan.bags]
    if not can_pick(plan) or max(widths) > WIDEST // 2 or max(map(len, cores)) > 1:
        return False
    left = MUCH * size * len(cores)
    for (alias,) in cores:
        left -= int(catalog.of(alias).rows_up_to(left + 1))
        if left < 0:
            return False
    return True


def _picked(problem: Data, size: int, seed: int) -> Rows:
    """The rows of all bags are read whole, and the sample is picked from them."""
    work, plan = problem.work, problem.plan
    parts = [work.read(bag_rows(plan, bag), plan.design.target.parameters) for bag in plan.bags]
    return pick(plan, parts, size, np.random.default_rng(seed))


def _by_points(parts: Sequence[Rows]) -> Rows:
    """The parts of all rows that were drawn, in the order of their points. By rounding, one may be missing."""
    found: Rows = {}
    known = reduce(np.intersect1d, (part[J] for part in parts))
    for part in parts:
        order = np.argsort(part[J], kind="stable")
        if len(order) != len(known):
            order = order[np.isin(part[J][order], known)]
        for name in [name for name in part if name != J]:
            found[name] = part.pop(name)[order]  # so that no second copy of all numbers is kept
    return found


def _keeps_order(engine: Engine, plan: Plan, apart: bool) -> bool:
    """Are the rows from which the others are drawn read in the same order each time?"""
    root = root_of(plan, apart=apart)
    read: list[exp.Expr] = [plan.tree.query.relation(alias).source for alias in plan.tree.nodes[root]]
    if root in plan.copied and (made := copy(plan, root)).find(exp.Join, exp.Group):
        read.append(made)
    return all(map(engine.keeps_order, read))


def _keeps_values(engine: Engine, plan: Plan) -> bool:
    """Do two reads of the rows of the core give the same values? A working table does."""
    sources = (plan.tree.query.relation(alias).source for alias in plan.tree.nodes[plan.core])
    return plan.core in plan.copied or all(map(engine.keeps_values, sources))


def _clusters(rows: Rows) -> Array:
    return rows[CLUSTER].astype(float)


def whole_join(problem: Data, most: int, *, apart: bool = False) -> Drawn | None:
    """Every row of the join with its weight; None if there are more than so many, or too many for memory."""
    most = min(most, fitting(problem.plan.design))
    if problem.rows > most or (found := whole(problem.plan, apart=apart)) is None:
        return None
    steps.info("reading all %s rows of the join", f"{problem.rows:,.0f}")
    with problem.work.clock.during("sampling"):
        answers = problem.work.read(found, {})
        rows = read_rows(problem.scaling, answers, answers[TIMES].astype(float))
        return replace(rows, clusters=_clusters(answers)) if apart else rows


def _enough(plan: Plan, moments: Moments) -> int:
    """With one bag and no weights the rows of the join are those of a table, and one point a row takes them all."""
    return ceil(moments.n) if plan.centre is None and not plan.design.weighted else LARGEST_SAMPLE


def _places(plan: Plan, moments: Moments, size: int, seed: int, apart: bool) -> dict[str, object]:
    """Numbers that are uniform in [0, 1) for every node. If the join's rows are those of the root, it has points that
    are stratified over the whole join."""
    rng = np.random.default_rng(seed)
    places = {points(node): np.minimum(rng.random(size), LAST) for node, _ in drawn_nodes(plan, apart=apart)}
    root = points(root_of(plan, apart=apart))
    stratified = (np.arange(size) + places[root]) / size * moments.n
    return places | {root: stratified, DENSITY: size / moments.n, TURN: rng.random(), SEED: float(seed)}
