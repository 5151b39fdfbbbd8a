"""The scores of all join rows, in bins so fine that a probability can be fitted to them and measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlsvm.ask.listed import Listed
from sqlsvm.compile import evaluate as compiled
from sqlsvm.plan.parameters import LOWEST, WIDTH
from sqlsvm.solve.arrays import Array

MOST = 1 << 16
"""Bins. So many scores that differ are not put into bins at all."""
SAME = 2.0**-40
"""Of the range of all scores: scores that are closer are the same one, rounded in two ways."""


@dataclass(frozen=True)
class ScoreBins:
    """A row for each bin."""

    rows: Array
    """Those of each label, the negative one first."""
    scores: Array
    """Of each label, the mean; where it has no rows, that of the other."""
    least: Array
    largest: Array
    """Between these are the scores of a bin, with all that was rounded."""
    exact: bool
    """Is each bin one score?"""

    @property
    def middle(self) -> Array:
        """The mean score of each bin."""
        found: Array = (self.rows * self.scores).sum(axis=1) / self.rows.sum(axis=1)
        return found


def read_bins(asked: Listed) -> ScoreBins:
    size = asked.ask(compiled.size_of_list())
    if not size["n"]:
        none = np.zeros(0)
        return ScoreBins(np.zeros((0, 2)), np.zeros((0, 2)), none, none, exact=True)
    least, span, few = size["least"], size["largest"] - size["least"], size["n"] <= MOST
    width = span * SAME if few else span / MOST
    found = asked.ask(compiled.scores_in_bins(), **{LOWEST: least, WIDTH: width or 1.0})
    order = np.argsort(found["bin"].astype(float))
    rows, sums = (
        np.column_stack([found[f"{name}{end}"].astype(float)[order] for name in compiled.CLASSES])
        for end in ("", "_scores")
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / rows
    means = np.where(rows > 0.0, means, means[:, ::-1])
    ends = (found[name].astype(float)[order] for name in ("least", "largest"))
    lowest, highest = (end + shift for end, shift in zip(ends, (-asked.delta, asked.delta), strict=True))
    unit = 1.0 / asked.steps
    exact = few and not asked.delta
    return ScoreBins(rows * np.array(asked.class_scale), means * unit, lowest * unit, highest * unit, exact)


def bins_of_rows(scores: Array, signs: Array, weights: Array) -> ScoreBins:
    """Of rows in memory."""
    at, places = np.unique(scores, return_inverse=True)
    rows = np.zeros((len(at), 2))
    np.add.at(rows, (places, (signs > 0.0).astype(int)), weights)
    kept = rows.any(axis=1)
    at = np.asarray(at[kept], dtype=float)
    return ScoreBins(rows[kept], np.column_stack([at, at]), at, at, exact=True)


def together(found: Sequence[ScoreBins]) -> ScoreBins:
    """Those of several lists, in the order of their scores."""
    rows, scores, least, largest = (
        np.concatenate([getattr(bins, name) for bins in found]) for name in ("rows", "scores", "least", "largest")
    )
    order = np.argsort((rows * scores).sum(axis=1) / rows.sum(axis=1), kind="stable")
    return ScoreBins(rows[order], scores[order], least[order], largest[order], all(bins.exact for bins in found))
