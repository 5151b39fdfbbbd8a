"""The scores that measures are computed from: of rows in memory, or of the list that the database has made of them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf, log2
from typing import TypeVar

import numpy as np

from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.categories import number_column
from sqlsvm.compile.evaluate import ByLabel
from sqlsvm.compile.joined import CLUSTER, TIMES
from sqlsvm.compile.messages import TIE
from sqlsvm.compile.resolve import COUNT
from sqlsvm.compile.statement import Asked, Statement, binned, one_number
from sqlsvm.compile.tally import LARGEST_BUCKET, rounding
from sqlsvm.engine.base import Rows
from sqlsvm.model.scored import BINS, Scored, against_others
from sqlsvm.plan.design import Design
from sqlsvm.plan.parameters import BOUND, BUCKETS, LOWEST, THETA, WIDTH
from sqlsvm.plan.plan import Plan
from sqlsvm.plan.target import CODE
from sqlsvm.run.data import Data
from sqlsvm.run.data import against_others as problems_of
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array, Indices

steps = logging.getLogger(__name__)

Found = TypeVar("Found")

NUDGE = 1e-9  # if scores were rounded, a billionth of a bucket more covers the rounding of the doubles


@dataclass(frozen=True)
class Listed:
    """A theta, a plan, and the size of a step: scores are counted in steps."""

    work: Workspace
    plan: Plan
    theta: Array
    steps: float = 1.0  # per unit of the score
    delta: float = 0.0  # the largest error of a score in the list, in steps

    def make(self, *statements: Statement) -> None:
        self.work.run(statements, self._known)

    def ask(self, asked: Asked[Found], **parameters: float) -> Found:
        return self.work.ask(asked, self._known | parameters)

    @property
    def _known(self) -> dict[str, object]:
        return {THETA: self.theta, BOUND: 0.0, BUCKETS: self.steps, **self.plan.design.target.parameters}

    def size(self) -> Mapping[str, float]:
        return self.ask(compiled.size_of_list())

    def in_bins(self, least: float, width: float) -> Rows:
        return self.ask(compiled.scores_in_bins(), **{LOWEST: least, WIDTH: width})

    def area(self) -> float:
        return self.ask(compiled.area())

    def sums_of_residuals(self) -> Mapping[str, float]:
        return self.ask(compiled.sums_of_residuals())

    def histogram(self, bins: int, least: float, width: float) -> Array:
        return self.ask(compiled.histogram(bins), **{LOWEST: least, WIDTH: width})

    def list_exactly(self) -> bool:
        """Make the list of scores, unless it would be too long; return whether it was made."""
        if self.plan.centre is None:
            self.make(compiled.list_of_rows(self.plan))
            return True
        self.make(*compiled.towards_centre(self.plan))
        fits = self.ask(compiled.pairs(self.plan)) <= self.work.engine.sizes.listed
        if fits:
            self.make(compiled.list_of_pairs(self.plan))
        return fits

    @property
    def class_scale(self) -> ByLabel:
        """Factors that remove the class weights from the counts of each label."""
        negative, positive = self.plan.design.target.class_weights
        return 1 / negative, 1 / positive


@dataclass(frozen=True)
class Held(Listed):
    """The list of one bag in memory, in the order of the scores: there it is sorted in a fraction of the time."""

    s: Array = field(default_factory=lambda: np.zeros(0))
    sizes: Array = field(default_factory=lambda: np.zeros((1, 0)))  # of each label, or of all where it is a number

    @classmethod
    def of(cls, asked: Listed) -> "Held":
        rows = asked.work.read(compiled.rows_of_list(asked.plan), asked._known)
        s, c = rows["s"].astype(float), rows[COUNT].astype(float)
        sizes = [c] if TIE not in rows else [np.where(rows[TIE] == label, c, 0.0) for label in (1, 0)]
        order = np.argsort(s)
        s, starts = _groups(s[order])
        summed = np.array([_added(each[order], starts) for each in sizes])
        kept = summed.sum(axis=0) > 0.0
        return cls(asked.work, asked.plan, asked.theta, s=s[kept], sizes=summed[:, kept])

    def size(self) -> Mapping[str, float]:
        return {"n": float(len(self.s)), **self._ends}

    @property
    def _ends(self) -> dict[str, float]:
        least, largest = (self.s[0], self.s[-1]) if len(self.s) else (np.nan, np.nan)
        return {"least": float(least), "largest": float(largest)}

    def in_bins(self, least: float, width: float) -> Rows:
        place = 2.0 * np.floor((self.s - least) / width) + (self.s > 0.0)
        _, starts = _groups(place)
        found = {"least": self.s[starts], "largest": self.s[np.append(starts[1:], len(self.s)) - 1]}
        for name, rows in zip(compiled.CLASSES, self.sizes, strict=True):
            found |= {name: _added(rows, starts), f"{name}_scores": _added(rows * self.s, starts)}
        return found

    def area(self) -> float:
        negative, positive = self.sizes
        return float(positive @ (negative.cumsum() - 0.5 * negative))

    def sums_of_residuals(self) -> Mapping[str, float]:
        s, (c,) = self.s, self.sizes
        over, under = (float(c @ np.maximum(of, 0.0)) for of in (s, -s))
        sums = {"n": float(c.sum()), "over": over, "under": under, "squares": float(c @ s**2)}
        return {**sums, "covered": float(c[s <= 0.0].sum()), **self._ends}

    def histogram(self, bins: int, least: float, width: float) -> Array:
        return binned({"bin": np.floor((self.s - least) / width), COUNT: self.sizes[0]}, COUNT, bins)


def _groups(values: Array) -> tuple[Array, Indices]:
    """Of values in order: those that differ, and where each begins."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    return values[starts], starts


def _added(values: Array, starts: Indices) -> Array:
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0)


def on_list(
    work: Workspace,
    plan: Plan,
    theta: Array,
    buckets: int,
    read: Callable[[Listed, ByLabel | None], Found],
    rows: float = inf,
) -> Found:
    """What is read from the list of exact scores. If that is too long, from one of scores on a grid, and from the rows
    of each label above 0. Of one bag with few enough `rows` the list is made here."""
    steps.info("counting the scores of the join")
    above = None
    if plan.method == "exact":
        with work.scratch():
            asked = Listed(work, plan, theta)
            if plan.centre is None and rows <= work.engine.sizes.held and not work.engine.abilities.spread:
                return read(Held.of(asked), None)
            if asked.list_exactly():
                return read(asked, None)
            above = asked.ask(compiled.above_at_centre(plan)) if plan.design.target.signed else None
    steps.info("counting the scores on a grid")
    with work.scratch():
        return read(on_grid(work, plan, theta, buckets), above)


def on_grid(work: Workspace, plan: Plan, theta: Array, buckets: int) -> Listed:
    plan = replace(plan, method="grid")
    asked = Listed(work, plan, theta)
    spans = [asked.ask(compiled.span(plan, bag)) for bag in plan.bags]
    asked = replace(asked, steps=steps_per_unit(spans, buckets))
    asked.make(*compiled.towards_centre(plan), compiled.list_of_pairs(plan))
    delta = sum(asked.ask(Asked([rounding(plan, bag)], one_number)) for bag in plan.bags)
    return replace(asked, delta=delta + NUDGE if delta else 0.0)


def steps_per_unit(spans: Sequence[Mapping[str, float]], buckets: int) -> float:
    """A power of two, so that multiples of a half or a quarter are not rounded; and not so large that a score exceeds
    the largest bucket."""
    width = sum(span["largest"] - span["least"] for span in spans)
    size = sum(max(map(abs, span.values())) for span in spans)
    if not size > 0:
        return 1.0
    return float(2.0 ** min(ceil(log2(buckets / (width or size))), floor(log2(LARGEST_BUCKET / size))))


Measures = Mapping[str, float]

SAME = 2.0**-40  # of the range of all scores: scores that are closer are the same one, rounded in two ways
FINE = 4096  # on the grid, places over the range of the scores, for what needs no bounds


def of_rows(design: Design, rows: Rows, thetas: Sequence[Array]) -> Scored:
    """Of raw weights: one vector, or one for each class. Each row may know which row of the label's relation it is
    of."""
    scores = [_scores(design, rows, theta) for theta in thetas]
    clusters = rows[CLUSTER].astype(int) if CLUSTER in rows else None
    codes, counts = rows[CODE].astype(float), rows[TIMES].astype(float)
    return Scored(np.array(scores) if design.target.classes else scores[0], codes, counts, clusters)


def _scores(design: Design, rows: Rows, theta: Array) -> Array:
    """Equal rows have equal scores, wherever they are: a product of matrices may round them apart."""
    found = np.zeros(len(rows[CODE]))
    for c in design.coordinates:
        found += theta[c.index] * (1.0 if c.role == "intercept" else rows[c.column].astype(float))
    for d in design.dictionaries:
        places = rows[number_column(d)]
        found += np.append(theta, 0.0)[np.where(np.isnan(places), len(theta) + 1, places).astype(int) - 1]
    return found


def of_plan(
    work: Workspace, plan: Plan, theta: Array, buckets: int = 256, bins: int = BINS, rows: float = inf
) -> Scored:
    """Those of raw weights for two classes, of all rows of the join. The plan's query may have more filters, for
    example to select the rows held out.

    The scores are exact if all of them fit into a list. Otherwise they are rounded to a grid with at least `buckets`
    places over their range: more places give narrower bounds. With two bags the rows above 0 are always known."""
    return on_list(work, plan, theta, buckets, lambda asked, above: _in_bins(asked, above, bins), rows)


def _in_bins(asked: Listed, above: ByLabel | None, bins: int) -> Scored:
    """Each score that differs or, of too many, the mean of those of a class in a bin; a histogram of `bins` bins cuts
    none of these. No bin has scores on both sides of 0."""
    size = asked.size()
    if not size["n"]:
        return Scored(*np.zeros((3, 0)))
    most = asked.work.engine.sizes.bins
    least, span, few = size["least"], size["largest"] - size["least"], size["n"] <= most
    width = span * SAME if few else span / (most // bins * bins)
    found = asked.in_bins(least, width or 1.0)
    found = {name: column.astype(float) for name, column in found.items()}
    order, unit = np.argsort(found["least"]), 1.0 / asked.steps
    counts, sums = (np.append(*(found[f"{n}{end}"][order] for n in compiled.CLASSES)) for end in ("", "_scores"))
    codes, kept = np.repeat([-1.0, 1.0], len(order)), counts > 0.0
    ends = [np.tile(found[name][order], 2)[kept] * unit for name in ("least", "largest")]
    scores = ends[0] if few else sums[kept] / counts[kept] * unit
    scale = np.repeat(asked.class_scale, len(order))[kept]
    scored = Scored(
        scores,
        codes[kept],
        counts[kept] * scale,
        off=asked.delta * unit,
        step=unit if asked.plan.method == "grid" else 0.0,
        ends=None if few else (ends[0], ends[1]),
        above=(above[0] * asked.class_scale[0], above[1] * asked.class_scale[1]) if above else None,
    )
    if few or asked.delta:
        return scored
    area = asked.area() * asked.class_scale[0] * asked.class_scale[1]
    return replace(scored, area=area)


def of_each(problem: Data, thetas: Sequence[Array]) -> list[Scored]:
    """Of raw weights: one vector, or one for each class against all others."""
    if problem.raw is not None:
        found = of_rows(problem.plan.design, problem.raw, thetas)
        return against_others(found) if problem.plan.design.target.classes else [found]
    each = zip(problems_of(problem), thetas, strict=False)
    return [of_plan(own.work, own.plan, theta, FINE, rows=own.rows) for own, theta in each]
