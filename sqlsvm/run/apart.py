"""One pass over all rows that is a pass of each training on some parts of them: sums are kept apart by part, and those
of the parts that train, added up, are the cut of that training."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.workspace import Answers, of_parts
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.solution import State

MOST = 1_000_000
"""Sums that a pass may have: they stay in memory."""


def can_share(problem: Data, parts: int) -> bool:
    """One bag and one vector of weights. Over several bags, messages would have to be kept apart, and would be as long
    as those of a pass for each part."""
    plan = problem.plan
    few = parts * plan.design.size <= MOST
    return plan.centre is None and not plan.design.target.classes and not plan.by_moments and few


@dataclass(frozen=True)
class Made:
    """A pass over all rows, and the strength of the penalty for which it was made."""

    point: Array
    width: float
    strength: float
    seconds: float
    answers: Answers


def again(problem: Data, loss: Loss, state: State, points: Sequence[Array]) -> list[Made]:
    """These passes of a training of all rows once more. The plan of the problem keeps sums apart."""
    oracle, found = JoinOracle(problem, loss), []
    places = (next(i for i, each in enumerate(state.points) if np.array_equal(each, point)) for point in points)
    for place in dict.fromkeys(places):  # one point may be the best of several trainings
        point = state.points[place]
        began, width = perf_counter(), float(state.widths[place])
        answers = oracle.asked(point, None, width)
        found.append(Made(point, width, float(state.strengths[place]), perf_counter() - began, answers))
    return found


def of_these(problem: Data, loss: Loss, made: Sequence[Made], parts: Iterable[int]) -> State:
    """What they are for the training on this problem, which has these parts."""
    oracle, parts = JoinOracle(problem, loss), list(parts)
    cuts = [oracle.cut(of_parts(m.answers, parts), m.point, None, m.width) for m in made]
    return State.of([m.point for m in made], cuts, [m.seconds for m in made], [m.strength for m in made])
