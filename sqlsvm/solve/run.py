"""One run of a solver that works by cuts: the log of its passes, and the bundle of their cuts.

A solver is a function from a run to its proposals: where to look next, as long as the run is not finished. `follow`
makes a pass for each. Several runs can be followed at once, and then their passes can share scans.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from time import perf_counter
from typing import Any, Generic, TypeVar, Unpack

import numpy as np

from sqlsvm.errors import DataError, OptionError
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.curvature import DENSE_UP_TO
from sqlsvm.solve.cuts import Bundle, Certificate
from sqlsvm.solve.log import Log
from sqlsvm.solve.oracle import Cut, CutOracle
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Effort, Going, OnPass, OnStates, Parts, Record, Solution
from sqlsvm.solve.threads import fitting_threads

Asked = TypeVar("Asked", bound=CutOracle)

STALL = 0.6  # a pass that leaves more than this share of the gap has stalled
BALANCE = 0.003  # the penalty of a solution that is to be measured may be off by this share of F

ROUNDING, TINY = 1e-6, 1e-9  # more than rounding can change a value, relative and absolute


@dataclass(frozen=True)
class Proposal:
    """Where a pass is to be made, and how."""

    point: Array
    buckets: int | None
    width: float = 0.0
    cut: Cut | None = None  # what such a pass would give, if that is known

    def within(self, penalty: Penalty) -> "Proposal":
        """At the nearest point that the constraints allow."""
        point = penalty.feasible(self.point)
        return self if np.array_equal(point, self.point) else replace(self, point=point, cut=None)


class Run(Log, Generic[Asked]):
    def __init__(self, oracle: Asked, penalty: Penalty, effort: Effort | None = None, **going: Unpack[Going]) -> None:
        state = going.get("state")
        if state is not None and np.isnan(state.offsets).any():
            raise OptionError("this state holds no cuts", hint="go on with the descent solver, which made it")
        self.oracle, self.bundle = oracle, Bundle(penalty, oracle.dimension, oracle.rounding)
        self.start = None if state is None else state.start
        self._rounded: list[float] = []
        """How far the rounding of sums may put the value of each pass off. For a pass far off that may be much."""
        super().__init__(penalty, effort or Effort(), **going)

    def proof(self) -> Certificate:
        self.bundle.upper = upper = self.merit(self.best)
        return Certificate(self.objective(self.best), upper, min(self.bundle.lower_bound(), upper))

    @property
    def converged(self) -> bool:
        return super().converged or self._is_nothing

    @property
    def _is_nothing(self) -> bool:
        """Is F no more than what rounding may have added, with no bound above 0? Then it may be 0, and no pass proves
        a share of it."""
        if not self.cuts or super().objective(self.best) + self.cuts[self.best].error > self._rounded[self.best]:
            return False
        return self.bundle.lower_bound() <= 0.0

    @property
    def parts(self) -> Parts:
        upper = self.certificate.objective_upper or 1.0
        counted, rounded = self.cuts[self.best].error / upper, self.rounded / upper
        return Parts(max(0.0, self.gap - counted - rounded), counted, rounded)

    @property
    def blurred(self) -> bool:
        """Is what counting leaves open in the way? Then it is most of the gap, or the latest pass may be below the
        best one, but is not proven to be."""
        last, best = len(self.cuts) - 1, self.best
        hidden = last != best and self.objective(last) < self.objective(best)
        return hidden or self.parts.largest == "objective"

    @property
    def rounded(self) -> float:
        """What the rounding of sums may have added to the gap, above the objective and below the bound."""
        return self._rounded[self.best] + self.bundle.rounded()

    @property
    def finished(self) -> bool:
        """No pass helps if rounding alone keeps the gap too large. If it does not, little may be left besides it."""
        if super().finished or not (self.cuts and self.begun):
            return super().finished
        tol, rounding = self.effort.tol, self.parts.rounding
        return self.gap - rounding <= (tol if rounding > tol else tol / 8.0)

    @property
    def begun(self) -> bool:
        return super().begun and (not self._own or self.balances(self.points[self.best]))

    def balances(self, point: Array) -> bool:
        """Is the penalty there about that of the optimum, as far as the cuts know it? Near the optimum R falls as the
        penalty rises, so what is measured may be off by far more than F is."""
        moved = abs(self.penalty.value(self.bundle.minimiser()) - self.penalty.value(point))
        return not isfinite(moved) or moved <= max(self.effort.tol, BALANCE) * self.merit(self.best)

    def objective(self, index: int) -> float:
        return max(0.0, super().objective(index) - self._rounded[index])

    def merit(self, index: int) -> float:
        return self.most(index) + self.penalty.value(self.points[index])

    def most(self, index: int) -> float:
        """What R is at most where this pass was made."""
        cut = self.cuts[index]
        return cut.value_low + cut.error + self._rounded[index]

    @property
    def gaps(self) -> list[float]:
        """After each of the latest passes that were all made for this penalty: what those for another one left is no
        sign of how well this run goes."""
        others = [place for place, strength in enumerate(self.strengths) if strength != self.penalty.strength]
        return [record.gap for record in self.history[max(others, default=-1) + 1 :]]

    @property
    def stalls(self) -> int:
        """How many of the latest passes in a row failed to shrink the gap."""
        gaps, count = self.gaps, 0
        while count < len(gaps) - 1 and gaps[-1 - count] > STALL * gaps[-2 - count]:
            count += 1
        return count

    def follow(self, proposals: Iterator[Proposal]) -> Solution:
        with self.threads():
            for asked in proposals:
                self.observe(asked)
            return self.solution()

    def threads(self) -> AbstractContextManager[None]:
        """Where there are very many columns, no matrix has all of them."""
        columns = self.oracle.dimension
        return fitting_threads(columns if columns <= DENSE_UP_TO else 0)

    def observe(self, asked: Proposal, spent: float = 0.0) -> None:
        """`spent`: seconds that this pass has taken already."""
        asked = asked.within(self.penalty)
        self.make(asked.point, lambda _: passed(self.oracle, asked), spent)

    def add(self, point: Array, cut: Cut, seconds: float, strength: float) -> None:
        offset, slope = self.oracle.size(point, cut)
        self.bundle.add(cut, (offset, slope))
        rounding = self.oracle.rounding
        linear = slope * rounding.reach(point)
        terms = offset + (cut.value_low + cut.error if self.oracle.adds_values(cut.width) else linear)
        others = cut.error + self.penalty.value(point)  # infinite if it was made for other constraints
        value = rounding.of_value(terms, others if isfinite(others) else 0.0)
        self._rounded.append(value + rounding.of_stored(point, slope))
        super().add(point, cut, seconds, strength)
        self._check_rows()

    def _check_rows(self) -> None:
        """If a cut is above what another pass has reached, the two passes saw different rows."""
        low, upper = self.bundle.lower_bound(), self.merit(self.best)
        if low > upper + ROUNDING * upper + TINY:
            raise DataError(
                f"a pass has reached {upper:.6g}, which is below {low:.6g}, the lower bound of the passes before",
                detail="so they were not of the same rows, and prove nothing together",
                hint="keep what changes while it is read, such as a file or a foreign table, in a table first",
            )


Passes = Callable[[Mapping[int, Proposal]], Mapping[int, Cut]]  # the cuts of several runs, by their numbers


def passed(oracle: CutOracle, asked: Proposal) -> Cut:
    """The cut of this pass, which is not made if the cut is known."""
    return asked.cut or oracle.pass_(asked.point, asked.buckets, asked.width)


def follow_together(
    runs: Sequence[Run[Any]],
    proposals: Sequence[Iterator[Proposal]],
    passes: Passes,
    on_pass: OnPass | None = None,
    on_states: OnStates | None = None,
) -> None:
    """All runs that are not finished make their next pass at once. `on_pass` is told of the mean of their objectives,
    and of the largest gap, and `on_states` of all passes of each run."""
    going, made = dict(enumerate(proposals)), max(len(run.cuts) for run in runs)
    with runs[0].threads():
        while asked := _asked(runs, going):
            began = perf_counter()
            cuts = passes(asked)
            seconds, made = perf_counter() - began, made + 1
            for place, cut in cuts.items():
                runs[place].make(asked[place].point, partial(_known, cut), seconds / len(cuts))
            if on_states and not all(run.finished for run in runs):
                on_states([run.state() for run in runs])
            if on_pass:
                on_pass(_record(made, [run.certificate for run in runs], cuts.values(), seconds))


def _asked(runs: Sequence[Run[Any]], going: dict[int, Iterator[Proposal]]) -> dict[int, Proposal]:
    """Runs that are finished go no more."""
    found = {place: next(each, None) for place, each in going.items()}
    for place, asked in found.items():
        if asked is None:
            del going[place]
    return {n: each.within(runs[n].penalty) for n, each in found.items() if each}


def _known(cut: Cut, point: Array) -> Cut:
    return cut


def _record(made: int, proofs: Sequence[Certificate], cuts: Iterable[Cut], seconds: float) -> Record:
    def mean(name: str) -> float:
        return float(sum(getattr(proof, name) for proof in proofs) / len(proofs))

    buckets = max((cut.buckets for cut in cuts if cut.buckets), default=None)
    gap = max(proof.gap for proof in proofs)
    return Record(made, mean("objective"), mean("objective_upper"), mean("lower_bound"), gap, buckets, seconds)
