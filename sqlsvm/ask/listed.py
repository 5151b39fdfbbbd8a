"""The scores of all join rows as one list in the database."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor, log2
from typing import TypeVar

from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.statement import Statement
from sqlsvm.compile.tally import LARGEST_BUCKET, rounding, rounding_name
from sqlsvm.engine.base import Rows
from sqlsvm.plan.parameters import BOUND, BUCKETS, THETA
from sqlsvm.plan.plan import Plan
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

Found = TypeVar("Found")

NUDGE = 1e-9
"""If scores were rounded, a billionth of a bucket more covers the rounding of the doubles."""

NONE: Mapping[str, float] = {}

ByLabel = tuple[float, float]
"""A number for y = -1 and one for y = +1."""


@dataclass(frozen=True)
class Asked:
    """A theta, a plan, and the size of a step: scores are counted in steps."""

    work: Workspace
    plan: Plan
    theta: Array
    steps: float = 1.0
    """Per unit of the score."""
    delta: float = 0.0
    """The largest error of a score in the list, in steps."""

    def run(self, *statements: Statement, parameters: Mapping[str, float] = NONE) -> dict[str, Rows]:
        known = {THETA: self.theta, BOUND: 0.0, BUCKETS: self.steps, **self.plan.design.target.parameters}
        return self.work.run(statements, {**known, **parameters})

    def list_exactly(self) -> bool:
        """Make the list of scores, unless it would be too long; return whether it was made."""
        if self.plan.centre is None:
            self.run(compiled.list_of_rows(self.plan))
            return True
        self.run(*compiled.towards_centre(self.plan))
        fits = bool(self.run(compiled.pairs(self.plan))[compiled.PAIRS]["n"][0] <= compiled.LONGEST_LIST)
        if fits:
            self.run(compiled.list_of_pairs(self.plan))
        return fits

    def above_at_centre(self) -> ByLabel:
        return by_label(self.run(compiled.above_at_centre(self.plan))[compiled.ABOVE])

    @cached_property
    def ranks(self) -> Mapping[str, float]:
        """Those of the rows of the list, if its scores are exact."""
        return {name: float(values[0]) for name, values in self.run(compiled.ranks())[compiled.RANKS].items()}

    @property
    def class_scale(self) -> ByLabel:
        """Factors that remove the class weights from the counts of each label."""
        negative, positive = self.plan.design.target.class_weights
        return 1 / negative, 1 / positive


def on_list(
    work: Workspace, plan: Plan, theta: Array, buckets: int, read: Callable[[Asked, ByLabel | None], Found]
) -> Found:
    """What is read from the list of exact scores. If that is too long, from one of scores on a grid, and from the rows
    of each label above 0."""
    steps.info("counting the scores of the join")
    above = None
    if plan.method == "exact":
        with work.scratch():
            asked = Asked(work, plan, theta)
            if asked.list_exactly():
                return read(asked, None)
            above = asked.above_at_centre() if plan.design.target.signed else None
    steps.info("counting the scores on a grid")
    with work.scratch():
        return read(on_grid(work, plan, theta, buckets), above)


def on_grid(work: Workspace, plan: Plan, theta: Array, buckets: int) -> Asked:
    plan = replace(plan, method="grid")
    asked = Asked(work, plan, theta)
    spans = [asked.run(compiled.span(plan, bag))[compiled.span_name(bag)] for bag in plan.bags]
    asked = replace(asked, steps=steps_per_unit(spans, buckets))
    asked.run(*compiled.towards_centre(plan), compiled.list_of_pairs(plan))
    blurs = [asked.run(rounding(plan, bag))[rounding_name(bag)] for bag in plan.bags]
    delta = sum(float(blur["error"][0]) for blur in blurs)
    return replace(asked, delta=delta + NUDGE if delta else 0.0)


def steps_per_unit(spans: Sequence[Rows], buckets: int) -> float:
    """A power of two, so that multiples of a half or a quarter are not rounded; and not so large that a score exceeds
    the largest bucket."""
    width = sum(float(span["largest"][0] - span["least"][0]) for span in spans)
    size = sum(max(abs(float(span[end][0])) for end in ("least", "largest")) for span in spans)
    if not size > 0:
        return 1.0
    return float(2.0 ** min(ceil(log2(buckets / (width or size))), floor(log2(LARGEST_BUCKET / size))))


def by_label(rows: Rows) -> ByLabel:
    negative, positive = (float(rows[name][0]) for name in compiled.CLASSES)
    return negative, positive
