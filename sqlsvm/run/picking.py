"""K rows of the join, drawn from the rows of its bags in memory.

This is what compile/drawing.py does in the database: sizes go up, then points go down. The rows of the k-th key fill
[k, k + 1), each in proportion to the join rows that it is part of, so a point of that key is k and a uniform number.
Rows are laid down in an order that their values give, so it does not matter in which order they were read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlsvm.compile.joined import TIMES
from sqlsvm.compile.prepare import link_key
from sqlsvm.engine.base import Rows, Values
from sqlsvm.plan.join_tree import Link
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.solve.arrays import Array, Indices

ODD = np.uint64(0x9E3779B97F4A7C15)
BITS = 31
"""Of a code, if a key has two of them."""
MOST = 2
FIRST = 24
"""A key that fits into so many bits is sorted as one number with the first bits of the other values."""


@dataclass(frozen=True)
class Laid:
    """The rows of a bag that are in a join row, in the order in which they are laid down: those of a key together."""

    bag: int
    rows: Indices
    ends: Array | None
    """Of the interval of each; None if the rows of a key have equal ones."""
    codes: Indices
    """The keys, in order."""
    sizes: Array
    """How many join rows each key has, as far as this bag and those behind it tell."""
    firsts: Indices
    """Where the rows of each key begin."""
    lasts: Indices
    """And where they end, plus 1."""
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
