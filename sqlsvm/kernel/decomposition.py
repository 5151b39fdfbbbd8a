"""Decomposition: the dual of the support vector machine, one or two coordinates at a time.

The problem is min |f|^2 / 2 + sum cap max(0, 1 - y (f(x) + b)). Its dual over beta = y alpha is
    max D(beta) = y.beta - beta'K beta / 2,  0 <= y beta <= cap,
and the sum of beta is 0 where b is free. Then two coordinates move against each other, else one moves alone; those that
gain most by second order. v = y - K beta is the gradient. Coordinates that rest at a bound are left out for a while.
Every beta within its bounds proves that no f has an objective below D(beta), if K is the kernel of some features.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sqlsvm.kernel.functions import Kernel
from sqlsvm.kernel.gram import Cache, Gram
from sqlsvm.kernel.pegasos import after, kernelised
from sqlsvm.kernel.rows import Joined
from sqlsvm.options import KernelName
from sqlsvm.solve.arrays import Array, Indices, Mask

LEAST = 1e-12  # in place of a curvature that is not above 0
SHRINK_EVERY = 1000
FINER = 0.1


@dataclass(frozen=True)
class Dual:
    """beta and what it proves."""

    beta: Array
    offset: float
    objective: float
    lower_bound: float
    steps: int
    violation: float

    @property
    def gap(self) -> float:
        return max(0.0, self.objective - self.lower_bound) / self.objective if self.objective > 0.0 else 0.0


@dataclass
class Decomposition:
    """A search; `rounds` of it end with a proof."""

    gram: Gram
    signs: Array
    caps: Array
    free: bool  # is there a constant that the penalty does not count?
    beta: Array = field(init=False)
    v: Array = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        self.beta, self.v = np.zeros(len(self.signs)), self.signs.copy()
        self.low, self.high = np.minimum(0.0, self.signs * self.caps), np.maximum(0.0, self.signs * self.caps)
        self.active: Indices = np.arange(len(self.signs))

    def solve(self, tol: float, rounds: int, on_round: Callable[[Dual], None] = lambda dual: None) -> Dual:
        """Until the gap is at most tol, or no coordinate can move, or so many rounds were made."""
        wanted, dual = 0.5, self.proof()
        for _ in range(rounds):
            self._round(wanted)
            dual = self.proof()
            on_round(dual)
            if dual.gap <= tol or dual.violation <= LEAST:
                break
            if dual.violation <= wanted:
                wanted = min(wanted, dual.violation) * FINER
        return dual

    def proof(self) -> Dual:
        """With the exact gradient of all coordinates."""
        if self.steps:
            self.v = self.signs - self.gram.times(self.beta)
        self.active = np.arange(len(self.signs))
        offset = best_offset(self.signs, self.v, self.caps) if self.free else 0.0
        up, down = self._ends()
        return Dual(
            beta=self.beta,
            offset=offset,
            objective=self._objective(self.beta, self.v, offset),
            lower_bound=self._bound(self.beta, self.v),
            steps=self.steps,
            violation=max(0.0, up - down if self.free else max(up, -down)),
        )

    def proof_of(self, beta: Array) -> Dual:
        """Of a beta that another search has found, where no constant is free. Cut off at its bounds it is a point of
        the dual."""
        v, within = self.signs - self.gram.times(beta), np.clip(beta, self.low, self.high)
        bound = self._bound(within, self.signs - self.gram.times(within))
        return Dual(beta, 0.0, self._objective(beta, v, 0.0), bound, 0, float(np.abs(v).max()))

    def _objective(self, beta: Array, v: Array, offset: float) -> float:
        loss = float(self.caps @ np.maximum(0.0, self.signs * (v - offset)))
        return 0.5 * float(beta @ (self.signs - v)) + loss

    def _bound(self, beta: Array, v: Array) -> float:
        return float(self.signs @ beta) - 0.5 * float(beta @ (self.signs - v))

    def _round(self, wanted: float) -> None:
        """As many steps as there are rows, or until the violation among the active ones is small enough."""
        a = _Active(self, self.active)
        for step in range(1, max(SHRINK_EVERY, len(self.signs)) + 1):
            moved = a.move_two(wanted) if self.free else a.move_one(wanted)
            if not moved:
                break
            self.steps += 1
            if step % SHRINK_EVERY == 0:
                a.put_back()
                self.active = self.active[a.may_move()]
                a = _Active(self, self.active)
        a.put_back()

    def _ends(self) -> tuple[float, float]:
        up, down = self.v[self.beta < self.high], self.v[self.beta > self.low]
        return float(up.max(initial=-np.inf)), float(down.min(initial=np.inf))


class _Active:
    """The coordinates that take part, each array a copy of theirs alone."""

    def __init__(self, whole: Decomposition, places: Indices) -> None:
        self.whole, self.places, self.gram = whole, places, whole.gram
        self.all = len(places) == len(whole.signs)
        self.beta, self.v = whole.beta[places], whole.v[places]
        self.low, self.high = whole.low[places], whole.high[places]
        self.curved = np.maximum(self.gram.diagonal[places], LEAST)
        self.up, self.down = self.beta < self.high, self.beta > self.low

    def row(self, i: int) -> Array:
        return self.gram.row(int(self.places[i]), slice(None) if self.all else self.places)

    def move_two(self, wanted: float) -> bool:
        """i rises as much as j falls. False if the violation is small enough."""
        v = self.v
        above = np.where(self.up, v, -np.inf)
        i = int(above.argmax())
        gains = v[i] - v
        if not (above[i] > -np.inf and (gains[self.down].max(initial=-np.inf) > wanted)):
            return False
        k = self.row(i)
        curved = np.maximum(self.curved[i] + self.curved - 2.0 * k, LEAST)
        worth = np.where(self.down & (gains > 0.0), gains * gains / curved, -1.0)
        j = int(worth.argmax())
        d = min(gains[j] / curved[j], self.high[i] - self.beta[i], self.beta[j] - self.low[j])
        self._moved(i, d)
        self._moved(j, -d)
        v -= d * (k - self.row(j))
        return True

    def move_one(self, wanted: float) -> bool:
        size = np.where((self.up & (self.v > 0.0)) | (self.down & (self.v < 0.0)), np.abs(self.v), 0.0)
        if not size.max(initial=0.0) > wanted:
            return False
        i = int((size * size / self.curved).argmax())
        aim = float(self.beta[i] + self.v[i] / self.curved[i])
        d = min(max(aim, float(self.low[i])), float(self.high[i])) - self.beta[i]
        self._moved(i, d)
        self.v -= d * self.row(i)
        return True

    def _moved(self, i: int, d: float) -> None:
        """What ends within rounding of a bound is at it."""
        found, slack = self.beta[i] + d, 1e-12 * (self.high[i] - self.low[i])
        at_low, at_high = found - self.low[i] <= slack, self.high[i] - found <= slack
        self.beta[i] = self.low[i] if at_low else self.high[i] if at_high else found
        self.up[i], self.down[i] = not at_high, not at_low

    def may_move(self) -> Mask:
        """All but those that rest at a bound and would have to cross the others to leave it."""
        up, down = self.v[self.up].max(initial=-np.inf), self.v[self.down].min(initial=np.inf)
        if not self.whole.free:
            up, down = max(up, 0.0), min(down, 0.0)
        rests = (~self.up & (self.v > up)) | (~self.down & (self.v < down))
        return np.asarray(~rests)

    def put_back(self) -> None:
        self.whole.beta[self.places], self.whole.v[self.places] = self.beta, self.v


def best_offset(signs: Array, v: Array, caps: Array) -> float:
    """b with the least sum cap max(0, y (v - b)): where the slopes of the rows change side."""
    order = np.argsort(v)
    # Below all v the rows of +1 have a loss, above all those of -1. The slope grows by cap at every v.
    slope = -float(caps[signs > 0].sum()) + np.cumsum(caps[order])
    return float(v[order[min(int(np.searchsorted(slope, 0.0)), len(v) - 1)]])


PAIRS = 2000  # the median distance is that of so many rows


@dataclass(frozen=True)
class Task:
    """min strength / 2 (|f|^2 + b^2) + the mean of max(0, 1 - y (f(x) + b)) over the rows by their weights. There is no
    b without `intercept`; if it is `free`, the penalty does not count it."""

    rows: Joined
    signs: Array
    weights: Array
    strength: float
    intercept: bool = True
    free: bool = False

    @property
    def caps(self) -> Array:
        return np.asarray(self.weights / (self.weights.sum() * self.strength))

    def gram(self, kernel: Kernel, cache: Cache) -> Gram:
        """A constant that the penalty counts is one more feature, which is 1."""
        return Gram(self.rows, kernel, 1.0 if self.intercept and not self.free else 0.0, cache)

    def scaled(self, dual: Dual) -> Dual:
        """In the units of the task: the dual has its sum in place of the mean."""
        low, up = self.strength * dual.lower_bound, self.strength * dual.objective
        constant = dual.offset if self.free else float(dual.beta.sum()) * self.intercept
        return replace(dual, objective=up, lower_bound=low, offset=constant)


OnRound = Callable[[Dual], None]


def decomposed(task: Task, gram: Gram, tol: float, rounds: int, on_round: OnRound) -> Dual:
    search = Decomposition(gram, task.signs, task.caps, task.free)
    return task.scaled(search.solve(tol, rounds, lambda dual: on_round(task.scaled(dual))))


def stepped(task: Task, gram: Gram, tol: float, rounds: int, seed: int, on_round: OnRound) -> Dual:
    """Pegasos. A round has as many steps as there are rows, and the best is kept. What it has is a point of the dual if
    no row counts more than it may; cut off there it gives a lower bound."""
    search = Decomposition(gram, task.signs, task.caps, False)
    size, rng = len(task.signs), np.random.default_rng(seed)
    walk = kernelised(gram.row, task.signs, task.weights, task.strength, rng)
    best = task.scaled(search.proof())
    for done in range(1, rounds + 1):
        beta = after(size, walk) * task.signs / (task.strength * done * size)
        dual, bound = task.scaled(search.proof_of(beta)), best.lower_bound
        best = replace(min(best, dual, key=lambda d: d.objective), lower_bound=max(bound, dual.lower_bound))
        on_round(best)
        if best.gap <= tol:
            break
    return best


def usual_gamma(rows: Joined, name: KernelName, seed: int) -> float:
    """1 / the median of the squared distances that are not 0, of rows or of rows of a table; for inner products 1 / the
    mean of x.x."""
    if name in ("poly", "sigmoid"):
        return 1.0 / (float(rows.diagonal(Kernel("linear")).mean()) or 1.0)
    rng = np.random.default_rng(seed)
    left, right = (rng.integers(0, len(rows), PAIRS) for _ in range(2))
    apart = [
        _apart(block.numbers, block.codes, index[left], index[right])
        for block, index in zip(rows.blocks, rows.index, strict=True)
    ]
    found = np.concatenate(apart) if name == "additive" else np.sum(apart, axis=0)
    return 1.0 / float(np.median(found[found > 0.0])) if (found > 0.0).any() else 1.0


def _apart(numbers: Array, codes: Indices, left: Indices, right: Indices) -> Array:
    far = codes[left] != codes[right]
    both = (codes[left] > 0) & (codes[right] > 0)
    return np.asarray(((numbers[left] - numbers[right]) ** 2).sum(axis=1) + (far * (1 + both)).sum(axis=1))
