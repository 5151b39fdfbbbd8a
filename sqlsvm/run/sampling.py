"""A sample of the join for a solver: drawn in the database, or from small tables in memory, and scaled here.

In memory it is what compile/drawing.py does in the database: sizes go up, then points go down. The rows of the k-th key
fill [k, k + 1), each in proportion to the join rows that it is part of, so a point of that key is k and a uniform
number. Rows are laid down in an order that their values give, so it does not matter in which order they were read.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil

import numpy as np
from sqlglot import exp

from sqlsvm.compile.copies import copy
from sqlsvm.compile.drawing import J, is_direct, sample, thinnable
from sqlsvm.compile.joined import CLUSTER, TIMES, bag_rows, drawn_nodes, root_of, values_of, whole
from sqlsvm.compile.prepare import link_key
from sqlsvm.engine.base import Engine, Rows, Values
from sqlsvm.plan.join_tree import Link
from sqlsvm.plan.parameters import DENSITY, SEED, TURN, points
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.scaling import Moments
from sqlsvm.plan.target import CODE
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Drawn, Reader, marks_in, read_rows, together
from sqlsvm.run.small import fitting
from sqlsvm.solve.arrays import Array, Indices, Singles
from sqlsvm.solve.rows import SampleRows
from sqlsvm.sql import WIDEST

ODD = np.uint64(0x9E3779B97F4A7C15)
BITS = 31  # of a code, if a key has two of them
MOST = 2
FIRST = 24  # a key that fits into so many bits is sorted as one number with the first bits of the other values


@dataclass(frozen=True)
class Laid:
    """The rows of a bag that are in a join row, in the order in which they are laid down: those of a key together."""

    bag: int
    rows: Indices
    ends: Array | None  # of the interval of each; None if the rows of a key have equal ones
    codes: Indices  # the keys, in order
    sizes: Array  # how many join rows each key has, as far as this bag and those behind it tell
    firsts: Indices  # where the rows of each key begin
    lasts: Indices  # and where they end, plus 1
    below: Sequence[tuple["Laid", Indices]]
    """What hangs from the bag, and for each of its rows the place of its key there."""

    def places(self, codes: Indices) -> tuple[Indices, Values]:
        """Where each key is, and if it is there."""
        first, last = self.codes[0], len(self.codes) - 1
        follow = self.codes[last] - first == last  # one on the other, without a hole
        found = np.clip(codes - first if follow else np.searchsorted(self.codes, codes), 0, last)
        return found, self.codes[found] == codes

    def pick(self, keys: Indices, u: Array) -> Indices:
        """A row of each key."""
        firsts, lasts = self.firsts[keys], self.lasts[keys]
        if self.ends is None:
            at = firsts + (u * (lasts - firsts)).astype(np.int64)
        else:
            at = np.searchsorted(self.ends, keys + u, side="right")
        return self.rows[np.clip(at, firsts, lasts - 1)]


def can_pick(plan: Plan) -> bool:
    """Is there a link, and do the codes of its key fit into one number?"""
    return bool(plan.links) and all(len(link.edge.on) <= MOST for link in plan.links)


def pick(plan: Plan, parts: Sequence[Rows], size: int, rng: np.random.Generator) -> Rows:
    """The columns of all bags, for each row of the sample. `parts` are the rows of each bag, and are used up."""
    laid, found = _lay(plan, parts, plan.bag_of(plan.core), None), Rows()
    points = (np.arange(size) + rng.random(size)) / size
    _pick_below(parts, laid, laid.pick(np.zeros(size, dtype=np.int64), points), rng, found)
    return found


def _lay(plan: Plan, parts: Sequence[Rows], bag: int, towards: Link | None) -> Laid:
    rows, below = parts[bag], []
    sizes = rows[TIMES].astype(float)
    for link in plan.links:
        if bag in link.bags and link != towards:
            child = _lay(plan, parts, link.other(bag), link)
            places, known = child.places(_codes(rows, link))
            sizes = np.where(known, sizes * child.sizes[places], 0.0)
            below.append((child, places))
    codes = _codes(rows, towards) if towards else np.zeros(len(sizes), dtype=np.int64)
    (met,) = np.nonzero(sizes > 0.0)
    order = met[_order(codes[met], _mixed(rows)[met], [by[met] for by in _labels(rows)])]
    keys, firsts = np.unique(codes[order], return_index=True)
    totals, ends = np.add.reduceat(sizes[order], firsts), np.append(firsts[1:], len(order))
    equal = not below and sizes[order].min() == sizes[order].max()
    shares = None if equal else np.cumsum(sizes[order] / totals.repeat(ends - firsts))
    return Laid(bag, order, shares, keys, totals, firsts, ends, below)


def _order(codes: Indices, mixed: Values, labels: Sequence[Values]) -> Indices:
    """By key, then by the other values, then by label. One sort does it where the first bits of the values tell all
    rows of a key apart."""
    if codes.max(initial=0) < 1 << FIRST:
        both = (codes.astype(np.uint64) << np.uint64(64 - FIRST)) | (mixed >> np.uint64(FIRST))
        order = np.argsort(both)
        if (both[order[1:]] != both[order[:-1]]).all():
            return order
    return np.lexsort([*labels, mixed, codes])


def _pick_below(parts: Sequence[Rows], laid: Laid, chosen: Indices, rng: np.random.Generator, found: Rows) -> None:
    rows = parts[laid.bag]
    found |= {name: rows.pop(name)[chosen] for name in list(rows)}  # so that not all is in memory twice
    for child, places in laid.below:
        _pick_below(parts, child, child.pick(places[chosen], rng.random(len(chosen))), rng, found)


def _codes(rows: Rows, link: Link) -> Indices:
    """The key of each row on a link, as one number."""
    found = np.zeros(len(rows[TIMES]), dtype=np.int64)
    for variable in link.edge.on:
        found = (found << BITS) + rows[link_key(variable)].astype(np.int64)
    return found


def _labels(rows: Rows) -> list[Values]:
    """They decide only between rows that are else the same: how classes are numbered should not matter."""
    return [rows[CODE].astype(float)] if CODE in rows else []


def _mixed(rows: Rows) -> Values:
    """A number for each row that its other values give."""
    found = np.zeros(len(rows[TIMES]), dtype=np.uint64)
    for name in sorted(rows.keys() - {CODE}):
        bits = (rows[name].astype(float) + 0.0).view(np.uint64)  # so that -0 is 0
        found = (found ^ bits) * ODD
        found ^= found >> np.uint64(29)
    return found


steps = logging.getLogger(__name__)

LARGEST_SAMPLE = 80_000_000  # numbers, 320 MB
LAST = 1.0 - 2.0**-32  # times the rows of a key it is below their number, also when it is rounded


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
    table = thinnable(plan) if size >= work.engine.sizes.thinned else None
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
    left = int(catalog.engine.sizes.drawn * size * len(cores))
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
