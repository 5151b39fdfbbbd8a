"""What every solver takes and gives: an effort in, records on the way, a solution and a state to go on from out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from sqlsvm.options import DEFAULTS, Steps, check
from sqlsvm.solve.arrays import Array
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.oracle import Cut


@dataclass(frozen=True)
class Effort:
    """What a search may cost. `sample`, `in_memory` and `buckets` None: the solver chooses."""

    tol: float = DEFAULTS["tol"]
    max_passes: int = DEFAULTS["max_passes"]
    seed: int = DEFAULTS["seed"]
    sample: int | None = DEFAULTS["sample"]
    in_memory: int | None = DEFAULTS["in_memory"]
    buckets: int | None = DEFAULTS["buckets"]
    epsilon: float = DEFAULTS["epsilon"]
    step: Steps = DEFAULTS["step"]

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Record:
    """The certificate after a pass, of the best iterate so far. `buckets` None: this pass counted exactly."""

    pass_: int
    objective: float
    objective_upper: float
    lower_bound: float
    gap: float
    buckets: int | None
    seconds: float


Obstacle = Literal["bound", "objective", "rounding"]


@dataclass(frozen=True)
class Parts:
    """What a gap is made of, as shares of the upper bound: what the cuts do not yet prove, what counting leaves open of
    the objective, and what the rounding of sums may have done to both."""

    bound: float
    objective: float
    rounding: float

    @property
    def largest(self) -> Obstacle:
        found: dict[Obstacle, float] = {"bound": self.bound, "objective": self.objective, "rounding": self.rounding}
        return max(found, key=lambda name: found[name])


OnPass = Callable[[Record], None]


@dataclass(frozen=True)
class State:
    """Every pass that was made, one row each. A solver needs nothing else to go on, with this penalty or another.

    dane and bundle can use each other's cuts. Descent makes none: its offsets are nan, and only descent can go on.
    """

    points: Array
    slopes: Array
    offsets: Array
    lows: Array
    errors: Array
    buckets: Array  # nan where the pass counted exactly
    widths: Array
    seconds: Array
    strengths: Array  # of the penalty for which each pass was made
    start: Array | None = None  # where to look first, if no pass was made yet

    @classmethod
    def of(
        cls, points: Sequence[Array], cuts: Sequence[Cut], seconds: Sequence[float], strengths: Sequence[float]
    ) -> "State":
        """From one pass or more."""
        buckets = [np.nan if cut.buckets is None else float(cut.buckets) for cut in cuts]
        proven = [(cut.slope, cut.offset, cut.value_low, cut.error) for cut in cuts]
        slopes, offsets, lows, errors = map(np.array, zip(*proven, strict=True))
        widths = np.array([cut.width for cut in cuts])
        found = slopes, offsets, lows, errors, np.array(buckets), widths, np.array(seconds), np.array(strengths)
        return cls(np.array(points), *found)

    @classmethod
    def at(cls, start: Array) -> "State":
        """No pass is known, but a good place for the first."""
        none = np.zeros(0)
        nowhere = np.zeros((0, len(start)))
        return cls(nowhere, nowhere, none, none, none, none, none, none, none, start)

    def __len__(self) -> int:
        return len(self.points)

    def passes(self) -> Iterator[tuple[Array, Cut, float, float]]:
        """Each pass again: where it was made, its cut, its seconds, and for what strength of the penalty."""
        for i in range(len(self)):
            buckets = None if np.isnan(self.buckets[i]) else int(self.buckets[i])
            low, error, width = float(self.lows[i]), float(self.errors[i]), float(self.widths[i])
            cut = Cut(self.slopes[i], float(self.offsets[i]), low, error, buckets, width)
            yield self.points[i], cut, float(self.seconds[i]), float(self.strengths[i])


OnState = Callable[[State], None]
"""It gets all passes so far, after each pass but the last. So they are not lost when something ends the run."""
OnStates = Callable[[Sequence[State]], None]  # the same for several runs at once


class Going(TypedDict, total=False):
    """What a run goes on from, and what is told of its passes."""

    on_pass: OnPass | None
    state: State | None
    on_state: OnState | None
    own: bool  # is the best point one of its own passes, although those for other penalties may prove enough?
    seen: int
    """So many of the first passes were made at points that have seen other rows: they prove, and are no solution."""


class GoingTogether(TypedDict, total=False):
    """The same of several runs, one for each class."""

    on_pass: OnPass | None
    states: Sequence[State] | None
    on_states: OnStates | None


@dataclass(frozen=True)
class Solution:
    """beta and what is proven about it."""

    beta: Array
    certificate: Certificate
    history: tuple[Record, ...]
    converged: bool
    state: State
    parts: Parts | None = None  # the parts of the gap, where cuts prove it
