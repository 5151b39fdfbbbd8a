"""The log of a solver: its passes, the best iterate, and the certificate after each pass.

A solver decides where to look next from its log and nothing else. So a resumed run goes on as if it had never stopped.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from time import perf_counter

from sqlsvm.solve.arrays import Array
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.oracle import Cut
from sqlsvm.solve.penalty import Penalty
from sqlsvm.solve.solution import Effort, OnPass, OnState, Parts, Record, Solution, State

steps = logging.getLogger(__name__)


class Log(ABC):
    def __init__(
        self,
        penalty: Penalty,
        effort: Effort,
        on_pass: OnPass | None = None,
        state: State | None = None,
        on_state: OnState | None = None,
        own: bool = False,
        seen: int = 0,
    ) -> None:
        self._own, self.seen = own, seen
        self.penalty, self.effort, self._on_pass, self._on_state = penalty, effort, on_pass, on_state
        self.points: list[Array] = []
        self.cuts: list[Cut] = []
        self.history: list[Record] = []
        self.strengths: list[float] = []
        """The strength of the penalty of each pass. A resumed run may have another."""
        self.best = 0
        for point, cut, seconds, strength in state.passes() if state else ():
            self.add(point, cut, seconds, strength)

    @abstractmethod
    def proof(self) -> Certificate:
        """What the passes prove about the best iterate."""

    @abstractmethod
    def merit(self, index: int) -> float:
        """The best iterate has the least."""

    @property
    def certificate(self) -> Certificate:
        return self.proof() if self.cuts else Certificate(0.0, inf, 0.0)

    @property
    def gap(self) -> float:
        return self.certificate.gap

    @property
    def converged(self) -> bool:
        return self.gap <= self.effort.tol

    @property
    def finished(self) -> bool:
        return len(self.cuts) >= self.effort.max_passes or (self.converged and self.begun)

    @property
    def begun(self) -> bool:
        return not self._own or self.penalty.strength in self.strengths[self.seen :]

    def objective(self, index: int) -> float:
        """That of an iterate, as far as its pass has counted it: never above F."""
        return self.cuts[index].value_low + self.penalty.value(self.points[index])

    def make(self, point: Array, a_pass: Callable[[Array], Cut], spent: float = 0.0) -> None:
        """Makes a pass at the point, logs it and tells the caller."""
        steps.debug("pass %d", len(self.cuts) + 1)
        began = perf_counter()
        cut = a_pass(point)
        self.add(point, cut, spent + perf_counter() - began, self.penalty.strength)
        if self._on_state and not self.finished:
            self._on_state(self.state())
        if self._on_pass:
            self._on_pass(self.history[-1])

    def add(self, point: Array, cut: Cut, seconds: float, strength: float) -> None:
        self.points.append(point)
        self.cuts.append(cut)
        self.strengths.append(strength)
        last = len(self.cuts) - 1
        if self._rank(last) < self._rank(self.best):
            self.best = last
        proof = self.certificate
        self.history.append(
            Record(last + 1, proof.objective, proof.objective_upper, proof.lower_bound, proof.gap, cut.buckets, seconds)
        )

    def _rank(self, index: int) -> tuple[bool, bool, float]:
        """The best has the least. One that has passes of its own takes none of another penalty."""
        other = self._own and self.strengths[index] != self.penalty.strength
        return index < self.seen, other, self.merit(index)

    def solution(self) -> Solution:
        beta = self.points[self.best].copy()
        return Solution(beta, self.certificate, tuple(self.history), self.converged, self.state(), self.parts)

    @property
    def parts(self) -> Parts | None:
        """What the gap is made of, if that is known."""
        return None

    def state(self) -> State:
        return State.of(self.points, self.cuts, [record.seconds for record in self.history], self.strengths)
