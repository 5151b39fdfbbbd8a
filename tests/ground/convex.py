"""The same problems by clarabel, an interior point method over cones, with a variable for each row of the join."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import clarabel
import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]
Column = Any  # a sparse matrix


class Held(Protocol):
    """rows beta + shifts >= 0"""

    @property
    def rows(self) -> Array: ...
    @property
    def shifts(self) -> Array: ...


Sides = Sequence[tuple[float, float, float, float, float | None]]
"""(way, tube, slope, bend, slope beyond): slope w + bend w^2 / 2 for w = max(0, way z - tube), linear from where the
slope is the last number. Each adds its part."""

SIDES: Mapping[str, Callable[[float], Sides]] = {
    "hinge": lambda _: [(1.0, 0.0, 1.0, 0.0, None)],
    "squared_hinge": lambda _: [(1.0, 0.0, 0.0, 2.0, None)],
    "smooth_hinge": lambda width: [(1.0, -width, 0.0, 0.5 / width, 1.0)],
    "modified_huber": lambda _: [(1.0, 0.0, 0.0, 2.0, 4.0)],
    "absolute": lambda _: [(1.0, 0.0, 1.0, 0.0, None), (-1.0, 0.0, 1.0, 0.0, None)],
    "quantile": lambda q: [(1.0, 0.0, q, 0.0, None), (-1.0, 0.0, 1.0 - q, 0.0, None)],
    "squared": lambda _: [(1.0, 0.0, 0.0, 1.0, None), (-1.0, 0.0, 0.0, 1.0, None)],
    "epsilon_insensitive": lambda tube: [(1.0, tube, 1.0, 0.0, None), (-1.0, tube, 1.0, 0.0, None)],
    "squared_epsilon_insensitive": lambda tube: [(1.0, tube, 0.0, 2.0, None), (-1.0, tube, 0.0, 2.0, None)],
    "huber": lambda delta: [(1.0, 0.0, 0.0, 1.0, delta), (-1.0, 0.0, 0.0, 1.0, delta)],
}


@dataclass
class _Problem:
    """min x' P x / 2 + q.x subject to b - A x in cones; columns are added in groups."""

    width: int = 0
    linear: list[Array] = field(default_factory=list)
    bends: list[Array] = field(default_factory=list)
    blocks: list[tuple[dict[int, Column], Array, Any]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def group(self, linear: Array, bends: Array) -> int:
        self.linear.append(linear)
        self.bends.append(bends)
        self.groups.append(len(linear))
        return len(self.groups) - 1

    def at_least_zero(self, terms: dict[int, Column], constant: Array) -> None:
        """The sum of matrix x group, plus a constant, is at least 0."""
        self.blocks.append((terms, constant, clarabel.NonnegativeConeT(len(constant))))

    def exponential(self, terms: dict[int, Column], constant: Array) -> None:
        """Rows come in threes: (x, y, z) with y exp(x / y) <= z."""
        self.blocks += [(terms, constant, None)]

    def solve(self) -> tuple[list[Array], float]:
        rows, cones = [], list[Any]()
        for terms, constant, cone in self.blocks:
            parts = [
                -terms[i] if i in terms else sparse.csc_matrix((len(constant), n)) for i, n in enumerate(self.groups)
            ]
            rows.append(sparse.hstack(parts))
            cones += [cone] if cone else [clarabel.ExponentialConeT()] * (len(constant) // 3)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        hessian = sparse.csc_matrix(sparse.diags(np.concatenate(self.bends)))
        matrix, right = sparse.csc_matrix(sparse.vstack(rows)), np.concatenate([b for _, b, _ in self.blocks])
        found = clarabel.DefaultSolver(hessian, np.concatenate(self.linear), matrix, right, cones, settings).solve()
        return np.split(np.array(found.x), np.cumsum(self.groups)[:-1]), float(found.obj_val)


def optimum(
    rows: Array,
    signs: Array,
    origins: Array,
    shares: Array,
    loss: str,
    lam: float,
    *,
    l1: float = 0.0,
    constant: int | None = None,
    free: bool = False,
    constraint: Held | None = None,
    option: float = 0.0,
) -> Array:
    """beta. `constant` is the place of the intercept, and `option` the parameter that a loss has."""
    n, d = rows.shape
    problem, eye = _Problem(), sparse.identity(n)
    bends, weights = np.full(d, 2.0 * lam), np.full(d, l1)
    if constant is not None:
        weights[constant] = 0.0
        bends[constant] = 0.0 if free else 2.0 * lam
    beta, size = problem.group(np.zeros(d), bends), problem.group(weights, np.zeros(d))
    for way in (1.0, -1.0):
        problem.at_least_zero({beta: way * sparse.identity(d), size: sparse.identity(d)}, np.zeros(d))
    scores = sparse.csc_matrix(-signs[:, None] * rows)  # z = origins + scores beta
    _losses(problem, loss, option, {beta: scores}, origins, shares, eye)
    if constraint is not None and len(constraint.rows):
        problem.at_least_zero({beta: sparse.csc_matrix(constraint.rows)}, constraint.shifts)
    return problem.solve()[0][beta]


def _losses(
    problem: _Problem, loss: str, option: float, z: dict[int, Column], origins: Array, shares: Array, eye: Column
) -> None:
    n = len(origins)
    if loss == "logistic":
        _logistic(problem, z, origins, shares, n)
        return
    for way, tube, slope, bend, beyond in SIDES[loss](option):
        t = problem.group(slope * shares, bend * shares)
        above = {t: eye}
        if beyond is not None:  # bend t^2 / 2 + beyond r for t + r, which is the least if t stops at beyond / bend
            r = problem.group(beyond * shares, np.zeros(n))
            problem.at_least_zero({r: eye}, np.zeros(n))
            above |= {r: eye}
        problem.at_least_zero({t: eye}, np.zeros(n))
        problem.at_least_zero({**above, **{g: -way * m for g, m in z.items()}}, tube - way * origins)


def _logistic(problem: _Problem, z: dict[int, Column], origins: Array, shares: Array, n: int) -> None:
    """log(1 + exp(z)) <= t, as exp(z - t) <= u, exp(-t) <= v and u + v <= 1."""
    t, u, v = problem.group(shares, np.zeros(n)), *(problem.group(np.zeros(n), np.zeros(n)) for _ in range(2))
    firsts, thirds = (sparse.csr_matrix((np.ones(n), (np.arange(n) * 3 + k, np.arange(n))), (3 * n, n)) for k in (0, 2))
    ones = np.tile([0.0, 1.0, 0.0], n)
    problem.exponential({t: -firsts, u: thirds, **{g: firsts @ m for g, m in z.items()}}, ones + firsts @ origins)
    problem.exponential({t: -firsts, v: thirds}, ones)
    problem.at_least_zero({u: -sparse.identity(n), v: -sparse.identity(n)}, np.ones(n))
