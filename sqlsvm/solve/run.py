"""One run of a solver that works by cuts: it makes the passes, keeps their log, the bundle and the best iterate."""

import logging
from time import perf_counter

import numpy as np

from sqlsvm.errors import DataError, OptionError
from sqlsvm.solve.cuts import Bundle, Certificate
from sqlsvm.solve.oracle import Array, Cut, Oracle
from sqlsvm.solve.penalty import L2
from sqlsvm.solve.solution import Effort, OnPass, OnState, Record, Solution, State

steps = logging.getLogger(__name__)

STALL = 0.6
"""A pass that leaves more than this of the gap did not do its work."""

ROUNDING, TINY = 1e-6, 1e-9
"""More of a value than rounding takes."""


class Run:
    """A solver decides where to look, from what is in here and nothing else: so a resumed run goes on as if it had
    never stopped."""

    def __init__(
        self,
        oracle: Oracle,
        penalty: L2,
        options: Effort,
        on_pass: OnPass | None = None,
        state: State | None = None,
        on_state: OnState | None = None,
    ) -> None:
        self.oracle, self.penalty, self.options, self._on_pass = oracle, penalty, options, on_pass
        self._on_state = on_state
        self.start = None if state is None else state.start
        self.bundle = Bundle(penalty, oracle.dimension)
        self.points: list[Array] = []
        self.cuts: list[Cut] = []
        self.history: list[Record] = []
        self.best = -1
        if state is not None and np.isnan(state.offsets).any():
            raise OptionError("this state holds no cuts", hint="go on with the descent solver, which made it")
        for point, cut, seconds in state.passes() if state else ():
            self._log(point, cut, seconds)

    @property
    def finished(self) -> bool:
        return len(self.cuts) >= self.options.max_passes or self.gap <= self.options.tol

    @property
    def gap(self) -> float:
        return self.certificate.gap

    @property
    def certificate(self) -> Certificate:
        low = self._value_low(self.best) if self.cuts else 0.0
        upper = low + self.cuts[self.best].error if self.cuts else np.inf
        return Certificate(low, upper, min(self.bundle.lower_bound(), upper))

    @property
    def stalls(self) -> int:
        """How many of the latest passes in a row failed to shrink the gap."""
        gaps = [record.gap for record in self.history]
        count = 0
        while count < len(gaps) - 1 and gaps[-1 - count] > STALL * gaps[-2 - count]:
            count += 1
        return count

    def observe(self, point: Array, buckets: int | None, width: float = 0.0) -> None:
        """Make a pass at the point, log it, tell the caller."""
        steps.debug("pass %d", len(self.cuts) + 1)
        began = perf_counter()
        cut = self.oracle.pass_(point, buckets, width)
        self._log(point, cut, perf_counter() - began)
        if self._on_state and not self.finished:
            self._on_state(self.state())
        if self._on_pass:
            self._on_pass(self.history[-1])

    def solution(self) -> Solution:
        beta = self.points[self.best].copy()
        return Solution(beta, self.certificate, tuple(self.history), self.gap <= self.options.tol, self.state())

    def state(self) -> State:
        return State.of(self.points, self.cuts, [record.seconds for record in self.history])

    def _log(self, point: Array, cut: Cut, seconds: float) -> None:
        self.points.append(point)
        self.cuts.append(cut)
        self.bundle.add(cut)
        last = len(self.cuts) - 1
        if self.best < 0 or self._upper(last) < self._upper(self.best):
            self.best = last
        self._check_rows()
        proof = self.certificate
        self.history.append(
            Record(last + 1, proof.objective, proof.objective_upper, proof.lower_bound, proof.gap, cut.buckets, seconds)
        )

    def _check_rows(self) -> None:
        """No cut is above what another pass has reached, unless they are of different rows."""
        low, upper = self.bundle.lower_bound(), self._upper(self.best)
        if low > upper + ROUNDING * upper + TINY:
            raise DataError(
                f"a pass has reached {upper:.6g}, which is below {low:.6g}, the lower bound of the passes before",
                detail="so they were not of the same rows, and prove nothing together",
                hint="keep what changes while it is read, such as a file or a foreign table, in a table first",
            )

    def _value_low(self, index: int) -> float:
        return self.cuts[index].value_low + self.penalty.value(self.points[index])

    def _upper(self, index: int) -> float:
        return self._value_low(index) + self.cuts[index].error
