"""nystroem:TABLE:D: the kernel exp(-gamma |a - b|^2) of the numbers of one table, by D of its rows (landmarks). The
numbers are scaled to mean 0 and deviation 1."""

import numpy as np
from sqlglot import exp

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import MEDIAN_OF, Array, Asked, squared_distances
from sqlsvm.maps.mapped import Mapped

SMALLEST = 1e-12
"""The smallest eigenvalue that is not taken as this."""


def nystroem(asked: Asked) -> Mapped:
    """The first step is the kernel with each landmark. Its inverse root makes the inner products of new columns those
    of the kernel, for rows near the landmarks. The columns themselves stay."""
    columns, size = asked.numbers(), asked.whole(0, "D", 1, 300)
    alias = columns[0].relation
    points, means, deviations = asked.scaled_points(columns, max(size, MEDIAN_OF))
    if len(points) < size:
        rows = f"{len(points):,} different rows"
        raise asked.refusal(f"{alias} has {rows}, and so at most as many landmarks", f"D can be {len(points):,}")
    gamma = asked.gamma(1) or asked.median_gamma(points)
    landmarks = points[:size]
    root = inverse_root(np.exp(-gamma * squared_distances(landmarks, landmarks)))
    kernels = tuple(formula.text_of(_kernel(row, gamma / deviations**2)) for row in landmarks * deviations + means)
    made = {f"{alias}_nystroem{n}": formula.text_of(formula.affine(row)) for n, row in enumerate(root.tolist(), 1)}
    named = tuple(c.name for c in columns)
    return Mapped(f"nystroem:{alias}:{size}:{gamma!r}", named, made, (kernels,), replaces=False)


def inverse_root(kernel: Array) -> Array:
    values, vectors = np.linalg.eigh(kernel)
    found: Array = (vectors / np.sqrt(np.maximum(values, SMALLEST))) @ vectors.T
    return found


def _kernel(landmark: Array, scale: Array) -> exp.Expression:
    """EXP of minus the scaled squared distance."""
    terms = (_square(place, at, by) for place, (at, by) in enumerate(zip(landmark, scale, strict=True), 1))
    return formula.exponential(sql.plus(*terms))


def _square(place: int, at: float, by: float) -> exp.Expression:
    apart = formula.centred(place, at)
    return sql.product(formula.number(-by), apart, apart.copy())
