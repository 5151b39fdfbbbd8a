"""`auto` for --lambda, --l1 and --loss: chosen on rows of the join in memory, which are those that the training draws
anyway. Only what is chosen is then trained on the whole join, and proven."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sqlsvm import words
from sqlsvm.compile.joined import TIMES
from sqlsvm.measures import MEASURES, NUMBER, SEVERAL, TWO, USUAL, Label
from sqlsvm.model.chosen import Chosen, Measured
from sqlsvm.model.evaluation import Evaluation
from sqlsvm.model.model import Model
from sqlsvm.model.probability import Probability
from sqlsvm.model.scored import Scored, answered, losses, of_two_classes
from sqlsvm.model.several import with_curves
from sqlsvm.options import FROM_LOSSES, LAMBDA
from sqlsvm.plan.scaling import deviation
from sqlsvm.plan.target import CODE
from sqlsvm.query.ir import ENTITY, ROW, TIME, Moment
from sqlsvm.query.rewrites.split import Folds
from sqlsvm.run.data import Data
from sqlsvm.run.in_memory import Drawn, without_class_weights
from sqlsvm.run.indicators import Helping, helping, idle
from sqlsvm.run.notes import BY_CHANCE, DEFAULT
from sqlsvm.solve import choosing
from sqlsvm.solve.arrays import Array, Indices
from sqlsvm.solve.calibration import area, sigmoid
from sqlsvm.solve.choosing import STRENGTHS, Candidate, Choice, Measuring, Part, Place, Tried, choose, difference
from sqlsvm.solve.penalty import Penalty
from sqlsvm.terminal import amount, share

if TYPE_CHECKING:
    from sqlsvm.run.problems import Problems
    from sqlsvm.run.training import Training

steps = logging.getLogger(__name__)

PARTS = 5
MOST = 20_000  # rows. The error of a measure is then small next to what the penalty changes.
MORE = 4
"""Times as many at most, where the join repeats each row of the label's relation: what is learnt is of these rows, and
with fewer of them a stronger penalty looks best."""
FEW = 300  # a note says so if there are fewer different rows of the label's relation
RARE = 0.1  # a note shows what --class-weight balanced would do if a class has a smaller share of the rows
JOIN = "the join"
ALONE, MOST_ALONE = 0.999, 500  # a feature with this AUC decides the label
ROBUST, ROBUSTER, MOST_ROBUST = ("huber", "absolute"), 0.1, 4_000
"""A note names one of these losses if its absolute error is smaller by this share, on so many rows."""
OTHERS = 3
"""Of the weaker penalties every third is tried for these losses: the best one is not that of the squared loss."""
L1 = STRENGTHS[3:-2]  # a weight of a scaled column has no use for a stronger one


class Settled(NamedTuple):
    """A training in which nothing is auto any more, and how that was found."""

    training: "Training"
    chosen: Chosen | None
    notes: tuple[str, ...] = ()
    curves: tuple[Probability, ...] = ()
    """The probability of each class, by where scores of rows that were not seen are placed."""
    rare: tuple[Evaluation, Evaluation] | None = None
    """Where a class is rare: what is predicted for such rows, and what would be with --class-weight balanced."""
    helping: Helping | None = None  # what is better than this

    def told(self, model: Model, places: Sequence[Place]) -> Model:
        notes = [*model.notes, *self.notes, *([_rare(*self.rare, model)] if self.rare else [])]
        model = replace(model, chosen=self.chosen, notes=tuple(notes))
        if not self.curves:
            return model
        return with_curves(model, [_of_scores(*one, model.threshold) for one in zip(self.curves, places, strict=True)])


def settle(training: "Training", each: "Problems") -> Settled:
    """The training with what is chosen for it."""
    problem = each.of(training.named_loss)[0]
    whole, of = by_unit(training, problem, each.drawn(training))
    drawn = few(_choosing(problem, whole), most_of(whole), training.seed)
    folds, time = Folds(PARTS, training.seed, training.split_by), problem.plan.tree.query.time
    labelled, gap = Labelled.of(problem, drawn), time.span(training.gap) if time else 0.0
    parts = [part for part in parts_of(folds, drawn, gap) if labelled.allows(part)]
    rows = different(drawn)
    if not training.chooses and (len(parts) < 2 or labelled.has_curve(training, problem)):
        return Settled(training, None)
    if len(parts) < 2:
        return _not_chosen(training, rows, is_one_class=labelled.signed and len(np.unique(labelled.codes)) == 1)
    name = training.measure or USUAL[labelled.kind]
    measuring = Measuring(partial(measured, labelled, name), MEASURES[name].smaller, labelled.kind == NUMBER)
    if not problem.in_group and training.chooses:
        steps.info("choosing %s on %s rows of the join", words.said(_flags(training)), f"{len(drawn.codes):,}")
    strengths = strengths_for(training, problem)
    if training.strength_chosen == LAMBDA:
        _, places = np.unique(drawn.marks[ROW], return_inverse=True)
        every = max(problem.rows, len(whole.codes)) if of == JOIN else all_of(problem, different(whole))
        seen = (np.count_nonzero(np.bincount(places[part.rest])) for part in parts)
        parts = [replace(part, share=own / every) for part, own in zip(parts, seen, strict=True)]
    with each.clock.during("choosing"):
        known = candidates(training, each, drawn)
        found = choose(known, parts, measuring, strengths)
        if not training.chooses:
            return Settled(training, None, curves=curves_of(labelled, known, found, parts))
        own = next(candidate for candidate in known if candidate.name == found.chosen.loss)
        if better := _better(training, problem, drawn, own, found.chosen, parts, measuring, name):
            return Settled(training, None, helping=better)
        curves, matrices = curves_of(labelled, known, found, parts), None
        movable = labelled.signed and problem.plan.design.constant is not None
        cut = cut_of(own, found.chosen, parts) if movable else None
        if training.class_weight == "none" and labelled.rarest < RARE:
            even = choosing.evened(own)
            (other,) = choosing.path(even, parts, measuring, [found.chosen.strength], placing=True)
            matrices = (
                labelled.unseen(found.chosen, parts, cut),
                labelled.unseen(other, parts, cut_of(even, other, parts) if movable else None),
            )
    split = f"{len(parts)} parts {_said_of(folds, time)}"
    share = float(np.mean([part.share for part in parts]))
    settled = _settled(training, found, Chosen((), "", 0.0, name, split, rows, (), share, of, cut))
    notes = (*settled.notes, *(deciding(problem, labelled, drawn, parts[0]) if labelled.signed else ()))
    if labelled.kind == NUMBER and "loss" in training.unnamed:
        place = strengths.index(found.chosen.strength)
        notes = (*notes, *robust(training, each, drawn, parts, place))
    return settled._replace(training=replace(settled.training, cut=cut), curves=curves, rare=matrices, notes=notes)


def _better(training: "Training", problem: Data, drawn: Drawn, *asked: Any) -> Helping | None:
    """The same with fewer columns, or with more of them."""
    if problem.in_group:
        return None
    return idle(problem, *asked) or (helping(problem, drawn, *asked) if training.adds_known else None)


def robust(training: "Training", each: "Problems", drawn: Drawn, parts: Sequence[Part], place: int) -> Iterator[str]:
    """Losses that far numbers draw less, where the absolute error is smaller by a tenth. A few rows show that."""
    step = max(1, len(drawn.codes) // MOST_ROBUST)
    parts = [replace(part, rest=part.rest[::step], measured=part.measured[::step]) for part in parts]

    def off(candidate: Candidate, scores: Array, rows: Indices) -> float:
        return float(np.average(np.abs(drawn.codes[rows] - scores[0]), weights=drawn.weights[rows]))

    errors = dict[str, float]()
    for loss in (training.loss, *ROBUST):
        own = training.with_loss(loss)
        weaker = strengths_for(own, each.of(own.named_loss)[0])[place::OTHERS]
        asked = weaker[:1] if loss == training.loss else weaker
        tried = choosing.path(_candidate(own, each, drawn), parts, Measuring(off, smaller=True), asked)
        errors[loss] = min(found.mean for found in tried)
    usual, best = errors[training.loss], min(ROBUST, key=lambda loss: errors[loss])
    if errors[best] < (1.0 - ROBUSTER) * usual:
        yield (
            f"⟦loss {best}⟧ has a smaller mean absolute error on rows not seen, {errors[best]:.4g} and not "
            f"{usual:.4g}: a few labels are far from the others"
        )


def deciding(problem: Data, labelled: "Labelled", drawn: Drawn, part: Part) -> Iterator[str]:
    """Features that tell the class by themselves on the rows that a part measures. Most are seen not to on a few."""
    few, every = part.measured[:: max(1, len(part.measured) // MOST_ALONE)], part.measured
    positive = labelled.weights * (labelled.codes > 0.0)

    def decides(values: Array, rows: Indices) -> bool:
        yes, no = positive[rows], labelled.weights[rows] - positive[rows]
        if not min(yes.sum(), no.sum()) > 0.0:  # few rows may be of one class
            return True
        own = area(values[rows], no, yes)
        return max(own, 1.0 - own) > ALONE

    named = {e.feature: drawn.rows.numbers[:, e.place].astype(float) for e in problem.scaling.numbers if e.feature}
    for d in problem.plan.design.dictionaries:
        levels, rest = drawn.rows.ones[:, d.number], part.rest
        rows, right = (np.bincount(levels[rest], w[rest], drawn.rows.width + 1) for w in (labelled.weights, positive))
        named[d.feature] = np.divide(right, rows, out=np.full(len(rows), 0.5), where=rows > 0.0)[levels]
    for name, values in named.items():
        if decides(values, few) and decides(values, every):
            yield f"{name} alone tells {problem.plan.design.target.label.name}: is it known before the label is?"


def by_unit(training: "Training", problem: Data, drawn: Drawn) -> tuple[Drawn, str]:
    """The rows, and whose rows parts are made of: those of the label's relation, which the join repeats. Where these
    are few and only their label is read, as of the kind of an animal that was seen, each row of the join is new. Rows
    are told apart by their values: where few differ and the join repeats none, each is one of the relation."""
    query, plan = problem.plan.tree.query, problem.plan
    if plan.links or training.split_by or query.time or different(drawn) >= FEW:
        return drawn, Chosen.of
    each = replace(drawn, marks={**drawn.marks, ROW: np.arange(float(len(drawn.codes)))})
    if plan.core == plan.label_node:
        return each, Chosen.of
    return (drawn, Chosen.of) if any(f.relation == query.label_relation for f in query.features) else (each, JOIN)


def different(drawn: Drawn) -> int:
    """Rows of the label's relation."""
    return len(np.unique(drawn.marks[ROW]))


def all_of(problem: Data, drawn: int) -> float:
    """The same, of all that the model is trained on, where so many were drawn."""
    if problem.drawn is not None:
        return drawn
    relation = problem.catalog.rows(problem.plan.tree.query.label_relation)
    return max(min(problem.rows, relation), drawn)


def cut_of(candidate: Candidate, tried: Tried, parts: Sequence[Part]) -> float | None:
    """Where scores are placed from which on a row is of the positive class: where that has a probability of one half,
    if more of the rows that parts have measured are then right than with a score of 0, by more than one error."""
    (sample,) = candidate.samples
    rows, scores = choosing.unseen(tried, parts)
    positive, weights = sample.signs[rows] > 0.0, sample.weights[rows]
    slope, offset = sigmoid(scores[0], weights * ~positive, weights * positive)
    if slope >= 0.0:
        return None

    def right(scores: Sequence[Array], cut: float) -> Tried:
        values = (
            np.average((own[0] > cut) == (sample.signs[p.measured] > 0.0), weights=sample.weights[p.measured])
            for own, p in zip(scores, parts, strict=True)
        )
        return replace(tried, values=tuple(map(float, values)))

    cut = float(f"{-offset / slope:.4g}")
    return cut if choosing.is_better(right(tried.placed, cut), right(tried.scores, 0.0)) else None


def curves_of(
    labelled: "Labelled", known: Sequence[Candidate], found: Choice, parts: Sequence[Part]
) -> tuple[Probability, ...]:
    """For each class that is trained against all others."""
    if labelled.kind == NUMBER:
        return ()
    rows, scores = choosing.unseen(found.chosen, parts)
    weights, curves = labelled.weights[rows], []
    for sample, own in zip(known[0].samples, scores, strict=True):
        positive = sample.signs[rows] > 0.0
        curves.append(sigmoid(own, weights * ~positive, weights * positive))
    return tuple(Probability("sigmoid", slope, offset) for slope, offset in curves)


def _of_scores(curve: Probability, place: Place, threshold: float) -> Probability:
    """By what a score is above the threshold."""
    slope = curve.slope / (place.width or 1.0)
    return replace(curve, slope=slope, offset=curve.offset + slope * (threshold - place.mean))


def _rare(own: Evaluation, balanced: Evaluation, model: Model) -> str:
    """Both confusion matrices."""
    is_true = own.positives < own.negatives
    value, rows = model.trained_on.label_values[is_true], own.positives if is_true else own.negatives

    def predicted(found: Evaluation) -> str:
        right, wrong = found.true_positive, found.false_positive
        if not is_true:
            right, wrong = found.true_negative, found.false_negative
        others = f"{amount(wrong.value)} of {amount(own.rows - rows)} others"
        return f"{amount(right.value)} of {amount(rows)}, and for {others}"

    said = f"{share(rows, own.rows)} of the rows have {model.label} {value}: of rows not seen that is predicted for"
    return f"{said} {predicted(own)}; with ⟦class_weight balanced⟧ for {predicted(balanced)}"


def strengths_for(training: "Training", problem: Data) -> tuple[float, ...]:
    """For a label that is a number in its deviations: multiplied by k, it gives the same weights times k."""
    if not training.strength_chosen:
        return (training.penalising.strength,)
    of_l1 = training.strength_chosen == "l1"
    grid, width = L1 if of_l1 else STRENGTHS, deviation(problem.moments)
    if width is None or problem.scaling.label is not None:  # then the penalty is in deviations already
        return tuple(grid)
    unit = problem.plan.loss.unit(width)
    return tuple(float(f"{strength * unit / width ** (1 if of_l1 else 2):.4g}") for strength in grid)


def _said_of(folds: Folds, time: Moment | None) -> str:
    if time:
        return f"forward in time, by {time.name}"
    return f"by {folds.by}" if folds.by else "of rows at random"


def _flags(training: "Training") -> str:
    return " and ".join(f"⟦{option}⟧" for option in training.chooses)


def _not_chosen(training: "Training", rows: int, *, is_one_class: bool) -> Settled:
    has = DEFAULT[len(training.chooses) > 1]
    few = f"{amount(rows)} rows of the label's table are too few to choose by"
    why = "no measure compares rows of one class" if is_one_class else few
    return Settled(replace(training, chooses=()), None, (f"{_flags(training)} {has}: {why}",))


def _settled(training: "Training", found: Choice, said: Chosen) -> Settled:
    best = found.chosen
    tried = tuple(
        Measured(each.loss, each.strength, each.mean, difference(each, best)[1], each.values) for each in found.tried
    )
    chosen = replace(said, options=training.chooses, loss=best.loss, strength=best.strength, tried=tried)
    notes = []
    if said.rows < FEW:
        notes.append(f"{amount(said.rows)} different rows of {said.of} are few to choose by: {BY_CHANCE}")
    if found.dearer:
        notes.append(_dearer(found.dearer, best, said.measure))
    return Settled(training.settled(best.loss, best.strength), chosen, tuple(notes))


def _dearer(one: Tried, best: Tried, measure: str) -> str:
    name = measure.replace("_", " ")
    said = f"⟦loss {one.loss}⟧ has a better {name} on rows not seen, {one.mean:.4g} and not {best.mean:.4g}"
    return f"{said}: it was not taken, because its passes over these tables take much longer"


# -- rows --------------------------------------------------------------------------------------------------------------


def most_of(drawn: Drawn) -> int:
    repeated = len(drawn.codes) / max(1, len(np.unique(drawn.marks[ROW])))
    return int(MOST * max(1.0, min(MORE, repeated)))


def _choosing(problem: Data, drawn: Drawn) -> Drawn:
    """Without the rows that trees have grown on."""
    trees = next((each for each in problem.plan.tree.query.maps if each.takes_nulls), None)
    return drawn.take(np.flatnonzero(~drawn.grows(trees.before))) if trees else drawn


def few(drawn: Drawn, most: int, seed: int) -> Drawn:
    """About so many rows, with all rows that are of one row of the label's relation, or of one entity."""
    if len(drawn.codes) <= most:
        return drawn
    different, places = np.unique(drawn.marks.get(ENTITY, drawn.marks[ROW]), return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(different))
    return drawn.take(np.flatnonzero(order[places] < len(different) * most / len(drawn.codes)))


def parts_of(folds: Folds, drawn: Drawn, gap: float = 0.0) -> list[Part]:
    marks = drawn.marks
    masks = folds.of_rows(marks[ROW], marks.get(ENTITY), marks.get(TIME), gap)
    return [Part(np.flatnonzero(rest), np.flatnonzero(measured)) for rest, measured in masks]


def candidates(training: "Training", each: "Problems", drawn: Drawn) -> list[Candidate]:
    """Of losses that are as good the first one is taken. Over several bags a pass takes longer with more pieces."""
    if "loss" not in training.chooses:
        return [_candidate(training, each, drawn)]
    is_dear = each.data.drawn is None and len(each.data.plan.bags) > 1
    losses = (*FROM_LOSSES[1:], *FROM_LOSSES[:1]) if is_dear else FROM_LOSSES
    found = [_candidate(training.with_loss(loss), each, drawn) for loss in losses]
    return [replace(one, price=float(len(one.loss.near.loss.changes))) if is_dear else one for one in found]


def fitted(training: "Training", each: "Problems") -> Array:
    """The weights on the sample, where nothing is chosen any more."""
    return choosing.Learning(_candidate(training, each, each.drawn(training)), 0, 1.0).point(1.0)[1]


def _candidate(training: "Training", each: "Problems", drawn: Drawn) -> Candidate:
    loss = training.named_loss
    problems = each.of(loss)
    samples = [replace(drawn, optima={}).as_sample(p.plan.design.target, loss.origin) for p in problems]

    penalising, chosen = training.penalising, training.strength_chosen

    @cache
    def penalties(strength: float) -> list[Penalty]:
        own = replace(penalising, l1=strength) if chosen == "l1" else penalising
        own = replace(own, strength=strength) if chosen == LAMBDA else own
        return [own.of(problem) for problem in problems]

    return Candidate(training.loss, loss, samples, penalties)


# -- measures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labelled:
    """What is known of the rows of a sample but their scores."""

    codes: Array
    weights: Array  # without those of classes
    classes: int  # of a label with more than two
    signed: bool  # has it two classes?

    @classmethod
    def of(cls, problem: Data, drawn: Drawn) -> "Labelled":
        target = problem.plan.design.target
        weights = without_class_weights(target, {CODE: drawn.codes, TIMES: drawn.weights})
        return cls(drawn.codes, weights, target.classes, target.signed and not target.classes)

    def has_curve(self, training: "Training", problem: Data) -> bool:
        """Has the label no classes, or the loss a probability of its own?"""
        own = self.signed and training.loss == "logistic" and not problem.in_group
        return own or self.kind == NUMBER

    @property
    def rarest(self) -> float:
        """The share of the rarer of two classes."""
        positive = float(self.weights @ (self.codes > 0.0) / self.weights.sum())
        return min(positive, 1.0 - positive) if self.signed else 1.0

    def unseen(self, tried: choosing.Tried, parts: Sequence[Part], cut: float | None) -> Evaluation:
        """Of two classes, on the rows that parts have measured."""
        rows, scores = choosing.unseen(tried if cut is not None else replace(tried, placed=()), parts)
        return of_two_classes(self.scored(scores - (cut or 0.0), rows), bins=1)

    @property
    def kind(self) -> Label:
        return TWO if self.signed else SEVERAL if self.classes else NUMBER

    def scored(self, scores: Array, rows: Indices) -> Scored:
        """By a row of scores for each class."""
        return Scored(scores if self.classes else scores[0], self.codes[rows], self.weights[rows])

    def allows(self, part: Part) -> bool:
        """Has it all classes on both sides?"""
        if not (len(part.rest) and len(part.measured)):
            return False
        if not (self.signed or self.classes):
            return True
        every, *own = (self._kinds(self.codes[rows]) for rows in (slice(None), part.rest, part.measured))
        return every > 1 and all(some == every for some in own)

    def _kinds(self, codes: Array) -> int:
        return 1 + bool(codes.min() < codes.max()) if self.signed else len(np.unique(codes))


def measured(labelled: Labelled, name: str, candidate: Candidate, scores: Array, rows: Indices) -> float:
    """On these rows, by a row of scores for each class."""
    scored = labelled.scored(scores, rows)
    if name == "loss":
        return scored.mean(losses(scored, candidate.loss))
    if name == "auc":
        return area(scores[0], *(own.counts for own in scored.own))
    names = tuple(range(labelled.classes))
    return MEASURES[name].value(answered(labelled.kind, scored, bins=1, names=names)) or 0.0
