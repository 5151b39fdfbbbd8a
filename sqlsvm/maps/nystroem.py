"""nystroem:TABLE:D: the kernel exp(-gamma |a - b|^2) of the numbers of one table, by D of its rows (landmarks). The
numbers are scaled to mean 0 and deviation 1."""

import numpy as np

from sqlsvm import sql
from sqlsvm.maps import formula
from sqlsvm.maps.asked import MEDIAN_OF, Array, Asked, squared_distances
from sqlsvm.maps.mapped import Mapped

SMALLEST = 1e-12
"""The smallest eigenvalue that is not taken as this."""


def nystroem(asked: Asked) -> Mapped:
    """The last step is the kernel with each landmark. Its inverse root makes the inner products of new columns those of
    the kernel, for rows near the landmarks. The columns themselves stay."""
    columns, size = asked.numbers(), asked.whole(0, "D", 1, 300)
    alias = columns[0].relation
    points, means, deviations = asked.scaled_points(columns, max(size, MEDIAN_OF))
    if len(points) < size:
        rows = f"{len(points):,} different rows"
        raise asked.refusal(f"{alias} has {rows}, and so at most as many landmarks", f"D can be {len(points):,}")
    gamma = asked.gamma(1) or asked.median_gamma(points)
    landmarks = points[:size]
    root = inverse_root(np.exp(-gamma * squared_distances(landmarks, landmarks)))
    width = np.sqrt(gamma)
    steps = (*_scaled(means, width / deviations), tuple(map(_kernel, width * landmarks)))
    made = {f"{alias}_nystroem{n}": formula.text_of(formula.affine(row)) for n, row in enumerate(root.tolist(), 1)}
    named = tuple(c.name for c in columns)
    return Mapped(f"nystroem:{alias}:{size}:{gamma!r}", named, made, steps, replaces=False)


def inverse_root(kernel: Array) -> Array:
    values, vectors = np.linalg.eigh(kernel)
    found: Array = (vectors / np.sqrt(np.maximum(values, SMALLEST))) @ vectors.T
    return found


def _scaled(means: Array, scale: Array) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two steps: a = scale (x - mean), where distances are those of the kernel; then a and |a|^2."""
    centred = enumerate(zip(means.tolist(), scale.tolist(), strict=True), 1)
    first = tuple(formula.text_of(sql.product(formula.number(by), formula.centred(n, at))) for n, (at, by) in centred)
    own = [formula.argument(n) for n in range(1, len(first) + 1)]
    square = sql.plus(*(sql.product(a, a) for a in own))
    return first, tuple(map(formula.text_of, (*own, square)))


def _kernel(landmark: Array) -> str:
    """EXP of -|a - b|^2 = 2 a.b - |b|^2 - |a|^2. What is scaled is small, so the difference keeps its digits."""
    nearness = formula.affine((2.0 * landmark).tolist(), -float(landmark @ landmark))
    return formula.text_of(formula.exponential(sql.minus(nearness, formula.argument(len(landmark) + 1))))
