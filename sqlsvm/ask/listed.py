"""The scores of all join rows as one list in the database."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log2
from typing import TypeVar

from sqlsvm.compile import evaluate as compiled
from sqlsvm.compile.evaluate import ByLabel
from sqlsvm.compile.statement import Asked, Statement, one_number
from sqlsvm.compile.tally import LARGEST_BUCKET, rounding
from sqlsvm.plan.parameters import BOUND, BUCKETS, THETA
from sqlsvm.plan.plan import Plan
from sqlsvm.run.workspace import Workspace
from sqlsvm.solve.arrays import Array

steps = logging.getLogger(__name__)

Found = TypeVar("Found")

NUDGE = 1e-9
"""If scores were rounded, a billionth of a bucket more covers the rounding of the doubles."""


@dataclass(frozen=True)
class Listed:
    """A theta, a plan, and the size of a step: scores are counted in steps."""

    work: Workspace
    plan: Plan
    theta: Array
    steps: float = 1.0
    """Per unit of the score."""
    delta: float = 0.0
    """The largest error of a score in the list, in steps."""

    def make(self, *statements: Statement) -> None:
        self.work.run(statements, self._known)

    def ask(self, asked: Asked[Found], **parameters: float) -> Found:
        return self.work.ask(asked, self._known | parameters)

    @property
    def _known(self) -> dict[str, object]:
        return {THETA: self.theta, BOUND: 0.0, BUCKETS: self.steps, **self.plan.design.target.parameters}

    def list_exactly(self) -> bool:
        """Make the list of scores, unless it would be too long; return whether it was made."""
        if self.plan.centre is None:
            self.make(compiled.list_of_rows(self.plan))
            return True
        self.make(*compiled.towards_centre(self.plan))
        fits = self.ask(compiled.pairs(self.plan)) <= compiled.LONGEST_LIST
        if fits:
            self.make(compiled.list_of_pairs(self.plan))
        return fits

    @property
    def class_scale(self) -> ByLabel:
        """Factors that remove the class weights from the counts of each label."""
        negative, positive = self.plan.design.target.class_weights
        return 1 / negative, 1 / positive


def on_list(
    work: Workspace, plan: Plan, theta: Array, buckets: int, read: Callable[[Listed, ByLabel | None], Found]
) -> Found:
    """What is read from the list of exact scores. If that is too long, from one of scores on a grid, and from the rows
    of each label above 0."""
    steps.info("counting the scores of the join")
    above = None
    if plan.method == "exact":
        with work.scratch():
            asked = Listed(work, plan, theta)
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
