"""Small trees that are boosted on rows in memory (Friedman 2001), by histograms of numbers (LightGBM, Ke et al. 2017).

No library is asked for them: what sqlsvm needs are trees of the columns of one bag that begin at the scores of another
one, and their ends. A tree grows by the leaf that gains most. A missing number goes to the side that gains more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

PLACES = 64  # of the values of a column; the last one is that of a missing one
RATE, RIDGE = 0.1, 1.0
PATIENCE = 20
LEAST = 20.0  # rows of a leaf; where the label has two classes, as many that are as likely of either
EVERY = 1e308  # all numbers are smaller: a split of those that are missing
Tree: TypeAlias = Union["Split", float]


@dataclass(frozen=True)
class Split:
    column: int
    below: float  # smaller numbers go left
    missing_left: bool
    left: Tree
    right: Tree

    def __call__(self, x: Array) -> Array:
        """What the tree adds to the score of each row."""
        values = x[:, self.column]
        is_left = np.where(np.isnan(values), self.missing_left, values < self.below)
        return np.where(is_left, *(s(x) if isinstance(s, Split) else s for s in (self.left, self.right)))


@dataclass
class _Leaf:
    rows: Rows
    slopes: Array  # their sums, by column and place
    curvatures: Array
    gain: float = 0.0
    missing_left: bool = False
    column: int = 0
    place: int = 0
    halves: "tuple[_Leaf, _Leaf] | None" = None

    @property
    def step(self) -> float:
        return float(f"{-RATE * self.slopes[0].sum() / (self.curvatures[0].sum() + RIDGE):.6g}")


class Boosting:
    """`y` has a column for each score: -1 and 1 of two classes, or a number, of deviation 1. Trees grow on some of the
    rows, and the others say how many are good."""

    def __init__(self, x: Array, y: Array, grows: NDArray[np.bool_], *, signed: bool) -> None:
        self.x, self.y, self.signed, self.scores = x, y, signed, np.zeros_like(y)
        self.rows, self.others = np.flatnonzero(grows), np.flatnonzero(~grows)
        if signed:
            share = np.clip((y[grows] > 0.0).mean(axis=0), 0.5 / len(y), 1.0 - 0.5 / len(y))
            self.scores += np.log(share / (1.0 - share))
        self.least = LEAST / 4.0 if signed else LEAST
        self.ends = [_ends(values) for values in x.T]
        places = [_places(values, ends) for values, ends in zip(x.T, self.ends, strict=True)]
        self.places = np.column_stack(places) + PLACES * np.arange(x.shape[1])

    def grow(self, columns: Sequence[int], trees: int, leaves: int) -> list[Tree]:
        """Trees of these columns; each score has its turn. They end where no leaf gains by a split, or where the other
        rows have been best a while ago."""
        found, failed, own = list[Tree](), 0, np.array(columns)
        best, least, scores_there = 0, self._loss(), self.scores.copy()
        places = self.places[np.ix_(self.rows, own)] - PLACES * (own - np.arange(len(own)))
        others = np.asfortranarray(self.x[self.others])
        while len(found) < min(trees, best + PATIENCE * self.y.shape[1]) and failed < self.y.shape[1]:
            turn = (len(found) + failed) % self.y.shape[1]
            scores = self.scores[:, turn]
            slopes, curvatures = self._bent(scores[self.rows], self.y[self.rows, turn])
            root = self._grown(places, slopes, curvatures, leaves)
            if root.halves is None:
                failed += 1
                continue
            failed = 0
            found.append(tree := self._tree(root, own, scores))
            scores[self.others] += tree(others) if isinstance(tree, Split) else tree
            if (loss := self._loss()) < least:
                best, least, scores_there = len(found), loss, self.scores.copy()
        self.scores = scores_there
        return found[:best]

    def _bent(self, scores: Array, y: Array) -> tuple[Array, Array]:
        """The slope and the curvature of the loss of each row."""
        if not self.signed:
            return scores - y, np.ones(len(y))
        chance = 1.0 / (1.0 + np.exp(-scores))
        return chance - (y > 0.0), chance * (1.0 - chance)

    def _loss(self) -> float:
        """Of the other rows."""
        y, scores = self.y[self.others], self.scores[self.others]
        each = np.logaddexp(0.0, np.where(y > 0.0, -scores, scores)) if self.signed else (y - scores) ** 2
        return float(each.sum())

    def _grown(self, places: Rows, slopes: Array, curvatures: Array, most: int) -> _Leaf:
        root = self._judged(_Leaf(np.arange(len(places)), *_sums(places, slopes, curvatures)))
        leaves = [root]
        while len(leaves) < most and (best := max(leaves, key=lambda leaf: leaf.gain)).gain > 0.0:
            own = places[best.rows, best.column] - PLACES * best.column
            is_left = np.where(own == PLACES - 1, best.missing_left, own <= best.place)
            left, right = best.rows[is_left], best.rows[~is_left]
            few, many = (left, right) if len(left) < len(right) else (right, left)
            sums = _sums(places.take(few, axis=0), slopes[few], curvatures[few])
            small = self._judged(_Leaf(few, *sums))
            large = self._judged(_Leaf(many, best.slopes - sums[0], best.curvatures - sums[1]))
            best.halves = (small, large) if few is left else (large, small)
            leaves = [*(leaf for leaf in leaves if leaf is not best), small, large]
        return root

    def _judged(self, leaf: _Leaf) -> _Leaf:
        """With its best split."""
        slope, curvature = leaf.slopes[0].sum(), leaf.curvatures[0].sum()
        sides = []
        for sums in (leaf.slopes, leaf.curvatures):
            own = sums[:, :-2].cumsum(axis=1)
            sides.append(np.stack([own, own + sums[:, -1:]]))
        (left, below), (right, above) = sides, (slope - sides[0], curvature - sides[1])
        gains = left**2 / (below + RIDGE) + right**2 / (above + RIDGE) - slope**2 / (curvature + RIDGE)
        gains[(below < self.least) | (above < self.least)] = 0.0
        at = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[at] > 1e-9 * (1.0 + abs(slope)):
            leaf.gain = float(gains[at])
            leaf.missing_left, leaf.column, leaf.place = bool(at[0]), int(at[1]), int(at[2])
        return leaf

    def _tree(self, leaf: _Leaf, columns: Rows, scores: Array) -> Tree:
        """The scores take its steps."""
        if leaf.halves is None:
            scores[self.rows[leaf.rows]] += leaf.step
            return leaf.step
        column = int(columns[leaf.column])
        left, right = (self._tree(half, columns, scores) for half in leaf.halves)
        ends, missing = self.ends[column], leaf.missing_left
        end = ends[leaf.place] if leaf.place < len(ends) else EVERY
        if not leaf.curvatures[leaf.column, -1] > 0.0:  # none was missing: then to where most are
            missing = len(leaf.halves[0].rows) > len(leaf.halves[1].rows)
        return Split(column, end, missing, left, right)


def _sums(places: Rows, slopes: Array, curvatures: Array) -> tuple[NDArray[Any], NDArray[Any]]:
    columns, flat = places.shape[1], places.ravel()
    sums = [np.bincount(flat, np.repeat(w, columns), columns * PLACES) for w in (slopes, curvatures)]
    return sums[0].reshape(columns, PLACES), sums[1].reshape(columns, PLACES)


def _ends(values: Array) -> list[float]:
    """Numbers between those that occur, or between as many quantiles as there are places, with few digits."""
    known = np.unique(found := values[~np.isnan(values)])
    if len(known) >= PLACES:
        known = np.unique(np.quantile(found, np.linspace(0.0, 1.0, PLACES - 1), method="nearest"))
    return [_short(a, b) for a, b in zip(known[:-1].tolist(), known[1:].tolist(), strict=True)]


def _short(above: float, most: float) -> float:
    """The number near the middle that has the fewest digits."""
    middle = above + (most - above) / 2.0
    texts = (float(f"{middle:.{digits}g}") for digits in range(1, 17))
    return next((short for short in texts if above < short <= most), most)


def _places(values: Array, ends: Sequence[float]) -> Rows:
    return np.where(np.isnan(values), PLACES - 1, np.searchsorted(ends, values, side="right"))
