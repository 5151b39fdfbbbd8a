"""`auto` for --lambda, --l1 and --loss: chosen on rows of the join in memory, which are those that the training draws
anyway. Only what is chosen is then trained on the whole join, and proven."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from sqlsvm.compile.joined import TIMES
from sqlsvm.model.chosen import Chosen, Measured
from sqlsvm.model.confusion import MEASURES as of_confusion
from sqlsvm.model.confusion import f1
from sqlsvm.model.model import Model
from sqlsvm.options import FROM_LOSSES, OPTIONS, LossName
from sqlsvm.plan.preflight import ProblemOptions
from sqlsvm.plan.target import CODE
from sqlsvm.query.ir import ENTITY, ROW, TIME, Moment
from sqlsvm.query.rewrites.split import Folds
from sqlsvm.run.data import Data
from sqlsvm.run.drawn import Drawn
from sqlsvm.run.in_memory import without_class_weights
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.choosing import STRENGTHS, Candidate, Choice, Measuring, Part, choose, difference
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.ranks import ranks
from sqlsvm.terminal import amount

if TYPE_CHECKING:
    from sqlsvm.run.solving import Each
    from sqlsvm.run.training import Training

steps = logging.getLogger(__name__)

PARTS = 5
MOST = 20_000
"""Rows. The error of a measure is then small next to what the penalty changes."""
FEW = 300
"""A note says so if there are fewer different rows of the label's relation."""
L1 = STRENGTHS[3:-2]
"""A weight of a scaled column has no use for a stronger one."""


class Settled(NamedTuple):
    """A training in which nothing is auto any more, and how that was found."""

    training: "Training"
    chosen: Chosen | None
    notes: tuple[str, ...] = ()

    def told(self, model: Model) -> Model:
        return replace(model, chosen=self.chosen, notes=(*model.notes, *self.notes))


def settle(training: "Training", each: "Each") -> Settled:
    """The training with what is chosen for it."""
    drawn = few(each.drawn(training), MOST, training.effort.seed)
    problem = each.of(training.problem.named_loss)[0]
    folds, time = Folds(PARTS, training.effort.seed, training.split_by), problem.plan.tree.query.time
    measured, gap = Labelled.of(problem, drawn), time.span(training.gap) if time else 0.0
    parts = [part for part in parts_of(folds, drawn, gap) if measured.allows(part)]
    rows = len(np.unique(drawn.marks[ROW]))
    if len(parts) < 2:
        return _not_chosen(training, rows)
    name = training.measure or measured.usual
    measuring = Measuring(partial(MEASURES[name], measured), smaller=name in SMALLER)
    steps.info("choosing %s on %s rows of the join", _flags(training), f"{len(drawn.codes):,}")
    strengths = strengths_for(training, problem)
    with each.clock.during("choosing"):
        found = choose(candidates(training, each, drawn), parts, measuring, strengths)
    split = f"{len(parts)} parts {_said_of(folds, time)}"
    return _settled(training, found, name, split, rows)


def strengths_for(training: "Training", problem: Data) -> tuple[float, ...]:
    """In the unit of a label that is a number: multiplied by k, it gives the same weights times k."""
    if not training.strength_chosen:
        return (training.penalising.strength,)
    of_l1, unit, straight = training.strength_chosen == "l1", deviation(problem), is_straight(problem.plan.loss)
    factor = (1.0 if straight else unit) if of_l1 else (1.0 / unit if straight else 1.0)
    return tuple(float(f"{strength * factor:.4g}") for strength in (L1 if of_l1 else STRENGTHS))


def deviation(problem: Data) -> float:
    """Of a label that is a number, over the join; 1 for classes."""
    label, n = problem.moments.label, problem.moments.n
    return sqrt(max(0.0, label.squares / n - (label.total / n) ** 2)) or 1.0 if label else 1.0


def is_straight(loss: Loss) -> bool:
    """Does it grow as the label is multiplied, and not as its square?"""
    return not any(piece.bend for piece in loss.near.loss.pieces)


def _said_of(folds: Folds, time: Moment | None) -> str:
    if time:
        return f"forward in time, by {time.name}"
    return f"by {folds.by}" if folds.by else "of rows at random"


def _flags(training: "Training") -> str:
    return " and ".join(OPTIONS[option].flag for option in training.chooses)


def _not_chosen(training: "Training", rows: int) -> Settled:
    few = f"{amount(rows)} rows of the label's table are too few to choose by"
    return Settled(
        replace(training, chooses=(), chose=training.chooses), None, (f"{_flags(training)} has its default: {few}",)
    )


def _settled(training: "Training", found: Choice, measure: str, split: str, rows: int) -> Settled:
    best = found.chosen
    made = training.settled(cast(LossName, best.loss), best.strength)
    tried = tuple(
        Measured(each.loss, each.strength, each.mean, difference(each, best)[1], each.values) for each in found.tried
    )
    chosen = Chosen(training.chooses, best.loss, best.strength, measure, split, rows, tried)
    few = f"{amount(rows)} different rows of the label's table are few to choose by: the choice may be by chance"
    return Settled(made, chosen, (few,) if rows < FEW else ())


# -- rows --------------------------------------------------------------------------------------------------------------


def few(drawn: Drawn, most: int, seed: int) -> Drawn:
    """About so many rows, with all rows that are of one row of the label's relation, or of one entity."""
    if len(drawn.codes) <= most:
        return drawn
    different, places = np.unique(drawn.marks.get(ENTITY, drawn.marks[ROW]), return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(different))
    kept = np.flatnonzero(order[places] < len(different) * most / len(drawn.codes))
    marks = {name: values[kept] for name, values in drawn.marks.items()}
    return Drawn(drawn.rows.take(kept), drawn.codes[kept], drawn.weights[kept], marks=marks)


def parts_of(folds: Folds, drawn: Drawn, gap: float = 0.0) -> list[Part]:
    marks = drawn.marks
    masks = folds.of_rows(marks[ROW], marks.get(ENTITY), marks.get(TIME), gap)
    return [Part(np.flatnonzero(rest), np.flatnonzero(measured)) for rest, measured in masks]


def of_loss(training: "Training", loss: str) -> ProblemOptions:
    return replace(training.problem, loss=cast(LossName, loss))


def candidates(training: "Training", each: "Each", drawn: Drawn) -> list[Candidate]:
    losses = FROM_LOSSES if "loss" in training.chooses else (training.problem.loss,)
    return [_candidate(replace(training, problem=of_loss(training, loss)), each, drawn) for loss in losses]


def _candidate(training: "Training", each: "Each", drawn: Drawn) -> Candidate:
    loss = training.problem.named_loss
    problems = each.of(loss)
    samples = [replace(drawn, optima={}).as_sample(p.plan.design.target, loss.origin) for p in problems]

    def penalties(strength: float) -> list[Penalty]:
        penalising = training.of_strength(strength).penalising
        return [penalising.of(problem) for problem in problems]

    return Candidate(training.problem.loss, loss, samples, penalties)


# -- measures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labelled:
    """What is known of the rows of a sample but their scores."""

    codes: Array
    weights: Array
    """Without those of classes."""
    classes: int
    """Of a label with more than two."""
    signed: bool
    """Has it two classes?"""

    @classmethod
    def of(cls, problem: Data, drawn: Drawn) -> "Labelled":
        target = problem.plan.design.target
        weights = without_class_weights(target, {CODE: drawn.codes, TIMES: drawn.weights})
        return cls(drawn.codes, weights, target.classes, target.signed and not target.classes)

    @property
    def usual(self) -> str:
        """The measure that is taken if none is asked for."""
        return "auc" if self.signed else "accuracy" if self.classes else "loss"

    def allows(self, part: Part) -> bool:
        """Has it all classes on both sides?"""
        if not (len(part.rest) and len(part.measured)):
            return False
        if not (self.signed or self.classes):
            return True
        every = len(np.unique(self.codes))
        return every > 1 and all(len(np.unique(self.codes[rows])) == every for rows in (part.rest, part.measured))


Measure = Callable[[Labelled, Candidate, Array, Indices], float]


def _loss(labelled: Labelled, candidate: Candidate, scores: Array, rows: Indices) -> float:
    """The mean over all classes."""
    weights = labelled.weights[rows]
    costs = [
        candidate.loss.value(sample.origins[rows] - sample.signs[rows] * own)
        for sample, own in zip(candidate.samples, scores, strict=True)
    ]
    return float(np.mean(np.array(costs) @ weights) / weights.sum())


def _auc(labelled: Labelled, candidate: Candidate, scores: Array, rows: Indices) -> float:
    codes, weights = labelled.codes[rows], labelled.weights[rows]
    negative, positive = (np.where(way * codes > 0.0, weights, 0.0) for way in (-1.0, 1.0))
    below, _ = ranks(scores[0], negative, positive)
    return float(positive @ below) / float(negative.sum() * positive.sum())


def _of_matrix(measure: str) -> Measure:
    """A measure of the weights by class, and by the class that is predicted."""

    def of(labelled: Labelled, candidate: Candidate, scores: Array, rows: Indices) -> float:
        codes = labelled.codes[rows]
        k = max(2, labelled.classes)
        own = codes.astype(int) - 1 if labelled.classes else (codes > 0.0).astype(int)
        said = scores.argmax(axis=0) if labelled.classes else (scores[0] > 0.0).astype(int)
        matrix = np.bincount(own * k + said, labelled.weights[rows], k * k).reshape(k, k).astype(float)
        if measure == "f1" and not labelled.classes:
            return float(f1(matrix)[1])
        return of_confusion["macro_f1" if measure == "f1" else measure](matrix)

    return of


def _off(labelled: Labelled, scores: Array, rows: Indices, power: int) -> float:
    weights = labelled.weights[rows]
    return float(weights @ np.abs(labelled.codes[rows] - scores[0]) ** power / weights.sum())


def _mae(labelled: Labelled, candidate: Candidate, scores: Array, rows: Indices) -> float:
    return _off(labelled, scores, rows, 1)


def _rmse(labelled: Labelled, candidate: Candidate, scores: Array, rows: Indices) -> float:
    return float(np.sqrt(_off(labelled, scores, rows, 2)))


MEASURES: Mapping[str, Measure] = {
    "loss": _loss,
    "auc": _auc,
    **{name: _of_matrix(name) for name in ("accuracy", "balanced_accuracy", "f1")},
    "mae": _mae,
    "rmse": _rmse,
}
SMALLER = "loss", "mae", "rmse"
