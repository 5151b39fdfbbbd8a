"""A quadratic problem with cuts, absolute values and constraints, by an interior point method:

    min over x of  max_i (slope_i.x + offset_i) + linear.x + x' H x / 2 + sum_j weight_j |x_j|,  rows x + shifts >= 0.

Every iteration costs one system in as many unknowns as there are cuts, constraints and loose coordinates, which have
next to no curvature, so there may be very many coordinates. What is proven is computed again from the multipliers, so
an answer of any accuracy is safe.
"""

from dataclasses import dataclass

import numpy as np

from sqlsvm.solve.arrays import Array, Indices, Mask

GUESSES, ITERATIONS = 12, 80
ACCURACY = 1e-13  # the gap between primal and dual, as a share of the terms of the objective
FAIR, STALLED = 1e-8, 0.7
"""What is enough, if an iteration leaves more than this share of the gap: then rounding is all that is left."""
LEAST = 1e-3  # the size of the objective, which is 0 at an optimum of 0. Its numbers are about 1.
TO_THE_BORDER = 0.995
LOOSE, MOST_LOOSE = 1e-6, 100
"""A coordinate with less curvature than this, where cuts have slopes of about 1, is no part of what is eliminated: its
slopes cancel in the bound, and squares of them have half of the digits. So many may be."""
ROUNDED = 1e-12  # curvature, as a share of the most, that no system tells from none


@dataclass(frozen=True)
class Split:
    """A matrix H: dense among the first of `order`, and diagonal among the others."""

    dense: Array
    diagonal: Array
    order: Indices

    @classmethod
    def diagonal_of(cls, diagonal: Array) -> "Split":
        return cls(np.zeros((0, 0)), diagonal, np.arange(len(diagonal)))

    @classmethod
    def dense_of(cls, matrix: Array) -> "Split":
        return cls(matrix, np.zeros(0), np.arange(len(matrix)))

    def __matmul__(self, x: Array) -> Array:
        found, size = np.empty_like(x), len(self.dense)
        first, rest = self.order[:size], self.order[size:]
        if size:
            found[first] = self.dense @ x[first]
        found[rest] = (self.diagonal * x[rest].T).T
        return found

    def __add__(self, more: Array) -> "Split":
        """With more on the diagonal."""
        size = len(self.dense)
        return Split(self.dense + np.diag(more[self.order[:size]]), self.diagonal + more[self.order[size:]], self.order)

    def __mul__(self, factor: float) -> "Split":
        return Split(self.dense * factor, self.diagonal * factor, self.order)

    def solution(self, right: Array, moving: Mask) -> Array:
        """Where H x is `right`, among the coordinates that move. The others are 0."""
        found, size = np.zeros_like(right), len(self.dense)
        first, rest = self.order[:size], self.order[size:]
        inner = np.flatnonzero(moving[first])
        found[first[inner]] = np.linalg.solve(self.dense[np.ix_(inner, inner)], right[first[inner]])
        found[rest] = np.where(moving[rest], right[rest] / self.diagonal, 0.0)
        return found

    @property
    def inverse(self) -> "Split":
        """Along a direction without curvature, of as little as rounding leaves apart from none."""
        try:
            dense = np.linalg.inv(self.dense) if len(self.dense) else self.dense
        except np.linalg.LinAlgError:
            least = ROUNDED * float(np.abs(self.dense).max())
            dense = np.linalg.inv(self.dense + least * np.eye(len(self.dense)))
        return Split(dense.astype(np.float64, copy=False), 1.0 / self.diagonal, self.order)

    def per(self, units: Array) -> "Split":
        """In coordinates that are x times these units."""
        first, rest = np.split(units[self.order], [len(self.dense)])
        return Split(self.dense / np.outer(first, first), self.diagonal / rest**2, self.order)

    @property
    def bends(self) -> Array:
        """The curvature along each coordinate."""
        found = np.empty(len(self.order))
        found[self.order] = np.append(self.dense.diagonal(), self.diagonal)
        return found

    @property
    def flat(self) -> Indices:
        """Coordinates without any curvature."""
        return self.loose(0.0)

    def loose(self, most: float) -> Indices:
        """Those without any, and those of the diagonal part with no more than this."""
        own = np.append(np.where(np.abs(self.dense).any(axis=0), np.inf, 0.0), self.diagonal)
        by_bend = np.argsort(own, kind="stable")
        return np.sort(self.order[by_bend[: np.count_nonzero(own <= most)][: MOST_LOOSE if most else None]])


@dataclass(frozen=True)
class Limits:
    """rows x + shifts >= 0."""

    rows: Array
    shifts: Array

    @classmethod
    def none(cls, dimension: int) -> "Limits":
        return cls(np.zeros((0, dimension)), np.zeros(0))


@dataclass(frozen=True)
class Optimum:
    x: Array
    alpha: Array  # of the cuts: their sum is 1
    xi: Array  # of the constraints
    held: Mask  # the constraints that hold as equations


def minimise(matrix: Split, linear: Array, slopes: Array, offsets: Array, weights: Array, limits: Limits) -> Optimum:
    """Coordinates with weight that should be 0 are exactly 0. There may be no cuts."""
    if not len(offsets) and not len(limits.shifts) and (x := _by_signs(matrix, linear, weights)) is not None:
        return Optimum(x, np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))
    units = _sizes(matrix, slopes, offsets)
    matrix, linear, slopes, weights = matrix.per(units), linear / units, slopes / units, weights / units
    limits = Limits(limits.rows / units, limits.shifts)
    norms = np.linalg.norm(limits.rows, axis=1)
    norms[norms == 0.0] = 1.0
    long, high = _units(matrix, linear, slopes, offsets, limits.shifts / norms)
    rows = Limits(limits.rows / norms[:, None], limits.shifts / (norms * long))
    share = long / high
    search = _Interior(
        matrix * (long * long / high), linear * share, slopes * share, offsets / high, weights * share, rows
    )
    before = np.inf
    for _ in range(ITERATIONS):
        gap = search.gap
        enough = FAIR * search.size if gap > STALLED * before else ACCURACY * search.size
        if gap <= enough or not search.improve():
            break
        before = gap
    found = search.optimum()
    return Optimum(found.x * long / units, found.alpha, found.xi * (high / (norms * long)), found.held)


def _by_signs(matrix: Split, linear: Array, weights: Array) -> Array | None:
    """Without cuts and constraints: the signs of x are guessed, and equations are left. Signs that do not fit are
    guessed anew. None if that does not end soon, or if there is a direction without curvature."""
    if len(matrix.flat):
        return None
    signs = _pushed(linear, weights)
    for _ in range(GUESSES):
        moving = (signs != 0.0) | (weights == 0.0)
        try:
            x = matrix.solution(-linear - weights * signs, moving)
        except np.linalg.LinAlgError:
            return None
        fitting = np.where(moving, signs * (signs * x > 0.0), _pushed(matrix @ x + linear, weights))
        if np.array_equal(fitting[weights > 0.0], signs[weights > 0.0]):
            return x
        signs = fitting
    return None


def _pushed(slope: Array, weights: Array) -> Array:
    """The way in which a coordinate leaves 0; 0 if its weight holds it."""
    return np.where(np.abs(slope) > weights, -np.copysign(1.0, slope), 0.0)


def _sizes(matrix: Split, slopes: Array, offsets: Array) -> Array:
    """Of each coordinate, such that cuts have slopes of about 1 along it, or that it has a curvature of 1."""
    high = float(np.ptp(offsets)) if len(offsets) else 0.0
    found = np.maximum(np.abs(slopes).max(axis=0, initial=0.0), np.sqrt(np.maximum(matrix.bends, 0.0) * high))
    largest = float(found.max(initial=0.0))
    return np.where(found > 0.0, found / largest, 1.0) if largest else np.ones_like(found)


def _units(matrix: Split, linear: Array, slopes: Array, offsets: Array, distances: Array) -> tuple[float, float]:
    """The units of x and of the objective, so that numbers are about 1."""
    pull = float(max(np.linalg.norm(linear), np.linalg.norm(slopes, axis=1).max(initial=0.0))) or 1.0
    bend = float(max(matrix.dense.diagonal().max(initial=0.0), matrix.diagonal.max(initial=0.0))) or 1.0
    high = float(np.ptp(offsets)) if len(offsets) else 0.0
    far = max(high / pull if high else pull / bend, float(-distances.min(initial=0.0)))
    return far, high or far * pull


FAR = 1e60  # in units in which x is about 1. A step that is longer has no digits, and squares of it may overflow.


class _Interior:
    """Constraints and cuts are rows of one kind: s = rows x + lift t + shifts >= 0, with multipliers `forces`. x is
    `above` - `below` where it has a weight, and each of the two has a multiplier: weight + slope and weight - slope.
    What is at least 0 is in `ends`, and its multipliers are in `pulls`."""

    def __init__(
        self, matrix: Split, linear: Array, slopes: Array, offsets: Array, weights: Array, limits: Limits
    ) -> None:
        self.matrix, self.linear, self.cuts = matrix, linear, len(offsets)
        self.rows = np.vstack([-slopes, limits.rows])
        self.shifts = np.append(-offsets, limits.shifts)
        self.lift = np.append(np.ones(self.cuts), np.zeros(len(limits.shifts)))
        self.weighted = np.flatnonzero(weights)
        self.weights = weights[self.weighted]
        self.loose = np.union1d(np.setdiff1d(matrix.flat, self.weighted), matrix.loose(LOOSE))
        self.tight = self.rows.copy()
        self.tight[:, self.loose] = 0.0
        self.lifts = self.lift[:, None][:, : min(self.cuts, 1)]
        self.border = np.hstack([self.lifts, self.rows[:, self.loose]])
        self.x, self.t = np.zeros(len(linear)), float(offsets.max()) + 1.0 if self.cuts else 0.0
        width = max(1.0, float(np.ptp(offsets))) if self.cuts else 1.0
        slack = np.maximum(self.rows @ self.x + self.lift * self.t + self.shifts, width)
        forces = np.where(self.lift > 0.0, 1.0 / max(self.cuts, 1), 1.0)
        self.ends = np.concatenate([slack, np.ones(2 * len(self.weights))])
        self.pulls = np.concatenate([forces, self.weights, self.weights])
        self.slack, self.above, self.below = self._parts(self.ends)
        self.forces, self.pull_up, self.pull_down = self._parts(self.pulls)
        self.residuals = self._residuals()

    def _parts(self, each: Array) -> tuple[Array, Array, Array]:
        """Views of what belongs to rows, to `above` and to `below`."""
        first, last = len(self.rows), len(each) - len(self.weights)
        return each[:first], each[first:last], each[last:]

    @property
    def gap(self) -> float:
        """What complementarity and the residuals leave, in units of the objective."""
        slope, above, below, missing, lifted = self.residuals
        rest = slope.copy()
        rest[self.weighted] = np.maximum(np.abs(above), np.abs(below))
        rest = np.abs(rest)
        off = float(rest @ np.abs(self.x)) + float(rest.max(initial=0.0))
        off += float(np.abs(missing) @ self.forces) + abs(lifted * self.t)
        return float(self.ends @ self.pulls) + off

    @property
    def size(self) -> float:
        bent = 0.5 * float(self.x @ (self.matrix @ self.x))
        linear, sizes = abs(float(self.linear @ self.x)), float(self.weights @ np.abs(self.x[self.weighted]))
        return max(abs(self.t) + bent + linear + sizes, LEAST)

    def _residuals(self) -> tuple[Array, Array, Array, Array, float]:
        slope = (self.matrix @ self.x) + self.linear - self.forces @ self.rows
        own = slope[self.weighted]
        missing = self.rows @ self.x + self.lift * self.t + self.shifts - self.slack
        lifted = 1.0 - float(self.lift @ self.forces) if self.cuts else 0.0
        return slope, own + self.weights - self.pull_up, self.weights - own - self.pull_down, missing, lifted

    def improve(self) -> bool:
        """A predicting and a correcting step; False if none can be made."""
        count, products, system = max(len(self.ends), 1), self.ends * self.pulls, _System(self)
        first = self._direction(system, -products)
        if first is None:
            return False
        _, _, ends, pulls = first
        length, centre = self._reach(first), float(products.sum()) / count
        ahead = float((self.ends + length * ends) @ (self.pulls + length * pulls)) / count
        aim = centre * (ahead / centre) ** 3 if centre else 0.0
        step = self._direction(system, aim - products - ends * pulls)
        if step is None:
            return False
        length = min(1.0, TO_THE_BORDER * self._reach(step))
        dx, dt, ends, pulls = step
        if not np.linalg.norm(dx) < FAR:
            return False
        self.x, self.t = self.x + length * dx, self.t + length * dt
        self.ends += length * ends
        self.pulls += length * pulls
        self.residuals = self._residuals()
        return length > 1e-8

    def _reach(self, step: "_Step") -> float:
        values, moves = np.concatenate([self.ends, self.pulls]), np.concatenate(step[2:])
        falling = np.flatnonzero(moves < 0.0)
        return min(1.0, float((-values[falling] / moves[falling]).min(initial=1.0)))

    def _direction(self, system: "_System", wanted: Array) -> "_Step | None":
        """Along which the products of `ends` and `pulls` change as is wanted, and nothing else is left."""
        slope, above, below, missing, lifted = self.residuals
        of_rows, of_above, of_below = self._parts(wanted)
        right = -slope
        moved = (of_above - self.above * above) / self.pull_up - (of_below - self.below * below) / self.pull_down
        right[self.weighted] = system.stiff[self.weighted] * moved
        found = system.solve(right, of_rows / self.forces - missing, lifted)
        if found is None:
            return None
        dx, dt, forces = found
        change = (self.matrix @ dx - forces @ self.rows)[self.weighted]
        up, down = change + above, below - change
        ends = [
            self.rows @ dx + self.lift * dt + missing,
            (of_above - self.above * up) / self.pull_up,
            (of_below - self.below * down) / self.pull_down,
        ]
        return dx, dt, np.concatenate(ends), np.concatenate([forces, up, down])

    def optimum(self) -> Optimum:
        x, size = self.x.copy(), float(np.abs(self.x).max(initial=0.0)) or 1.0
        near_zero = np.maximum(self.above / self.pull_up, self.below / self.pull_down) < size / self.weights
        x[self.weighted[near_zero]] = 0.0
        alpha, xi, slack = self.forces[: self.cuts], self.forces[self.cuts :], self.slack[self.cuts :]
        return Optimum(x, alpha / (alpha.sum() or 1.0), xi, slack < xi)


_Step = tuple[Array, float, Array, Array]  # of x, of t, of the ends and of their pulls


class _System:
    """The equations of a step, down to the forces, t and the coordinates without curvature."""

    def __init__(self, at: _Interior) -> None:
        self.at, count = at, len(at.slack)
        self.stiff = np.zeros(len(at.x))
        self.stiff[at.weighted] = 1.0 / (at.above / at.pull_up + at.below / at.pull_down)
        more = self.stiff.copy()
        more[at.loose] = 1.0
        self.inverse = (at.matrix + more).inverse
        self.images = self.inverse @ at.tight.T
        self.matrix = np.zeros((count + at.border.shape[1],) * 2)
        self.matrix[:count, :count] = at.tight @ self.images
        self.matrix[np.arange(count), np.arange(count)] += at.slack / at.forces
        self.matrix[:count, count:], self.matrix[count:, :count] = at.border, at.border.T
        lifts = at.lifts.shape[1] + count
        self.matrix[lifts:, lifts:] = -np.diag(at.matrix.bends[at.loose] + self.stiff[at.loose])

    def solve(self, right: Array, missing: Array, lifted: float) -> tuple[Array, float, Array] | None:
        at, count, lifts = self.at, len(self.at.slack), self.at.lifts.shape[1]
        image = self.inverse @ right
        image[at.loose] = 0.0
        known = np.concatenate([missing - at.rows @ image, [lifted] * lifts, -right[at.loose]])
        try:
            found = np.linalg.solve(self.matrix, known)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(found).all():
            return None
        forces = found[:count]
        dx = image + self.images @ forces
        dx[at.loose] = found[count + lifts :]
        return dx, float(found[count : count + lifts].sum()), forces
