"""What every solver takes and gives: options in; records on the way; a solution out, with a state to go on from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from sqlsvm.options import DEFAULTS, Step, check
from sqlsvm.solve.cuts import Certificate
from sqlsvm.solve.oracle import Array, Cut


@dataclass(frozen=True)
class Effort:
    """What a search may cost. `sample` and `buckets` None: the solver chooses."""

    tol: float = DEFAULTS["tol"]
    max_passes: int = DEFAULTS["max_passes"]
    seed: int = DEFAULTS["seed"]
    sample: int | None = DEFAULTS["sample"]
    buckets: int | None = DEFAULTS["buckets"]
    epsilon: float = DEFAULTS["epsilon"]
    step: Step = DEFAULTS["step"]

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


OnPass = Callable[[Record], None]


@dataclass(frozen=True)
class State:
    """Every pass that was made, one row each: all that a solver needs to go on, for this lam or for another.

    The cuts serve dane and bundle alike. Descent makes none: its offsets are nan, and its state is its own.
    """

    points: Array
    slopes: Array
    offsets: Array
    lows: Array
    errors: Array
    buckets: Array  # nan where the pass counted exactly
    widths: Array
    seconds: Array
    start: Array | None = None
    """Where to look first, if no pass was made yet."""

    @classmethod
    def of(cls, points: Sequence[Array], cuts: Sequence[Cut], seconds: Sequence[float]) -> "State":
        """From the passes, one or more: a caller that keeps them can go on after an interrupt."""
        return cls(
            np.array(points),
            np.array([cut.slope for cut in cuts]),
            np.array([cut.offset for cut in cuts]),
            np.array([cut.value_low for cut in cuts]),
            np.array([cut.error for cut in cuts]),
            np.array([np.nan if cut.buckets is None else float(cut.buckets) for cut in cuts]),
            np.array([cut.width for cut in cuts]),
            np.array(seconds),
        )

    @classmethod
    def at(cls, start: Array) -> "State":
        """No pass is known, but a good place for the first."""
        none = np.zeros(0)
        nowhere = np.zeros((0, len(start)))
        return cls(nowhere, nowhere, none, none, none, none, none, none, start)

    def __len__(self) -> int:
        return len(self.points)

    def passes(self) -> Iterator[tuple[Array, Cut, float]]:
        """Each pass again: where it was made, its cut, its seconds."""
        for i in range(len(self)):
            buckets = None if np.isnan(self.buckets[i]) else int(self.buckets[i])
            low, error, width = float(self.lows[i]), float(self.errors[i]), float(self.widths[i])
            cut = Cut(self.slopes[i], float(self.offsets[i]), low, error, buckets, width)
            yield self.points[i], cut, float(self.seconds[i])


OnState = Callable[[State], None]
"""Given all passes so far after each but the last, so that they outlive whatever ends the run."""


class Going(TypedDict, total=False):
    """What a run goes on from, and who is told of its passes."""

    on_pass: OnPass | None
    state: State | None
    on_state: OnState | None


@dataclass(frozen=True)
class Solution:
    """beta and what is proven about it."""

    beta: Array
    certificate: Certificate
    history: tuple[Record, ...]
    converged: bool
    state: State
