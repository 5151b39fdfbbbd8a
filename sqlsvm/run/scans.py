"""One scan of the tables that is a pass of several problems: its sums are kept apart, by class or by the part that a
row is in. This takes one bag: over several, messages would have to be kept apart, and would be as long as those of a
pass for each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from sqlsvm.compile.oracle import (
    CLASSES_AT_ONCE,
    MEMBER,
    OWN_WIDTH,
    TOGETHER,
    can_share,
    counting,
    pass_together,
    totals_name,
)
from sqlsvm.compile.resolve import sums_name
from sqlsvm.compile.weighting import Ramp, Weighting
from sqlsvm.plan.parameters import BOUND, MEMBERS, THETA, WIDTHS
from sqlsvm.run.data import Data
from sqlsvm.run.join_oracle import JoinOracle
from sqlsvm.run.workspace import Answers, Program, of_parts
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.loss import Loss
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.run import Proposal, passed
from sqlsvm.solve.solution import State
from sqlsvm.sql import column

MOST = 1_000_000
"""Sums that a pass may have: they stay in memory."""

# -- classes: each row of the join is of all of them -------------------------------------------------------------------


class OfClasses:
    """The passes of these oracles, which differ in the class that is +1."""

    def __init__(self, oracles: Sequence[JoinOracle]) -> None:
        self._oracles, self._shares = oracles, can_share(oracles[0].plan)
        self._programs: dict[tuple[float, int], Program] = {}
        """By their width, or that of all widths where it is a column, and by the number of classes."""

    def __call__(self, asked: Mapping[int, Proposal]) -> dict[int, Cut]:
        if not self._shares or len(asked) == 1:
            return {n: passed(self._oracles[n], proposal) for n, proposal in asked.items()}
        found: dict[int, Cut] = {}
        kinds = {n: self._kind(each) for n, each in asked.items()}
        for kind in dict.fromkeys(kinds.values()):
            members = [n for n, own in kinds.items() if own == kind]
            for first in range(0, len(members), CLASSES_AT_ONCE):
                found |= self._cuts(kind, {n: asked[n] for n in members[first : first + CLASSES_AT_ONCE]})
        return found

    def _kind(self, asked: Proposal) -> float:
        """Passes with the same one share a scan."""
        return 1.0 if asked.width and isinstance(self._counted(1.0), Ramp) else asked.width

    def _counted(self, width: float) -> Weighting:
        found = counting(self._oracles[0].plan, self._oracles[0].loss, width)
        return Ramp(column(OWN_WIDTH)) if isinstance(found, Ramp) else found  # type: ignore[return-value]

    def _cuts(self, kind: float, asked: Mapping[int, Proposal]) -> dict[int, Cut]:
        first, codes = self._oracles[0], {n: self._oracles[n].plan.design.target.chosen for n in asked}
        work, of_kind = first.problem.work, (kind, len(asked))
        if of_kind not in self._programs:
            statement = pass_together(first.plan, self._counted(kind), len(asked))
            self._programs[of_kind] = Program(work.engine, [statement])
        parameters = {
            THETA: np.concatenate([self._oracles[n].problem.scaling.to_raw(each.point) for n, each in asked.items()]),
            MEMBERS: np.array([*codes.values()], dtype=float),
            WIDTHS: np.array([each.width for each in asked.values()]),
            BOUND: first.loss.origin or 0.0,
        }
        with work.clock.during("passes"):
            rows = work.run_and_drop(self._programs[of_kind], parameters)[TOGETHER]
        answers = dict.fromkeys([totals_name(first.plan), *map(sums_name, range(len(first.plan.tree.nodes)))], rows)
        each = ((n, proposal, of_parts(answers, [codes[n]], MEMBER)) for n, proposal in asked.items())
        return {n: self._oracles[n].cut(own, proposal.point, None, proposal.width) for n, proposal, own in each}


# -- folds: each row is in one part, and a training has several --------------------------------------------------------


def can_keep_apart(problem: Data, parts: int) -> bool:
    """One bag and one vector of weights."""
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
        point, began, width = state.points[place], perf_counter(), float(state.widths[place])
        answers = oracle.asked(point, None, width)
        found.append(Made(point, width, float(state.strengths[place]), perf_counter() - began, answers))
    return found


def of_these(problem: Data, loss: Loss, made: Sequence[Made], parts: Iterable[int]) -> State:
    """What they are for the training on this problem, which has these parts."""
    oracle, parts = JoinOracle(problem, loss), list(parts)
    cuts = [oracle.cut(of_parts(m.answers, parts), m.point, None, m.width) for m in made]
    return State.of([m.point for m in made], cuts, [m.seconds for m in made], [m.strength for m in made])
